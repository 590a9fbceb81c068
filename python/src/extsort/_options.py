"""The options that all functions share, and the flags of the program that they become."""

from __future__ import annotations

import os
from typing import Any, Callable, Sequence, TypedDict, Union

Path = Union[str, "os.PathLike[str]"]
Size = Union[int, str]


class Options(TypedDict, total=False):
    """Keyword arguments of every function. All of them can be left out.

    Keys:
        reverse: True if the order is from the greatest to the least value. Equal records keep
            their order, and NaN and NaT still come last.
        memory: the limit for all memory of the program: a number of bytes, "2G" or "10%" of the
            machine's memory. The default is half of the machine's memory.
        temp: a directory for temporary files, or a list of directories on several disks.
        threads: the number of worker threads. The default is one per processor.
        device: "cpu", "gpu", or a number or name that the command `extsort devices` prints.
        progress: True shows a progress bar if tqdm is installed, else lines on standard error.
        flags: more flags of the command, such as ["--compress", "zstd"]. `extsort help` and
            `extsort help find` list them.
    """

    reverse: bool
    memory: Size
    temp: Union[Path, Sequence[Path]]
    threads: int
    device: str
    progress: bool
    flags: Sequence[str]


def is_path(data: Any) -> bool:
    """Report whether data is the path of a file."""
    return isinstance(data, (str, os.PathLike))


def _size(flag: str, value: Size) -> list[str]:
    if not isinstance(value, (int, str)):
        raise TypeError(f"memory is {value!r}: give a whole number of bytes, or a text such as '2G'")
    return [flag, f"{value}b" if isinstance(value, int) else value]


def _directories(flag: str, value: Any) -> list[str]:
    directories = [value] if is_path(value) else value
    return [part for directory in directories for part in (flag, os.fspath(directory))]


def _text(flag: str, value: Any) -> list[str]:
    return [flag, str(value)]


def _switch(flag: str, value: Any) -> list[str]:
    return [flag] if value else []


def _more(_: str, value: Any) -> list[str]:
    if isinstance(value, str):
        raise TypeError(f"flags is {value!r}: give a list, such as ['--compress', 'zstd']")
    return list(value)


# The flag of each option, and the function that formats it.
_FLAGS: dict[str, tuple[str, Callable[[str, Any], list[str]]]] = {
    "reverse": ("--reverse", _switch),
    "memory": ("--buffer-size", _size),
    "temp": ("--temporary-directory", _directories),
    "threads": ("--parallel", _text),
    "device": ("--device", _text),
    "progress": ("--progress=always", _switch),
    "flags": ("", _more),
}


def option_flags(options: Any) -> list[str]:
    """Return the flags for Options. An option that is None counts as left out.

    Raises:
        TypeError: there is no such option.
    """
    flags: list[str] = []
    for name, value in options.items():
        if name not in _FLAGS:
            raise TypeError(f"unknown option {name!r}: the options are {', '.join(_FLAGS)}")
        if value is not None:
            flag, format_value = _FLAGS[name]
            flags += format_value(flag, value)
    return flags


def check_options(options: Any) -> None:
    """Raise what option_flags raises, before the other arguments are looked at."""
    option_flags(options)
