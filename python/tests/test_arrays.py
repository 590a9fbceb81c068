"""Arrays and memory maps, compared with NumPy."""

import io
import os

import numpy as np
import pytest
from conftest import NUMBERS, OTHERS, column, fill, leaves, random_dtype, stable_order

import extsort
from extsort import _data


@pytest.mark.parametrize("kind", NUMBERS + OTHERS)
def test_argsort_equals_numpy(random, kind):
    for n in (0, 1, 777):
        array = fill(random, kind, n)
        assert extsort.argsort(array).tolist() == np.argsort(array, kind="stable").tolist()


@pytest.mark.parametrize("number", range(200))
def test_structured_dtypes_equal_numpy(random, number):
    n = int(random.integers(0, 300))
    dtype = random_dtype(random)
    array = np.frombuffer(bytearray(random.bytes(n * dtype.itemsize)), dtype)  # padding is random
    names = leaves(dtype)
    for name in names:
        values = column(array, name)
        values[...] = fill(random, values.dtype, n)
    keys = list(random.permutation(names)[: random.integers(1, len(names) + 1)])
    want = stable_order(array, keys)
    assert extsort.argsort(array, key=keys).tolist() == want.tolist()
    if number % 8 == 0:
        # NumPy's own indexing need not copy the padding of a record.
        rows = np.frombuffer(array.tobytes(), "u1").reshape(n, dtype.itemsize)
        extsort.sort(array, key=keys, memory="16M")
        assert array.tobytes() == rows[want].tobytes()


def test_npy_file_has_the_order_of_the_array(random, tmp_path):
    dtype = np.dtype([("-t", "<M8[us]"), ("a:desc", ">f4"), ("n", [("x", "<u2"), ("y", "S2")])])
    array = np.zeros(200, dtype)
    for name in leaves(dtype):
        column(array, name)[...] = fill(random, column(array, name).dtype, 200)
    np.save(tmp_path / "a.npy", array)
    for keys in (["-t", "n"], ["a:desc"], ["n.y", "a:desc"], None):
        expanded = [leaf for key in keys or dtype.names for leaf in (["n.x", "n.y"] if key == "n" else [key])]
        want = array[stable_order(array, expanded)]
        extsort.sort(tmp_path / "a.npy", tmp_path / "b.npy", key=keys)
        assert np.load(tmp_path / "b.npy").tobytes() == want.tobytes()
        assert extsort.check(tmp_path / "b.npy", key=keys)
        extsort.sort(array, tmp_path / "c.npy", key=keys)
        assert (tmp_path / "c.npy").read_bytes()[-4000:] == (tmp_path / "b.npy").read_bytes()[-4000:]
        assert np.load(tmp_path / "c.npy").dtype == dtype


def test_path_that_ends_with_npy_gets_a_header(tmp_path):
    (tmp_path / "b.npy").write_bytes(b"old")
    (tmp_path / "b.npy").chmod(0o600)
    report = extsort.sort(np.array([2, 1, 2], ">i4"), tmp_path / "b.npy", unique=True)
    assert report.records_out == 2
    assert np.load(tmp_path / "b.npy").tolist() == [1, 2]
    assert (tmp_path / "b.npy").stat().st_mode & 0o777 == 0o600
    with pytest.raises(extsort.ExtsortError):
        extsort.sort(np.array([2, 1]), tmp_path / "b.npy", flags=["--no-such-flag"])
    assert np.load(tmp_path / "b.npy").tolist() == [1, 2]
    assert len(list(tmp_path.iterdir())) == 1
    (tmp_path / "raw").write_bytes(b"dcba")
    extsort.sort(tmp_path / "raw", tmp_path / "c.npy", dtype=[("letter", "S1")])
    assert np.load(tmp_path / "c.npy")["letter"].tolist() == [b"a", b"b", b"c", b"d"]


