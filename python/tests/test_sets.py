"""Set operations and joins, compared with dictionaries."""

import collections
import io
import os

import numpy as np
import pytest
from conftest import FORMS, give

import extsort

LEFT = np.dtype([("id", "<i2"), ("pad", "V3"), ("x", "<f8")])
RIGHT = np.dtype([("y", "S2"), ("key", ">i2"), ("x", "<u4")])


def records(random, dtype, key, n):
    """Return n records, sorted by key, of which few keys are different."""
    array = np.zeros(n, dtype)
    array[key] = np.sort(random.integers(-5, 6, n))
    array["x"] = np.arange(n) + 1
    return array


def groups(array, key):
    """Return the records of each key."""
    found = collections.defaultdict(list)
    for row in array.tolist():
        found[row[array.dtype.names.index(key)]].append(row)
    return found


def expected(verb, count_all, inputs):
    """Return the records of a set operation."""
    first, *others = [groups(array, "id") for array in inputs]
    rows = []
    for key in range(-5, 6):
        mine, theirs = first.get(key, []), [other.get(key, []) for other in others]
        if verb == "union":
            owners = [mine, *theirs]
            rows += sum(owners, []) if count_all else next((owner for owner in owners if owner), [])
        elif verb == "intersect":
            rows += mine[: min([len(mine), *map(len, theirs)])] if count_all else mine * all(theirs)
        else:
            rows += mine[sum(map(len, theirs)) :] if count_all else mine * (not any(theirs))
    return rows


@pytest.mark.parametrize("count_all", [False, True])
@pytest.mark.parametrize("verb", ["union", "intersect", "subtract"])
def test_set_operations(random, tmp_path, verb, count_all):
    for _ in range(6):
        number = random.integers(1 if verb == "union" else 2, 4)
        inputs = [records(random, LEFT, "id", n) for n in random.integers(0, 12, number)]
        given = [give(form, array, tmp_path)[0] for form, array in zip(random.choice(FORMS, 3), inputs)]
        want = expected(verb, count_all, inputs)
        got = getattr(extsort, verb)(*given, key="id", count_all=count_all, dtype=LEFT)
        assert got.dtype == LEFT
        assert got.tolist() == want


def test_set_operation_targets(tmp_path):
    a, b = np.array([1, 2, 3], "<u2"), np.array([2], "<u2")
    assert extsort.subtract(a, b, dst=tmp_path / "raw").records_out == 2
    assert np.fromfile(tmp_path / "raw", "<u2").tolist() == [1, 3]
    extsort.subtract(a, b, dst=tmp_path / "c.npy")
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    extsort.subtract(tmp_path / "a.npy", np.load(tmp_path / "b.npy", mmap_mode="r"), dst=tmp_path / "d.npy")
    assert np.load(tmp_path / "c.npy").tolist() == np.load(tmp_path / "d.npy").tolist() == [1, 3]
    dst = np.zeros(2, "<u2")
    extsort.subtract(tmp_path / "a.npy", tmp_path / "b.npy", dst=dst)
    assert dst.tolist() == [1, 3]
    assert sorted(os.listdir(tmp_path)) == ["a.npy", "b.npy", "c.npy", "d.npy", "raw"]


def test_other_layouts_and_unsorted_inputs(random):
    a, b = records(random, LEFT, "id", 9), records(random, RIGHT, "key", 9)
    want = [row for row in a.tolist() if row[0] in set(b["key"].tolist())]
    got = extsort.intersect(a[::-1].copy(), b[::-1].copy(), key="id", right_key="key", sort=True)
    assert sorted(got.tolist()) == want
    back = extsort.intersect(a[::-1].copy(), b[::-1].copy(), key="id", right_key="key", reverse=True)
    assert sorted(back.tolist()) == want
    with pytest.raises(extsort.ExtsortError, match="out of order"):
        extsort.union(np.array([2, 1]), np.array([1]))


