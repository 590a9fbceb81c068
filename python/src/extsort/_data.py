"""Connects files, pipes and arrays to the standard input and output of the program."""

from __future__ import annotations

import contextlib
import errno
import io
import mmap
import os
import subprocess
from typing import IO, Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from ._layout import Layout, as_dtype
from ._npy import Header, make_header, parse_header, read_header
from ._options import is_path
from ._program import Run, close_quietly, read_into


_BLOCK = 1 << 20  # bytes that pass through a pipe at once


def is_array(data: Any) -> bool:
    """Report whether data is a NumPy array, without importing NumPy."""
    return hasattr(data, "__array_interface__") and hasattr(data, "dtype")


def is_stream(data: Any) -> bool:
    """Report whether data is a binary file object that can be read."""
    return hasattr(data, "read") and not isinstance(data, io.TextIOBase)


def unsuitable(data: Any, name: str, wanted: str) -> str:
    """Return the message for an argument that is neither a path nor an array, with the remedy."""
    if hasattr(data, "to_records"):
        wanted = f"{name}.to_records(index=False)"
    elif hasattr(data, "to_numpy"):
        wanted = f"{name}.to_numpy()"
    elif isinstance(data, (list, tuple)):
        wanted += ", or numpy.asarray of a list of values"
    elif isinstance(data, io.TextIOBase):
        wanted = f"{name}.buffer, or a file that is opened in binary mode"
    return f"{name} is {type(data).__name__}: give {wanted}"