def test_descending_keys_keep_the_order_of_equal_records():
    array = np.array([(1, 0), (2, 1), (1, 2), (2, 3)], [("a", "<u4"), ("-b", "<u4")])
    extsort.sort(array, key="-a")
    assert array["-b"].tolist() == [1, 3, 0, 2]
    extsort.sort(array, key="--b")
    assert array["-b"].tolist() == [3, 2, 1, 0]


def test_sort_into_another_array():
    src = np.array([3, 1, 2, 1], "<u2")
    dst = np.full(6, 9, "<u2")
    report = extsort.sort(src, dst, unique=True)
    assert (report.records, report.records_out) == (4, 3)
    assert src.tolist() == [3, 1, 2, 1]
    assert dst.tolist() == [1, 2, 3, 9, 9, 9]


@pytest.mark.parametrize("mode", ["r+", "c"])
def test_memory_map_in_place(random, tmp_path, mode):
    values = random.integers(0, 1 << 60, 100_000)
    np.save(tmp_path / "a.npy", values)
    mapped = np.load(tmp_path / "a.npy", mmap_mode=mode)
    extsort.sort(mapped, memory="16M")
    assert (mapped == np.sort(values)).all()
    written = np.load(tmp_path / "a.npy")
    assert (written == (np.sort(values) if mode == "r+" else values)).all()


def test_slice_of_memory_map_leaves_the_rest(random, tmp_path):
    values = random.integers(0, 1000, 50_000).astype("<i4")
    values.tofile(tmp_path / "raw")
    mapped = np.memmap(tmp_path / "raw", "<i4", "r+", offset=4 * 7)
    extsort.sort(mapped[1000:40_000])
    want = values.copy()
    want[1007:40_007].sort()
    assert (np.fromfile(tmp_path / "raw", "<i4") == want).all()


@pytest.mark.parametrize("options", [{"limit": 3}, {"flags": ["--limit", "3"]}, {"flags": ["--quiet"]}])
def test_result_that_is_shorter_than_its_map(tmp_path, options):
    np.arange(10).tofile(tmp_path / "raw")
    mapped = np.memmap(tmp_path / "raw", int, "r+")
    extsort.sort(mapped, key="-", **options)
    rest = [6, 5, 4, 3, 2, 1, 0] if "--quiet" in options.get("flags", []) else [3, 4, 5, 6, 7, 8, 9]
    assert np.fromfile(tmp_path / "raw", int).tolist() == [9, 8, 7] + rest


def test_memory_map_to_memory_map(random, tmp_path):
    values = random.integers(0, 1 << 30, 10_000).astype("<u4")
    values.tofile(tmp_path / "a")
    src = np.memmap(tmp_path / "a", "<u4", "r")
    dst = np.memmap(tmp_path / "b", "<u4", "w+", shape=len(src))
    extsort.sort(src, dst)
    assert (dst == np.sort(values)).all()


def test_path_into_array(tmp_path):
    np.save(tmp_path / "a.npy", np.array([5, 4, 6], "<u8"))
    dst = np.zeros(3, "<u8")
    extsort.sort(tmp_path / "a.npy", dst)
    assert dst.tolist() == [4, 5, 6]


