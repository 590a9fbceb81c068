import io

import pytest

np = pytest.importorskip("numpy")

# Dtypes that have an order.
NUMBERS = ["u1", "<u2", ">u4", "<u8", "i1", ">i2", "<i4", ">i8", "<f2", ">f4", "<f8", "?"]
OTHERS = ["S5", "V4", "<U3", ">U2", "<M8[ms]", ">m8[D]"]


@pytest.fixture
def random():
    """A random generator. Its seed is printed if a test fails."""
    seed = np.random.SeedSequence().entropy
    print(f"seed {seed}")
    return np.random.default_rng(seed)


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


def random_dtype(random):
    """Return a structured dtype: padded, with gaps, nested, or with fields out of order."""
    kinds = [str(kind) for kind in random.choice(NUMBERS + OTHERS, random.integers(1, 5))]
    names = [f"f{i}" for i in range(len(kinds))]
    form = random.integers(4)
    if form == 0:
        return np.dtype(list(zip(names, kinds)), align=bool(random.integers(2)))
    if form == 1 and len(kinds) > 1:
        return np.dtype([("outer", list(zip(names[1:], kinds[1:]))), (names[0], kinds[0])])
    offsets, size = {}, 0
    for name in random.permutation(names):
        offsets[name] = size + int(random.integers(4))
        size = offsets[name] + np.dtype(kinds[names.index(name)]).itemsize
    places = [offsets[name] for name in names]
    return np.dtype({"names": names, "formats": kinds, "offsets": places, "itemsize": size + int(random.integers(3))})


def leaves(dtype, name=""):
    """Return the names of the fields that are no records."""
    if dtype.names is None:
        return [name]
    return [leaf for inner in dtype.names for leaf in leaves(dtype[inner], f"{name}.{inner}" if name else inner)]


def column(array, name):
    """Return a field by its name, such as "outer.inner"; "" is the array."""
    for part in filter(None, name.split(".")):
        array = array[part]
    return array


def stable_order(array, keys):
    """Return what np.argsort returns for several keys, the most significant first."""
    order = np.arange(len(array))
    for key in reversed(keys):
        order = order[np.argsort(column(array, key)[order], kind="stable")]
    return order


FORMS = ["array", "npy", "map", "slice", "raw", "stream"]


def give(form, array, folder):
    """Return an input of a form with the records of an array, and the dtype that it needs."""
    path = folder / f"{form}.{np.random.bytes(4).hex()}"
    if form == "array":
        return array, None
    if form == "stream":
        return io.BytesIO(array.tobytes()), array.dtype
    if form == "raw":
        array.tofile(path)
        return path, array.dtype
    if form == "slice":
        path.write_bytes(bytes(array.itemsize) + array.tobytes() + bytes(2 * array.itemsize))
        return np.memmap(path, array.dtype, "r")[1 : 1 + len(array)], None
    with open(path, "wb") as file:
        np.save(file, array)
    return (path if form == "npy" else np.load(path, mmap_mode="r" if len(array) else None)), None
