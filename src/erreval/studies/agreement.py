"""How far people agree with each other: the ceiling of every correlation with them.

Krippendorff's alpha (nominal, ordinal, interval), perfect agreement, what a majority vote keeps, and each annotator
against the mean of the others. Intervals come from resampling whole passages. No I/O here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from erreval.data.readers.frames import Benchmark

Level = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A statistic with its interval; ``None`` where it is undefined (constant scores, for instance)."""

    value: float | None
    low: float | None = None
    high: float | None = None
    undefined: float = 0.0
    """The share of resamples in which the statistic was undefined; the interval is of the others."""


@dataclass(frozen=True)
class Agreement:
    """Agreement of the annotators on one dimension."""

    dimension: str
    n_items: int
    """Questions that at least two annotators scored."""
    n_passages: int
    annotators: tuple[str, ...]
    alpha: Mapping[Level, Estimate]
    perfect: Estimate
    """The share of questions that all annotators gave the same score."""
    majority: Estimate
    """The share of questions on which more than half of the annotators agree: what a majority vote keeps."""
    by_annotator: Mapping[str, Estimate]
    """Pearson's r of each annotator with the mean of the others."""
    one_annotator: Estimate
    """The mean of ``by_annotator``: the one-annotator level."""


@dataclass(frozen=True)
class AgreementStudy:
    """Agreement on every dimension of a benchmark, or why there is none to report."""

    benchmark: str
    results: tuple[Agreement, ...] = ()
    note: str = ""
    resamples: int = 0
    confidence: float = 0.95

    def table(self) -> pd.DataFrame:
        """One row a dimension and statistic: dimension, statistic, value, low, high, n_items."""
        rows = []
        for result in self.results:
            estimates = {f"alpha_{level}": estimate for level, estimate in result.alpha.items()}
            estimates |= {"perfect": result.perfect, "majority": result.majority}
            estimates |= {f"annotator_{name}": estimate for name, estimate in result.by_annotator.items()}
            estimates["one_annotator"] = result.one_annotator
            rows += [
                (result.dimension, name, one.value, one.low, one.high, result.n_items)
                for name, one in estimates.items()
            ]
        return pd.DataFrame(rows, columns=["dimension", "statistic", "value", "low", "high", "n_items"])


def krippendorff_alpha(ratings: Floats, level: Level) -> float | None:
    """Krippendorff's alpha.

    Args:
        ratings: Shape (items, annotators), NaN where an annotator did not score.
        level: How far apart two scores are.

    Returns:
        Alpha; None where it is undefined: no item with two scores, or all scores alike.
    """
    import krippendorff

    paired = ratings[(~np.isnan(ratings)).sum(axis=1) >= 2]
    if len(paired) == 0 or len(np.unique(paired[~np.isnan(paired)])) < 2:
        return None
    return float(krippendorff.alpha(reliability_data=paired.T, level_of_measurement=level))


def majority_vote(ratings: Floats) -> Floats:
    """The score that more than half of an item's annotators gave, and at least two; NaN where there is none.

    One annotator alone agrees with nobody: ``Agreement.majority`` counts such items neither way.

    Args:
        ratings: Shape (items, annotators), NaN where an annotator did not score.
    """
    out = np.full(len(ratings), np.nan)
    count = (~np.isnan(ratings)).sum(axis=1)
    for value in np.unique(ratings[~np.isnan(ratings)]):
        given = (ratings == value).sum(axis=1)
        out[(given >= 2) & (given > count / 2)] = value
    return out


def rating_matrix(scores: pd.DataFrame, dimension: str, annotators: Sequence[str]) -> tuple[pd.DataFrame, Floats]:
    """Long scores of one dimension as a matrix.

    Returns:
        The keys (question_id, source) of the items, and ratings of shape (items, annotators) with NaN for missing.
    """
    part = scores[(scores["dimension"] == dimension) & scores["annotator"].isin(annotators)]
    wide = part.pivot(index=["question_id", "source"], columns="annotator", values="score")
    wide = wide.reindex(columns=list(annotators))
    return wide.index.to_frame(index=False), wide.to_numpy(dtype=np.float64)


