"""Sort, search and combine NumPy arrays and files of fixed-size binary records larger than memory.

The functions run the extsort program, which this package contains. NumPy is needed only for
arrays, given or returned. Files can be npy files, raw records (then dtype describes them), and all other formats of
the program.

    import extsort
    import numpy as np

    extsort.sort("trades.npy", "by_id.npy", key="id", memory="2G")     # file to file
    trades = np.load("trades.npy", mmap_mode="r+")                     # larger than memory
    extsort.sort(trades, key=["price", "-time"], progress=True)        # in place
    extsort.find("by_id.npy", [17, 42], key="id")                      # an array of the records
    extsort.join("by_id.npy", "owners.npy", "joined.npy", key="id")    # both sorted by id
    extsort.aggregate(trades, key="shop", sum="amount", count=True)    # a record per shop
    for block in extsort.iter_sorted("trades.npy", key="price"):       # arrays, no output file
        ...

| function | purpose |
|---|---|
| sort, argsort | sort files, streams, arrays and memory maps; the positions that sort an array |
| iter_sorted | iterate over sorted records, an array of a block each |
| merge | merge sorted files |
| check | report whether records are in order |
| find | find records by key in a sorted file |
| join | pair the records of two sorted inputs that have the same key |
| union, intersect, subtract | combine sorted inputs by key |
| compare | count the keys that two sorted inputs share |
| aggregate | sums, extremes and counts per key |
| top | the most frequent keys |
| plan, info | predict a sort; describe a file |
| program | the path of the program |

key names one field or several, the most significant first; "-name" is descending. All functions
take the keyword arguments of Options: memory, temp, threads, device, reverse, progress, flags.
Values have NumPy's order: NaN and NaT come last. An error of the program is an ExtsortError.
help(extsort.find) describes one function, and help(extsort.Options) the common arguments.
"""

from ._calls import Report
from ._options import Options
from ._program import ExtsortError, program
from ._queries import aggregate, find, top
from ._sets import Comparison, SetOptions, compare, intersect, join, subtract, union
from ._verbs import Order, argsort, check, info, iter_sorted, merge, plan, sort

__all__ = [
    "Comparison",
    "ExtsortError",
    "Options",
    "Order",
    "Report",
    "SetOptions",
    "aggregate",
    "argsort",
    "check",
    "compare",
    "find",
    "info",
    "intersect",
    "iter_sorted",
    "join",
    "merge",
    "plan",
    "program",
    "sort",
    "subtract",
    "top",
    "union",
]


def __getattr__(name: str) -> str:
    """Return __version__, which is looked up only when somebody asks."""
    if name != "__version__":
        raise AttributeError(f"module 'extsort' has no attribute {name!r}")
    from importlib import metadata

    for distribution in ("extsort", "extsort-opencl"):
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            pass
    raise AttributeError("extsort is not installed, so it has no version")
