"""The functions that look records up, combine them and count them. Each runs the program once."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence, Union

from ._calls import Records, describe, named_inputs, transform, whole_file
from ._data import Group, Source, is_array
from ._layout import Field, Key, Layout, as_dtype
from ._options import Options, check_options, option_flags
from ._program import query
from ._sets import subtract

if TYPE_CHECKING:
    from typing_extensions import Unpack

# The fields of an aggregate: names of fields whose values are replaced, or new fields: a name for
# each, with the field to combine, or for sums with the field and a wider dtype.
Fields = Union[str, Sequence[str], Mapping[str, Union[str, "tuple[str, Any]"]], None]


def find(
    src: Any,
    keys: Any = None,
    *,
    start: Any = None,
    stop: Any = None,
    prefix: Union[str, bytes, None] = None,
    positions: bool = False,
    missing: bool = False,
    dtype: Any = None,
    key: Key = None,
    **options: Unpack[Options],
) -> Any:
    """Find records by key in a sorted file. It reads only a few pages of the file.

    Args:
        src: a path or a memory map, sorted by key. An array in memory is copied to a file first.
        keys: a value, or values of shape (m,) in any order. With several key fields, a value is a
            tuple. `key` may name only the first of the fields that src is sorted by.
        start, stop: find all records from start on, and before stop, instead of keys. NaN and NaT
            come last, so start without stop finds them, too.
        prefix: find all records whose first key field, of bytes or text, begins with prefix.
        positions: return the positions of the records in src, as uint64, instead of the records.
        missing: return the keys that src does not contain, sorted, instead of records.
        dtype: the dtype of a record. Arrays and npy files have their own.
        key: the fields that src is sorted by, as in sort.
        **options: see Options.

    Returns:
        an array of shape (n,) with the found records, in the order of src; n is 0 if there are none.

    >>> import numpy as np
    >>> find(np.array([10, 20, 20, 30]), [20, 25]).tolist()
    [20, 20]
    >>> find(np.array([10, 20, 20, 30]), start=15, stop=30, positions=True).tolist()
    [1, 2]
    """
    if (keys is not None) + (prefix is not None) + (start is not None or stop is not None) != 1:
        raise TypeError("give either keys, or start or stop, or prefix")
    if missing and keys is None:
        raise TypeError("missing needs keys")
    check_options(options)
    with ExitStack() as files:
        layout = describe(src, dtype).require_layout()
        source = Source.of(src, dtype, "src")
        names = [name for name, _ in layout.keys(key)]
        group = Group([source], files, random_access=True)
        flags = ["find", *layout.flags(key), *group.flags, *option_flags(options)]
        wanted = None if keys is None else _key_array(layout, names, keys)
        if wanted is not None:
            flags += ["--keys=-", "--keys-as=binary"]
        if start is not None:
            flags.append(f"--from={_key_text(layout, names, start)}")
        if stop is not None:
            flags.append(f"--to={_key_text(layout, names, stop)}")
        if prefix is not None:
            flags.append("--prefix=" + (f"0x{prefix.hex()}" if isinstance(prefix, bytes) else prefix))
        if positions:
            flags.append("--position")
        data = b"" if wanted is None else wanted.tobytes()
        with named_inputs([group]):
            printed = query([*flags, "--", *group.names], data, accepted=(0, 1))
    if positions:
        return _positions(printed)
    import numpy

    found = numpy.frombuffer(bytearray(printed), as_dtype(source.dtype))
    return _missing(layout, key, wanted, found, options) if missing else found


def aggregate(
    src: Any,
    dst: Any = None,
    *,
    key: Key = None,
    sum: Fields = None,
    min: Fields = None,
    max: Fields = None,
    first: Fields = None,
    last: Fields = None,
    count: bool = False,
    dtype: Any = None,
    **options: Unpack[Options],
) -> Any:
    """Combine the records of each key into one record. The result is sorted by key.

    Args:
        src: a path, a list of paths, a binary file object, or an array, in any order.
        dst: a path, a binary file object or an array that is long enough. None returns a new array.
        key: the fields to group by, as in sort.
        sum, min, max, first, last: the fields to combine. A name, or a list of names, replaces these
            fields. {"total": "amount"} appends a field "total" and leaves "amount" as it is.
            sum={"total": ("amount", "<u8")} appends a sum of a wider dtype.
            Other fields are those of the first record of the key, in the order of the input. For
            min and max, NaN and NaT are greater than all other values, as in a sort.
        count: append a field "count" of dtype uint64, the number of records with the key.
        dtype: the dtype of a record. Arrays and npy files have their own.
        **options: see Options.

    Returns:
        an array of shape (keys,) if dst is None, else a Report.

    Raises:
        ExtsortError: a sum does not fit its dtype, or the program failed.

    >>> import numpy as np
    >>> sales = np.array([(2, 10), (1, 5), (2, 30)], [("shop", "<u4"), ("amount", "<u4")])
    >>> aggregate(sales, key="shop", sum="amount", max={"most": "amount"}, count=True).tolist()
    [(1, 5, 5, 1), (2, 40, 30, 2)]
    """
    check_options(options)
    src = whole_file(src)
    records = describe(src, dtype, headerless=is_array(dst))
    flags, appended = ["--unique"], []
    for flag, fields in {"sum": sum, "min": min, "max": max, "first": first, "last": last}.items():
        for argument, new in _aggregates(records, flag, fields):
            flags.append(f"--{flag}={argument}")
            appended += new
    if count:
        flags.append("--count")
        appended.append(("count", "<u8"))
    flags += records.key_flags(key)
    result = None if records.has_header else _extended(records.require_layout(), appended)
    return transform(flags, src, dst, records, result, options)


def top(src: Any, n: int = 10, *, dtype: Any = None, key: Key = None, **options: Unpack[Options]) -> Any:
    """Return the most frequent keys and the number of records with each, the most frequent first.

    Args:
        src: a path, a list of paths, a binary file object, or an array, in any order.
        n: the number of keys.
        dtype: the dtype of a record. Arrays and npy files have their own.
        key: the fields to count, as in sort.
        **options: see Options.

    Returns:
        an array of shape (n,) or shorter, with the key fields (a dtype without names has one:
        "value") and "count", of dtype uint64.

    >>> import numpy as np
    >>> top(np.array([7, 8, 7, 9]), n=1).tolist()
    [(7, 2)]
    """
    check_options(options)
    records = describe(src, dtype)
    layout = records.require_layout()
    fields = [(name or "value", layout.field(name).dtype) for name, _ in layout.keys(key)]
    flags = ["top", f"--limit={n}", "--as=records", *records.key_flags(key)]
    return transform(flags, src, None, records, as_dtype([*fields, ("count", "<u8")]), options)


def _key_array(layout: Layout, names: Sequence[str], keys: Any) -> Any:
    """Return keys as an array of the key fields, packed.

    Raises:
        ValueError: a key does not fit the dtype of its field.
    """
    import numpy

    if len(names) == 1:
        return _exactly(keys, layout.field(names[0]))
    kind = as_dtype([(name, layout.field(name).dtype) for name in names])
    rows = numpy.asarray(keys if hasattr(keys, "dtype") else _tuples(keys, len(names)))
    if rows.dtype.names is None:
        rows = numpy.array(_tuples(keys, len(names)), object).reshape(-1, len(names))
        columns = [_exactly(list(rows[:, i]), layout.field(name)) for i, name in enumerate(names)]
    else:
        columns = [_exactly(numpy.atleast_1d(rows[name]), layout.field(name)) for name in names]
    packed = numpy.empty(len(columns[0]), kind)
    for name, column in zip(names, columns):
        packed[name] = column
    return packed


def _tuples(keys: Any, size: int) -> list[Any]:
    """Return a list of tuples for one tuple or several.

    Raises:
        TypeError: a key is not a tuple of this size.
    """
    tuples = [keys] if isinstance(keys, tuple) or not hasattr(keys, "__iter__") else list(keys)
    for one in tuples:
        if not hasattr(one, "__len__") or len(one) != size:
            raise TypeError(f"the key {one!r} is not a tuple of {size} values, one for each field of key")
    return tuples


def _exactly(values: Any, field: Field) -> Any:
    """Return values as an array of the dtype of a field.

    Raises:
        ValueError: a value would change.
    """
    import numpy

    wanted = as_dtype(field.dtype)
    given = numpy.atleast_1d(numpy.asarray(values))
    if given.ndim != 1:
        raise ValueError(f"keys have {given.ndim} dimensions: give a value, or values of shape (m,)")
    if wanted.kind in "iu" and given.dtype.kind == "f" and not hasattr(values, "dtype"):
        given = numpy.atleast_1d(numpy.asarray(values, object))  # NumPy rounds mixed integers above 2**63 to floats
    if wanted.kind in "Mm" and given.dtype.kind not in "Mm":
        return given.astype(wanted)
    try:
        with numpy.errstate(all="ignore"):
            converted = given.astype(wanted)
            back = converted.astype(given.dtype)
    except (OverflowError, TypeError, ValueError):
        raise ValueError(f"keys {values!r} do not fit dtype {wanted}") from None
    changed = (back != given) & ((back == back) | (given == given))  # NaN differs from itself
    if wanted.kind in "iu" and given.dtype.kind in "iu":
        changed |= (converted < 0) != (given < 0)  # -1 and 2**64-1 have the same bits
    if changed.any():
        remedy = f": convert it by numpy.{wanted.type.__name__}" if wanted.kind == given.dtype.kind == "f" else ""
        raise ValueError(f"no {wanted} equals the key {given[changed][0]!r}{remedy}")
    return converted


def _key_text(layout: Layout, names: Sequence[str], value: Any) -> str:
    """Return a key as the program reads it: the values of its fields, separated by commas."""
    values = value if isinstance(value, tuple) else (value,)
    if len(values) > len(names):
        raise ValueError(f"the key {value!r} has more than {len(names)} fields")
    fields = [layout.field(name) for name in names]
    return ",".join(_value_text(_exactly(one, field)[0], field.size) for field, one in zip(fields, values))


def _value_text(value: Any, size: int) -> str:
    if value.dtype.kind in "Mm":
        number = int(value.astype("i8"))
        return "NaT" if number == -1 << 63 else str(number)
    if value.dtype.kind in "SV":
        return "0x" + bytes(value).ljust(size, b"\0").hex()
    if value.dtype.kind == "U":
        return '"' + str(value).replace('"', '""') + '"'
    return repr(value.item() if value.dtype.kind != "b" else int(value))


def _positions(printed: bytes) -> Any:
    """Return all positions of the lines A:B that the program printed."""
    import numpy

    ranges = [line.split(b"\t")[0].split(b":") for line in printed.splitlines()]
    arrays = [numpy.arange(int(first), int(end), dtype="<u8") for first, end in ranges]
    return numpy.concatenate([numpy.empty(0, "<u8"), *arrays])


def _missing(layout: Layout, key: Key, wanted: Any, found: Any, options: Any) -> Any:
    """Return the keys among wanted that no record in found has."""
    import numpy

    keys = list(layout.keys(key))
    if len(keys) == 1 and keys[0][0] == "":
        columns = found
        order: Key = "-" if keys[0][1] else None
    elif len(keys) == 1:
        columns = numpy.ascontiguousarray(_column(found, keys[0][0]))
        order = "-" if keys[0][1] else None
    else:
        columns = numpy.empty(len(found), wanted.dtype)
        for name, _ in keys:
            columns[name] = _column(found, name)
        order = ["-" + name if descending else name for name, descending in keys]
    return subtract(wanted, columns, key=order, sort=True, **options)


def _column(array: Any, name: str) -> Any:
    """Return a field of an array. A field of a nested record is named "outer.inner"."""
    while name not in array.dtype.names:
        outer, _, name = name.partition(".")
        array = array[outer]
    return array[name]


def _aggregates(records: Records, flag: str, fields: Fields) -> Iterable[tuple[str, list[Any]]]:
    """Yield the argument for each field of a flag, and the fields that it appends."""
    if fields is None:
        return
    if not isinstance(fields, Mapping):
        for name in [fields] if isinstance(fields, str) else fields:
            yield _aggregated(records, name), []
        return
    for new, combined in fields.items():
        if not new.isidentifier():
            raise ValueError(f"the new field {new!r} needs a name of letters, digits and _")
        name, wider = (combined, None) if isinstance(combined, str) else combined
        argument = f"{new}={_aggregated(records, name)}"
        if wider is not None:
            if flag != "sum":
                raise TypeError(f"{flag} keeps the dtype of its field: give {new!r}: {name!r}")
            argument += f":{Layout(wider).field('').kind}"
        dtype = wider if records.layout is None or wider is not None else records.layout.field(name).dtype
        yield argument, [(new, dtype)]


def _aggregated(records: Records, name: str) -> str:
    """Return a field as an argument. The program knows the names in files with a header."""
    if records.layout is None:
        return name
    place = records.layout.place(name)
    is_simple = all(part.isidentifier() for part in name.split("."))
    return name if records.has_header and is_simple else place


def _extended(layout: Layout, appended: list[Any]) -> Any:
    """Return the dtype of records to which the program has appended fields."""
    import numpy

    base = as_dtype(layout.dtype)
    if not appended:
        return base
    fields = {name: base.fields[name][:2] for name in base.names} if base.names else {"value": (base, 0)}
    size = base.itemsize
    for name, kind in appended:
        if name in fields:
            raise ValueError(f"there is a field {name!r} already: give the new field another name")
        fields[name] = (as_dtype(kind), size)
        size += fields[name][0].itemsize
    formats, offsets = zip(*fields.values())
    return numpy.dtype({"names": list(fields), "formats": formats, "offsets": offsets, "itemsize": size})
