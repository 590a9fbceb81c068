"""Look-ups, aggregates and frequencies, compared with NumPy and dictionaries."""

import collections

import numpy as np
import pytest
from conftest import FORMS, NUMBERS, OTHERS, fill, give, stable_order

import extsort

DTYPE = np.dtype([("id", "<u2"), ("pad", "V1"), ("t", ">M8[s]"), ("x", "<f4"), ("n", "<i4")])


def records(random, n):
    array = np.zeros(n, DTYPE)
    array["id"] = random.integers(0, 9, n)
    array["t"] = fill(random, ">M8[s]", n)
    array["x"] = random.integers(-9, 9, n)
    array["n"] = random.integers(-9, 9, n)
    return array


@pytest.mark.parametrize("kind", [kind for kind in NUMBERS + OTHERS if kind not in ("V4", "?")])
def test_find_in_all_types(random, kind):
    array = np.sort(fill(random, kind, 60), kind="stable")
    wanted = [array[random.integers(60)], array[random.integers(60)]]
    texts = [repr(value.tolist()) for value in wanted]
    zero = repr(np.zeros(1, array.dtype)[0].tolist()), "-0.0"
    texts += zero if set(texts) & set(zero) else []
    want = [value for value in array.tolist() if repr(value) in texts]
    assert repr(extsort.find(array, wanted).tolist()) == repr(want)

    first = array.tolist().index(want[0]) if want[0] == want[0] and want[0] is not None else None
    if first is not None and want[0] != 0:
        assert extsort.find(array, start=array[first], positions=True).tolist() == list(range(first, 60))
        assert extsort.find(array, stop=array[first]).tobytes() == array[:first].tobytes()


@pytest.mark.parametrize("form", FORMS)
def test_find_with_several_keys(random, tmp_path, form):
    array = records(random, 80)
    array = array[stable_order(array, ["id", "t"])]
    src, dtype = give(form, array, tmp_path)
    keys = array[random.integers(0, 80, 5)][["id", "t"]]
    pairs = set(keys.tolist())
    want = [row for row in array.tolist() if (row[0], row[2]) in pairs]
    assert extsort.find(src, keys, key=["id", "t"], dtype=dtype).tolist() == want
    if form != "stream":
        want = [row for row in array.tolist() if row[0] == 3]
        assert extsort.find(src, 3, key="id", dtype=dtype).tolist() == want
        assert extsort.find(src, [(3, key[1]) for key in pairs], key=["id", "t"], dtype=dtype, missing=True) is not None


def test_find_keys_of_another_type():
    array = np.array([1, 1 << 63, (1 << 64) - 1], "<u8")
    assert extsort.find(array, [(1 << 64) - 1, 1]).tolist() == [1, (1 << 64) - 1]
    assert extsort.find(array, [1.0]).tolist() == [1]
    for wrong in (-1, [-1, 1 << 63], 1 << 64, 0.5, "abc", [[1], [2]]):
        with pytest.raises(ValueError):
            extsort.find(array, wrong)
    with pytest.raises(ValueError, match="numpy.float32"):
        extsort.find(np.zeros(1, "<f4"), 0.1)
    with pytest.raises(TypeError, match="tuple of 2"):
        extsort.find(np.zeros(1, "u1,u1"), 7, key=["f0", "f1"])
    with pytest.raises(FileNotFoundError):
        extsort.find("missing.npy", 1)


def test_find_missing_prefix_and_nothing():
    array = np.array([b"a", b"ab", b"b"], "S3")
    assert extsort.find(array, prefix=b"a").tolist() == [b"a", b"ab"]
    assert extsort.find(array.astype("<U3"), prefix="ab").tolist() == ["ab"]
    assert extsort.find(array, [b"c", b"b", b"aa"], missing=True).tolist() == [b"aa", b"c"]
    assert extsort.find(array, b"c").shape == (0,)
    assert extsort.find(array, [], positions=True).shape == (0,)
    pairs = np.array([(1, 2), (1, 3)], [("a", "<u4"), ("b", "<u4")])
    assert extsort.find(pairs, [(1, 3), (2, 2)], missing=True).tolist() == [(2, 2)]
    assert extsort.find(pairs[::-1].copy(), [2, 9], key="-b", missing=True).tolist() == [9]


