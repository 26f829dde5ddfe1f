"""How long reading, gating and splitting all of QGEval takes, and how much memory: printed, never asserted.

The baseline, in the same run, is what most scripts do: pandas.read_excel with openpyxl, and a nested loop over
passages for the overlap.

    .venv/bin/python benchmarks/data_speed.py [MIRROR]
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


def timed(what: str, call: Callable):
    start, used = time.perf_counter(), time.process_time()
    result = call()
    show(what, start, used)
    return result


def show(what: str, start: float, used: float) -> None:
    """Both clocks: on a busy machine only the second tells what the work costs."""
    print(f"{what:<58} {time.perf_counter() - start:7.2f} s {time.process_time() - used:7.2f} s of CPU")


def main() -> None:
    default = os.environ.get("ERREVAL_MIRROR", REPOSITORY.parent / "shared" / "data" / "mirror")
    mirror = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(default)
    if sys.dont_write_bytecode:
        print("PYTHONDONTWRITEBYTECODE is set: modules not compiled before are compiled again in every process")
    start, used = time.perf_counter(), time.process_time()
    from erreval.data.gates import load_great_expectations
    from erreval.data.overlap import find_overlaps
    from erreval.data.reader_checks import check_benchmark
    from erreval.data.readers import READERS
    from erreval.data.sources import materialise
    from erreval.data.splits import assign_sides

    show("import erreval's readers and gates", start, used)
    imports = time.perf_counter() - start, time.process_time() - used
    with tempfile.TemporaryDirectory() as folder:
        names = ["qgeval", "fairytaleqa"]
        laid = timed(
            "fetch 468 files from the mirror, verify, lay out",
            lambda: materialise(names, Path(folder) / "raw", cache=Path(folder) / "cache", mirror=mirror),
        )
        start, used = time.perf_counter() - imports[0], time.process_time() - imports[1]
        qgeval = timed("read qgeval (4 workbooks, 84,000 scores)", lambda: READERS["qgeval"](laid["qgeval"]))
        timed("import great_expectations", load_great_expectations)
        timed("gate qgeval", lambda: check_benchmark(qgeval).require())
        timed("split", lambda: assign_sides(qgeval.questions, {"dev": 0.5, "test": 0.5}, "qgeval"))
        show("reading, gating and splitting qgeval, with imports", start, used)
        stories = timed("read fairytaleqa (464 files)", lambda: READERS["fairytaleqa"](laid["fairytaleqa"])).frame
        passages, protected = stories["passage"].unique(), qgeval.questions["passage"].unique()
        timed(
            f"overlap of {len(passages):,} passages with {len(protected)}", lambda: find_overlaps(passages, protected)
        )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{'peak memory of all this':<58} {peak:7.0f} MB")
        print("baseline")
        timed("  pandas.read_excel with openpyxl, the same 4 workbooks", lambda: read_with_pandas(laid["qgeval"]))
        timed("  overlap by sets of word tuples, passage by passage", lambda: overlap_by_sets(passages, protected))


def read_with_pandas(folder: Path) -> None:
    import pandas as pd

    for path in sorted(folder.glob("*.xlsx")):
        pd.read_excel(path, keep_default_na=False, engine="openpyxl")


def overlap_by_sets(candidates, protected, n: int = 13) -> None:
    def grams(text: str) -> set[tuple[str, ...]]:
        words = text.casefold().split()
        return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}

    guarded = [grams(text) for text in protected]
    for text in candidates:
        own = grams(text)
        for other in guarded:
            len(own & other)


if __name__ == "__main__":
    main()
