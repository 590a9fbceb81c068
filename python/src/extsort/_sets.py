"""The functions that combine sorted inputs by key. Each runs the program once."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Sequence

from ._calls import Report, describe, execute, returned, short_repr, whole_file
from ._data import Group, Input, Output, Source, check_overlap, is_array
from ._layout import Field, Key, Layout, as_dtype
from ._npy import read_header
from ._options import Options, check_options, is_path

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Comparison(NamedTuple):
    """The result of compare: numbers of distinct keys, and of records with these keys.

    Attributes:
        keys_only_a, records_only_a: in a, but not in b.
        keys_only_b, records_only_b: in b, but not in a.
        keys_both: in both.
        records_both: records of a with these keys.
        records_both_b: records of b with these keys.
        details: all fields of the program's JSON report.
    """

    keys_only_a: int
    records_only_a: int
    keys_only_b: int
    records_only_b: int
    keys_both: int
    records_both: int
    records_both_b: int
    details: dict[str, Any]

    def __repr__(self) -> str:
        return short_repr(self)


class SetOptions(Options, total=False):
    """Keyword arguments of union, intersect, subtract, compare and join, in addition to Options.

    Keys:
        dtype: the dtype of the inputs that have none of their own: streams and raw files.
        key: the fields that the inputs are sorted by, as in sort.
        right_dtype: the dtype of all inputs after the first, if it differs. Not for union.
        right_key: the key of all inputs after the first, if its names differ. Not for union.
        sort: sort the inputs first, within the memory limit. Otherwise they must be sorted.
    """

    dtype: Any
    key: Key
    right_dtype: Any
    right_key: Key
    sort: bool


def union(*srcs: Any, dst: Any = None, count_all: bool = False, **options: Unpack[SetOptions]) -> Any:
    """Combine sorted inputs: for each key, all records of the first input that has the key.

    Args:
        *srcs: paths, arrays or binary streams, sorted by key and with one dtype.
        dst: a path, a binary file object or an array that is long enough. None returns a new array.
        count_all: keep the records of all inputs, as UNION ALL of SQL does.
        **options: key, dtype, sort: see SetOptions; memory, temp and others: see Options.

    Returns:
        an array of shape (n,) if dst is None, else a Report.

    Raises:
        ExtsortError: an input is not sorted, or the program failed.

    >>> import numpy as np
    >>> union(np.array([1, 3, 3]), np.array([2, 3])).tolist()
    [1, 2, 3, 3]
    """
    return _combine("union", srcs, dst, count_all, options)


def intersect(*srcs: Any, dst: Any = None, count_all: bool = False, **options: Unpack[SetOptions]) -> Any:
    """Select the records of the first input whose keys are in every other input.

    The arguments and the result are those of union. With count_all, each key is kept only as often
    as all inputs have it (INTERSECT ALL).

    >>> import numpy as np
    >>> intersect(np.array([1, 3, 3]), np.array([2, 3])).tolist()
    [3, 3]
    """
    return _combine("intersect", srcs, dst, count_all, options)


def subtract(*srcs: Any, dst: Any = None, count_all: bool = False, **options: Unpack[SetOptions]) -> Any:
    """Select the records of the first input whose keys are in no other input.

    The arguments and the result are those of union. With count_all, each record of another input
    removes one record (EXCEPT ALL).

    >>> import numpy as np
    >>> subtract(np.array([1, 3, 3]), np.array([2, 3])).tolist()
    [1]
    """
    return _combine("subtract", srcs, dst, count_all, options)


def compare(
    a: Any, b: Any, *, only_a: Any = None, only_b: Any = None, both: Any = None, **options: Unpack[SetOptions]
) -> Comparison:
    """Count the keys that only a has, that only b has, and that both have.

    Args:
        a, b: paths, arrays or binary streams, sorted by key.
        only_a, only_b: paths for the records whose keys are in one input only.
        both: a path for the records of a whose keys are also in b.
        **options: key, dtype, sort: see SetOptions; memory, temp and others: see Options.

    Returns:
        a Comparison.

    >>> import numpy as np
    >>> compare(np.array([1, 3, 3]), np.array([2, 3])).keys_both
    1
    """
    flags = []
    targets = {"--only-a": only_a, "--only-b": only_b, "--both": both}
    with ExitStack() as files:
        inputs = _Inputs([a, b], options, files)
        for flag, path in targets.items():
            if path is None:
                continue
            if not inputs.has_header and os.fspath(path).endswith(".npy"):
                raise ValueError(f"{os.fspath(path)} would have no header: a and b must be npy files of one dtype")
            flags += [flag, os.fspath(path)]
        _, details = execute(["compare", *flags, *inputs.flags], inputs.given, None, inputs.options, files)
    return Comparison(**details["compared"], details=details)


def join(
    a: Any,
    b: Any,
    dst: Any = None,
    *,
    how: str = "inner",
    columns: Optional[Sequence[str]] = None,
    fill: Any = None,
    presence: bool = False,
    **options: Unpack[SetOptions],
) -> Any:
    """Pair the records of two sorted inputs that have the same key.

    Args:
        a, b: paths, arrays or binary streams, sorted by key.
        dst: a path, a binary file object or an array that is long enough. None returns a new array.
        how: "inner", "left", "right" or "outer", as in SQL; "semi" or "anti" for the records of a
            with or without a partner.
        columns: a field, or the fields of a row, such as ["a.order", "b.region"]; "a" and "b" stand
            for all their fields. Without columns: all fields of a, and those of b that are not in the key.
            A field of b whose name a has, too, is named "NAME_b".
        fill: the value of the other fields of a missing record; zero bytes by default.
        presence: append a field "presence": 1 if only a has the key, 2 if only b, 3 if both.
        **options: key, right_key, sort: see SetOptions; memory, temp and others: see Options.

    Returns:
        an array of shape (rows,) with packed records if dst is None, else a Report.

    >>> import numpy as np
    >>> orders = np.array([(7, 1.5), (8, 2.0)], [("customer", "<u4"), ("amount", "<f4")])
    >>> customers = np.array([(7, 12), (9, 10)], [("id", "<u4"), ("region", "<u2")])
    >>> join(orders, customers, key="customer", right_key="id").tolist()
    [(7, 1.5, 12)]
    """
    check_overlap(dst, [a, b])
    with ExitStack() as files:
        inputs = _Inputs([a, b], options, files, headerless=True)
        left, right = inputs.layouts
        flags = ["join", "--how", how, *inputs.flags]
        if how in ("semi", "anti"):
            dtype = left.dtype
        else:
            rows = _columns(left, right, columns, [name for name, _ in right.keys(inputs.right_key)])
            flags += ["--columns", ",".join(place for place, _, _ in rows)]
            fields = [(name, field.dtype) for _, name, field in rows]
            dtype = as_dtype(fields + ([("presence", "u1")] if presence else []))
        if fill is not None:
            flags.append(f"--fill={fill}")
        if presence:
            flags.append("--presence")
        array, details = execute(flags, inputs.given, Output(dst, files, dtype), inputs.options, files)
    return returned(array, dst, details)


def _combine(verb: str, srcs: Sequence[Any], dst: Any, count_all: bool, options: Any) -> Any:
    """Run union, intersect or subtract."""
    if not srcs:
        raise TypeError(f"{verb} needs an input")
    check_overlap(dst, srcs)
    with ExitStack() as files:
        inputs = _Inputs(srcs, options, files, headerless=is_array(dst), one_layout=verb == "union")
        dtype = None if inputs.has_header else inputs.layouts[0].dtype
        output = Output(dst, files, dtype)
        flags = [verb, *(["--all"] if count_all else []), *inputs.flags]
        array, details = execute(flags, inputs.given, output, inputs.options, files)
    return returned(array, dst, details)


class _Inputs:
    """The inputs of a set operation.

    Attributes:
        given: what the program reads.
        flags: flags for their layouts, and whether to sort them.
        layouts: the layout of the first input, and of the others; empty if only the program knows.
        right_key: the key of the others.
        has_header: whether the program writes a header before the result.
        options: the options that are not for the inputs.
    """

    def __init__(
        self, srcs: Sequence[Any], options: Any, files: ExitStack, headerless: bool = False, one_layout: bool = False
    ):
        self.options = dict(options)
        key = self.options.pop("key", None)
        dtype = self.options.pop("dtype", None)
        own_key = self.options.pop("right_key", None)
        own_dtype = self.options.pop("right_dtype", None)
        self.right_key = key if own_key is None else own_key
        self.flags = ["--sort"] if self.options.pop("sort", False) else []
        self.layouts: list[Layout] = []
        self.has_header = False
        has_right = own_key is not None or own_dtype is not None
        if has_right and one_layout:
            raise TypeError("union has one layout: leave right_dtype and right_key out")

        check_options(self.options)
        srcs = [whole_file(src) for src in srcs]
        if dtype is None and not has_right and not headerless and _share_format(srcs):
            self._open_files(srcs, key, files)
            return
        right_dtype = dtype if own_dtype is None else own_dtype
        sources = [Source.of(src, right_dtype if i else dtype, f"input {i + 1}") for i, src in enumerate(srcs)]
        groups = [sources] if one_layout or len(sources) == 1 else [sources[:1], sources[1:]]
        opened = [Group(group, files) for group in groups]
        self.given: list[Any] = list(opened)
        self.layouts = [group.layout for group in opened]
        self.flags += [*self.layouts[0].flags(key), *opened[0].flags]
        if len(opened) > 1:
            self._check_units(key)
            right = [*self.layouts[1].flags(self.right_key), *opened[1].flags]
            if self.options.get("reverse"):
                right.append("--reverse")
            self.flags += ["--right", " ".join(right)]

    def _open_files(self, paths: Sequence[str], key: Key, files: ExitStack) -> None:
        """Leave files with one format to the program, which writes the same format."""
        records = describe(list(paths), None)
        self.flags += [*records.flags, *records.key_flags(key)]
        self.layouts = [records.layout] * 2 if records.layout else []
        self.has_header = True
        self.given = [Input(list(paths), files)]

    def _check_units(self, key: Key) -> None:
        left, right = self.layouts
        for (a, _), (b, _) in zip(left.keys(key), right.keys(self.right_key)):
            if left.field(a).unit != right.field(b).unit:
                raise ValueError(f"the times {a!r} and {b!r} have different units: convert one with astype")


def _share_format(srcs: Sequence[Any]) -> bool:
    """Report whether all inputs are files, and all or none of them are npy files of one dtype."""
    if not all(is_path(src) for src in srcs):
        return False
    headers = [read_header(src) for src in srcs]
    return len({repr(header and header.descr) for header in headers}) == 1


def _columns(
    left: Layout, right: Layout, columns: Optional[Sequence[str]], right_key: Sequence[str]
) -> list[tuple[str, str, Field]]:
    """Return the place, the name and the field of each column of a row."""
    if columns is None:
        columns = ["a", *(f"b.{name}" for name in right.fields if name not in right_key)]
    rows: list[tuple[str, str, Field]] = []
    names: set[str] = set()
    for column in [columns] if isinstance(columns, str) else columns:
        side, _, wanted = column.partition(".")
        if side not in ("a", "b"):
            raise KeyError(f"no column {column!r}: a column is a, b, a.NAME or b.NAME")
        layout = left if side == "a" else right
        for field_name in [wanted] if wanted else layout.fields:
            field = layout.field(field_name)
            name = field_name or "value"
            while name in names:
                name += "_b"
            names.add(name)
            rows.append((f"{side}.{field.offset}:{field.kind or f'bytes{field.size}'}", name, field))
    return rows
