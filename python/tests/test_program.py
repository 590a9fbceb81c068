"""Files, streams, errors and the end of the program."""

import bz2
import gzip
import io
import lzma
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import pytest

import extsort
from extsort import _program


def test_files_and_streams_give_the_same_bytes(random, tmp_path):
    values = random.integers(0, 1 << 40, 20_000).astype("<u8")
    values.tofile(tmp_path / "a")
    want = np.sort(values).tobytes()

    extsort.sort(tmp_path / "a", tmp_path / "b", dtype="<u8")
    assert (tmp_path / "b").read_bytes() == want

    stream = io.BytesIO()
    extsort.sort(io.BytesIO(values.tobytes()), stream, dtype="<u8")
    assert stream.getvalue() == want

    with open(tmp_path / "a", "rb") as src, open(tmp_path / "c", "wb") as dst:
        src.read(800)
        dst.write(b"head")
        extsort.sort(src, dst, dtype="<u8")
    assert (tmp_path / "c").read_bytes() == b"head" + np.sort(values[100:]).tobytes()


class Compressed(io.FileIO):
    """A file with a read and a write of its own. They pass few bytes at once."""

    def read(self, n=-1):
        return bytes(byte ^ 255 for byte in super().read(99 if n < 0 else min(n, 99)))

    def write(self, data):
        return super().write(bytes(byte ^ 255 for byte in data[:99]))


@pytest.mark.parametrize("opened", [gzip.open, bz2.open, lzma.open, Compressed])
def test_files_with_a_read_of_their_own(random, tmp_path, opened):
    values = random.integers(0, 1 << 40, 500).astype("<u8")
    with opened(tmp_path / "src", "wb") as file:
        for value in [b"headline", *values]:
            file.write(bytes(memoryview(value)))
    with opened(tmp_path / "src", "rb") as src, opened(tmp_path / "dst", "wb") as dst:
        src.read(8)
        extsort.sort(src, dst, dtype="<u8")
    with opened(tmp_path / "dst", "rb") as file:
        got = b"".join(iter(lambda: file.read(99), b""))
    assert got == np.sort(values).tobytes()


def test_temporary_file():
    with tempfile.NamedTemporaryFile() as dst:
        extsort.sort(np.array([2, 1]), dst)
        with open(dst.name, "rb") as file:
            assert np.frombuffer(file.read(), int).tolist() == [1, 2]


@pytest.mark.parametrize("buffering", [0, -1])
def test_pipe_that_has_been_read(buffering):
    theirs, ours = os.pipe()
    os.write(ours, b"head\n" + np.arange(99, dtype="<u8")[::-1].tobytes())
    os.close(ours)
    with os.fdopen(theirs, "rb", buffering) as src:
        assert src.readline() == b"head\n"
        assert extsort.argsort(src, dtype="<u8").tolist() == list(range(99))[::-1]


def test_merge(tmp_path):
    np.save(tmp_path / "a.npy", np.array([1, 3]))
    np.save(tmp_path / "b.npy", np.array([2, 3]))
    report = extsort.merge([tmp_path / "a.npy", tmp_path / "b.npy"], tmp_path / "c.npy", unique=True)
    assert report.records_out == 3
    assert np.load(tmp_path / "c.npy").tolist() == [1, 2, 3]


def test_plan_and_info(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(10))
    assert extsort.plan(tmp_path / "a.npy")["records"] == 10
    assert extsort.info(tmp_path / "a.npy")["container"] == "npy"


