"""Finds the extsort program and runs it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from typing import IO, Any, Callable, Iterable, Optional, Sequence

# The program gets this many seconds to remove its temporary files after an interrupt.
_SECONDS_TO_CLEAN_UP = 10

# Only this process interrupts the program. Otherwise Ctrl-C in a terminal would reach it twice, and
# the second signal ends it before it has removed its temporary files.
_OWN_GROUP: dict[str, Any] = (
    {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}  # type: ignore[attr-defined]
    if os.name == "nt"
    else {"start_new_session": True}
)

# The error of a pipe whose reader has ended. Windows has several.
_READER_IS_GONE = OSError if os.name == "nt" else BrokenPipeError


class ExtsortError(Exception):
    """The program failed. The message says what went wrong, where, and what to do.

    A flag in the message is a keyword argument here, such as sort=True for --sort. Flags without
    one are given as flags=["--keep", "last"]. Messages count records from 1.

    Attributes:
        status: the exit status of the program; 2 for most errors, negative for a signal.
        message: the text of the exception.
    """

    def __init__(self, message: str, status: int):
        super().__init__(message, status)
        self.message = message
        self.status = status

    def __str__(self) -> str:
        return self.message


def program() -> str:
    """Return the path of the program: $EXTSORT, the one of this package, or the one in PATH."""
    name = "extsort.exe" if os.name == "nt" else "extsort"
    packaged = os.path.join(os.path.dirname(__file__), "bin", name)
    found = os.environ.get("EXTSORT") or (packaged if os.path.exists(packaged) else _in_path(name))
    if not found:
        raise FileNotFoundError("no extsort program: install the wheel of your platform, or set EXTSORT to its path")
    return found


def _in_path(name: str) -> Optional[str]:
    import shutil

    return shutil.which(name)


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
        self._messages: list[str] = []
        self._threads: list[threading.Thread] = []
        self._readers: list[threading.Thread] = []  # of streams, which may wait for data forever
        self._failures: list[BaseException] = []
        self._stopping = threading.Lock()
        options: dict[str, Any] = {"pass_fds": inherited} if inherited else {}
        self._process = subprocess.Popen(
            [program(), *arguments],
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.PIPE if stdout is None else stdout,
            stderr=subprocess.PIPE,
            **options,
            **_OWN_GROUP,
        )
        self._threads.append(self._start(self._read_messages, progress))

    @property
    def stdin(self) -> IO[bytes]:
        """The pipe to the program, if it was started with subprocess.PIPE."""
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        """The pipe from the program, if it was started without a file for its output."""
        assert self._process.stdout is not None
        return self._process.stdout

    def _start(self, function: Callable[..., None], *arguments: Any) -> threading.Thread:
        """Call a function in a thread. finish raises its exceptions."""

        def call() -> None:
            try:
                function(*arguments)
            except BaseException as failure:  # passed on by finish
                self._failures.append(failure)

        thread = threading.Thread(target=call, daemon=True)
        thread.start()
        return thread

    def feed(self, pipe: IO[bytes], blocks: Iterable[Any], from_stream: bool) -> None:
        """Write blocks into a pipe to the program, in a thread, and close the pipe.

        If a block can't be read, the program ends before its pipe does. Otherwise it would take
        the blocks so far for all of the data, and replace the output.

        Args:
            from_stream: the blocks come from a stream. After an error, finish does not wait for the next one.
        """
        threads = self._readers if from_stream else self._threads
        threads.append(self._start(self._feed, pipe, blocks))

    def _feed(self, pipe: IO[bytes], blocks: Iterable[Any]) -> None:
        try:
            for block in blocks:
                try:
                    pipe.write(block)
                except _READER_IS_GONE:  # the program ended early, and says why
                    return
        except BaseException as failure:
            self._failures.append(failure)
            self._interrupt()
        finally:
            close_quietly(pipe)

    def finish(self, accepted: Sequence[int] = (0,)) -> int:
        """Wait for the program and return its exit status.

        Raises:
            ExtsortError: the exit status is not among the accepted ones.
        """
        if self._process.stdout is not None:
            self._process.stdout.close()
        status = self._process.wait()
        for thread in self._threads + (self._readers if status in accepted else []):
            thread.join()
        if self._failures:  # the program may have been stopped because of it
            raise self._failures[0]
        if status not in accepted:
            raise ExtsortError(_error_message(self._messages, status), status)
        return status

    def report(self) -> Any:
        """Return the report that --stats=json made the program print last."""
        import json

        for line in reversed(self._messages):
            if line.startswith("{"):
                return json.loads(line)
        return {}

    def _read_messages(self, progress: bool) -> None:
        assert self._process.stderr is not None
        show = _new_progress() if progress else None
        with self._process.stderr:
            for raw in self._process.stderr:
                line = raw.decode("utf-8", "replace").rstrip("\r\n")
                self._messages.append(line)
                if show and not line.startswith(("{", "extsort: ")):
                    show(line)
        if show:
            show("")

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, kind: Any, failure: Any, trace: Any) -> None:
        self._interrupt()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                close_quietly(pipe)
        for thread in self._threads:
            thread.join()

    def _interrupt(self) -> None:
        """Ask the program once to stop, so that it removes its temporary files, and wait for its end."""
        with self._stopping:
            if self._process.poll() is not None:
                return
            if os.name == "nt":
                import signal

                self._process.send_signal(signal.CTRL_BREAK_EVENT)  # type: ignore[attr-defined]
            else:
                self._process.terminate()
            try:
                self._process.wait(_SECONDS_TO_CLEAN_UP)
            except BaseException:  # it takes too long, or the user interrupts again
                self._process.kill()
                self._process.wait()


def query(arguments: Sequence[str], data: bytes = b"", accepted: Sequence[int] = (0,)) -> bytes:
    """Run a short command with `data` as standard input and return what it prints."""
    done = subprocess.run([program(), *arguments], input=data, capture_output=True)
    if done.returncode not in accepted:
        messages = done.stderr.decode("utf-8", "replace").splitlines()
        raise ExtsortError(_error_message(messages, done.returncode), done.returncode)
    return done.stdout


def _error_message(messages: Sequence[str], status: int) -> str:
    """Return the last error among the lines that the program printed on standard error."""
    lines = [line for line in messages if line and not line.startswith("{")]
    errors = [line for line in lines if line.startswith("extsort: ")] or lines
    if errors:
        return errors[-1].removeprefix("extsort: ")
    if status < 0:
        import signal

        return f"extsort was ended by {signal.Signals(-status).name}"
    return f"extsort ended with status {status}"


def _new_progress() -> Callable[[str], None]:
    """Return a function that shows a line of progress. An empty line ends the progress."""
    try:
        from tqdm import tqdm  # type: ignore
    except ImportError:
        return _print_progress
    import re

    bar = tqdm(total=100, unit="%", bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}")

    def show(line: str) -> None:
        stage = re.match(r"stage [^,]*, ([^:(]*)", line)
        percent = re.search(r"\((\d+)%", line)
        if stage:
            bar.set_description_str(stage[1].strip(), refresh=False)
        if percent:
            bar.n = int(percent[1])
            bar.refresh()
        if not line:
            bar.close()

    return show


def _print_progress(line: str) -> None:
    if line:
        print(line, file=sys.stderr, flush=True)


def close_quietly(pipe: IO[bytes]) -> None:
    """Close a pipe to the program, which may have ended before it had read everything."""
    with contextlib.suppress(_READER_IS_GONE):
        pipe.close()


def fill(pipe: IO[bytes], room: memoryview) -> int:
    """Fill room from a pipe as far as there is data, and return the number of bytes."""
    filled = 0
    while filled < len(room):
        n = pipe.readinto(room[filled : filled + (1 << 20)])  # type: ignore[attr-defined]
        if not n:
            break
        filled += n
    return filled


def read_into(pipe: IO[bytes], room: memoryview) -> int:
    """Fill room from a pipe and return the number of bytes. More bytes than room are an error."""
    filled = fill(pipe, room)
    if filled == len(room) and pipe.read(1):
        raise ValueError(f"the result is longer than the {len(room)} bytes of dst")
    return filled
