"""Which question generation system is better, with no human scores: error rates and diagnosis scores, paired.

Systems are compared on the passages that they share: an easy passage makes every system look good.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from erreval.taxonomy import ERRORS, ErrorType, slug

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % percentile interval over passages; the ends are None with fewer than two passages."""

    value: float
    low: float | None
    high: float | None

    @property
    def is_clear(self) -> bool:
        """Whether the interval lies on one side of zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


@dataclass(frozen=True)
class System:
    """One system's questions, summed up."""

    name: str
    questions: int
    passages: int
    score: Estimate
    """Mean over questions of the mean diagnosis score over the dimensions, 0 to 1."""
    error_rate: Estimate
    """Share of questions with at least one error."""
    type_rates: dict[ErrorType, float]


@dataclass(frozen=True)
class Difference:
    """The better of two neighbours in the ranking minus the other, over the passages that both have."""

    better: str
    other: str
    shared_passages: int
    score: Estimate | None
    error_rate: Estimate | None
    types: dict[ErrorType, Estimate]
    """Differences of the rates of single types; only those whose interval lies on one side of zero."""


@dataclass(frozen=True)
class Ranking:
    """Systems, best first, and each one's difference to the next."""

    systems: tuple[System, ...]
    differences: tuple[Difference, ...]


def rank_systems(
    systems: Sequence[str],
    passages: Sequence[str],
    errors: np.ndarray,
    scores: np.ndarray,
    rng: np.random.Generator,
    *,
    resamples: int = 2000,
) -> Ranking:
    """Rank systems by their mean diagnosis score.

    Args:
        systems: (n,) name of the system that wrote each question.
        passages: (n,) passage of each question.
        errors: (n, 10) zeros and ones, columns in the order of ``ERRORS``.
        scores: (n,) mean diagnosis score of each question.
        rng: Source of randomness.
        resamples: Bootstrap resamples of passages.

    Returns:
        The ranking; equal scores are ordered by name.

    Raises:
        ValueError: The lengths differ, or there is no question.
    """
    names, places = np.asarray(systems, dtype=str), np.asarray(passages, dtype=str)
    if not len(names) or not len(names) == len(places) == len(errors) == len(scores):
        raise ValueError("systems, passages, errors and scores must have one entry a question, and at least one")
    # One row a question: score, any error, and each type.
    values = np.column_stack([scores, errors.any(axis=1), errors]).astype(float)
    means = {name: _passage_means(places[names == name], values[names == name]) for name in np.unique(names).tolist()}
    found = []
    for name, (own_passages, sums, counts) in means.items():
        estimates = _ratio_estimates(sums, counts, rng, resamples)
        found.append(
            System(
                name=name,
                questions=int(counts.sum()),
                passages=len(own_passages),
                score=estimates[0],
                error_rate=estimates[1],
                type_rates={t: e.value for t, e in zip(ERRORS, estimates[2:], strict=True)},
            )
        )
    found.sort(key=lambda system: (-system.score.value, system.name))
    pairs = itertools.pairwise(found)
    return Ranking(tuple(found), tuple(_difference(a.name, b.name, means, rng, resamples) for a, b in pairs))


def ranking_frame(systems: Sequence[System]) -> pd.DataFrame:
    """The ranking as a table: one row a system, best first."""
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "rank": rank,
                "system": system.name,
                "questions": system.questions,
                "passages": system.passages,
                "score": system.score.value,
                "score_low": system.score.low,
                "score_high": system.score.high,
                "error_rate": system.error_rate.value,
                "error_rate_low": system.error_rate.low,
                "error_rate_high": system.error_rate.high,
                **{f"rate_{slug(t)}": rate for t, rate in system.type_rates.items()},
            }
            for rank, system in enumerate(systems, start=1)
        ]
    )


_Means = tuple[np.ndarray, np.ndarray, np.ndarray]


def _passage_means(passages: np.ndarray, values: np.ndarray) -> _Means:
    """Passages, the sums of the values in each, and the number of questions in each."""
    unique, index = np.unique(passages, return_inverse=True)
    sums = np.zeros((len(unique), values.shape[1]))
    np.add.at(sums, index, values)
    return unique, sums, np.bincount(index, minlength=len(unique)).astype(float)


def _ratio_estimates(sums: np.ndarray, counts: np.ndarray, rng: np.random.Generator, resamples: int) -> list[Estimate]:
    """Means over questions, with intervals from resampling passages."""
    value = sums.sum(axis=0) / counts.sum()
    if len(counts) < 2:
        return [Estimate(float(v), None, None) for v in value]
    weights = rng.multinomial(len(counts), np.full(len(counts), 1 / len(counts)), size=resamples)
    drawn = (weights @ sums) / (weights @ counts)[:, None]
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return [Estimate(*map(float, triple)) for triple in zip(value, low, high, strict=True)]


def _difference(
    better: str, other: str, means: dict[str, _Means], rng: np.random.Generator, resamples: int
) -> Difference:
    (a_ids, a_sums, a_counts), (b_ids, b_sums, b_counts) = means[better], means[other]
    shared, in_a, in_b = np.intersect1d(a_ids, b_ids, return_indices=True)
    if not len(shared):
        return Difference(better, other, 0, None, None, {})
    gaps = a_sums[in_a] / a_counts[in_a][:, None] - b_sums[in_b] / b_counts[in_b][:, None]
    score, error_rate, *types = _ratio_estimates(gaps, np.ones(len(shared)), rng, resamples)
    clear = {t: e for t, e in zip(ERRORS, types, strict=True) if e.is_clear}
    return Difference(better, other, len(shared), score, error_rate, clear)