def test_error_has_status_and_message(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    with pytest.raises(extsort.ExtsortError, match="partial last record") as caught:
        extsort.sort(tmp_path / "a", tmp_path / "b", dtype="<u4")
    assert caught.value.status == 2
    assert "partial last record" in caught.value.message
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("failure", [ConnectionResetError, BrokenPipeError, None])
@pytest.mark.parametrize(
    "call",
    [
        lambda src, dst: extsort.sort(src, dst, dtype="<u8"),
        lambda src, dst: extsort.union(np.arange(9, dtype="<u8"), src, dst=dst, dtype="<u8"),
    ],
)
def test_failing_stream_keeps_the_old_output(tmp_path, call, failure):
    class Failing(io.RawIOBase):
        blocks = [bytes(80), bytes(1 << 20)]

        def read(self, n=-1):
            if not self.blocks and failure:
                raise failure("the stream failed")
            return self.blocks.pop() if self.blocks else None  # None: no data yet

    (tmp_path / "out").write_bytes(b"old")
    with pytest.raises(failure or BlockingIOError, match="stream"):
        call(Failing(), tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"old"
    assert len(os.listdir(tmp_path)) == 1


@pytest.mark.parametrize("call", [extsort.check, extsort.union, extsort.argsort])
def test_error_does_not_wait_for_a_stream(call):
    class Waiting(io.RawIOBase):
        error_came = threading.Event()
        has_waited = False

        def read(self, n=-1):
            self.has_waited = not self.error_came.wait(60)
            return b""

    stream = Waiting()
    with pytest.raises(extsort.ExtsortError, match="no-such-flag"):
        call(stream, dtype="<u8", flags=["--no-such-flag"])
    stream.error_came.set()
    assert not stream.has_waited


@pytest.mark.skipif(os.name == "nt", reason="waits for a pipe")
def test_error_does_not_wait_for_standard_input():
    script = """
import sys; import extsort
with sys.stdin.buffer as src:
    try:
        extsort.check(src, dtype="<u8", flags=["--no-such-flag"])
    except extsort.ExtsortError as failure:
        print(failure)
"""
    theirs, ours = os.pipe()  # nothing is written, and ours is closed last
    with os.fdopen(theirs), os.fdopen(ours):
        done = subprocess.run([sys.executable, "-c", script], stdin=theirs, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "no-such-flag" in done.stdout


@pytest.mark.parametrize("has_tqdm", [True, False])
def test_progress(monkeypatch, capfd, has_tqdm):
    if has_tqdm:
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    extsort.sort(np.arange(10), progress=True)
    shown = capfd.readouterr().err
    assert ("100%|" if has_tqdm else "stage 1 of") in shown
    extsort.sort(np.arange(10))
    assert capfd.readouterr().err == ""


def test_missing_program(monkeypatch):
    monkeypatch.setenv("EXTSORT", "/nonexistent/extsort")
    with pytest.raises(FileNotFoundError):
        extsort.info("a")


@pytest.mark.skipif(sys.platform != "linux", reason="finds the program in /proc")
@pytest.mark.parametrize("dst", ["'/out.npy'", "None"])
def test_interrupt_leaves_nothing_behind(tmp_path, dst):
    with open(tmp_path / "in", "wb") as file:
        file.truncate(4 << 30)  # a hole: long to sort, and no disk space
    script = f"""
import signal, sys, extsort, numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
src = np.memmap(sys.argv[1] + "/in", "<u8", "r")
dst = {dst} and sys.argv[1] + {dst} or np.empty(len(src), "<u8")
print("ready", flush=True)
extsort.sort(src, dst, memory="16M", temp=sys.argv[1])
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout.readline() == "ready\n"
    child = wait_for(lambda: open(f"/proc/{process.pid}/task/{process.pid}/children").read())
    wait_for(lambda: processor_ticks(child) > 10)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, messages = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in messages
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert not os.path.exists(f"/proc/{child.strip()}")


def wait_for(condition):
    """Return the first true value of a condition."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise TimeoutError


def processor_ticks(process):
    """Return the processor time of a process, in 1/100 s."""
    fields = open(f"/proc/{process.strip()}/stat").read().split()
    return int(fields[13]) + int(fields[14])


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors in /proc")
def test_calls_leak_no_descriptors_and_no_threads(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(10))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r+")

    def calls():
        extsort.sort(mapped)
        extsort.sort(np.arange(10))
        extsort.union(np.arange(3), np.arange(4))
        extsort.sort(np.arange(10), tmp_path / "b.npy")
        with pytest.raises(extsort.ExtsortError):
            extsort.sort(tmp_path / "missing", io.BytesIO(), dtype="<u8")

    calls()
    before = len(os.listdir("/proc/self/fd"))
    threads = threading.active_count()
    for _ in range(int(os.environ.get("EXTSORT_TEST_CALLS", 5))):
        calls()
    assert len(os.listdir("/proc/self/fd")) == before
    assert threading.active_count() == threads


def test_files_need_no_numpy(tmp_path):
    np.save(tmp_path / "a.npy", np.array([(2, 1), (1, 2)], [("a", "<u4"), ("b", "<u4")]))
    script = """
import sys; sys.modules['numpy'] = None; import extsort
print(extsort.program())
extsort.sort(sys.argv[1] + "/a.npy", sys.argv[1] + "/b.npy", key="a")
extsort.sort(sys.argv[1] + "/b.npy", sys.argv[1] + "/c", key="-b")
extsort.union(sys.argv[1] + "/b.npy", sys.argv[1] + "/b.npy", dst=sys.argv[1] + "/d.npy", key="a")
"""
    printed = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == _program.program()
    assert np.load(tmp_path / "d.npy")["a"].tolist() == [1, 2]


def test_importing_loads_only_what_every_call_needs():
    script = "import sys; import extsort; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    slow = {"numpy", "tqdm", "json", "ast", "inspect", "pathlib", "shutil", "tempfile", "typing_extensions"}
    assert not slow & set(loaded)


def test_plan_needs_files():
    with pytest.raises(TypeError, match="path"):
        extsort.plan(np.arange(3))
    with pytest.raises(TypeError, match="path"):
        extsort.merge([np.arange(3)], "out")
