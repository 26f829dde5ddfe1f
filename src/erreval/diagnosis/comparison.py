"""Diagnoses of many questions as the arrays that systems are compared by."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from erreval.diagnosis.diagnose import diagnose_all
from erreval.diagnosis.loading import SavedIdentifier
from erreval.diagnosis.scores import one_diagnosis_scores
from erreval.records import Question
from erreval.taxonomy import ERRORS


def errors_and_scores(
    questions: Sequence[Question],
    identifier: SavedIdentifier | None,
    report: Callable[[int, int], None] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Diagnose questions.

    Returns:
        (n, 10) zeros and ones for the errors in the order of ``ERRORS``, and (n,) mean diagnosis scores over the
        dimensions that could be judged.
    """
    diagnoses = diagnose_all(questions, identifier, report)
    errors = np.array([[float(t in d.labels) for t in ERRORS] for d in diagnoses]).reshape(len(diagnoses), len(ERRORS))
    known = [
        [score for score in one_diagnosis_scores(d.probabilities).values() if score is not None] for d in diagnoses
    ]
    return errors, np.array([float(np.mean(scores)) for scores in known])