@pytest.mark.parametrize("form", FORMS)
def test_aggregate(random, tmp_path, form):
    array = records(random, 70)
    src, dtype = give(form, array, tmp_path)
    got = extsort.aggregate(
        src,
        key="id",
        sum={"total": ("n", "<i8"), "x_total": "x"},
        min="n",
        max={"latest": "t"},
        last={"last": "x"},
        count=True,
        dtype=dtype,
    )
    assert got.dtype.names == (*DTYPE.names, "total", "x_total", "latest", "last", "count")
    assert got.dtype["latest"] == DTYPE["t"]
    for row, key in zip(got, sorted(set(array["id"].tolist()))):
        group = array[array["id"] == key]
        assert (row["id"], row["count"], row["total"], row["x_total"]) == (
            key, len(group), group["n"].sum(), group["x"].sum()
        )
        assert (row["n"], row["x"], row["last"]) == (group["n"].min(), group["x"][0], group["x"][-1])
    assert len(got) == len(set(array["id"].tolist()))


def test_aggregate_targets_and_errors(tmp_path):
    array = np.array([200, 100, 200], "u1")
    extsort.aggregate(array, tmp_path / "a.npy", count=True)
    assert np.load(tmp_path / "a.npy").tolist() == [(100, 1), (200, 2)]
    assert extsort.aggregate([tmp_path / "a.npy"], key="value", sum="count").tolist() == [(100, 1), (200, 2)]
    shops = np.array([(1, 200), (1, 100)], [("shop", "u1"), ("n", "u1")])
    with pytest.raises(extsort.ExtsortError, match="does not fit"):
        extsort.aggregate(shops, key="shop", sum="n")
    with pytest.raises(ValueError, match="already"):
        extsort.aggregate(shops, key="shop", sum={"n": "n"})
    with pytest.raises(ValueError, match="name of letters"):
        extsort.aggregate(shops, key="shop", sum={"n=n": "n"})
    np.save(tmp_path / "odd.npy", np.array([(1, 2), (1, 3)], [("k", "u1"), ("n:u8", "<u2")]))
    assert extsort.aggregate(tmp_path / "odd.npy", key="k", sum={"total": "n:u8"}).tolist() == [(1, 2, 5)]
    with pytest.raises(TypeError, match="keeps the dtype"):
        extsort.aggregate(shops, key="shop", min={"least": ("n", "<u8")})


def test_top(random):
    array = records(random, 300)
    counts = collections.Counter(array["id"].tolist())
    want = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    assert extsort.top(array, 4, key="id").tolist() == want[:4]
    assert extsort.top(array["t"].copy()).dtype == [("value", ">M8[s]"), ("count", "<u8")]


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda a: extsort.find(a, 300), ValueError, "no uint8 equals the key 300"),
        (lambda a: extsort.find(a, 1.5), ValueError, "equals the key"),
        (lambda a: extsort.find(a, b"ab"), ValueError, ""),
        (lambda a: extsort.find(a), TypeError, "give either"),
        (lambda a: extsort.find(a, 1, start=2), TypeError, "give either"),
        (lambda a: extsort.find(a, start=1, missing=True), TypeError, "needs keys"),
        (lambda a: extsort.find(a, start=(1, 2)), ValueError, "more than 1"),
        (lambda a: extsort.top("missing"), FileNotFoundError, "missing"),
    ],
)
def test_wrong_arguments(call, kind, text):
    with pytest.raises(kind, match=text):
        call(np.arange(3, dtype="u1"))
