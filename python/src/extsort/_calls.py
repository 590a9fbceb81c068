"""What the functions of the package have in common: flags of records, and one run of the program."""

from __future__ import annotations

import contextlib
import os
import subprocess
from contextlib import ExitStack
from typing import Any, Iterator, NamedTuple, Optional, Sequence, Union

from ._data import Group, Input, Output, Place, check_same_records, file_dtype
from ._data import is_array, is_stream, no_dtype, unsuitable
from ._layout import NUMPY_ORDER, Key, Layout
from ._npy import Header, read_header, read_header_of_stream
from ._options import is_path, option_flags
from ._program import ExtsortError, Run


def short_repr(result: Any) -> str:
    """Return the text of a named tuple without its details, which have many lines."""
    fields = [f"{name}={value!r}" for name, value in result._asdict().items() if name != "details"]
    return f"{type(result).__name__}({', '.join(fields)})"


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
    details: dict[str, Any]

    def __repr__(self) -> str:
        return short_repr(self)


def report_of(details: dict[str, Any]) -> Report:
    """Return the report of a run from the JSON report of the program.

    Raises:
        ValueError: the program has not reported a run.
    """
    if "records" not in details:
        raise ValueError("the program has reported no run: leave out flags that are not for this function")
    return Report(details["records"], details["records_out"], details["seconds"], details["strategy"], details)


class Records(NamedTuple):
    """What the records of an input are.

    Attributes:
        flags: flags for the records, without those of the keys.
        layout: the layout, or None if only the program knows the format.
        has_header: whether the program writes a header before the result.
        paths: the files, if the layout is unknown.
    """

    flags: list[str]
    layout: Optional[Layout]
    has_header: bool
    paths: Sequence[str] = ()

    def key_flags(self, key: Key) -> list[str]:
        """Return the flags of the keys. Names are left to the program if the layout is unknown."""
        if self.layout is not None:
            return self.layout.key_flags(key)
        flags = list(NUMPY_ORDER)
        for name in [key] if isinstance(key, str) else key or ():
            flags += ["--key", f"{name[1:]}:desc" if name.startswith("-") else name]
        return flags

    def require_layout(self) -> Layout:
        """Return the layout.

        Raises:
            ValueError: it is unknown.
            OSError: the file is missing, or a directory.
        """
        if self.layout is None:
            raise no_dtype("src", self.paths[0] if len(self.paths) == 1 else None)
        return self.layout


def whole_file(src: Any) -> Any:
    """Return the path of an npy file that a memory map shows completely, or src itself."""
    place = Place.of(src) if is_array(src) and not hasattr(src, "mask") else None
    return place.path if place and place.is_npy_file(src.dtype) else src


def describe(src: Any, dtype: Any, headerless: bool = False) -> Records:
    """Return what the records of a path, paths, a stream or an array are.

    Args:
        headerless: read npy files as raw records, so that the result has no header.

    Raises:
        ValueError: the dtype is missing, or there is one too many.
    """
    if is_array(src):
        if dtype is not None:
            raise ValueError("an array has a dtype of its own: leave dtype out, or give array.view(dtype)")
        layout = Layout(src.dtype)
        return Records(["--raw", "--record-size", str(layout.size)], layout, False)
    paths: list[str] = []
    headers: list[Optional[Header]] = []
    if is_path(src) or isinstance(src, (list, tuple)):
        paths = paths_of(src)
        headers = [read_header(path) for path in paths]
    elif is_stream(src):
        headers = [read_header_of_stream(src)]
    else:
        raise TypeError(unsuitable(src, "src", "a path, paths, a binary file or an array"))
    header = headers[0] if headers else None
    if header is None or dtype is None and len(header.shape) != 1:
        if dtype is not None:
            layout = Layout(dtype)
            return Records(["--record-size", str(layout.size)], layout, False)
        if headerless:
            raise no_dtype("src", paths[0] if len(paths) == 1 else None)
        return Records([], None, True, paths)
    layout = Layout(file_dtype(header, paths[0] if paths else None, dtype))
    if not headerless:
        return Records(["--format", "npy"], layout, True)
    flags = ["--raw", "--record-size", str(layout.size), f"--skip-bytes={header.size}"]
    if paths:
        check_same_records(paths, headers)
    elif header.shape[0]:
        flags.append(f"--records={header.shape[0]}")
    return Records(flags, layout, False)


