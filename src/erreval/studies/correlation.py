"""Correlation of scores with people. Undefined stays undefined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Correlation:
    """A correlation with the number of items it rests on; ``value`` is None where it is undefined."""

    value: float | None
    n: int


@dataclass(frozen=True)
class Floor:
    """The trivial feature that correlates best, in absolute value, with the human scores."""

    feature: str | None
    value: float | None


def pearson(scores: np.ndarray, human: np.ndarray) -> Correlation:
    """Pearson's r over the items that have both values.

    Args:
        scores: (n,) a judge's or metric's scores, NaN where there is none.
        human: (n,) human scores, NaN where there is none.

    Returns:
        r with the number of items used; undefined (None) with fewer than two items or a constant column.

    Raises:
        ValueError: The lengths differ.
    """
    x, y = np.asarray(scores, dtype=float), np.asarray(human, dtype=float)
    if x.shape != y.shape:
        raise ValueError(f"scores and human scores differ in length: {len(x)} and {len(y)}")
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    # Compared with itself rather than by its deviation: rounding gives a constant column a tiny one.
    if len(x) < 2 or bool((x == x[0]).all()) or bool((y == y[0]).all()):
        return Correlation(None, len(x))
    x, y = x - x.mean(), y - y.mean()
    r = float((x @ y) / np.sqrt((x @ x) * (y @ y)))
    return Correlation(min(1.0, max(-1.0, r)), len(x))


def floor(features: Mapping[str, np.ndarray], human: np.ndarray) -> Floor:
    """The best of the given features, by the absolute value of Pearson's r, which is what is given back.

    A feature's sign is free: people do not tell in advance whether long questions are good or bad.
    """
    best = Floor(None, None)
    for name, values in features.items():
        r = pearson(values, human).value
        if r is not None and (best.value is None or abs(r) > best.value):
            best = Floor(name, abs(r))
    return best
