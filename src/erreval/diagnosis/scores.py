"""A score for each quality dimension from a diagnosis, with no LLM and nothing fitted to human scores."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from erreval.taxonomy import DIMENSION_ERRORS, TYPE_INDEX, Dimension, ErrorType

SURE = 0.02
"""A probability of soundness that is told from 0 no more: below it a question is as flawed as can be."""


def probability_sound(probabilities: np.ndarray) -> dict[Dimension, np.ndarray]:
    """The probability that none of the errors of a dimension is there, taking them as independent.

    The mapping of errors to dimensions is ErrEval's Table 6.

    Args:
        probabilities: (n, 11) in the order of ``ALL_TYPES``; NaN where a type was not judged.

    Returns:
        By dimension (n,), NaN where one of its errors was not judged.
    """
    return {
        dimension: np.prod(
            [1.0 - probabilities[:, TYPE_INDEX[t]] for t in sorted(errors, key=TYPE_INDEX.__getitem__)], axis=0
        )
        for dimension, errors in DIMENSION_ERRORS.items()
    }


def dimension_scores(probabilities: np.ndarray) -> dict[Dimension, np.ndarray]:
    """How sound a question is by dimension: ``log(P + SURE)``, brought to run from 0 to 1.

    P is ``probability_sound``. Its logarithm is the sum of what the errors say, so that a question with much against
    it scores below one with little, where the probability itself is nearly 0 for both; ``SURE`` bounds it.

    Args:
        probabilities: (n, 11) in the order of ``ALL_TYPES``.

    Returns:
        By dimension (n,) scores between 0 (surely flawed) and 1 (surely sound).
    """
    return {dimension: _score(p) for dimension, p in probability_sound(probabilities).items()}


def _score(sound: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 - np.log((sound + SURE) / (1.0 + SURE)) / math.log(SURE / (1.0 + SURE)))


def one_diagnosis_scores(probabilities: Mapping[ErrorType, float | None]) -> dict[Dimension, float | None]:
    """``dimension_scores`` of one question; None where an error of the dimension could not be judged."""
    row = np.full((1, len(TYPE_INDEX)), np.nan)
    for error, value in probabilities.items():
        row[0, TYPE_INDEX[error]] = np.nan if value is None else value
    return {d: None if np.isnan(s[0]) else float(s[0]) for d, s in dimension_scores(row).items()}
