"""A public benchmark by its name, for commands and notebooks: fetched, verified and read."""

from __future__ import annotations

import tempfile
from pathlib import Path

from erreval.data.readers import BENCHMARKS
from erreval.data.readers.frames import Benchmark
from erreval.data.sources import materialise
from erreval.errors import TableError


def open_benchmark(name: str) -> Benchmark:
    """Read a public benchmark; its files come from the cache, the mirror or the network.

    Raises:
        TableError: There is no such benchmark.
        SourceError: A file cannot be had.
    """
    if name not in BENCHMARKS:
        raise TableError(f"no benchmark {name!r}; there are: {', '.join(BENCHMARKS)}")
    with tempfile.TemporaryDirectory() as folder:
        return BENCHMARKS[name](materialise([name], Path(folder))[name])
