"""Label sets and rankings compared on the same questions, with intervals by resampling whole passages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from erreval.studies.resampling import Interval


@dataclass(frozen=True)
class PairedDifference:
    """Micro-F1 of one way to label against another on the same questions."""

    first: float
    second: float
    difference: float
    interval: Interval
    n: int
    passages: int


@dataclass(frozen=True)
class Ranking:
    """How well scores put the questions with an error before those without."""

    count: int
    """Questions with the error."""
    n: int
    auroc: float | None
    auroc_interval: Interval
    average_precision: float | None
    average_precision_interval: Interval


def micro_f1(hits: np.ndarray, said: np.ndarray, true: np.ndarray) -> np.ndarray:
    """2 · hits / (said + true), 0 where both are 0."""
    total = np.asarray(said + true, dtype=float)
    return np.asarray(np.divide(2.0 * hits, total, out=np.zeros_like(total), where=total > 0))


def micro_f1_difference(
    true: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    passages: np.ndarray,
    rng: np.random.Generator,
    *,
    resamples: int = 2000,
    level: float = 0.95,
) -> PairedDifference:
    """Percentile interval of the difference in micro-F1 of two label sets for each question.

    Both are resampled together, passage by passage: a resample's F1 follows from sums that are taken once a passage.

    Args:
        true: (n, classes) zeros and ones.
        first: (n, classes), what is tested.
        second: (n, classes), what it is set against (a floor, say).
        passages: (n,) passage of each question.
        rng: Draws the resamples.
        resamples: How many.
        level: Coverage of the interval.

    Raises:
        ValueError: The shapes differ or there are no questions.
    """
    if not true.shape == first.shape == second.shape or len(true) != len(passages) or len(true) == 0:
        raise ValueError(f"shapes differ or are empty: {true.shape}, {first.shape}, {second.shape}, {len(passages)}")
    _, index = np.unique(np.asarray(passages), return_inverse=True)
    count = int(index.max()) + 1

    def sums(guess: np.ndarray) -> np.ndarray:
        by_row = [(guess * true).sum(axis=1), guess.sum(axis=1), true.sum(axis=1)]
        return np.stack([np.bincount(index, weights=values, minlength=count) for values in by_row])

    one, other = sums(first), sums(second)
    whole_one, whole_other = (float(micro_f1(*s.sum(axis=1, keepdims=True))[0]) for s in (one, other))
    if count < 2:
        interval = Interval(None, None, level)
    else:
        weights = rng.multinomial(count, np.full(count, 1 / count), size=resamples).astype(float)
        drawn = micro_f1(*(weights @ one.T).T) - micro_f1(*(weights @ other.T).T)
        interval = Interval.of(drawn, level)
    return PairedDifference(whole_one, whole_other, whole_one - whole_other, interval, len(true), count)


def ranking(
    true: np.ndarray,
    scores: np.ndarray,
    passages: np.ndarray,
    rng: np.random.Generator,
    *,
    resamples: int = 1000,
    level: float = 0.95,
) -> Ranking:
    """Area under the ROC curve and average precision with intervals by passage.

    Args:
        true: (n,) zeros and ones.
        scores: (n,) NaN where there is none; such questions are left out.
        passages: (n,) passage of each question.
        rng: Draws the resamples.
        resamples: How many; those in which only one class occurs are left out, and an interval is undefined where
            they are more than half.
        level: Coverage of the intervals.
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    known = np.isfinite(scores)
    y, s = np.asarray(true, dtype=float)[known], np.asarray(scores, dtype=float)[known]
    _, index = np.unique(np.asarray(passages)[known], return_inverse=True)
    groups = [np.flatnonzero(index == k) for k in range(int(index.max()) + 1 if len(index) else 0)]
    draws = [rng.integers(len(groups), size=len(groups)) for _ in range(resamples if len(groups) > 1 else 0)]
    samples = [np.concatenate([groups[k] for k in draw]) for draw in draws]

    def measured(statistic: Callable[[np.ndarray, np.ndarray], float]) -> tuple[float | None, Interval]:
        if len(np.unique(y)) < 2:
            return None, Interval(None, None, level)
        drawn = [float(statistic(y[rows], s[rows])) for rows in samples if len(np.unique(y[rows])) == 2]
        if len(drawn) < max(1, len(samples) / 2):
            return float(statistic(y, s)), Interval(None, None, level)
        return float(statistic(y, s)), Interval.of(drawn, level)

    area, area_interval = measured(roc_auc_score)
    precision, precision_interval = measured(average_precision_score)
    return Ranking(int(y.sum()), len(y), area, area_interval, precision, precision_interval)
