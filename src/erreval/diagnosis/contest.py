"""Ways to identify errors, side by side on labelled questions (ErrEval, Table 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from erreval.diagnosis.interface import ErrorIdentifier, Prediction, Report, predict
from erreval.diagnosis.metrics import label_set_metrics
from erreval.records import Question
from erreval.taxonomy import ErrorType

METRICS = ("micro_f1", "macro_f1", "weighted_f1", "exact_match", "over_prediction_rate")
"""The columns of Table 5."""

FLOOR = "floor: always No Error"


@dataclass(frozen=True)
class Standing:
    """One row of the comparison."""

    name: str
    n: int
    """Questions, unscored ones included: they count as predicting nothing, so that nobody gains by not answering."""
    metrics: dict[str, float | None]
    unscored: Counter[str]
    """By reason."""
    on_scored: dict[str, float | None] | None
    """The same metrics on the scored questions alone; None where all are scored, or none is."""


def compare_identifiers(
    identifiers: Sequence[ErrorIdentifier],
    questions: Sequence[Question],
    truth: Sequence[frozenset[ErrorType]],
    report: Report | None = None,
) -> tuple[list[Standing], list[Prediction]]:
    """Ask every identifier about the same questions.

    Args:
        identifiers: Whom to ask.
        questions: The labelled questions.
        truth: Their label sets.
        report: Called with (done, all) questions, for each identifier anew.

    Returns:
        The floor first, then a row an identifier in the given order; and the predictions behind the latter.
    """
    floor = label_set_metrics(truth, [frozenset({ErrorType.NO_ERROR})] * len(truth))
    standings = [Standing(FLOOR, len(truth), _headline(floor), Counter(), None)]
    predictions = []
    for identifier in identifiers:
        prediction = predict(identifier, questions, report)
        predictions.append(prediction)
        standings.append(_standing(identifier.name, prediction, truth))
    return standings, predictions


def _standing(name: str, prediction: Prediction, truth: Sequence[frozenset[ErrorType]]) -> Standing:
    unscored = prediction.unscored
    decided = prediction.decided
    scored = [k for k in range(len(truth)) if k not in unscored]
    on_scored = None
    if unscored and scored:
        on_scored = _headline(label_set_metrics([truth[k] for k in scored], [decided[k] for k in scored]))
    return Standing(
        name,
        len(truth),
        _headline(label_set_metrics(truth, decided)),
        Counter(why.reason for why in unscored.values()),
        on_scored,
    )


def _headline(metrics: dict[str, Any]) -> dict[str, float | None]:
    return {name: metrics[name] for name in METRICS}
