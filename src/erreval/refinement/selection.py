"""Which samples of the pool are reliable enough to keep, and which go to people first."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from erreval.refinement.confidence import inconsistency, uncertainty


class Verdict(StrEnum):
    """What becomes of a sample of the pool."""

    RELIABLE = "reliable"
    UNRELIABLE = "unreliable"
    NEITHER = "neither"


def select(
    p_e: np.ndarray,
    p_v: np.ndarray,
    *,
    reliable_uncertainty: float,
    reliable_inconsistency: float,
    unreliable_uncertainty: float,
    unreliable_inconsistency: float,
) -> list[Verdict]:
    """Split a pool.

    Reliable is a sample whose label set both models accept (p_e and p_v above one half), with uncertainty *and*
    inconsistency at most at their thresholds. Unreliable is one with uncertainty *or* inconsistency at least at
    theirs. A set that both models reject is never reliable, however well they agree.

    Args:
        p_e: (n,) the identifier's confidence in its label sets.
        p_v: (n,) the Verifier's probability that they are right.
        reliable_uncertainty: Highest uncertainty of a reliable sample.
        reliable_inconsistency: Highest inconsistency of a reliable sample.
        unreliable_uncertainty: Lowest uncertainty that makes a sample unreliable.
        unreliable_inconsistency: Lowest inconsistency that makes a sample unreliable.

    Returns:
        One verdict a sample.

    Raises:
        ValueError: The lengths differ, a value is no probability, or the thresholds overlap.
    """
    p_e, p_v = np.asarray(p_e, dtype=float), np.asarray(p_v, dtype=float)
    if p_e.shape != p_v.shape:
        raise ValueError(f"p_e and p_v differ in length: {p_e.shape} and {p_v.shape}")
    for name, values in (("p_e", p_e), ("p_v", p_v)):
        if not bool(((values >= 0) & (values <= 1)).all()):
            raise ValueError(f"{name} holds values that are no probabilities")
    if reliable_uncertainty >= unreliable_uncertainty or reliable_inconsistency >= unreliable_inconsistency:
        raise ValueError("a reliable threshold must lie below its unreliable one")
    unsure, apart = uncertainty(p_e), inconsistency(p_e, p_v)
    accepted = (p_e > 0.5) & (p_v > 0.5)
    reliable = accepted & (unsure <= reliable_uncertainty) & (apart <= reliable_inconsistency)
    unreliable = (unsure >= unreliable_uncertainty) | (apart >= unreliable_inconsistency)
    return [
        Verdict.RELIABLE if good else Verdict.UNRELIABLE if bad else Verdict.NEITHER
        for good, bad in zip(reliable, unreliable, strict=True)
    ]


def queue_order(p_e: np.ndarray, p_v: np.ndarray, passages: np.ndarray) -> np.ndarray:
    """The order in which samples are worth a person's time.

    Most doubtful first (uncertainty plus inconsistency), one passage after another: the first of every passage comes
    before the second of any, so that a short queue is not spent on one text.

    Args:
        p_e: (n,) confidences.
        p_v: (n,) verifier probabilities.
        passages: (n,) passage ids.

    Returns:
        (n,) positions, best first; ties keep their order.
    """
    doubt = uncertainty(p_e) + inconsistency(p_e, p_v)
    by_doubt = np.argsort(-doubt, kind="stable")
    turn: dict[str, int] = {}
    turns = np.zeros(len(by_doubt), dtype=int)
    for position in by_doubt:
        passage = str(passages[position])
        turns[position] = turn.get(passage, 0)
        turn[passage] = turns[position] + 1
    return np.lexsort((np.arange(len(doubt)), -doubt, turns))
