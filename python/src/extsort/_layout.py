"""Translates NumPy dtypes and names of keys into flags of the program."""

from __future__ import annotations

import re
import sys
from typing import Any, Iterator, NamedTuple, Optional, Sequence, Union

Key = Union[str, Sequence[str], None]

# The dtypes that need no NumPy, such as '<u8' and 'M8[ms]'.
_SIMPLE = re.compile(r"([<>|=]?)([uifbcSUVMm])(\d+)(\[.*\])?$")

# A computed key, such as hilbert(lon,lat).
CALL = re.compile(r"-?(hilbert|morton|bit_reverse|xxh64)\((.*)\)")

# NumPy compares floats as numbers, and puts NaN and NaT last.
NUMPY_ORDER = ["--float", "numeric", "--nan", "last"]


class Field(NamedTuple):
    """A field of a record."""

    offset: int  # in bytes
    size: int  # in bytes
    dtype: Any  # as NumPy describes it
    kind: Optional[str]  # the program's type, or None if it has no order
    reason: str  # why it has no order

    @property
    def unit(self) -> str:
        """The unit of a time, such as "[ms]", or ""."""
        found = _SIMPLE.match(_text(self.dtype))
        return found[4] or "" if found else ""


class Layout:
    """The layout of a record: its size, and the offset and type of each field.

    Attributes:
        dtype: the dtype as it was given.
        size: bytes of a record.
        fields: the fields by their names. A dtype without names has one field, named "". A field
            of a nested record is named "outer.inner".
    """

    def __init__(self, dtype: Any):
        self.dtype = dtype
        if isinstance(dtype, str) and _SIMPLE.match(dtype):
            self.size = _size(dtype)
            fields = [("", _field(0, self.size, dtype))]
        elif isinstance(dtype, list) and _is_simple(dtype):
            fields = list(_described_fields(dtype))
            self.size = sum(_size(kind) for _, kind in dtype)
        else:
            full = as_dtype(dtype)
            fields = list(_dtype_fields(full))
            self.size = full.itemsize
        self.fields = dict(fields)
        if not self.size:
            raise ValueError(f"dtype {dtype!r} has no bytes")

    def flags(self, key: Key = None) -> list[str]:
        """Return the flags that describe the record and its keys, in NumPy's order of values."""
        return ["--record-size", str(self.size), *self.key_flags(key)]

    def key_flags(self, key: Key = None) -> list[str]:
        """Return the flags for the keys.

        Args:
            key: the names of the fields to sort by, the most significant first. "-" before a name
                reverses its order. A dtype without a key is sorted by all its fields, in their
                order, as NumPy does.

        Raises:
            KeyError: there is no such field.
            TypeError: a field has no order.
        """
        flags = list(NUMPY_ORDER)
        problem = "can't be a key" if key else "can't be one of the keys, which all fields are: give key. The reason"
        for name, descending in self.keys(key):
            flags += ["--key", self.place(name, problem) + (":desc" if descending else "")]
        return flags

    def place(self, name: str, problem: str = "can't be combined") -> str:
        """Return OFFSET:TYPE of a field that has an order, or a computed key with such fields.

        Args:
            problem: what the error says if the field has no order.
        """
        call = CALL.fullmatch(name)
        if call and name not in self.fields:
            arguments = ",".join(self._argument(one.strip()) for one in call[2].split(","))
            return f"{call[1]}({arguments})"
        field = self.field(name)
        if not field.kind:
            raise TypeError(f"field {name!r} {problem}: {field.reason}")
        return f"{field.offset}:{field.kind}"

    def _argument(self, text: str) -> str:
        name, equals, value = text.partition("=")
        return text if name == "bits" and ":" not in value and equals else self.place(name) + equals + value

    def field(self, name: str) -> Field:
        """Return the field of a name."""
        if name not in self.fields:
            known = ", ".join(repr(one) for one in self.fields if one)
            if not known:
                raise KeyError(f"no field {name!r}: the dtype has none. Leave key out, or give '-' to sort downwards")
            raise KeyError(f"no field {name!r}; the fields are {known}")
        return self.fields[name]

    def keys(self, key: Key = None) -> Iterator[tuple[str, bool]]:
        """Yield the name of each key field, and whether it is descending.

        The name of a nested record stands for all its fields.
        """
        if key is not None and not isinstance(key, (str, list, tuple)):
            raise TypeError(f"key is {key!r}: give the name of a field, or a list of names")
        for name in [key] if isinstance(key, str) else list(key or self.fields):
            found = self._expand(name)
            descending = not found and name.startswith("-")
            if descending:
                found = self._expand(name[1:])
            for field in found or [name]:
                yield field, descending

    def _expand(self, name: str) -> list[str]:
        if name in self.fields:
            return [name]
        return [field for field in self.fields if field.startswith(name + ".")]


