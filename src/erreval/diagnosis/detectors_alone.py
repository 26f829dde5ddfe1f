"""The detectors as an Error Identifier of their own: no training, no model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from erreval.diagnosis.detectors.registry import detector_scores
from erreval.diagnosis.identifier import DEFAULT_THRESHOLD, label_sets
from erreval.diagnosis.interface import Report
from erreval.records import Question
from erreval.taxonomy import ALL_TYPES, ERRORS, TYPE_INDEX, ErrorType


class DetectorsAlone:
    """The detectors' scores in place of probabilities; No Error is what the strongest of them leaves."""

    def __init__(self, threshold: float = DEFAULT_THRESHOLD) -> None:
        self.name = "detectors"
        self.threshold = threshold

    def predict_probabilities(self, questions: Sequence[Question], report: Report | None = None) -> np.ndarray:
        """Scores, (n, 11); NaN where a type cannot be judged for want of an answer or a passage."""
        found = np.full((len(questions), len(ALL_TYPES)), np.nan)
        for row, question in enumerate(questions):
            for error, score in detector_scores(question).items():
                found[row, TYPE_INDEX[error]] = np.nan if score is None else score
            strongest = np.nanmax(found[row, [TYPE_INDEX[t] for t in ERRORS]])
            found[row, TYPE_INDEX[ErrorType.NO_ERROR]] = 1.0 - strongest
            if report is not None:
                report(row + 1, len(questions))
        return found

    def decide(self, probabilities: np.ndarray) -> list[frozenset[ErrorType]]:
        """Every error whose score reaches the threshold, or No Error: a detector does not vote against another."""
        errors = probabilities.copy()
        errors[:, TYPE_INDEX[ErrorType.NO_ERROR]] = 0.0
        return label_sets(errors, self.threshold)