def measure_agreement(
    ratings: Floats,
    passages: Sequence[str],
    annotators: Sequence[str],
    *,
    dimension: str,
    rng: np.random.Generator,
    resamples: int = 1000,
    confidence: float = 0.95,
) -> Agreement:
    """Agreement on one dimension, with percentile intervals from resampling passages.

    Args:
        ratings: Shape (items, annotators), NaN where an annotator did not score.
        passages: The passage of each item; items of one passage are resampled together.
        annotators: The names of the columns.
        dimension: For the result.
        rng: Draws the resamples.
        resamples: How many.
        confidence: Of the intervals.
    """
    kept = (~np.isnan(ratings)).sum(axis=1) >= 2
    ratings = ratings[kept]
    codes, names = pd.factorize(np.asarray(passages, dtype=object)[kept])
    n_passages = len(names)
    weights = np.ones((1, n_passages))
    if resamples and n_passages > 1:  # one passage resampled is always itself: no interval, not a narrow one
        draws = rng.multinomial(n_passages, np.full(n_passages, 1 / n_passages), size=resamples)
        weights = np.concatenate([weights, draws.astype(np.float64)])
    tail = (1 - confidence) / 2

    def estimate(values: Floats, point: float | None = None) -> Estimate:
        """The first value is the statistic itself, the others are of resamples."""
        first = float(values[0]) if point is None else point
        drawn = values[1:]
        defined = drawn[~np.isnan(drawn)]
        low, high = np.quantile(defined, [tail, 1 - tail]).tolist() if len(defined) else (None, None)
        lost = 1 - len(defined) / len(drawn) if len(drawn) else 0.0
        return Estimate(None if math.isnan(first) else first, low, high, lost)

    def mean_of(indicator: Floats) -> Floats:
        return _ratio(
            weights @ _by_passage(indicator, codes, n_passages),
            weights @ _by_passage(np.ones(len(indicator)), codes, n_passages),
        )

    alphas = _alphas(ratings, codes, n_passages, weights)
    correlations = {
        name: _pearson(ratings[:, i], _mean_of_others(ratings, i), codes, n_passages, weights)
        for i, name in enumerate(annotators)
    }
    spread = np.nanmax(ratings, axis=1) == np.nanmin(ratings, axis=1) if len(ratings) else np.empty(0)
    return Agreement(
        dimension=dimension,
        n_items=len(ratings),
        n_passages=n_passages,
        annotators=tuple(annotators),
        alpha={level: estimate(alphas[level], krippendorff_alpha(ratings, level)) for level in LEVELS},
        perfect=estimate(mean_of(spread.astype(np.float64))),
        majority=estimate(mean_of((~np.isnan(majority_vote(ratings))).astype(np.float64))),
        by_annotator={name: estimate(values) for name, values in correlations.items()},
        one_annotator=estimate(np.mean(list(correlations.values()), axis=0)),
    )


def study_agreement(
    benchmark: Benchmark,
    *,
    rng: np.random.Generator,
    resamples: int = 1000,
    confidence: float = 0.95,
    each_once: bool = False,
) -> AgreementStudy:
    """Agreement on every dimension of a benchmark.

    Args:
        benchmark: With its annotators' scores.
        rng: Draws the resamples.
        resamples: How many.
        confidence: Of the intervals.
        each_once: Leave out rows that repeat an earlier passage, answer and question.
    """
    if len(benchmark.annotators) < 2:
        return AgreementStudy(
            benchmark.name, note=f"{benchmark.name} publishes no single annotators' scores: agreement is unknown"
        )
    questions = benchmark.questions
    if each_once:
        questions = questions[~questions["repeat"]]
    keys = pd.MultiIndex.from_frame(questions[["question_id", "source"]])
    passage_of = dict(zip(keys, questions["passage_id"], strict=True))
    results = []
    for dimension in benchmark.scales:
        items, ratings = rating_matrix(benchmark.scores, dimension, benchmark.annotators)
        wanted = pd.MultiIndex.from_frame(items)
        kept = np.array([key in passage_of for key in wanted], dtype=bool)
        results.append(
            measure_agreement(
                ratings[kept],
                [passage_of[key] for key in wanted[kept]],
                benchmark.annotators,
                dimension=dimension,
                rng=rng,
                resamples=resamples,
                confidence=confidence,
            )
        )
    return AgreementStudy(benchmark.name, tuple(results), resamples=resamples, confidence=confidence)