def test_npy_file_as_a_stream(tmp_path):
    np.save(tmp_path / "a.npy", np.array([3, 1, 2], ">i4"))
    data = io.BytesIO((tmp_path / "a.npy").read_bytes())
    assert extsort.argsort(data).tolist() == [1, 2, 0]
    with open(tmp_path / "a.npy", "rb") as file:
        extsort.sort(file, tmp_path / "b")
    assert np.load(tmp_path / "b").tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "call",
    [
        lambda a, dst: extsort.sort(a, dst),
        lambda a, dst: extsort.aggregate(a, dst),
        lambda a, dst: extsort.union(a, a + 1, dst=dst),
        lambda a, dst: extsort.join(a, np.arange(4), dst=dst),
    ],
)
def test_part_of_an_array_is_an_error(monkeypatch, tmp_path, call):
    """The pipe of a process that is killed ends early, as it does here."""
    monkeypatch.setattr(_data, "_memory_blocks", lambda memory: [memory[: len(memory) // 2]])
    (tmp_path / "out").write_bytes(b"old")
    with pytest.raises(extsort.ExtsortError, match="fewer than"):
        call(np.arange(1000), tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"old"


def test_iter_sorted_of_npy_file_ends_early(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(100_000)[::-1])
    for part in extsort.iter_sorted(tmp_path / "a.npy", block=10):
        assert part.tolist() == list(range(10))
        break


def test_check_names_the_first_record_out_of_order():
    order = extsort.check(np.array([1, 2, 1]))
    assert not order
    assert order.record == 2
    assert extsort.check(np.array([2, 2, 1]), reverse=True)


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda: extsort.sort(np.zeros((2, 2))), ValueError, "2 dimensions"),
        (lambda: extsort.sort(np.zeros(4)[::2]), ValueError, "not contiguous"),
        (lambda: extsort.sort(np.zeros(4), np.zeros(3)), ValueError, "24 bytes"),
        (lambda: extsort.sort(np.zeros(2, object)), ValueError, "Python objects.*convert"),
        (lambda: extsort.sort(np.zeros(2, [("a", "u4"), ("o", object)]), key="a"), ValueError, "Python objects"),
        (lambda: extsort.sort(np.ma.masked_array([1, 2], [0, 1])), ValueError, "mask.*compressed"),
        (lambda: extsort.sort(np.zeros(2, "V0")), ValueError, "no bytes"),
        (lambda: extsort.sort(np.zeros(2, "c16")), TypeError, "no order"),
        (lambda: extsort.sort(np.zeros(2, [("a", "u4", 3)]), key="a"), TypeError, "array.*view"),
        (lambda: extsort.sort(np.zeros(2), memry="2G"), TypeError, "memry.*memory"),
        (lambda: extsort.iter_sorted("missing"), FileNotFoundError, "missing"),
        (lambda: extsort.iter_sorted(np.zeros(2), block=0), ValueError, "block is 0"),
        (lambda: extsort.sort(np.zeros(4, "<u8"), np.zeros(4)), ValueError, "dtype float64.*uint64"),
        (lambda: extsort.sort(np.zeros(2, [("a", "u4"), ("x", "f4", 2)])), TypeError, "give key"),
        (lambda: extsort.sort(np.zeros(2, [("a", "u4"), ("x", "f4", 2)]), by="a"), TypeError, "unknown option 'by'"),
        (lambda: extsort.sort(np.zeros(2), key=0), TypeError, "key is 0"),
        (lambda: extsort.sort(np.zeros(2), key="-value"), KeyError, "Leave key out"),
        (lambda: extsort.sort(np.frombuffer(bytes(16))), ValueError, "src is read-only: give dst"),
        (lambda: extsort.sort(np.zeros(2), memory=1.5e9), TypeError, "whole number"),
        (lambda: extsort.sort(np.zeros(2), flags="--verify"), TypeError, "give a list"),
        (lambda: extsort.argsort([3, 1]), TypeError, "numpy.asarray"),
        (lambda: extsort.argsort(io.BytesIO(b"1234")), extsort.ExtsortError, "give dtype"),
        (lambda: extsort.sort(np.zeros(2, [("a", "u4")]), key="b"), KeyError, "'a'"),
        (lambda: extsort.sort(np.zeros(2, [("a", "u4")]), key="morton(a,b)"), KeyError, "no field 'b'"),
        (lambda: extsort.sort(np.zeros(2), dtype="<u4"), ValueError, "dtype of its own"),
        (lambda: extsort.sort("x"), TypeError, "dst is missing"),
        (lambda: extsort.sort(3, "x"), TypeError, "int"),
        (lambda: extsort.argsort(io.StringIO("12345678"), dtype="<u8"), TypeError, "binary mode"),
        (lambda: extsort.union(io.StringIO("12345678"), dtype="<u8"), TypeError, "binary mode"),
        (lambda: extsort.sort(np.zeros(2), io.StringIO()), TypeError, "binary mode"),
    ],
)
def test_wrong_arguments(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_npy_files_have_their_own_dtype(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 2)))
    with pytest.raises(ValueError, match="own"):
        extsort.sort(tmp_path / "a.npy", tmp_path / "b", dtype="<u8")
    with pytest.raises(ValueError, match="one dimension"):
        extsort.find(tmp_path / "a.npy", 1.0)


