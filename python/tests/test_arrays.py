"""Arrays and memory maps, compared with NumPy."""

import numpy as np
import pytest

import extsort

NUMBERS = ["u1", "<u2", ">u4", "<u8", "i1", ">i2", "<i4", ">i8", "<f2", ">f4", "<f8", "?"]
OTHERS = ["S5", "<U3", ">U2", "<M8[ms]", ">m8[D]"]


def fill(random, kind, n):
    """Return n values of a type, few of them different, so that equal keys occur."""
    kind = np.dtype(kind)
    raw = random.integers(0, 256, (n, kind.itemsize), "u1")
    values = raw[random.integers(0, max(1, n // 2), n)] if n else raw
    if kind.kind in "SU":
        letters = np.array(["", "a", "b", "ab", "abc", "\u00e9"[: kind.kind == "U"]])
        return letters[random.integers(0, len(letters), n)].astype(kind)
    if kind.kind == "b":
        values = values & 1
    values = np.ascontiguousarray(values).view(kind)[:, 0]
    if kind.kind == "f":
        special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], kind)
        values[: n // 4] = special[random.integers(0, len(special), n // 4)]
    if kind.kind in "Mm":
        values[: n // 4] = np.array("NaT", kind)
    return values.copy()


@pytest.mark.parametrize("kind", NUMBERS + OTHERS)
@pytest.mark.parametrize("n", [0, 1, 777])
def test_argsort_equals_numpy(random, kind, n):
    array = fill(random, kind, n)
    want = np.argsort(array, kind="stable")
    assert extsort.argsort(array).tolist() == want.tolist()


@pytest.mark.parametrize("_", range(60))
def test_structured_argsort_equals_numpy(random, _):
    n = int(random.integers(0, 300))
    kinds = random.choice(NUMBERS + OTHERS, random.integers(1, 5))
    dtype = np.dtype([(f"f{i}", str(k)) for i, k in enumerate(kinds)], align=bool(random.integers(2)))
    array = np.zeros(n, dtype)
    for name in dtype.names:
        array[name] = fill(random, dtype[name], n)
    keys = list(random.permutation(dtype.names)[: random.integers(1, len(dtype.names) + 1)])
    want = np.arange(n)
    for name in reversed(keys):
        want = want[np.argsort(array[name][want], kind="stable")]
    assert extsort.argsort(array, key=keys).tolist() == want.tolist()

    # NumPy's own indexing need not copy the padding of a record.
    rows = np.frombuffer(array.tobytes(), "u1").reshape(n, dtype.itemsize)
    extsort.sort(array, key=keys, memory="16M")
    assert array.tobytes() == rows[want].tobytes()


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
        (lambda: extsort.sort(np.zeros(4)[::2]), ValueError, "gaps"),
        (lambda: extsort.sort(np.zeros(4), np.zeros(3)), ValueError, "24 bytes"),
        (lambda: extsort.sort(np.zeros(2, object)), ValueError, "Python objects"),
        (lambda: extsort.sort(np.zeros(2, "c16")), TypeError, "no order"),
        (lambda: extsort.sort(np.zeros(2, [("a", "u4", 3)]), key="a"), TypeError, "array"),
        (lambda: extsort.sort(np.zeros(2, [("a", "u4")]), key="b"), KeyError, "'a'"),
        (lambda: extsort.sort(np.zeros(2), dtype="<u4"), ValueError, "dtype of its own"),
        (lambda: extsort.sort("x"), TypeError, "dst is missing"),
        (lambda: extsort.sort(3, "x"), TypeError, "int"),
    ],
)
def test_wrong_arguments(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