def test_compare(random, tmp_path):
    a, b = records(random, LEFT, "id", 20), records(random, LEFT, "id", 15)
    in_a, in_b = set(a["id"].tolist()), set(b["id"].tolist())
    got = extsort.compare(a, b, key="id", only_a=tmp_path / "only")
    assert (got.keys_only_a, got.keys_only_b, got.keys_both) == (len(in_a - in_b), len(in_b - in_a), len(in_a & in_b))
    assert got.records_both == sum(key in in_b for key in a["id"].tolist())
    assert np.fromfile(tmp_path / "only", LEFT).tolist() == [row for row in a.tolist() if row[0] not in in_b]
    np.save(tmp_path / "a.npy", a)
    extsort.compare(tmp_path / "a.npy", tmp_path / "a.npy", key="id", both=tmp_path / "both.npy")
    assert np.load(tmp_path / "both.npy").tolist() == a.tolist()


def joined(how, a, b):
    """Return the rows of a join as lists: id, x of a, y and x of b, presence."""
    left, right = groups(a, "id"), groups(b, "key")
    rows = []
    for key in range(-5, 6):
        mine, theirs = left.get(key, []), right.get(key, [])
        if mine and theirs:
            rows += [(key, l[2], r[0], r[2], 3) for l in mine for r in theirs]
        elif how in ("left", "outer"):
            rows += [(key, l[2], b"", 0, 1) for l in mine]
        if how in ("right", "outer") and not mine:
            rows += [(key, 0.0, r[0], r[2], 2) for r in theirs]
    return rows


@pytest.mark.parametrize("how", ["inner", "left", "right", "outer"])
def test_join(random, tmp_path, how):
    for form in FORMS:
        a, b = records(random, LEFT, "id", 12), records(random, RIGHT, "key", 10)
        a["pad"] = b"\1\2\3"
        (left, dtype), (right, right_dtype) = give(form, a, tmp_path), give("array", b, tmp_path)
        got = extsort.join(
            left, right, how=how, key="id", right_key="key", dtype=dtype, right_dtype=right_dtype, presence=True
        )
        assert got.dtype.names == ("id", "pad", "x", "y", "x_b", "presence")
        assert got[["id", "x", "y", "x_b", "presence"]].tolist() == joined(how, a, b)


def test_join_columns_fill_and_targets(tmp_path):
    a = np.array([(1, 7), (2, 8)], [("id", "<i4"), ("n", "<i8")])
    b = np.array([(2, 0.5)], [("id", "<i4"), ("f", "<f8")])
    report = extsort.join(
        a, b, tmp_path / "rows.npy", how="left", key="id", columns=["b.f", "a.n"], fill=-1
    )
    assert report.records_out == 2
    rows = np.load(tmp_path / "rows.npy")
    assert rows.dtype.names == ("f", "n")
    assert rows.tolist() == [(-1.0, 7), (0.5, 8)]
    assert extsort.join(a, b, how="anti", key="id").tolist() == [(1, 7)]
    assert extsort.join(np.array([1, 3]), np.array([3, 4])).tolist() == [(3,)]


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda a: extsort.union(a, a.astype("<u2")), ValueError, "different dtypes"),
        (lambda a: extsort.union(a, a, right_key=""), TypeError, "one layout"),
        (lambda a: extsort.union(), TypeError, "needs an input"),
        (lambda a: extsort.union(a, a + 1, dst=a), ValueError, "overlaps"),
        (lambda a: extsort.join(a, a[1:], dst=a[:1]), ValueError, "overlaps"),
        (lambda a: extsort.union(a, 3), TypeError, "input 2 is int"),
        (lambda a: extsort.union(a, a, memry=1), TypeError, "memry"),
        (lambda a: extsort.intersect(a, io.BytesIO(), right_dtype=None), ValueError, "dtype is missing: input 2"),
        (lambda a: extsort.intersect(a.view("<M8[s]"), a.view("<M8[ms]")), ValueError, "units"),
        (lambda a: extsort.compare(a, a, both="x.npy"), ValueError, "header"),
        (lambda a: extsort.join(a, a, columns=["c"]), KeyError, "no column 'c'"),
        (lambda a: extsort.join(a, a, columns=["b.q"]), KeyError, "no field 'q'"),
    ],
)
def test_wrong_arguments(call, kind, text):
    with pytest.raises(kind, match=text):
        call(np.arange(3))


def test_messages_name_the_input():
    with pytest.raises(extsort.ExtsortError, match="input 2: record 2 .*is out of order"):
        extsort.union(np.array([1]), np.array([3, 1]))
    assert repr(extsort.compare(np.array([1]), np.array([1]))).endswith("records_both=1, records_both_b=1)")