@pytest.mark.parametrize("problem", ["dtype", "shape", "short", "long"])
def test_npy_files_must_be_alike_and_complete(tmp_path, problem):
    good, other, dst = tmp_path / "good.npy", tmp_path / "other.npy", np.zeros(9, "<u8")
    values = np.arange(4, dtype="<u8")
    np.save(good, values)
    np.save(other, {"dtype": values.astype("<f8"), "shape": values.reshape(1, 4)}.get(problem, values))
    os.truncate(other, other.stat().st_size + {"short": -8, "long": 8}.get(problem, 0))
    calls = [
        lambda: list(extsort.iter_sorted([good, other])),
        lambda: extsort.sort([good, other], dst),
        lambda: extsort.sort([good, other], tmp_path / "out"),
        lambda: extsort.merge([good, other], dst),
        lambda: extsort.union(good, other, dst=dst),
    ]
    if problem in ("short", "long"):
        calls += [lambda: extsort.find(other, 1), lambda: extsort.sort(other, dst)]
    if problem == "short":
        calls.append(lambda: extsort.sort(io.BytesIO(other.read_bytes()), dst))
    for call in calls:
        with pytest.raises((ValueError, extsort.ExtsortError)):
            call()
    assert not dst.any()


def test_map_of_the_file_that_is_sorted(tmp_path):
    a, b = tmp_path / "a.npy", tmp_path / "b.npy"
    np.save(a, np.array([2, 1]))
    np.save(b, np.array([], int))
    mapped = np.load(a, mmap_mode="r+")
    for dst in (mapped, np.asarray(mapped)):
        for call in (
            lambda: extsort.sort(a, dst),
            lambda: extsort.sort([b, a], dst),
            lambda: extsort.merge([b, a], dst),
            lambda: extsort.aggregate([b, a], dst),
        ):
            with pytest.raises(ValueError, match="give dst as src"):
                call()
        with pytest.raises(ValueError, match="overlaps"):
            extsort.union(a, dst=dst)
        with pytest.raises(ValueError, match="overlaps"):
            extsort.join(b, a, dst=dst)
    assert mapped.tolist() == [2, 1]


@pytest.mark.parametrize("has_maps", [True, False])
@pytest.mark.parametrize("new", [[8, 9, 7], [9, 8], None])
def test_map_whose_file_was_replaced(tmp_path, monkeypatch, new, has_maps):
    if not has_maps:
        monkeypatch.setattr(_data, "_mapped_file", lambda address: (-1, -1))
    path, other = tmp_path / "a", tmp_path / "b"
    np.array([3, 1, 2]).tofile(path)
    mapped = np.memmap(path, int, "r+")
    assert _data.Place.of(mapped)
    if new:
        np.array(new).tofile(other)
        other.rename(path)
    else:
        path.unlink()
    extsort.sort(mapped)
    assert mapped.tolist() == [1, 2, 3]
    assert extsort.union(mapped).tolist() == [1, 2, 3]
    assert (np.fromfile(path, int).tolist() if path.exists() else None) == new


def test_computed_keys(random):
    array = np.zeros(300, [("pad", "V3"), ("id", "<u4"), ("n", "<u2")])
    array["id"] = random.integers(0, 1 << 32, 300, "u4")
    bits = [int(f"{value:032b}"[::-1], 2) for value in array["id"].tolist()]
    assert extsort.argsort(array, key="bit_reverse(id)").tolist() == np.argsort(bits, kind="stable").tolist()