def check_array(array: Any, name: str) -> None:
    """Raise if the program can't read an array, or write into it.

    Raises:
        ValueError: the array is not one block of memory with one dimension, or has a mask.
    """
    if hasattr(array, "mask") and hasattr(array, "compressed"):
        raise ValueError(f"{name} has a mask, which a sort would ignore: give array.compressed() or array.filled()")
    if array.ndim != 1:
        raise ValueError(f"{name} has {array.ndim} dimensions: give one, such as the rows as records of a dtype")
    if not array.flags.c_contiguous:
        raise ValueError(f"{name} is not contiguous: give a copy, such as numpy.ascontiguousarray({name})")


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

        Slices and views of a map have places, too. A private copy of a file (mode "c") has none, and
        neither has a map of a file whose name another file has now.
        """
        map_of = array
        while map_of is not None and getattr(map_of, "_mmap", None) is None:
            map_of = getattr(map_of, "base", None)  # of a view, such as numpy.asarray(map)
        if map_of is None or not array.nbytes or map_of.mode == "c" or not map_of.filename:
            return None
        import numpy

        mapped = map_of._mmap
        start = numpy.frombuffer(mapped, "u1").__array_interface__["data"][0]
        within = array.__array_interface__["data"][0] - start
        if not 0 <= within <= len(mapped) - array.nbytes:
            return None  # a copy, which has kept the attributes of the map
        mapped_from = map_of.offset - map_of.offset % mmap.ALLOCATIONGRANULARITY
        place = cls(os.fspath(map_of.filename), mapped_from + within, array.nbytes)
        return place if place.still_shows(array, start) else None

    def still_shows(self, array: Any, start: int) -> bool:
        """Report whether the file at the path is the file that is mapped, and not another one.

        Args:
            start: the address of the map.
        """
        try:
            status = os.stat(self.path)
            device, inode = _mapped_file(start)
            if inode == status.st_ino or device == status.st_dev:
                return inode == status.st_ino
            # Not Linux, or a file system with layers or subvolumes, whose devices are others in /proc than in stat.
            return self.offset + self.length <= status.st_size and self._has_ends_of(array)
        except OSError:
            return False

    def _has_ends_of(self, array: Any) -> bool:
        """Report whether the place begins and ends with the bytes of the array."""
        memory = array_bytes(array)
        size = min(len(memory), mmap.PAGESIZE)
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            begins = file.read(size) == memory[:size]
            file.seek(self.offset + self.length - size)
            return begins and file.read(size) == memory[-size:]

    def ends_file(self) -> bool:
        """Report whether the file ends with the place.

        The program cuts off what follows the records that it writes over its own input.
        """
        return self.offset + self.length == os.path.getsize(self.path)

    def is_npy_file(self, dtype: Any) -> bool:
        """Report whether the place is all that an npy file contains, with this dtype."""
        header = read_header(self.path)
        if header is None or header.size != self.offset or len(header.shape) != 1 or not self.ends_file():
            return False
        return bool(as_dtype(header.descr) == dtype)

    def shares_file(self, src: Any) -> bool:
        """Report whether src is in the same file: a path, one of several paths, or an array."""
        if isinstance(src, (list, tuple)):
            return any(self.shares_file(one) for one in src)
        if is_array(src):
            place = Place.of(src)
            src = place.path if place else None
        return is_path(src) and os.path.exists(src) and os.path.samefile(self.path, src)

    def open(self, flags: int) -> int:
        """Open the file at the place and return the descriptor."""
        fd = os.open(self.path, flags | getattr(os, "O_BINARY", 0))
        os.lseek(fd, self.offset, os.SEEK_SET)
        return fd


def _mapped_file(address: int) -> tuple[int, int]:
    """Return device and inode of the file that is mapped at an address, or (-1, -1) if the system does not say."""
    with contextlib.suppress(OSError), open("/proc/self/maps", "rb") as maps:
        for line in maps:
            span, _, _, device, inode = line.split(None, 5)[:5]
            start, end = (int(limit, 16) for limit in span.split(b"-"))
            if start <= address < end:
                major, minor = (int(number, 16) for number in device.split(b":"))
                return os.makedev(major, minor), int(inode)
    return -1, -1


class Input:
    """What the program reads: paths as arguments, anything else as its standard input.

    Attributes:
        arguments: the arguments for the input.
        stdin: what the program gets as its standard input.
        inherited: the other descriptors that the program needs: none.
        labels: names for the files of inputs that are no files: none.
    """

    inherited: Sequence[int] = ()
    labels: Mapping[str, str] = {}

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
        elif _is_plain_file(src) and src.seekable():
            os.lseek(src.fileno(), src.tell(), os.SEEK_SET)
            self.stdin = src
        elif type(src) is io.FileIO:  # a pipe: unlike a Buffered object, it has read no bytes ahead
            self.stdin = src
        elif is_stream(src):
            self.stdin = subprocess.PIPE
            self._stream = src
        else:
            raise TypeError(unsuitable(src, "src", "a path, paths, a binary file or an array"))

    def _open_array(self, array: Any, files: contextlib.ExitStack, in_memory: bool) -> None:
        check_array(array, "src")
        if array.nbytes:
            # Without their number, the program would take the end of this process for the end of the records.
            self.arguments = ["--records", str(len(array))]
        place = Place.of(array)
        if place and not in_memory:
            self.stdin = place.open(os.O_RDONLY)
            files.callback(os.close, self.stdin)
            return
        self.stdin = subprocess.PIPE
        self._memory = array_bytes(array)

    def start(self, run: Run) -> None:
        """Start to pass the data that is neither in a file nor in a pipe."""
        if self._memory is not None:
            run.feed(run.stdin, _memory_blocks(self._memory), from_stream=False)
        elif self._stream is not None:
            run.feed(run.stdin, _stream_blocks(self._stream), from_stream=True)


def no_dtype(name: str, path: Optional[str]) -> Exception:
    """Return the error for an input whose dtype is unknown: often a file that is missing."""
    if path is not None and "://" not in path:  # not in an object store
        for code, is_wrong in ((errno.ENOENT, not os.path.exists(path)), (errno.EISDIR, os.path.isdir(path))):
            if is_wrong:
                return OSError(code, os.strerror(code), path)
    return ValueError(f"dtype is missing: {name} is neither an array nor an uncompressed npy file of one dimension")


class Source(NamedTuple):
    """One of several inputs.

    Attributes:
        data: a path, a binary file or an array.
        dtype: the dtype of its records.
        path: a file with the records, or None for a stream or an array in memory.
        skip: bytes of the file before the first record.
        records: the number of records, or None for all until the end of the file or stream.
        name: what messages call the input, such as "input 2".
    """

    data: Any
    dtype: Any
    path: Optional[str]
    skip: int = 0
    records: Optional[int] = None
    name: str = "src"

    @classmethod
    def of(cls, data: Any, dtype: Any, name: str) -> "Source":
        """Describe an input. dtype is for an input that is neither an array nor an npy file.

        Raises:
            ValueError: the dtype is missing, or the input can't be read.
            TypeError: data is none of these.
        """
        if is_array(data):
            check_array(data, name)
            place = Place.of(data)
            if place is None:
                return cls(data, data.dtype, None, records=len(data) or None, name=name)
            return cls(data, data.dtype, place.path, place.offset, None if place.ends_file() else len(data), name)
        if not is_path(data) and not is_stream(data):
            raise TypeError(unsuitable(data, name, "a path, a binary file or an array"))
        header = read_header(data)
        if header is not None:
            descr = file_dtype(header, data)
            check_size(header, os.fspath(data))
            return cls(data, descr, os.fspath(data), header.size, name=name)
        path = os.fspath(data) if is_path(data) else None
        if dtype is None:
            raise no_dtype(name, path)
        return cls(data, dtype, path, name=name)


def file_dtype(header: Header, path: Any, dtype: Any = None) -> Any:
    """Return the dtype of an npy file with one dimension.

    Args:
        path: the file, or None for a stream.

    Raises:
        ValueError: the file has more dimensions, or a dtype was given, too.
    """
    name = "src" if path is None else os.fspath(path)
    if dtype is not None:
        raise ValueError(f"{name} is an npy file with a dtype of its own: leave dtype out")
    if len(header.shape) != 1:
        raise ValueError(f"{name} has the shape {header.shape}: only arrays with one dimension have records")
    return header.descr


def check_size(header: Header, path: str) -> None:
    """Raise if an npy file whose records the program reads without the header has another size than that announces.

    Raises:
        ValueError: the file was cut short, or something was appended.
    """
    wanted = header.shape[0] * Layout(header.descr).size
    found = os.path.getsize(path) - header.size
    if found != wanted:
        problem = "the file was cut short" if found < wanted else "something was appended to the file"
        raise ValueError(f"{path} has {found} bytes after its header, which announces {wanted}: {problem}")


def check_same_records(paths: Sequence[str], headers: Sequence[Optional[Header]]) -> None:
    """Raise if the program can't read files without their headers. The first is an npy file.

    Raises:
        ValueError: the files have different dtypes or lengths of headers, or a file has another
            size than its header announces.
    """
    first = headers[0]
    assert first is not None
    for path, header in zip(paths, headers):
        if header is None:
            raise ValueError(f"{path} is not an npy file, but {paths[0]} is: all inputs must have the same records")
        descr = file_dtype(header, path)
        check_size(header, path)
        if descr != first.descr and as_dtype(descr) != as_dtype(first.descr):
            raise ValueError(
                f"{paths[0]} has dtype {first.descr!r}, but {path} has dtype {descr!r}: "
                "all inputs must have the same records"
            )
        if header.size != first.size:
            raise ValueError("the headers of the npy files have different lengths: give dst as a path")


class Group:
    """Several inputs with the same layout, as arguments of the program.

    Attributes:
        layout: the layout of the records.
        flags: flags for the records' places in the files.
        names: the arguments for the inputs.
        inherited: the descriptors that the program needs.
        stdin: what the program gets as its standard input.
        labels: the names of the inputs that are no files, by the files that pass them.
    """

    stdin = subprocess.DEVNULL

    def __init__(self, sources: Sequence[Source], files: contextlib.ExitStack, random_access: bool = False):
        """Open the inputs.

        Args:
            random_access: write an array into a temporary file instead of a pipe.

        Raises:
            ValueError: the inputs have different layouts.
        """
        self.layout = Layout(sources[0].dtype)
        for source in sources[1:]:
            other = Layout(source.dtype)
            if other.size != self.layout.size or _kinds(other) != _kinds(self.layout):
                raise ValueError(f"the inputs have different dtypes: {self.layout.dtype} and {other.dtype}")
        self.names: list[str] = []
        self.flags: list[str] = []
        self.inherited: list[int] = []
        self.labels: dict[str, str] = {}
        self._feeds: list[tuple[IO[bytes], Source]] = []
        self._files = files
        self._random_access = random_access
        files.callback(self._close_inherited)

        places = {(source.path is None, source.skip, source.records) for source in sources}
        share_flags = len(places) == 1
        if any(is_array(source.data) or source.skip for source in sources):
            self.flags.append("--raw")
        if share_flags:
            self._add_place(sources[0])
        for source in sources:
            is_plain = not source.skip and source.records is None
            if source.path is not None and (share_flags or is_plain):
                self.names.append(source.path)
            else:
                self.names.append(self._pass(source))
                self.labels[self.names[-1]] = source.name

    def _add_place(self, source: Source) -> None:
        if source.skip:
            self.flags.append(f"--skip-bytes={source.skip}")
        if source.records is not None:
            self.flags.append(f"--records={source.records}")

    def _pass(self, source: Source) -> str:
        """Return a name under which the program finds an input that is not a whole file."""
        if self._random_access or not os.path.isdir("/dev/fd"):
            return _temporary_copy(source, self._files)
        theirs, ours = os.pipe()
        self.inherited.append(theirs)
        pipe = os.fdopen(ours, "wb")
        self._files.callback(close_quietly, pipe)
        self._feeds.append((pipe, source))
        return f"/dev/fd/{theirs}"

    def start(self, run: Run) -> None:
        """Start to pass the data that is in no file."""
        self._close_inherited()  # else a program that ends early would not break the pipe
        for pipe, source in self._feeds:
            is_stream_data = source.path is None and not is_array(source.data)
            run.feed(pipe, _source_blocks(source), is_stream_data)

    def _close_inherited(self) -> None:
        while self.inherited:
            os.close(self.inherited.pop())


class Output:
    """Where the program writes: a path as an argument, anything else as its standard output.

    Attributes:
        arguments: the arguments for the output.
        writes_source: this process writes the result into a map of the file that src is in.
        stdout: what the program gets as its standard output, or None for a pipe to this process.
    """

    def __init__(
        self,
        dst: Any,
        files: contextlib.ExitStack,
        dtype: Any = None,
        src: Any = None,
        most: Optional[int] = None,
        same: bool = False,
    ):
        """Open dst.

        Args:
            dtype: the dtype of the result if the program writes no header, or None if it does.
            src: what the program reads.
            most: number of bytes that the result has at most, or None if that is unknown.
            same: the result has exactly that number of bytes.
        """
        self.arguments: list[str] = []
        self.stdout: Any = subprocess.DEVNULL
        self.writes_source = False
        self._dtype = dtype
        self._memory: Optional[memoryview] = None
        self._stream: Any = None
        self._npy: Optional[_NpyFile] = None
        self._collects = dst is None

        if self._collects:
            self.stdout = None
        elif is_path(dst):
            self._open_path(dst, files)
        elif is_array(dst):
            self._open_array(dst, src, most, same, files)
        elif _is_plain_file(dst):
            dst.flush()
            self.stdout = dst
        elif hasattr(dst, "write") and not isinstance(dst, io.TextIOBase):
            self.stdout = None
            self._stream = dst
        else:
            raise TypeError(unsuitable(dst, "dst", "a path, a binary file or an array"))

    def _open_path(self, path: Any, files: contextlib.ExitStack) -> None:
        if self._dtype is None or not os.fspath(path).endswith(".npy"):
            self.arguments = ["--output", os.fspath(path)]
            return
        self._npy = files.enter_context(_NpyFile(os.fspath(path), as_dtype(self._dtype)))
        self.stdout = self._npy.descriptor

    def _open_array(self, array: Any, src: Any, most: Optional[int], same: bool, files: contextlib.ExitStack) -> None:
        check_array(array, "dst")
        if not array.flags.writeable:
            raise ValueError("dst is read-only: open a memory map with mode 'r+'")
        if self._dtype is not None and as_dtype(self._dtype) != array.dtype:
            raise ValueError(f"dst has the dtype {array.dtype}, and the result {as_dtype(self._dtype)}: make them equal")
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

    def receive(self, run: Run) -> Any:
        """Receive the data that the program does not write into a file itself.

        Returns:
            the result as an array if dst is None.
        """
        if self._memory is not None:
            read_into(run.stdout, self._memory)
        elif self._stream is not None:
            _receive(run.stdout, self._stream)
        elif self._collects:
            return read_array(run.stdout, self._dtype)
        return None

    def commit(self, records: int) -> None:
        """Complete an npy file that has this number of records."""
        if self._npy is not None:
            self._npy.commit(records)


class _NpyFile:
    """An npy file that appears under its name when it is complete.

    The program writes the records, and commit the header before them. Leaving the block without
    commit removes the file.
    """

    def __init__(self, path: str, dtype: Any):
        self._path = path
        self._dtype = dtype
        self._header_bytes = len(make_header(dtype, 1 << 63))
        folder, name = os.path.split(os.path.realpath(path))
        self._temporary = os.path.join(folder, f".{name}.{os.urandom(6).hex()}.tmp")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        self.descriptor = os.open(self._temporary, flags, 0o666)

    def __enter__(self) -> "_NpyFile":
        os.lseek(self.descriptor, self._header_bytes, os.SEEK_SET)
        return self

    def commit(self, records: int) -> None:
        """Write the header, and give the file its name and the mode of the file that it replaces."""
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        os.write(self.descriptor, make_header(self._dtype, records, self._header_bytes))
        os.fsync(self.descriptor)
        target = os.path.realpath(self._path)
        if os.path.exists(target):
            os.chmod(self._temporary, os.stat(target).st_mode & 0o7777)
        self._close()
        os.replace(self._temporary, target)

    def _close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __exit__(self, kind: Any, failure: Any, trace: Any) -> None:
        self._close()
        with contextlib.suppress(FileNotFoundError):  # committed
            os.remove(self._temporary)


def read_array(pipe: IO[bytes], dtype: Any = None) -> Any:
    """Read records to the end of a stream and return them as a writable array of shape (n,).

    Args:
        dtype: the dtype of the records. Without one, the stream begins with the header of an npy file.

    Raises:
        ValueError: there is no such header.
    """
    import numpy

    if dtype is None:
        header = parse_header(pipe)
        if header is None:
            pipe.read()  # the program's error, if it has one, says more
            return None
        dtype = header.descr
    data = bytearray()
    while True:
        block = pipe.read(1 << 20)
        if not block:
            break
        data += block
    kind = as_dtype(dtype)
    return numpy.frombuffer(data, kind, len(data) // kind.itemsize)


def check_overlap(dst: Any, srcs: Sequence[Any]) -> None:
    """Raise if a result would overwrite an input that is still being read.

    Raises:
        ValueError: dst is an array with memory or a file of an input.
    """
    if not is_array(dst):
        return
    import numpy

    place = Place.of(dst)
    for src in srcs:
        if place and place.shares_file(src) or is_array(src) and numpy.may_share_memory(dst, src):
            raise ValueError("dst overlaps an input: give another array, or None for a new one")


def _kinds(layout: Layout) -> list[Any]:
    """Return what has to be equal if two inputs share flags."""
    return [(field.offset, field.size, field.kind, field.unit) for field in layout.fields.values()]


def _source_blocks(source: Source) -> Iterator[Any]:
    """Yield the records of an input in blocks of bytes."""
    if is_array(source.data):
        yield from _memory_blocks(array_bytes(source.data))
    elif source.path is None:
        yield from _stream_blocks(source.data)
    else:
        with open(source.path, "rb") as file:
            file.seek(source.skip)
            yield from _stream_blocks(file)


def _memory_blocks(memory: memoryview) -> Iterator[memoryview]:
    for start in range(0, len(memory), _BLOCK):
        yield memory[start : start + _BLOCK]


def _stream_blocks(stream: Any) -> Iterator[bytes]:
    """Yield the blocks of a binary file object.

    Raises:
        BlockingIOError: the stream does not wait for its data.
    """
    is_pipe = isinstance(stream, io.BufferedReader) and _is_plain_file(stream) and not stream.seekable()
    while True:
        block = _read_pipe(stream) if is_pipe and os.name != "nt" else stream.read(_BLOCK)
        if block is None:
            raise BlockingIOError(errno.EAGAIN, "the stream has no data yet: make it wait for them")
        if not block:
            return
        yield block


def _read_pipe(pipe: io.BufferedReader) -> bytes:
    """Read the next block of a pipe.

    This thread has the lock of the pipe only while there is data. After an error, the caller could not
    close the pipe otherwise, and Python would abort at its end if the pipe is sys.stdin.
    """
    import selectors

    with getattr(selectors, "PollSelector", selectors.SelectSelector)() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        selector.select()
    return pipe.read1(_BLOCK)


def _temporary_copy(source: Source, files: contextlib.ExitStack) -> str:
    """Write the records of an input into a file that exists until the call ends."""
    import tempfile

    descriptor, name = tempfile.mkstemp()
    files.callback(os.remove, name)
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(_source_blocks(source))
    return name


def _is_plain_file(data: Any) -> bool:
    """Report whether the descriptor of a file object has the bytes that its read and write have.

    A compressed file and many other file objects have a descriptor, too, but of other bytes.
    """
    if isinstance(data, (io.BufferedReader, io.BufferedWriter, io.BufferedRandom)):
        data = data.raw
    return type(data) is io.FileIO  # a class of the user's can have a read of its own


def _receive(pipe: Any, stream: Any) -> None:
    """Copy the program's output into a stream."""
    while True:
        block = pipe.read(_BLOCK)
        if not block:
            break
        _write(stream, block)
    if hasattr(stream, "flush"):
        stream.flush()  # so that the file is complete, as if the program had written it


def _write(stream: Any, block: Any) -> None:
    """Write a block into a file object, which may take only a part of it at once.

    Raises:
        BlockingIOError: the stream does not wait until it can take data.
    """
    while True:
        written = stream.write(block)
        if written is None and isinstance(stream, io.RawIOBase):
            raise BlockingIOError(errno.EAGAIN, "the stream can't take data yet: make it wait until it can")
        if written is None or written >= len(block):
            return
        block = memoryview(block)[written:]