def majority_votes(benchmark: Benchmark) -> pd.DataFrame:
    """The score that more than half of a question's annotators, at least two, gave.

    Returns:
        question_id, source, dimension, vote. Questions without such a score have no row; ``Agreement.majority`` is
        the share of those with two scores or more that has one.
    """
    parts = []
    for dimension in benchmark.scales:
        items, ratings = rating_matrix(benchmark.scores, dimension, benchmark.annotators)
        parts.append(items.assign(dimension=dimension, vote=majority_vote(ratings)).dropna(subset="vote"))
    empty = pd.DataFrame(columns=["question_id", "source", "dimension", "vote"])
    return pd.concat(parts, ignore_index=True) if parts else empty


def _by_passage(values: Floats, codes: NDArray[np.intp], n_passages: int) -> Floats:
    """Sums of item values by passage: shape (passages,)."""
    return np.bincount(codes, weights=values, minlength=n_passages).astype(np.float64)


def _ratio(top: Floats, bottom: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        out: Floats = np.where(bottom > 0, top / bottom, np.nan)
    return out


def _mean_of_others(ratings: Floats, one: int) -> Floats:
    others = np.delete(ratings, one, axis=1)
    count = (~np.isnan(others)).sum(axis=1)
    return _ratio(np.nansum(others, axis=1), count.astype(np.float64))


def _pearson(x: Floats, y: Floats, codes: NDArray[np.intp], n_passages: int, weights: Floats) -> Floats:
    """Pearson's r under each row of weights: every sum in it is a weighted sum of sums by passage."""
    both = ~(np.isnan(x) | np.isnan(y))
    x, y, codes = x[both], y[both], codes[both]
    if len(x) == 0:
        return np.full(len(weights), np.nan)
    x, y = x - x.mean(), y - y.mean()  # for precision; r does not change
    n, sx, sy, sxx, syy, sxy = (
        weights @ _by_passage(values, codes, n_passages) for values in (np.ones(len(x)), x, y, x * x, y * y, x * y)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        vx, vy = sxx - sx * sx / n, syy - sy * sy / n
        r: Floats = (sxy - sx * sy / n) / np.sqrt(vx * vy)
    flat = (vx < 1e-9) | (vy < 1e-9) | (n < 2)
    return np.where(flat, np.nan, r)


def _alphas(ratings: Floats, codes: NDArray[np.intp], n_passages: int, weights: Floats) -> dict[Level, Floats]:
    """Alpha under each row of weights, from coincidence matrices, which add up over passages (Krippendorff 2011)."""
    values = np.unique(ratings[~np.isnan(ratings)])
    if len(values) < 2:
        return {level: np.full(len(weights), np.nan) for level in LEVELS}
    counts = np.stack([(ratings == value).sum(axis=1) for value in values], axis=1).astype(np.float64)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(len(values))
    pairs /= (counts.sum(axis=1) - 1)[:, None, None]
    summed = np.zeros((n_passages, len(values), len(values)))
    np.add.at(summed, codes, pairs)
    observed = np.tensordot(weights, summed, axes=1)  # (resamples, values, values)
    totals = observed.sum(axis=2)
    n = totals.sum(axis=1)
    expected = totals[:, :, None] * totals[:, None, :] / (n - 1)[:, None, None]
    out: dict[Level, Floats] = {}
    for level in LEVELS:
        apart = _distances(level, values, totals)
        found, chance = (observed * apart).sum(axis=(1, 2)), (expected * apart).sum(axis=(1, 2))
        out[level] = 1 - _ratio(found, chance)
    return out


def _distances(level: Level, values: Floats, totals: Floats) -> Floats:
    """Squared distances between values; ordinal ones depend on how often each value occurs."""
    if level == "nominal":
        return 1 - np.eye(len(values))
    if level == "interval":
        return (values[:, None] - values[None, :]) ** 2
    below = np.cumsum(totals, axis=1) - totals / 2  # up to and half of each value
    return (below[:, :, None] - below[:, None, :]) ** 2
