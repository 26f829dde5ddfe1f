"""From probabilities to label sets: a threshold for each type, chosen on out-of-fold probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from erreval.taxonomy import ALL_TYPES, ERRORS, TYPE_INDEX, ErrorType

WhenEmpty = Literal["no error", "abstain"]
"""What no error at its threshold means: No Error, or, unless No Error is itself likely, no answer at all."""

GRID = tuple(round(0.2 + 0.02 * i, 2) for i in range(26))
"""Thresholds that are tried, .20 to .70."""
LEAST_POSITIVES = 10
"""Fewer labels than this choose no threshold of their own; the type takes the common one."""


def decide(
    probabilities: np.ndarray, thresholds: Mapping[ErrorType, float], when_empty: WhenEmpty = "no error"
) -> list[frozenset[ErrorType]]:
    """The errors at or above their thresholds.

    Args:
        probabilities: (n, 11).
        thresholds: By error type; No Error's own, one half where it is not given, counts for abstention only.
        when_empty: Where no error reaches its threshold: "no error" answers No Error; "abstain" answers it only where
            No Error reaches its own threshold, and gives an empty set otherwise.

    Returns:
        Label sets; No Error never stands beside an error.
    """
    sure = thresholds.get(ErrorType.NO_ERROR, 0.5)
    found = []
    for row in probabilities:
        errors = frozenset(t for t in ERRORS if row[TYPE_INDEX[t]] >= thresholds[t])
        sound = when_empty == "no error" or row[TYPE_INDEX[ErrorType.NO_ERROR]] >= sure
        found.append(errors or frozenset({ErrorType.NO_ERROR} if sound else ()))
    return found


def choose_thresholds(probabilities: np.ndarray, hot: np.ndarray) -> dict[ErrorType, float]:
    """Thresholds with the best micro-F1 over the eleven classes.

    First one threshold for all types, then, for types with ``LEAST_POSITIVES`` or more, their own with the others
    held. F1 is averaged over neighbouring thresholds before the best is taken, so that no single question decides;
    of equals, the highest.

    Args:
        probabilities: (n, 11), out of fold: from a model that has not seen the row's label.
        hot: (n, 11) zeros and ones.
    """
    if len(hot) == 0:
        return dict.fromkeys(ERRORS, 0.5)
    columns = [TYPE_INDEX[t] for t in ERRORS]
    p = probabilities[:, columns]
    common = _best([_micro_f1(p >= level, hot, columns) for level in GRID])
    levels = np.full(len(columns), common)
    for k in np.flatnonzero(hot[:, columns].sum(axis=0) >= LEAST_POSITIVES):
        tried = []
        for level in GRID:
            levels[k] = level
            tried.append(_micro_f1(p >= levels, hot, columns))
        levels[k] = _best(tried)
    return {t: float(level) for t, level in zip(ERRORS, levels, strict=True)}


def _best(scores: list[float]) -> float:
    padded = np.pad(np.array(scores), 1, mode="edge")
    smooth = np.round((padded[:-2] + padded[1:-1] + padded[2:]) / 3, 12)
    return GRID[len(GRID) - 1 - int(np.argmax(smooth[::-1]))]


def _micro_f1(said: np.ndarray, hot: np.ndarray, columns: list[int]) -> float:
    guess = np.zeros((len(hot), len(ALL_TYPES)))
    guess[:, columns] = said
    guess[:, TYPE_INDEX[ErrorType.NO_ERROR]] = guess.sum(axis=1) == 0
    return float(2 * (guess * hot).sum() / (guess.sum() + hot.sum()))
