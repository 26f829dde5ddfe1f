"""A judge's scores joined with a diagnosis, three levels, and how many flawed questions still count as good."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

WEIGHT = 0.5
"""Of the diagnosis against the judge, fixed in advance: both count alike."""
LEVEL_SHARES = (0.05, 0.15)
"""The lowest 5 % of the fused scores are level 1, the next ones up to 15 % level 2, the rest level 3.

Shares rather than scores, so that they can be fixed before anyone has scored, and hold for any judge's scale.
"""


@dataclass(frozen=True)
class FusedScores:
    """A judge's scores joined with those of a diagnosis."""

    scores: np.ndarray
    """(n,), NaN where the judge or the diagnosis has none."""
    weight: float
    """Of the diagnosis, in [0, 1]; what is reported must state it."""
    n: int
    """Questions that have both."""


@dataclass(frozen=True)
class Overestimation:
    """What a discretisation into three levels does to flawed and to good questions."""

    overestimated: float | None
    """Share of the questions that people gave at most ``flawed`` and that are at level 3; None without any."""
    flawed: int
    penalised: float | None
    """Share of the questions to which all people gave the best score and that are below level 3."""
    good: int


def fuse_with_judge(judge: np.ndarray, diagnosis: np.ndarray, weight: float = WEIGHT) -> FusedScores:
    """The weighted mean of both, each standardised over the questions that have both. No human score is looked at.

    Args:
        judge: (n,) NaN where the judge gave no readable score.
        diagnosis: (n,) NaN where the diagnosis has none.
        weight: Of the diagnosis: 0 is the judge alone, 1 the diagnosis alone.

    Raises:
        ValueError: The weight is outside [0, 1], or the lengths differ.
    """
    x, y = np.asarray(judge, dtype=float), np.asarray(diagnosis, dtype=float)
    if not 0.0 <= weight <= 1.0:
        raise ValueError(f"the weight of the diagnosis is {weight}; it must lie in [0, 1]")
    if x.shape != y.shape:
        raise ValueError(f"{len(x)} scores of the judge and {len(y)} of the diagnosis")
    both = np.isfinite(x) & np.isfinite(y)
    fused = np.full(len(x), np.nan)
    fused[both] = (1.0 - weight) * _standardised(x[both]) + weight * _standardised(y[both])
    return FusedScores(fused, weight, int(both.sum()))


def _standardised(values: np.ndarray) -> np.ndarray:
    """Mean 0 and deviation 1; a constant tells nothing and becomes 0."""
    if len(values) == 0 or bool((values == values[0]).all()):
        return np.zeros(len(values))
    return np.asarray((values - values.mean()) / values.std())


def three_levels(scores: np.ndarray, shares: tuple[float, float] = LEVEL_SHARES) -> np.ndarray:
    """Scores as levels 1, 2 and 3 by their rank.

    Args:
        scores: (n,) NaN where there is none.
        shares: Of the questions at level 1, and at level 1 or 2, at most: equal scores are never parted, and go to
            the higher level.

    Returns:
        (n,) levels, NaN where there is no score.

    Raises:
        ValueError: The shares do not rise within [0, 1].
    """
    low, middle = shares
    if not 0.0 <= low <= middle <= 1.0:
        raise ValueError(f"the shares of the two lower levels are {shares}; they must rise within [0, 1]")
    x = np.asarray(scores, dtype=float)
    known = np.isfinite(x)
    levels = np.full(len(x), np.nan)
    ranked = np.sort(x[known])
    # The share of questions that score no more than this one.
    reached = np.searchsorted(ranked, x[known], side="right") / max(len(ranked), 1)
    levels[known] = 3.0 - (reached <= middle) - (reached <= low)
    return levels


def overestimation(levels: np.ndarray, human: np.ndarray, *, flawed: float = 2.0, best: float = 3.0) -> Overestimation:
    """How many flawed questions are at the highest level, and how many good ones are not (ErrEval, section 5).

    Args:
        levels: (n,) from 1 to 3, NaN where there is none.
        human: (n,) mean human scores on the same scale.
        flawed: Up to this human score a question is flawed.
        best: From this human score on it is good.
    """
    known = np.isfinite(levels) & np.isfinite(human)
    low, good = known & (human <= flawed), known & (human >= best)
    return Overestimation(
        overestimated=float((levels[low] >= 3).mean()) if low.any() else None,
        flawed=int(low.sum()),
        penalised=float((levels[good] < 3).mean()) if good.any() else None,
        good=int(good.sum()),
    )