def paths_of(src: Any) -> list[str]:
    """Return one path or several as a list.

    Raises:
        TypeError: src is something else.
    """
    paths = [src] if is_path(src) else src
    if not isinstance(paths, (list, tuple)) or not all(is_path(path) for path in paths):
        raise TypeError(unsuitable(src, "src", "a path, or a list of paths"))
    return [os.fspath(path) for path in paths]


def execute(
    arguments: Sequence[str],
    inputs: Sequence[Union[Input, Group]],
    output: Optional[Output],
    options: Any,
    files: ExitStack,
    accepted: Sequence[int] = (0,),
) -> tuple[Any, dict[str, Any]]:
    """Run the program once.

    Args:
        arguments: the verb and its flags.
        output: where the result goes, or None to drop what the program prints.
        accepted: the exit statuses that are no error.

    Returns:
        the result if it is collected in memory, and the JSON report.
    """
    command = [*arguments, *option_flags(options), "--stats=json"]
    inherited: list[int] = []
    if output is not None:
        command += output.arguments
    for given in inputs:
        inherited += given.inherited
    command += inputs[0].arguments if isinstance(inputs[0], Input) else ["--", *_names(inputs)]
    stdout = subprocess.DEVNULL if output is None else output.stdout
    run = files.enter_context(Run(command, inputs[0].stdin, stdout, inherited, bool(options.get("progress"))))
    for given in inputs:
        given.start(run)
    result = output.receive(run) if output is not None else None
    with named_inputs(inputs):
        run.finish(accepted)
    details = run.report()
    if output is not None:
        output.commit(details.get("records_out", 0))
    return result, details


@contextlib.contextmanager
def named_inputs(inputs: Sequence[Any]) -> Iterator[None]:
    """Name the arrays in an error of the program as the caller does, not by the files that pass them."""
    try:
        yield
    except ExtsortError as failure:
        message = failure.message
        for given in inputs:
            for path, name in given.labels.items():
                message = message.replace(path, name)
        if message.startswith("unknown record layout"):
            message = "unknown record layout: give dtype, such as dtype='<u8' or dtype=[('id', '<u4'), ('x', '<f4')]"
        raise ExtsortError(message, failure.status) from None


def _names(groups: Sequence[Any]) -> list[str]:
    return [name for group in groups for name in group.names]


def transform(
    arguments: Sequence[str],
    src: Any,
    dst: Any,
    records: Records,
    result: Any,
    options: Any,
    most: Optional[int] = None,
    same: bool = False,
) -> Any:
    """Run a verb on one input.

    Args:
        dst: where the result goes; None returns it.
        records: what the records of src are.
        result: the dtype of the result if the program writes no header, else None.
        most: number of bytes that the result has at most, or None if that is unknown.
        same: the result has exactly that number of bytes.

    Returns:
        an array if dst is None, else a Report.
    """
    with ExitStack() as files:
        output = Output(dst, files, result, src, most, same)
        if output.writes_source and not is_array(src):
            raise ValueError("dst maps the file that is src: give dst as src, too, or another dst")
        given = Input(src, files, in_memory=output.writes_source)
        array, details = execute([*arguments, *records.flags], [given], output, options, files)
    return returned(array, dst, details)


def returned(array: Any, dst: Any, details: dict[str, Any]) -> Any:
    """Return the array if there is no dst, else a report.

    Raises:
        ValueError: the result has no dtype.
    """
    if dst is not None:
        return report_of(details)
    if array is None:
        raise ValueError("dtype is missing: the result has no header that names one. Give dtype, or dst as a path")
    return array
