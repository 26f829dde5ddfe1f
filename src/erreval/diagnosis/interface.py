"""What every way to identify errors has in common, and how one is asked (ErrEval, Table 5 compares such ways)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from erreval.records import Question, Unscored
from erreval.taxonomy import ErrorType

Report = Callable[[int, int], None]


@runtime_checkable
class ErrorIdentifier(Protocol):
    """Gives questions eleven probabilities each, and decides which labels follow from them."""

    name: str

    def predict_probabilities(self, questions: Sequence[Question], report: Report | None = None) -> np.ndarray:
        """Probabilities of the eleven types.

        Returns:
            (n, 11) in the order of ``ALL_TYPES``; NaN where a type could not be judged, and a row of nothing but NaN
            where the question is unscored.
        """
        ...

    def decide(self, probabilities: np.ndarray) -> list[frozenset[ErrorType]]:
        """The label sets that follow from probabilities, by this identifier's own thresholds.

        Args:
            probabilities: (n, 11), no row of them unscored.
        """
        ...


@runtime_checkable
class SaysWhy(ErrorIdentifier, Protocol):
    """An identifier that can fail on a question, and says why it did."""

    def predict(self, questions: Sequence[Question], report: Report | None = None) -> Prediction:
        """As ``predict_probabilities``, with label sets and reasons."""
        ...


@dataclass(frozen=True)
class Prediction:
    """What an identifier says about n questions."""

    probabilities: np.ndarray
    """(n, 11); see ``ErrorIdentifier.predict_probabilities``."""
    label_sets: tuple[frozenset[ErrorType] | Unscored, ...]
    """By question, in order: its labels, or why it has none."""

    def __post_init__(self) -> None:
        if len(self.probabilities) != len(self.label_sets):
            raise ValueError(f"{len(self.probabilities)} rows of probabilities, {len(self.label_sets)} label sets")

    @property
    def unscored(self) -> dict[int, Unscored]:
        """The questions without labels, by position."""
        return {k: found for k, found in enumerate(self.label_sets) if isinstance(found, Unscored)}

    @property
    def decided(self) -> list[frozenset[ErrorType]]:
        """The label sets, an unscored question's being empty: it can match nothing, and is never No Error."""
        return [frozenset() if isinstance(found, Unscored) else found for found in self.label_sets]


def predict(identifier: ErrorIdentifier, questions: Sequence[Question], report: Report | None = None) -> Prediction:
    """Ask any identifier; what it leaves unscored stays visible."""
    if isinstance(identifier, SaysWhy):
        return identifier.predict(questions, report)
    probabilities = identifier.predict_probabilities(questions, report)
    scored = ~np.isnan(probabilities).all(axis=1)
    decided = iter(identifier.decide(probabilities[scored]))
    found = tuple(next(decided) if has else Unscored(reason="no probabilities") for has in scored)
    return Prediction(probabilities, found)
