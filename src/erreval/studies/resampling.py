"""Intervals by resampling passages, and what a correlation is without its most influential items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from erreval.studies.correlation import pearson


@dataclass(frozen=True)
class Interval:
    """A percentile interval; the ends are None where too few resamples were defined."""

    low: float | None
    high: float | None
    level: float

    @classmethod
    def of(cls, drawn: np.ndarray | Sequence[float], level: float) -> Interval:
        """The middle ``level`` of what was drawn.

        Args:
            drawn: (resamples,) values of a statistic, at least one.
            level: Coverage.
        """
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
        return cls(float(low), float(high), level)


def pearson_interval(
    x: np.ndarray,
    y: np.ndarray,
    groups: np.ndarray,
    rng: np.random.Generator,
    *,
    resamples: int = 2000,
    level: float = 0.95,
) -> Interval:
    """Percentile bootstrap interval of Pearson's r, resampling whole groups (passages).

    Questions on one passage share its difficulty, so items are not exchangeable but passages are. A resample's r
    follows from sums that are taken once a group.

    Args:
        x: (n,) scores.
        y: (n,) human scores.
        groups: (n,) passage of each item.
        rng: Source of randomness.
        resamples: Number of bootstrap samples.
        level: Coverage of the interval.

    Returns:
        The interval; undefined where fewer than half of the resamples have a correlation.
    """
    _, index = np.unique(np.asarray(groups), return_inverse=True)
    count = int(index.max()) + 1 if len(index) else 0
    if count < 2:
        return Interval(None, None, level)
    # Centred first: sums of squares of large numbers would cancel.
    x, y = np.asarray(x, dtype=float) - np.mean(x), np.asarray(y, dtype=float) - np.mean(y)
    columns = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1)
    sums = np.zeros((count, 6))
    np.add.at(sums, index, columns)
    weights = rng.multinomial(count, np.full(count, 1 / count), size=resamples)
    n, sx, sy, sxx, syy, sxy = (weights @ sums).T
    var_x, var_y = n * sxx - sx**2, n * syy - sy**2
    defined = (var_x > 1e-12 * n * n) & (var_y > 1e-12 * n * n)
    if defined.sum() < resamples / 2:
        return Interval(None, None, level)
    r = (n * sxy - sx * sy)[defined] / np.sqrt(var_x[defined] * var_y[defined])
    return Interval.of(r, level)


def without_influential(x: np.ndarray, y: np.ndarray, share: float = 0.01) -> float | None:
    """Pearson's r without the items that carry it: those whose removal alone takes most from its size.

    Args:
        x: (n,) scores.
        y: (n,) human scores.
        share: Share of the items to leave out, rounded up.

    Returns:
        r of the rest, or None where it is undefined.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    n = len(x)
    whole = pearson(x, y).value
    if whole is None or n < 4:
        return None
    u, v = x - x.mean(), y - y.mean()
    # Leaving item i out moves both means; the sums of products then fall by n/(n-1) times the item's own.
    factor = n / (n - 1)
    sxx, syy, sxy = u @ u - factor * u * u, v @ v - factor * v * v, u @ v - factor * u * v
    defined = (sxx > 0) & (syy > 0)
    alone = np.zeros(n)
    alone[defined] = sxy[defined] / np.sqrt(sxx[defined] * syy[defined])
    influence = (whole - alone) * np.sign(whole)
    kept = np.argsort(influence, kind="stable")[: n - int(np.ceil(share * n))]
    return pearson(x[kept], y[kept]).value


def one_annotator_level(scores: np.ndarray) -> float | None:
    """How well one annotator agrees with the others: mean over annotators of r with the mean of the rest.

    Args:
        scores: (n, annotators).

    Returns:
        The mean, or None with fewer than two annotators or where an r is undefined.
    """
    if scores.ndim != 2 or scores.shape[1] < 2:
        return None
    found = [pearson(scores[:, k], np.delete(scores, k, axis=1).mean(axis=1)).value for k in range(scores.shape[1])]
    return None if any(r is None for r in found) else float(np.mean([r for r in found if r is not None]))
