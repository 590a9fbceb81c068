"""Reads and writes the headers of npy files."""

from __future__ import annotations

import operator
import os
from typing import IO, Any, NamedTuple, Optional

from ._options import is_path

_MAGIC = b"\x93NUMPY"
_ALIGNMENT = 64  # bytes, of the first record


class Header(NamedTuple):
    """The header of an npy file.

    Attributes:
        descr: the description of the dtype: a string, or a list of fields.
        shape: numbers of items.
        fortran_order: whether the first dimension changes fastest.
        size: bytes of the header.
    """

    descr: Any
    shape: tuple[int, ...]
    fortran_order: bool
    size: int


def read_header(path: Any) -> Optional[Header]:
    """Return the header of an npy file, or None for any other path: the program will name errors."""
    if not is_path(path) or not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return parse_header(file)


def read_header_of_stream(stream: Any) -> Optional[Header]:
    """Return the header with which the rest of a stream begins, and leave the stream where it is.

    The result is None for a stream that can't go back, and for one that is not an npy file.
    """
    if not hasattr(stream, "seekable") or not stream.seekable():
        return None
    start = stream.tell()
    header = parse_header(stream)
    stream.seek(start)
    return header


def parse_header(file: IO[bytes]) -> Optional[Header]:
    """Read a header from the beginning of a stream. Return None if it is not that of an npy file."""
    start = file.read(8)
    if len(start) < 8 or start[:6] != _MAGIC or start[6] not in (1, 2, 3):
        return None
    width = 2 if start[6] == 1 else 4
    length = int.from_bytes(file.read(width), "little")
    if length > 1 << 20:
        return None
    import ast

    try:
        found = ast.literal_eval(file.read(length).decode("latin-1" if start[6] < 3 else "utf-8"))
        shape = tuple(map(operator.index, found["shape"]))
        return Header(found["descr"], shape, found["fortran_order"], 8 + width + length)
    except (KeyError, SyntaxError, TypeError, ValueError):
        return None


def make_header(dtype: Any, records: int, size: int = 0) -> bytes:
    """Return the header for a number of records, filled up to `size` bytes or more."""
    import numpy

    formats: Any = numpy.lib.format  # without type hints
    descr = formats.dtype_to_descr(dtype)
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': ({records},), }}".encode()
    version, width = (1, 2) if len(text) < 60000 else (2, 4)
    if not text.isascii():
        version, width = 3, 4
    start = 8 + width
    size = max(size, -(-(start + len(text) + 1) // _ALIGNMENT) * _ALIGNMENT)
    length = size - start
    return _MAGIC + bytes([version, 0]) + length.to_bytes(width, "little") + text.ljust(length - 1) + b"\n"
