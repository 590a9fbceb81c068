"""Sort NumPy arrays and files of fixed-size binary records that are larger than memory.

The functions run the extsort program, which this package brings along. NumPy is needed only for
arrays. Files can be raw records (then dtype describes them), npy files and all other formats of
the program.

    extsort.sort("trades.npy", "sorted.npy", key=["price", "-time"], memory="2G")

| function | purpose |
|---|---|
| sort | sort files, streams, arrays and memory maps |
| argsort | the positions that sort an array |
| merge | merge sorted files |
| check | report whether records are in order |
| iter_sorted | iterate over sorted records, an array of a block each |
| plan, info | predict a sort; describe a file |
"""

from ._program import ExtsortError, program
from ._verbs import Order, Report, argsort, check, info, iter_sorted, merge, plan, sort

__all__ = [
    "ExtsortError",
    "Order",
    "Report",
    "argsort",
    "check",
    "info",
    "iter_sorted",
    "merge",
    "plan",
    "program",
    "sort",
]


def __getattr__(name: str) -> str:
    """Return __version__, which is looked up only when somebody asks."""
    if name != "__version__":
        raise AttributeError(f"module 'extsort' has no attribute {name!r}")
    from importlib import metadata

    return metadata.version("extsort")
