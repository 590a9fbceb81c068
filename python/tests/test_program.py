"""Files, streams, errors and the end of the program."""

import io
import os
import subprocess
import sys
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
    assert not (tmp_path / "b").exists()


def test_failing_stream_raises_its_own_error(tmp_path):
    class Failing(io.RawIOBase):
        def read(self, n=-1):
            raise OSError("the stream failed")

    with pytest.raises(OSError, match="the stream failed"):
        extsort.sort(Failing(), io.BytesIO(), dtype="<u8")


def test_missing_program(monkeypatch):
    monkeypatch.setenv("EXTSORT", "/nonexistent/extsort")
    with pytest.raises(FileNotFoundError):
        extsort.info("a")


@pytest.mark.skipif(sys.platform != "linux", reason="finds the program in /proc")
def test_interrupt_leaves_nothing_behind(tmp_path):
    with open(tmp_path / "in", "wb") as file:
        file.truncate(4 << 30)  # a hole: long to sort, and no disk space
    script = """
import sys, extsort
print("ready", flush=True)
extsort.sort(sys.argv[1] + "/in", sys.argv[1] + "/out", dtype="<u8", memory="16M", temp=sys.argv[1])
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    children = f"/proc/{process.pid}/task/{process.pid}/children"
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not open(children).read():
        time.sleep(0.01)
    time.sleep(0.5)  # the program spills
    process.send_signal(2)
    _, messages = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in messages
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert not os.path.exists(children)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors in /proc")
def test_calls_leak_no_descriptors_and_no_threads(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(10))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r+")

    def calls():
        extsort.sort(mapped)
        extsort.sort(np.arange(10))
        with pytest.raises(extsort.ExtsortError):
            extsort.sort(tmp_path / "missing", io.BytesIO(), dtype="<u8")

    calls()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(int(os.environ.get("EXTSORT_TEST_CALLS", 10))):
        calls()
    assert len(os.listdir("/proc/self/fd")) == before
    assert threading.active_count() == 1


def test_program_is_found_without_numpy():
    script = "import sys; sys.modules['numpy'] = None; import extsort; print(extsort.program())"
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == _program.program()
