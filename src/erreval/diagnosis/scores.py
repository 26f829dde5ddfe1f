"""A score for each quality dimension from a diagnosis, with no LLM and nothing fitted to human scores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from erreval.taxonomy import DIMENSION_ERRORS, TYPE_INDEX, Dimension, ErrorType


def dimension_scores(probabilities: np.ndarray) -> dict[Dimension, np.ndarray]:
    """The probability that none of the errors of a dimension is there, taking them as independent.

    The mapping of errors to dimensions is ErrEval's Table 6.

    Args:
        probabilities: (n, 11) in the order of ``ALL_TYPES``.

    Returns:
        By dimension (n,) scores between 0 (surely flawed) and 1 (surely sound).
    """
    return {
        dimension: np.prod(
            [1.0 - probabilities[:, TYPE_INDEX[t]] for t in sorted(errors, key=TYPE_INDEX.__getitem__)], axis=0
        )
        for dimension, errors in DIMENSION_ERRORS.items()
    }


def one_diagnosis_scores(probabilities: Mapping[ErrorType, float | None]) -> dict[Dimension, float | None]:
    """``dimension_scores`` of one question; None where an error of the dimension could not be judged."""
    scores: dict[Dimension, float | None] = {}
    for dimension, errors in DIMENSION_ERRORS.items():
        values = [probabilities.get(t) for t in sorted(errors, key=TYPE_INDEX.__getitem__)]
        known = [1.0 - v for v in values if v is not None]
        scores[dimension] = float(np.prod(known)) if len(known) == len(values) else None
    return scores
