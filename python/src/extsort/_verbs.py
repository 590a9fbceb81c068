"""The verbs of the package. Each runs the program once."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import subprocess
import tempfile
from typing import Any, Iterator, NamedTuple, Optional, Sequence, Union

from ._data import Input, Output, array_bytes, is_array, is_path
from ._layout import Key, Layout
from ._program import Run, fill, query

Size = Union[int, str, None]


class Report(NamedTuple):
    """What a run did.

    Attributes:
        records: number of records read.
        records_out: number of records written.
        seconds: how long the run took.
        strategy: how the program sorted, such as "in-core" or "merge".
        details: all fields of the program's JSON report.
    """

    records: int
    records_out: int
    seconds: float
    strategy: str
    details: dict


class Order(NamedTuple):
    """The result of check. It is true if the records are in order.

    Attributes:
        sorted: whether the records are in order.
        record: the first record that is not, counted from 0, or None.
        details: all fields of the program's JSON report.
    """

    sorted: bool
    record: Optional[int]
    details: dict

    def __bool__(self) -> bool:
        return self.sorted


def sort(
    src: Any,
    dst: Any = None,
    *,
    dtype: Any = None,
    key: Key = None,
    reverse: bool = False,
    unique: bool = False,
    limit: Optional[int] = None,
    memory: Size = None,
    temp: Any = None,
    threads: Optional[int] = None,
    device: Optional[str] = None,
    progress: bool = False,
    options: Sequence[str] = (),
) -> Report:
    """Sort records within a memory limit. The sort is stable.

    Values have NumPy's order: -0.0 equals 0.0, and NaN and NaT come last.

    Args:
        src: a path, a list of paths, a binary file object, or an array of shape (n,).
            A numpy.memmap is read by the program itself: its records never pass through this process.
        dst: a path, a binary file object, or an array with room for the result. None sorts an array
            in place. A file is replaced when the result is complete, or left as it is; an array has
            undefined contents after an error. dst may be src.
        dtype: the dtype of a record. An array has its own. Not needed for npy files.
        key: the name of a field, or names, the most significant first; "-name" is descending.
            Without key, all fields count, in their order.
        reverse: reverse the order. Equal records keep theirs.
        unique: keep only the first record of each key.
        limit: write only this many records.
        memory: the limit, in bytes or as "2G" or "10%"; half of the machine's memory by default.
        temp: a directory, or several, for temporary files.
        threads: number of worker threads.
        device: "cpu", "gpu", or a number or name from `extsort devices`.
        progress: print the stages of the run on standard error.
        options: more flags of the command, such as ["--compress", "zstd"].

    Returns:
        a Report.

    Raises:
        ExtsortError: the program failed.
        ValueError, TypeError, KeyError: an argument is wrong. Nothing has been written.

    >>> import numpy as np
    >>> a = np.array([(3, 0.5), (1, 2.5)], dtype=[("id", "<u4"), ("mass", "<f8")])
    >>> sort(a, key="-mass").records
    2
    >>> a["id"].tolist()
    [1, 3]
    """
    if dst is None:
        if not is_array(src):
            raise TypeError("dst is missing: only an array can be sorted in place")
        dst = src
    flags = _record_flags(src, dtype, key)
    if is_array(dst):
        _, flags = _headerless(src, dtype, key)
    flags += _selection_flags(reverse, unique, limit)
    flags += _resource_flags(memory, temp, threads, device)
    return _run(flags + list(options), src, dst, progress)


def argsort(
    src: Any,
    *,
    dtype: Any = None,
    key: Key = None,
    reverse: bool = False,
    memory: Size = None,
    temp: Any = None,
    threads: Optional[int] = None,
    device: Optional[str] = None,
    options: Sequence[str] = (),
) -> Any:
    """Return the positions of the records in sorted order, as numpy.argsort(kind="stable") does.

    The arguments are those of sort. The result has shape (n,) and dtype uint64, and is in memory:
    `memory` limits only the program.

    >>> import numpy as np
    >>> argsort(np.array([30, 10, 20])).tolist()
    [1, 2, 0]
    """
    import numpy

    flags = _record_flags(src, dtype, key)
    flags += _selection_flags(reverse, False, None)
    flags += _resource_flags(memory, temp, threads, device)
    flags += ["--argsort", "u64", *options]
    if is_array(src):
        positions = numpy.empty(len(src), "<u8")
        _run(flags, src, positions, False)
        return positions
    with tempfile.TemporaryFile() as file:
        _run(flags, src, file, False)
        file.seek(0)
        return numpy.fromfile(file, "<u8")


def merge(
    srcs: Sequence[Any],
    dst: Any,
    *,
    dtype: Any = None,
    key: Key = None,
    reverse: bool = False,
    unique: bool = False,
    memory: Size = None,
    temp: Any = None,
    progress: bool = False,
    options: Sequence[str] = (),
) -> Report:
    """Merge sorted files into one. The arguments are those of sort; srcs is a list of paths.

    Raises:
        ExtsortError: an input is not sorted, or the program failed.
    """
    paths = list(srcs)
    if not all(is_path(src) for src in paths):
        raise TypeError("srcs are paths: write arrays to files first, or sort them together")
    flags = ["-m", *_record_flags(paths, dtype, key)]
    flags += _selection_flags(reverse, unique, None)
    flags += _resource_flags(memory, temp, None, None)
    return _run(flags + list(options), paths, dst, progress)


def check(
    src: Any, *, dtype: Any = None, key: Key = None, reverse: bool = False, options: Sequence[str] = ()
) -> Order:
    """Report whether records are in order. The arguments are those of sort.

    >>> import numpy as np
    >>> check(np.array([1, 3, 2])).record
    2
    """
    flags = ["-C", "--stats=json", *_record_flags(src, dtype, key), *_selection_flags(reverse, False, None)]
    with contextlib.ExitStack() as files:
        given = Input(src, files)
        run = files.enter_context(Run([*flags, *options, *given.arguments], given.stdin, subprocess.DEVNULL))
        given.start(run)
        run.finish(accepted=(0, 1))
        details = run.report()
    return Order(details["sorted"], details.get("record"), details)


def iter_sorted(
    src: Any,
    *,
    dtype: Any = None,
    key: Key = None,
    reverse: bool = False,
    block: int = 1 << 16,
    memory: Size = None,
    temp: Any = None,
    options: Sequence[str] = (),
) -> Iterator[Any]:
    """Yield the records in order, in arrays of up to `block` records, without an output file.

    Leaving the loop early ends the program. The arguments are those of sort.

    >>> import numpy as np
    >>> [part.tolist() for part in iter_sorted(np.array([4, 1, 3]), block=2)]
    [[1, 3], [4]]
    """
    import numpy

    kind, flags = _headerless(src, dtype, key)
    kind = numpy.dtype(kind)
    flags += _selection_flags(reverse, False, None)
    flags += _resource_flags(memory, temp, None, None)
    with contextlib.ExitStack() as files:
        given = Input(src, files)
        run = files.enter_context(Run([*flags, *options, *given.arguments], given.stdin))
        given.start(run)
        while True:
            part = numpy.empty(block, kind)
            filled = fill(run.stdout, array_bytes(part))
            if filled:
                yield part[: filled // kind.itemsize]
            if filled < part.nbytes:
                break
        run.finish()


def plan(
    src: Any,
    *,
    dtype: Any = None,
    key: Key = None,
    memory: Size = None,
    temp: Any = None,
    options: Sequence[str] = (),
) -> dict:
    """Predict how sort would run: strategy, temporary bytes, seconds. src is a path or paths."""
    flags = [*_record_flags(src, dtype, key), *_resource_flags(memory, temp, None, None)]
    return json.loads(query(["plan", "--stats=json", *flags, *options, "--", *_paths(src)]))


def info(src: Any, *, options: Sequence[str] = ()) -> dict:
    """Describe a file: its format, the layout of its records, whether it is in order."""
    return json.loads(query(["info", "--json", *options, "--", *_paths(src)]).splitlines()[0])


def _run(flags: list, src: Any, dst: Any, progress: bool) -> Report:
    """Run the program from src to dst."""
    most = None
    if is_array(src) and is_array(dst):
        record = 8 if "--argsort" in flags else src.dtype.itemsize
        most = len(src) * record
    with contextlib.ExitStack() as files:
        same = not {"--unique", "--limit"} & set(flags)
        wanted = Output(dst, src, most, same, files)
        given = Input(src, files, in_memory=wanted.writes_source)
        arguments = [*flags, "--stats=json", "--progress", "always" if progress else "never"]
        arguments += [*wanted.arguments, *given.arguments]
        run = files.enter_context(Run(arguments, given.stdin, wanted.stdout, progress))
        given.start(run)
        wanted.receive(run)
        run.finish()
        details = run.report()
    return Report(details["records"], details["records_out"], details["seconds"], details["strategy"], details)


def _record_flags(src: Any, dtype: Any, key: Key) -> list:
    """Return the flags for the layout of the records."""
    dtype = _dtype_of(src, dtype)
    if dtype is not None:
        return Layout(dtype).flags(key)
    names = [key] if isinstance(key, str) else list(key or ())
    flags = ["--float", "numeric", "--nan", "last"]
    for name in names:
        flags += ["-k", f"{name[1:]}:desc" if name.startswith("-") else name]
    return flags


def _headerless(src: Any, dtype: Any, key: Key) -> tuple:
    """Return the dtype of the records, and flags with which the program writes no header."""
    dtype = _dtype_of(src, dtype)
    if dtype is not None:
        return dtype, Layout(dtype).flags(key)
    if not is_path(src):
        raise ValueError("dtype is missing: only an array and the path of an npy file have one")
    found = info(src)
    if found.get("container") != "npy" or found.get("compression"):
        raise ValueError(f"dtype is missing: {os.fspath(src)} is not an uncompressed npy file")
    dtype = ast.literal_eval(found["dtype"])
    return dtype, ["--skip-bytes", str(found["header_bytes"]), *Layout(dtype).flags(key)]


def _dtype_of(src: Any, dtype: Any) -> Any:
    """Return the dtype of an array, or the one given."""
    if not is_array(src):
        return dtype
    if dtype is not None:
        raise ValueError("an array has a dtype of its own: leave dtype out, or give array.view(dtype)")
    return src.dtype


def _selection_flags(reverse: bool, unique: bool, limit: Optional[int]) -> list:
    flags = []
    if reverse:
        flags.append("--reverse")
    if unique:
        flags.append("--unique")
    if limit is not None:
        flags += ["--limit", str(limit)]
    return flags


def _resource_flags(memory: Size, temp: Any, threads: Optional[int], device: Optional[str]) -> list:
    flags = []
    if memory is not None:
        flags += ["--buffer-size", f"{memory}b" if isinstance(memory, int) else memory]
    for directory in [temp] if is_path(temp) else temp or ():
        flags += ["--temporary-directory", os.fspath(directory)]
    if threads is not None:
        flags += ["--parallel", str(threads)]
    if device is not None:
        flags += ["--device", device]
    return flags


def _paths(src: Any) -> list:
    return [os.fspath(path) for path in ([src] if is_path(src) else src)]
