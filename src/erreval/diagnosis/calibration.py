"""Whether probabilities mean what they say: reliability diagrams and the expected calibration error, by type."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

EDGES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
"""Edges of the bins; finer where rare errors have their probabilities."""


@dataclass(frozen=True)
class Bin:
    """The questions whose probability lies in one bin."""

    low: float
    high: float
    n: int
    mean_probability: float
    share_true: float


def reliability(true: np.ndarray, probabilities: np.ndarray, edges: tuple[float, ...] = EDGES) -> list[Bin]:
    """A reliability diagram's bins, empty ones left out.

    Args:
        true: (n,) zeros and ones.
        probabilities: (n,) in [0, 1].
        edges: Rising, from 0 to 1; a bin has its lower edge, the last one both.

    Raises:
        ValueError: A probability is outside [0, 1], or the lengths differ.
    """
    y, p = np.asarray(true, dtype=float), np.asarray(probabilities, dtype=float)
    if y.shape != p.shape:
        raise ValueError(f"{len(y)} labels and {len(p)} probabilities")
    if len(p) and not (p.min() >= 0 and p.max() <= 1):
        raise ValueError("a probability is outside [0, 1]")
    place = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, len(edges) - 2)
    return [
        Bin(edges[k], edges[k + 1], int(here.sum()), float(p[here].mean()), float(y[here].mean()))
        for k in range(len(edges) - 1)
        if (here := place == k).any()
    ]


def expected_calibration_error(
    true: np.ndarray, probabilities: np.ndarray, edges: tuple[float, ...] = EDGES
) -> float | None:
    """The mean distance of share and mean probability over the bins, weighted by their counts (Naeini et al. 2015).

    Returns:
        A number in [0, 1], or None where there are no rows.
    """
    bins = reliability(true, probabilities, edges)
    total = sum(b.n for b in bins)
    return sum(b.n * abs(b.mean_probability - b.share_true) for b in bins) / total if total else None
