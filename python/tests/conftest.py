import pytest

np = pytest.importorskip("numpy")


@pytest.fixture
def random():
    """A random generator. Its seed is printed if a test fails."""
    seed = np.random.SeedSequence().entropy
    print(f"seed {seed}")
    return np.random.default_rng(seed)
