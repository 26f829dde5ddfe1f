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
    """The better of two systems minus the other, over the passages that both have.

    Each interval is that of one comparison; among twenty true ties about one looks clear.
    """

    better: str
    other: str
    shared_passages: int
    score: Estimate | None
    error_rate: Estimate | None
    types: dict[ErrorType, Estimate]
    """Differences of the rates of single types; only those whose interval lies on one side of zero."""


@dataclass(frozen=True)
class Ranking:
    """Systems, best first, and how every two of them differ."""

    systems: tuple[System, ...]
    pairs: tuple[Difference, ...]
    """Every two systems, in the order of the ranking."""

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Each system and the next that wrote on passages of its own; its neighbour where it shares none at all."""
        compared = {name for pair in self.pairs if pair.shared_passages for name in (pair.better, pair.other)}
        chosen: dict[str, Difference] = {}
        for pair in self.pairs:
            if pair.shared_passages or pair.better not in compared:
                chosen.setdefault(pair.better, pair)
        return tuple(chosen.values())

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Names of systems that shared passages join, directly or by way of others; scores compare within a group."""
        groups = [{system.name} for system in self.systems]
        for pair in self.pairs:
            if pair.shared_passages:
                joined = [group for group in groups if pair.better in group or pair.other in group]
                groups = [group for group in groups if group not in joined] + [set().union(*joined)]
        order = [system.name for system in self.systems]
        sorted_groups = [tuple(sorted(group, key=order.index)) for group in groups]
        return tuple(sorted(sorted_groups, key=lambda group: order.index(group[0])))


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
    draw = _Draws(rng, resamples)
    for name, (own_passages, sums, counts) in means.items():
        estimates = _ratio_estimates(sums, counts, draw)
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
    pairs = itertools.combinations(found, 2)
    return Ranking(tuple(found), tuple(_difference(a.name, b.name, means, draw) for a, b in pairs))


def ranking_frame(ranking: Ranking) -> pd.DataFrame:
    """The ranking as a table: one row a system; groups count from 1 and ranks are within a group."""
    import pandas as pd

    by_name = {system.name: system for system in ranking.systems}
    return pd.DataFrame(
        [
            {
                "group": group,
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
            for group, names in enumerate(ranking.groups, start=1)
            for rank, system in enumerate((by_name[name] for name in names), start=1)
        ]
    )


def difference_frame(pairs: Sequence[Difference]) -> pd.DataFrame:
    """Differences as a table: a row for the score, one for the error rate, and one for each type that differs clearly.

    Pairs that share no passage have no row.
    """
    import pandas as pd

    rows = []
    for pair in pairs:
        estimates = {"score": pair.score, "error_rate": pair.error_rate}
        estimates |= {f"rate_{slug(t)}": estimate for t, estimate in pair.types.items()}
        rows += [
            (pair.better, pair.other, pair.shared_passages, name, one.value, one.low, one.high, one.is_clear)
            for name, one in estimates.items()
            if one is not None
        ]
    columns = ["better", "other", "shared_passages", "statistic", "difference", "low", "high", "is_clear"]
    return pd.DataFrame(rows, columns=columns)


_Means = tuple[np.ndarray, np.ndarray, np.ndarray]


def _passage_means(passages: np.ndarray, values: np.ndarray) -> _Means:
    """Passages, the sums of the values in each, and the number of questions in each."""
    unique, index = np.unique(passages, return_inverse=True)
    sums = np.zeros((len(unique), values.shape[1]))
    np.add.at(sums, index, values)
    return unique, sums, np.bincount(index, minlength=len(unique)).astype(float)


class _Draws:
    """Resamples of n passages as weights (resamples, n); the same ones whenever n is the same, which is quicker."""

    def __init__(self, rng: np.random.Generator, resamples: int) -> None:
        self._rng = rng
        self._resamples = resamples
        self._known: dict[int, np.ndarray] = {}

    def __call__(self, n: int) -> np.ndarray:
        if n not in self._known:
            drawn = self._rng.multinomial(n, np.full(n, 1 / n), size=self._resamples)
            self._known[n] = drawn.astype(float)
        return self._known[n]


def _ratio_estimates(sums: np.ndarray, counts: np.ndarray, draw: _Draws) -> list[Estimate]:
    """Means over questions, with intervals from resampling passages."""
    value = sums.sum(axis=0) / counts.sum()
    if len(counts) < 2:
        return [Estimate(float(v), None, None) for v in value]
    weights = draw(len(counts))
    drawn = (weights @ sums) / (weights @ counts)[:, None]
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return [Estimate(*map(float, triple)) for triple in zip(value, low, high, strict=True)]


def _difference(better: str, other: str, means: dict[str, _Means], draw: _Draws) -> Difference:
    (a_ids, a_sums, a_counts), (b_ids, b_sums, b_counts) = means[better], means[other]
    shared, in_a, in_b = np.intersect1d(a_ids, b_ids, return_indices=True)
    if not len(shared):
        return Difference(better, other, 0, None, None, {})
    gaps = a_sums[in_a] / a_counts[in_a][:, None] - b_sums[in_b] / b_counts[in_b][:, None]
    score, error_rate, *types = _ratio_estimates(gaps, np.ones(len(shared)), draw)
    clear = {t: e for t, e in zip(ERRORS, types, strict=True) if e.is_clear}
    return Difference(better, other, len(shared), score, error_rate, clear)
