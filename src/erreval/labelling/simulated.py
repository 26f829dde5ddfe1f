"""An annotator that is not a person: it knows the injected errors and errs at a given rate.

Its labels are marked as simulated wherever they go; they never stand for human judgement.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from erreval.taxonomy import ERRORS, ErrorType

SIMULATED = "simulated"
"""The annotator's name in every label."""


def answer(
    truth: Sequence[frozenset[ErrorType]], error_rate: float, rng: np.random.Generator
) -> list[frozenset[ErrorType]]:
    """Answer a queue.

    Args:
        truth: The injected label sets.
        error_rate: Share of answers, on average, that are wrong: an error is reported where there is none, one is
            taken for another, or all are overlooked.
        rng: Source of randomness.

    Returns:
        One label set an item.

    Raises:
        ValueError: The error rate is not between 0 and 1.
    """
    if not 0.0 <= error_rate <= 1.0:
        raise ValueError(f"the error rate must lie between 0 and 1, not {error_rate}")
    return [_slip(labels, rng) if rng.random() < error_rate else labels for labels in truth]


def _slip(labels: frozenset[ErrorType], rng: np.random.Generator) -> frozenset[ErrorType]:
    others = [t for t in ERRORS if t not in labels]
    other = others[int(rng.integers(len(others)))]
    if ErrorType.NO_ERROR in labels:
        return frozenset({other})
    if rng.random() < 0.5:
        return frozenset({ErrorType.NO_ERROR})
    kept = sorted(labels)
    kept.pop(int(rng.integers(len(kept))))
    return frozenset({*kept, other})
