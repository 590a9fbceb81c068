"""Translates NumPy dtypes and names of keys into flags of the program."""

from __future__ import annotations

import ast
import functools
import json
import re
from typing import Any, NamedTuple, Optional, Sequence, Union

from ._program import query

Key = Union[str, Sequence[str], None]

# A time or a difference of times, such as '<M8[ms]'. NaT is its least integer.
_TIME = re.compile(r"([<>|=])[mM]8(\[.*\])?$")

# NumPy compares floats as numbers, and puts NaN and NaT last.
_NUMPY_ORDER = ("--float", "numeric", "--nan", "last")


class Field(NamedTuple):
    """A field of a record."""

    offset: int  # in bytes
    kind: Optional[str]  # the program's type, or None if it has no order
    reason: str  # why it has no order


class Layout:
    """The layout of a record: its size, and the offset and type of each field.

    Attributes:
        dtype: the dtype as it was given.
        size: bytes of a record.
        fields: the fields by their names. A dtype without names has one field, named "".
    """

    def __init__(self, dtype: Any):
        self.dtype = dtype
        described = _describe(repr(_descr(dtype)))
        self.size: int = described["record_size"]
        self.fields: dict[str, Field] = described["fields"]

    def flags(self, key: Key = None) -> list[str]:
        """Return the flags that describe the record and its keys, in NumPy's order of values.

        Args:
            key: the names of the fields to sort by, the most significant first. "-" before a name
                reverses its order. A structured dtype without a key is sorted by all its fields, in
                their order, as NumPy does.

        Raises:
            KeyError: there is no such field.
        """
        names = [key] if isinstance(key, str) else list(key or self.fields)
        flags = ["--raw", "-R", str(self.size), *_NUMPY_ORDER]
        for name in names:
            flags += ["-k", self._key(name)]
        return flags

    def _key(self, name: str) -> str:
        descending = name not in self.fields and name.startswith("-")
        field = name[1:] if descending else name
        if field not in self.fields:
            known = ", ".join(repr(one) for one in self.fields if one) or "none: use '' or '-'"
            raise KeyError(f"no field {field!r}; the fields are {known}")
        found = self.fields[field]
        if not found.kind:
            raise TypeError(f"field {field!r} can't be a key: {found.reason}")
        return f"{found.offset}:{found.kind}" + (":desc" if descending else "")


def _descr(dtype: Any) -> Any:
    """Return the description of a dtype as it stands in an npy file."""
    if isinstance(dtype, str) and re.match(r"[<>|=]?[a-zA-Z]\d*(\[\w+\])?$", dtype):
        return dtype if dtype[0] in "<>|" else "<" + dtype.lstrip("=")
    if isinstance(dtype, list):
        return dtype
    try:
        import numpy
    except ImportError:
        raise ValueError(f"dtype {dtype!r} needs NumPy; without it, write '<u8' or [('name', '<u8'), ...]") from None
    full = numpy.dtype(dtype)
    if full.hasobject:
        raise ValueError(f"dtype {full} contains Python objects: only values of a fixed size can be sorted in a file")
    return numpy.lib.format.dtype_to_descr(full)


@functools.lru_cache(maxsize=256)
def _describe(descr: str) -> dict[str, Any]:
    """Ask the program for the layout of a description: it reads the header of an empty array."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': (0,), }}".encode("latin-1")
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    info = json.loads(query(["info", "--json", "-"], array))
    times = _times(ast.literal_eval(descr))
    fields = {}
    for field in info["fields"]:
        kind = times.get(field["name"], field.get("type"))
        fields[field["name"]] = Field(field["offset"], kind, field.get("reason", ""))
    return {"record_size": info["record_size"], "fields": fields}


def _times(descr: Any, name: str = "") -> dict[str, str]:
    """Return the program's type for each time in a description. The unit does not alter the order."""
    if isinstance(descr, str):
        found = _TIME.match(descr)
        return {name: "time_sbe" if found[1] == ">" else "time_s"} if found else {}
    times = {}
    for field, kind, *_ in descr:
        times.update(_times(kind, f"{name}.{field}" if name else field))
    return times
