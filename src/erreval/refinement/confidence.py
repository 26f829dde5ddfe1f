"""How sure the two models are of a label set, and how far they disagree (ErrEval, Eq. 3 and 4)."""

from __future__ import annotations

from typing import Literal

import numpy as np

Confidence = Literal["mean", "min", "joint"]


def set_confidence(probabilities: np.ndarray, predicted: np.ndarray, kind: Confidence) -> np.ndarray:
    """The identifier's confidence p_e in its predicted label sets.

    Each type contributes the probability of the decision that was taken on it: p where the type is in the set,
    1 - p where it is not.

    Args:
        probabilities: (n, types).
        predicted: (n, types) zeros and ones, the predicted sets.
        kind: ``mean`` or ``min`` over the types, or ``joint``, their product.

    Returns:
        (n,) confidences.
    """
    taken = np.where(predicted.astype(bool), probabilities, 1.0 - probabilities)
    if kind == "mean":
        confidence = taken.mean(axis=1)
    elif kind == "min":
        confidence = taken.min(axis=1)
    else:
        confidence = taken.prod(axis=1)
    return np.asarray(confidence, dtype=float)


def uncertainty(p_e: np.ndarray) -> np.ndarray:
    """Eq. 3: 1 - |p_e - 0.5|, between .5 (certain) and 1 (a coin toss)."""
    return np.asarray(1.0 - np.abs(np.asarray(p_e, dtype=float) - 0.5))


def inconsistency(p_e: np.ndarray, p_v: np.ndarray) -> np.ndarray:
    """Eq. 4: |p_e - p_v|, between 0 (agreed) and 1 (contradicted)."""
    return np.asarray(np.abs(np.asarray(p_e, dtype=float) - np.asarray(p_v, dtype=float)))