def as_dtype(dtype: Any) -> Any:
    """Return a numpy.dtype.

    Args:
        dtype: what numpy.dtype takes, or the description of an npy file, which names padding "".

    Raises:
        ValueError: NumPy is not installed, or the records contain Python objects.
    """
    try:
        import numpy
    except ImportError:
        raise ValueError(f"dtype {dtype!r} needs NumPy; without it, write '<u8' or [('name', '<u8'), ...]") from None
    if isinstance(dtype, list):
        formats: Any = numpy.lib.format  # without type hints
        dtype = formats.descr_to_dtype(dtype) if _has_padding(dtype) else dtype
    full = numpy.dtype(dtype)
    if full.hasobject:
        raise ValueError(
            f"dtype {full} contains Python objects, which a file can't hold: convert them, such as to 'S20' or 'f8'"
        )
    return full


def _has_padding(descr: list[Any]) -> bool:
    return any(isinstance(field, tuple) and field[0] == "" for field in descr)


def _is_simple(descr: list[Any]) -> bool:
    """Report whether each field has a name and a dtype that needs no NumPy."""
    return all(
        len(field) == 2 and isinstance(field[0], str) and isinstance(field[1], str) and _SIMPLE.match(field[1])
        for field in descr
    )


def _described_fields(descr: list[Any]) -> Iterator[tuple[str, Field]]:
    offset = 0
    for name, kind in descr:
        size = _size(kind)
        if name:  # without a name it is padding
            yield name, _field(offset, size, kind)
        offset += size


def _dtype_fields(dtype: Any, name: str = "", offset: int = 0) -> Iterator[tuple[str, Field]]:
    if dtype.names is None:
        yield name, _field(offset, dtype.itemsize, dtype)
        return
    for inner in dtype.names:
        kind, at = dtype.fields[inner][:2]
        yield from _dtype_fields(kind, f"{name}.{inner}" if name else inner, offset + at)


def _text(dtype: Any) -> str:
    return dtype if isinstance(dtype, str) else str(dtype.str)


def _size(simple: str) -> int:
    _, kind, count, _ = _SIMPLE.match(simple).groups()  # type: ignore[union-attr]
    return int(count) * (4 if kind == "U" else 1)


def _field(offset: int, size: int, dtype: Any) -> Field:
    kind, reason = _order(dtype)
    return Field(offset, size, dtype, kind, reason)


def _order(dtype: Any) -> tuple[Optional[str], str]:
    """Return the program's type of a dtype, or None and the reason why the dtype has no order."""
    if getattr(dtype, "subdtype", None):
        return None, "it is an array: make each element a field of its own, such as ('x0', '<f4'), with array.view"
    found = _SIMPLE.match(_text(dtype))
    if not found or found[2] == "c" or found[3] == "0":
        return None, f"{dtype} has no order here: numbers, times, bool, bytes and text have one"
    order, kind, size = found[1], found[2], int(found[3])
    is_big = order == ">" or order in ("", "=") and sys.byteorder == "big"
    suffix = "be" if is_big and (size > 1 or kind == "U") else ""
    if kind in "uif" and size <= 8:
        return f"{kind}{8 * size}{suffix}", ""
    if kind == "f":
        return _long_double(size, suffix)
    # The unit of a time does not matter for its order.
    types = {"b": "u8", "S": f"bytes{size}", "V": f"bytes{size}", "U": f"ucs{size}{suffix}"}
    return types.get(kind, f"time_s{suffix}"), ""


def _long_double(size: int, suffix: str) -> tuple[Optional[str], str]:
    """Return the type of numpy.longdouble, which has 80 bits and padding on x86 processors."""
    import numpy

    if numpy.finfo(numpy.longdouble).nmant == 63:
        return f"f80in{8 * size}{suffix}", ""
    return None, "the long double of this processor has no order here: convert it to '<f8'"
