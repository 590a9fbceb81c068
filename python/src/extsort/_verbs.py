"""The functions that sort, merge and check. Each runs the program once."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Optional, Sequence

from ._calls import Report, Records, describe, execute, paths_of, short_repr, transform, whole_file
from ._data import Input, array_bytes, check_array, is_array
from ._layout import Key, as_dtype
from ._options import Options, check_options, is_path, option_flags
from ._program import Run, fill, query

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Order(NamedTuple):
    """The result of check. It is true if the records are in order.

    Attributes:
        sorted: whether the records are in order.
        record: the first record that is not, counted from 0, or None.
        details: all fields of the program's JSON report.
    """

    sorted: bool
    record: Optional[int]
    details: dict[str, Any]

    def __bool__(self) -> bool:
        return self.sorted

    def __repr__(self) -> str:
        return short_repr(self)


def sort(
    src: Any,
    dst: Any = None,
    *,
    dtype: Any = None,
    key: Key = None,
    unique: bool = False,
    limit: Optional[int] = None,
    **options: Unpack[Options],
) -> Report:
    """Sort records within a memory limit. The sort is stable.

    Values have NumPy's order: -0.0 equals 0.0, and NaN and NaT come last.

    Args:
        src: a path, a list of paths, a binary file object, or an array of shape (n,). The program
            reads the file of a numpy.memmap directly: the records don't pass through Python. A file
            object is read from its current position on, by its own read method unless it is a plain file.
        dst: a path, a binary file object, or an array of the same dtype that is long enough. None
            sorts an array in place, and dst may be src. A file is replaced when the result is
            complete, or left as it is. After an error, an array has undefined contents; items after
            the end of a shorter result (unique, limit) keep their old values. A path becomes an npy
            file if its name ends with ".npy" or if src is an npy file, and raw records otherwise.
        dtype: the dtype of a record. Arrays and npy files have their own.
        key: the name of a field, or names, the most significant first; "-name" is descending, and
            "outer.inner" is a field of a nested record. Without key, all fields count, in their order.
            key="-" sorts an array without fields from the greatest to the least value.
        unique: keep only the first record of each key.
        limit: write only this many records.
        **options: memory, temp, threads, reverse, progress and others: see Options.

    Returns:
        a Report.

    Raises:
        ExtsortError: the program failed.
        ValueError, TypeError, KeyError: an argument is wrong. Nothing has been written.

    >>> import numpy as np
    >>> a = np.array([(3, 0.5), (1, 2.5)], dtype=[("id", "<u4"), ("mass", "<f8")])
    >>> sort(a, key="-mass", memory="100M").records
    2
    >>> a["id"].tolist()
    [1, 3]
    """
    check_options(options)
    if dst is None:
        if not is_array(src):
            raise TypeError("dst is missing: only a NumPy array can be sorted in place")
        check_array(src, "src")
        if not src.flags.writeable:
            raise ValueError("src is read-only: give dst, or open a memory map with mode 'r+'")
        dst = src
    if is_path(dst):
        src = whole_file(src)
    same = not unique and limit is None and not options.get("flags")  # they can shorten the result, too
    flags = ["--unique"] if unique else []
    if limit is not None:
        flags += ["--limit", str(limit)]
    records = describe(src, dtype, headerless=is_array(dst))
    result = None if records.has_header or records.layout is None else records.layout.dtype
    most = src.nbytes if is_array(src) and is_array(dst) else None
    flags += records.key_flags(key)
    report: Report = transform(flags, src, dst, records, result, options, most, same)
    return report


def argsort(src: Any, *, dtype: Any = None, key: Key = None, **options: Unpack[Options]) -> Any:
    """Return the positions of the records in sorted order, as numpy.argsort(kind="stable") does.

    src, dtype, key and the options are those of sort. The result has shape (n,) and dtype uint64, and
    is in memory: `memory` limits only the program.

    >>> import numpy as np
    >>> argsort(np.array([30, 10, 20])).tolist()
    [1, 2, 0]
    """
    check_options(options)
    records = describe(src, dtype)
    return transform(["--argsort", "u64", *records.key_flags(key)], src, None, records, "<u8", options)


def merge(
    srcs: Sequence[Any],
    dst: Any,
    *,
    dtype: Any = None,
    key: Key = None,
    unique: bool = False,
    **options: Unpack[Options],
) -> Report:
    """Merge sorted files into one. srcs is a list of paths; the other arguments are those of sort.

    Raises:
        ExtsortError: an input is not sorted, or the program failed.

    >>> merge(["monday.npy", "tuesday.npy"], "week.npy", key="time")  # doctest: +SKIP
    """
    check_options(options)
    paths = list(srcs)
    if not all(is_path(src) for src in paths):
        raise TypeError("srcs are paths: write arrays to files first, or use union with count_all=True")
    records = describe(paths, dtype, headerless=is_array(dst))
    flags = ["--merge", *records.key_flags(key), *(["--unique"] if unique else [])]
    result = None if records.has_header or records.layout is None else records.layout.dtype
    report: Report = transform(flags, paths, dst, records, result, options)
    return report


def check(src: Any, *, dtype: Any = None, key: Key = None, **options: Unpack[Options]) -> Order:
    """Report whether records are in order. src, dtype, key and the options are those of sort.

    >>> import numpy as np
    >>> check(np.array([1, 3, 2])).record
    2
    """
    check_options(options)
    records = describe(src, dtype)
    with ExitStack() as files:
        flags = ["--check-quiet", *records.flags, *records.key_flags(key)]
        _, details = execute(flags, [Input(src, files)], None, options, files, accepted=(0, 1))
    return Order(details["sorted"], details.get("record"), details)


def iter_sorted(
    src: Any, *, dtype: Any = None, key: Key = None, block: int = 1 << 16, **options: Unpack[Options]
) -> Iterator[Any]:
    """Yield the records in order, in arrays of up to `block` records, without an output file.

    Leaving the loop early ends the program. src, dtype, key and the options are those of sort.

    >>> import numpy as np
    >>> [part.tolist() for part in iter_sorted(np.array([4, 1, 3]), block=2)]
    [[1, 3], [4]]
    """
    if block != int(block) or block < 1:
        raise ValueError(f"block is {block}: give a number of records, at least 1")
    arguments = option_flags(options)
    records = describe(src, dtype, headerless=True)
    arguments += [*records.flags, *records.key_flags(key)]
    return _blocks(src, arguments, records, int(block), bool(options.get("progress")))


def _blocks(src: Any, flags: Sequence[str], records: Records, block: int, progress: bool) -> Iterator[Any]:
    """Run the program and yield its output in arrays of up to `block` records."""
    import numpy

    kind = as_dtype(records.require_layout().dtype)
    with ExitStack() as files:
        given = Input(src, files)
        run = files.enter_context(Run([*flags, *given.arguments], given.stdin, progress=progress))
        given.start(run)
        while True:
            part = numpy.empty(block, kind)
            filled = fill(run.stdout, array_bytes(part)) // kind.itemsize
            if filled:
                yield part[:filled]
            if filled < block:
                break
        run.finish()


def plan(src: Any, *, dtype: Any = None, key: Key = None, **options: Unpack[Options]) -> Any:
    """Predict how sort would run: strategy, temporary bytes, seconds. src is a path or paths.

    >>> plan("trades.npy", key="price", memory="1G")["strategy"]  # doctest: +SKIP
    'merge'
    """
    import json

    extra = option_flags(options)
    records = describe(src, dtype)
    flags = [*records.flags, *records.key_flags(key), *extra]
    return json.loads(query(["plan", "--stats=json", *flags, "--", *paths_of(src)]))


def info(src: Any, *, flags: Sequence[str] = ()) -> Any:
    """Describe a file: its format, the layout of its records, whether it is in order.

    >>> info("trades.npy")["records"]  # doctest: +SKIP
    1000000
    """
    import json

    return json.loads(query(["info", "--json", *flags, "--", *paths_of(src)]).splitlines()[0])
