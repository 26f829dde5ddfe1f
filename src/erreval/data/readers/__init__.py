"""One reader for each data set: from its files, as ``sources.materialise`` lays them out, to frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from erreval.data.readers import others, pairs, qgeval
from erreval.data.readers.frames import Benchmark, Pairs
from erreval.data.readers.others import read_custom
from erreval.errors import TableError

BENCHMARKS: Mapping[str, Callable[[Path], Benchmark]] = MappingProxyType(
    {
        "qgeval": qgeval.read_qgeval,
        "qgeval-metrics": qgeval.read_qgeval_metrics,
        "qgeval-llama3": qgeval.read_qgeval_llama3,
        "qgeval-answerability": qgeval.read_qgeval_answerability,
        "pilot": qgeval.read_pilot,
        "seeds": qgeval.read_seeds,
        "simqg": others.read_simqg,
        "squad-1k": others.read_squad_1k,
        "paperrq": others.read_paperrq,
    }
)
"""Readers of judged questions; each takes the folder of its source."""

PAIRS: Mapping[str, Callable[[Path], Pairs]] = MappingProxyType(
    {
        "fairytaleqa": pairs.read_fairytaleqa,
        "xquad": pairs.read_xquad,
        "qed": pairs.read_qed,
        "squad": pairs.read_squad,
        "hotpotqa": pairs.read_hotpotqa,
    }
)
"""Readers of question-answer pairs; ``squad`` and ``hotpotqa`` take a file or a folder that a user has."""

READERS: Mapping[str, Callable[[Path], Benchmark | Pairs]] = MappingProxyType({**BENCHMARKS, **PAIRS})
"""Every reader by the name of its source."""

ANNOTATED = ("qgeval",)
"""Benchmarks that publish single annotators' scores; the others publish averages, and agreement is unknown."""

PROTECTED = ("qgeval", "simqg", "squad-1k")
"""Benchmarks whose passages must never be trained on; the pilot's and the llama3 passages are QGEval's."""

__all__ = ["ANNOTATED", "BENCHMARKS", "PAIRS", "PROTECTED", "READERS", "Benchmark", "Pairs", "read", "read_custom"]


def read(name: str, folder: Path) -> Benchmark | Pairs:
    """Read a data set by name.

    Raises:
        TableError: There is no such reader, or the files are not what they should be.
    """
    if name not in READERS:
        raise TableError(f"no reader {name!r}; there are: {', '.join(READERS)}")
    return READERS[name](folder)
