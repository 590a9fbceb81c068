"""Connects files, pipes and arrays to the standard input and output of the program."""

from __future__ import annotations

import contextlib
import mmap
import os
import subprocess
from typing import Any, Optional, Union

from ._program import Run, feed, read_into

Path = Union[str, "os.PathLike[str]"]


def is_path(data: Any) -> bool:
    """Report whether data is the path of a file."""
    return isinstance(data, (str, os.PathLike))


def is_array(data: Any) -> bool:
    """Report whether data is a NumPy array, without importing NumPy."""
    return hasattr(data, "__array_interface__") and hasattr(data, "dtype")


def check_array(array: Any, name: str) -> None:
    """Raise if the program can't read an array, or write into it.

    Raises:
        ValueError: the array is not one block of memory with one dimension.
    """
    if array.ndim != 1:
        raise ValueError(f"{name} has {array.ndim} dimensions: give one, such as the rows as records of a dtype")
    if not array.flags.c_contiguous:
        raise ValueError(f"{name} has gaps between its items: give a contiguous array, such as numpy.ascontiguousarray")


def array_bytes(array: Any) -> memoryview:
    """Return the memory of a contiguous array. It is writable if the array is."""
    if not array.nbytes:
        return memoryview(bytearray())
    return memoryview(array.view("u1").data).cast("B")


class Place:
    """The part of a file that a shared memory map shows.

    Attributes:
        path: the file.
        offset: the first byte of the array in the file.
        length: number of bytes.
    """

    def __init__(self, path: str, offset: int, length: int):
        self.path = path
        self.offset = offset
        self.length = length

    @classmethod
    def of(cls, array: Any) -> Optional["Place"]:
        """Return the place of a numpy.memmap, or None for an array that no file has.

        Slices of a map have places, too. A private copy of a file (mode "c") has none.
        """
        mapped = getattr(array, "_mmap", None)
        if mapped is None or not array.nbytes or array.mode == "c" or not array.filename:
            return None
        import numpy

        start = numpy.frombuffer(mapped, "u1").__array_interface__["data"][0]
        within = array.__array_interface__["data"][0] - start
        if not 0 <= within <= len(mapped) - array.nbytes:
            return None  # a copy, which has kept the attributes of the map
        mapped_from = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
        return cls(os.fspath(array.filename), mapped_from + within, array.nbytes)

    def ends_file(self) -> bool:
        """Report whether the file ends with the place.

        The program cuts off what follows the records that it writes over its own input.
        """
        return self.offset + self.length == os.path.getsize(self.path)

    def shares_file(self, src: Any) -> bool:
        """Report whether src is an array in the same file."""
        other = Place.of(src) if is_array(src) else None
        return other is not None and os.path.samefile(self.path, other.path)

    def open(self, flags: int) -> int:
        """Open the file at the place and return the descriptor."""
        fd = os.open(self.path, flags | getattr(os, "O_BINARY", 0))
        os.lseek(fd, self.offset, os.SEEK_SET)
        return fd


class Input:
    """What the program reads: paths as arguments, anything else as its standard input.

    Attributes:
        arguments: the arguments for the input.
        stdin: what the program gets as its standard input.
    """

    def __init__(self, src: Any, files: contextlib.ExitStack, in_memory: bool = False):
        """Open src.

        Args:
            in_memory: pass an array through a pipe even if it is in a file, because that file is
                written in the meantime.
        """
        self.arguments: list[str] = []
        self.stdin: Any = subprocess.DEVNULL
        self._memory: Optional[memoryview] = None
        self._stream: Any = None

        if is_path(src):
            self.arguments = ["--", os.fspath(src)]
        elif isinstance(src, (list, tuple)):
            self.arguments = ["--", *map(os.fspath, src)]
        elif is_array(src):
            self._open_array(src, files, in_memory)
        elif _has_descriptor(src):
            if src.seekable():
                os.lseek(src.fileno(), src.tell(), os.SEEK_SET)
            self.stdin = src
        elif hasattr(src, "read"):
            self.stdin = subprocess.PIPE
            self._stream = src
        else:
            raise TypeError(f"src is {type(src).__name__}: give a path, paths, a binary file or an array")

    def _open_array(self, array: Any, files: contextlib.ExitStack, in_memory: bool) -> None:
        check_array(array, "src")
        place = Place.of(array)
        if place and not in_memory:
            self.arguments = ["--records", str(len(array))]
            self.stdin = place.open(os.O_RDONLY)
            files.callback(os.close, self.stdin)
            return
        self.stdin = subprocess.PIPE
        self._memory = array_bytes(array)

    def start(self, run: Run) -> None:
        """Start to pass the data that is neither in a file nor in a pipe."""
        if self._memory is not None:
            run.start(feed, run.stdin, self._memory)
        elif self._stream is not None:
            run.start(_send, self._stream, run.stdin)


class Output:
    """Where the program writes: a path as an argument, anything else as its standard output.

    Attributes:
        arguments: the arguments for the output.
        writes_source: this process writes the result into a map of the file that src is in.
        stdout: what the program gets as its standard output, or None for a pipe to this process.
    """

    def __init__(self, dst: Any, src: Any, most: Optional[int], same: bool, files: contextlib.ExitStack):
        """Open dst.

        Args:
            src: what the program reads.
            most: number of bytes that the result has at most, or None if that is unknown.
            same: the result has exactly that number of bytes.
        """
        self.arguments: list[str] = []
        self.stdout: Any = subprocess.DEVNULL
        self.writes_source = False
        self._memory: Optional[memoryview] = None
        self._stream: Any = None

        if is_path(dst):
            self.arguments = ["-o", os.fspath(dst)]
        elif is_array(dst):
            self._open_array(dst, src, most, same, files)
        elif _has_descriptor(dst):
            dst.flush()
            self.stdout = dst
        elif hasattr(dst, "write"):
            self.stdout = None
            self._stream = dst
        else:
            raise TypeError(f"dst is {type(dst).__name__}: give a path, a binary file or an array")

    def _open_array(self, array: Any, src: Any, most: Optional[int], same: bool, files: contextlib.ExitStack) -> None:
        check_array(array, "dst")
        if not array.flags.writeable:
            raise ValueError("dst is read-only: open a memory map with mode 'r+'")
        if most is not None and most > array.nbytes:
            raise ValueError(f"dst has {array.nbytes} bytes, and the result may need {most}")
        place = Place.of(array)
        shares = place is not None and place.shares_file(src)
        if place and most is not None and (not shares or same and place.ends_file()):
            self.stdout = place.open(os.O_RDWR)
            files.callback(os.close, self.stdout)
            return
        self.stdout = None
        self.writes_source = shares
        self._memory = array_bytes(array)

    def receive(self, run: Run) -> None:
        """Receive the data that the program does not write into a file itself."""
        if self._memory is not None:
            read_into(run.stdout, self._memory)
        elif self._stream is not None:
            _receive(run.stdout, self._stream)


def _has_descriptor(data: Any) -> bool:
    try:
        data.fileno()
    except (AttributeError, OSError, ValueError):
        return False
    return True


def _send(stream: Any, pipe: Any) -> None:
    """Copy a stream into the program's input and close that."""
    try:
        with pipe:
            while True:
                block = stream.read(1 << 20)
                if not block:
                    return
                pipe.write(block)
    except BrokenPipeError:  # the program ended early, and says why
        pass


def _receive(pipe: Any, stream: Any) -> None:
    """Copy the program's output into a stream."""
    while True:
        block = pipe.read(1 << 20)
        if not block:
            return
        stream.write(block)
