"""Finds the extsort program and runs it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO, Callable, Optional, Sequence

# The program gets this many seconds to remove its temporary files after an interrupt.
_SECONDS_TO_CLEAN_UP = 10


class ExtsortError(Exception):
    """The program failed. The message says what went wrong, where, and what to do.

    Attributes:
        status: the exit status of the program; 2 for most errors, negative for a signal.
    """

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.status = status


def program() -> str:
    """Return the path of the program: $EXTSORT, the one of this package, or the one in PATH."""
    name = "extsort.exe" if os.name == "nt" else "extsort"
    packaged = Path(__file__).parent / "bin" / name
    found = os.environ.get("EXTSORT") or (str(packaged) if packaged.exists() else shutil.which(name))
    if not found:
        raise FileNotFoundError("no extsort program: install the wheel of your platform, or set EXTSORT to its path")
    return found


def main() -> None:
    """Run the program with the arguments of this process: the command `extsort` of the package."""
    command = [program(), *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.call(command))
    os.execv(command[0], command)


class Run:
    """One run of the program, with threads that pass its data.

    Use it as a context manager: leaving the block ends the program and closes all its files, also
    after an exception.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        stdin: Any = None,
        stdout: Any = None,
        inherited: Sequence[int] = (),
        progress: bool = False,
    ):
        self._progress = progress
        self._messages: list[str] = []
        self._threads: list[threading.Thread] = []
        self._failures: list[BaseException] = []
        options: dict[str, Any] = {"pass_fds": inherited} if inherited else {}
        self._process = subprocess.Popen(
            [program(), *arguments],
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.PIPE if stdout is None else stdout,
            stderr=subprocess.PIPE,
            **options,
        )
        self.start(self._read_messages)

    @property
    def stdin(self) -> BinaryIO:
        """The pipe to the program, if it was started with subprocess.PIPE."""
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def stdout(self) -> BinaryIO:
        """The pipe from the program, if it was started without a file for its output."""
        assert self._process.stdout is not None
        return self._process.stdout

    def start(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call a function in a thread that ends with the run. finish raises its exceptions."""

        def call() -> None:
            try:
                function(*arguments)
            except BaseException as failure:  # passed on by finish
                self._failures.append(failure)

        thread = threading.Thread(target=call, daemon=True)
        thread.start()
        self._threads.append(thread)

    def finish(self, accepted: Sequence[int] = (0,)) -> int:
        """Wait for the program and return its exit status.

        Raises:
            ExtsortError: the exit status is not among the accepted ones.
        """
        if self._process.stdout is not None:
            self._process.stdout.close()
        status = self._process.wait()
        for thread in self._threads:
            thread.join()
        if status not in accepted:
            raise ExtsortError(self._error_message(status), status)
        if self._failures:
            raise self._failures[0]
        return status

    def report(self) -> dict[str, Any]:
        """Return the report that --stats=json made the program print last."""
        for line in reversed(self._messages):
            if line.startswith("{"):
                return json.loads(line)
        return {}

    def _read_messages(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr:
            for raw in self._process.stderr:
                line = raw.decode("utf-8", "replace").rstrip("\r\n")
                self._messages.append(line)
                if self._progress and not line.startswith(("{", "extsort: ")):
                    print(line, file=sys.stderr, flush=True)

    def _error_message(self, status: int) -> str:
        lines = [line for line in self._messages if line and not line.startswith("{")]
        errors = [line for line in lines if line.startswith("extsort: ")] or lines
        if errors:
            return errors[-1].removeprefix("extsort: ")
        if status < 0:
            return f"extsort was ended by {signal.Signals(-status).name}"
        return f"extsort ended with status {status}"

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, kind: Any, failure: Any, trace: Any) -> None:
        if self._process.poll() is None:
            self._interrupt()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:  # the program ended before it had read everything
                    pass
        for thread in self._threads:
            thread.join()

    def _interrupt(self) -> None:
        """Ask the program to stop, so that it removes its temporary files."""
        self._process.send_signal(signal.SIGTERM if os.name == "nt" else signal.SIGINT)
        try:
            self._process.wait(_SECONDS_TO_CLEAN_UP)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def query(arguments: Sequence[str], data: bytes = b"") -> str:
    """Run a short command with `data` as standard input and return what it prints."""
    done = subprocess.run([program(), *arguments], input=data, capture_output=True)
    if done.returncode != 0:
        message = done.stderr.decode("utf-8", "replace").strip().removeprefix("extsort: ")
        raise ExtsortError(message, done.returncode)
    return done.stdout.decode("utf-8", "surrogateescape")


def feed(pipe: BinaryIO, data: memoryview) -> None:
    """Write data into a pipe and close it. A reader that ends early is not an error here."""
    try:
        with pipe:
            for start in range(0, len(data), 1 << 20):
                pipe.write(data[start : start + (1 << 20)])
    except BrokenPipeError:
        pass


def fill(pipe: BinaryIO, room: memoryview) -> int:
    """Fill room from a pipe as far as there is data, and return the number of bytes."""
    filled = 0
    while filled < len(room):
        n = pipe.readinto(room[filled : filled + (1 << 20)])  # type: ignore[attr-defined]
        if not n:
            break
        filled += n
    return filled


def read_into(pipe: BinaryIO, room: memoryview) -> int:
    """Fill room from a pipe and return the number of bytes. More bytes than room are an error."""
    filled = fill(pipe, room)
    if filled == len(room) and pipe.read(1):
        raise ValueError(f"the result is longer than the {len(room)} bytes of dst")
    return filled
