"""Checks of whole sets: repeats and contradictions, too few examples, scores that hardly vary, drift between rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from erreval.data.gate_report import GateReport, Listing
from erreval.data.gates import Rule, load_great_expectations, run_gate
from erreval.data.readers.frames import Benchmark
from erreval.taxonomy import ERRORS, ErrorType, parse_label_set

DRIFT_FIGURES = ("label distribution", "question length", "passage length", "source mix")
"""What two rounds are compared by."""


def check_duplicates(frame: pd.DataFrame, *, name: str) -> GateReport:
    """The same question with different labels stops the run; with the same labels it is a warning.

    Args:
        frame: Has ``question_id``, ``source`` and ``labels``.
        name: Of the report.
    """
    gxe = load_great_expectations().expectations
    sets = frame["labels"].map(_as_set)
    by_question = pd.DataFrame({"question_id": frame["question_id"], "labels": sets}).groupby("question_id")["labels"]
    counted = frame[["question_id", "source", "labels"]].assign(
        **{"label sets": by_question.transform("nunique"), "copies": by_question.transform("size")}
    )
    rules = [
        Rule(
            "conflicting labels",
            "the same question has the same labels wherever it stands",
            [gxe.ExpectColumnValuesToBeBetween(column="label sets", max_value=1)],
        ),
        Rule(
            "repeated questions",
            "no question stands twice under different sources",
            [gxe.ExpectColumnValuesToBeBetween(column="copies", max_value=1)],
            blocks=False,
        ),
    ]
    return run_gate(counted, rules, name=name, show=("question_id", "source", "labels"))


def _as_set(cell: Any) -> str:
    return ";".join(sorted({part.strip() for part in str(cell).split(";") if part.strip()}))


def count_types(labels: Sequence[str]) -> dict[str, int]:
    """How many rows carry each of the ten error types, and how many No Error.

    Raises:
        ValueError: A cell is no label set.
    """
    found = Counter(label for cell in labels for label in parse_label_set(cell))
    return {label.value: found.get(label, 0) for label in ErrorType}


def check_type_counts(frame: pd.DataFrame, *, minimum: int, name: str, blocks: bool = False) -> GateReport:
    """Every error type has enough examples to learn from."""
    gxe = load_great_expectations().expectations
    counts = count_types(frame["labels"].tolist())
    table = pd.DataFrame({"type": [t.value for t in ERRORS], "examples": [counts[t.value] for t in ERRORS]})
    rule = Rule(
        "examples of each type",
        f"every error type has at least {minimum} examples",
        [gxe.ExpectColumnValuesToBeBetween(column="examples", min_value=minimum)],
        blocks=blocks,
    )
    return run_gate(table, [rule], name=name, show=("type",), counts=counts)


def check_variation(benchmark: Benchmark, *, most: float = 0.95) -> GateReport:
    """Scores vary enough for a correlation: constant ones make it undefined, nearly constant ones fragile.

    Args:
        benchmark: With published mean scores.
        most: The largest share of questions that may have one and the same score; above it is a warning. Constant
            scores stop the run.
    """
    gxe = load_great_expectations().expectations
    wide = benchmark.wide_scores()
    rows = []
    for dimension in benchmark.scales:
        values = wide[dimension].dropna() if dimension in wide else pd.Series([], dtype=float)
        shares = values.value_counts(normalize=True)
        share = float(shares.iloc[0]) if len(shares) else 1.0
        rows.append((dimension, len(values), int(values.nunique()), round(share, 4)))
    table = pd.DataFrame(rows, columns=["dimension", "n", "different scores", "share of the commonest"])
    rules = [
        Rule(
            "constant scores",
            "each dimension has more than one score; without that no correlation is defined",
            [gxe.ExpectColumnValuesToBeBetween(column="different scores", min_value=2)],
        ),
        Rule(
            "nearly constant scores",
            f"no score is given to more than {most:.0%} of the questions; beyond that few carry the correlation",
            [gxe.ExpectColumnValuesToBeBetween(column="share of the commonest", max_value=most)],
            blocks=False,
        ),
    ]
    return run_gate(table, rules, name=f"{benchmark.name} variation", show=("dimension",))


def measure_drift(before: pd.DataFrame, after: pd.DataFrame) -> dict[str, float]:
    """How far two rounds of a training set are apart, each figure from 0 (alike) to 1.

    ``label distribution`` is the Jensen-Shannon distance (base 2) of how often each label is given; the lengths (words)
    are Kolmogorov-Smirnov statistics, passages counted once each; ``source mix`` is the total variation distance.

    Args:
        before: Has ``labels``, ``question``, ``passage``, ``source``; at least one row.
        after: Likewise.
    """
    from scipy.spatial.distance import jensenshannon
    from scipy.stats import ks_2samp

    counts = [np.array(list(count_types(frame["labels"].tolist()).values()), dtype=float) for frame in (before, after)]
    lengths = {
        "question length": [_word_counts(frame["question"]) for frame in (before, after)],
        "passage length": [_word_counts(frame["passage"].drop_duplicates()) for frame in (before, after)],
    }
    shares = [frame["source"].value_counts(normalize=True) for frame in (before, after)]
    figures = {
        "label distribution": float(jensenshannon(counts[0], counts[1], base=2)),
        **{name: float(ks_2samp(a, b).statistic) for name, (a, b) in lengths.items()},
        "source mix": float(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2),
    }
    return {name: round(value, 4) for name, value in figures.items()}


def _word_counts(texts: Iterable[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def check_drift(before: pd.DataFrame, after: pd.DataFrame, *, name: str, thresholds: Mapping[str, float]) -> GateReport:
    """Warn where a round differs from the one before by more than the thresholds allow.

    The rows that the round added are compared with the round before as well, for the reader's information: the whole
    set changes little where little was added.

    Args:
        before: The training set of the round before.
        after: The round's training set, which begins with that of the round before.
        name: Of the report.
        thresholds: One for each of ``DRIFT_FIGURES``.

    Raises:
        ValueError: A threshold is missing, or is for a figure that is not measured.
    """
    gxe = load_great_expectations().expectations
    wrong = sorted(set(thresholds) ^ set(DRIFT_FIGURES))
    if wrong:
        raise ValueError(f"thresholds are for {', '.join(DRIFT_FIGURES)}; missing or unknown: {', '.join(wrong)}")
    figures = measure_drift(before, after)
    added = after.iloc[len(before) :]
    alone = measure_drift(before, added) if len(added) else {}
    table = pd.DataFrame({"figure": list(figures), "value": list(figures.values())})
    table["excess"] = [round(value - thresholds[figure], 4) for figure, value in figures.items()]
    rule = Rule(
        "drift",
        "the round is like the one before: "
        + ", ".join(f"{figure} within {thresholds[figure]:g}" for figure in figures),
        [gxe.ExpectColumnValuesToBeBetween(column="excess", max_value=0)],
        blocks=False,
    )
    shown = table[["figure", "value"]].assign(threshold=table["figure"].map(thresholds))
    shown[f"the {len(added)} added rows alone"] = table["figure"].map(alone)
    note = "each figure from 0 (alike) to 1; only the whole set is held against the threshold"
    listing = Listing.of("Drift since the round before", shown, note=note)
    return run_gate(table, [rule], name=name, show=("figure", "value"), counts=figures, listings=[listing])
