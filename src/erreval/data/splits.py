"""Which side of a split a passage is on: decided by its hash alone, so that none is ever on two sides."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Literal, cast

import pandas as pd

DevFold = Literal["checkpoint", "calibration", "thresholds"]
"""What a passage of the development set's dev half decides: one thing each, so that no question decides twice."""


def side_of(passage_id: str, shares: Mapping[str, float], salt: str) -> str:
    """The side of a passage (or paper).

    The same id, shares and salt always give the same side, whatever else is in the table.

    Args:
        passage_id: See ``records.passage_id``.
        shares: Side to its expected share of the passages; they sum to 1. The order counts.
        salt: Names the split: different salts give independent splits.

    Raises:
        ValueError: The shares are no distribution.
    """
    total = math.fsum(shares.values())
    if not shares or min(shares.values()) < 0 or not math.isclose(total, 1.0, abs_tol=1e-9):
        raise ValueError(f"shares must be at least 0 and sum to 1, not {dict(shares)}")
    digest = hashlib.sha256(f"{salt}\x1f{passage_id}".encode()).digest()
    place = int.from_bytes(digest[:8], "big") / 2**64
    reached = 0.0
    last = ""
    for side, share in shares.items():
        reached += share
        if share > 0:
            last = side
        if place < reached:
            return side
    return last


def assign_sides(frame: pd.DataFrame, shares: Mapping[str, float], salt: str) -> pd.Series[str]:
    """The side of each row, by its ``passage_id`` column.

    Returns:
        A series named "side", aligned with the frame.
    """
    ids = frame["passage_id"]
    sides = {one: side_of(one, shares, salt) for one in dict.fromkeys(ids)}
    return pd.Series([sides[one] for one in ids], index=frame.index, dtype=object, name="side")


def heldout_role(passage_id: str) -> Literal["fit", "assess"]:
    """Whether a passage of the held-out injected errors calibrates, or only assesses; half of them each."""
    return cast(Literal["fit", "assess"], side_of(passage_id, {"fit": 0.5, "assess": 0.5}, salt="held-out errors"))


def dev_fold(passage_id: str) -> DevFold:
    """What a passage of the dev half decides, a third of the passages each.

    Args:
        passage_id: See ``records.passage_id``.
    """
    thirds = {"checkpoint": 1 / 3, "calibration": 1 / 3, "thresholds": 1 / 3}
    return cast(DevFold, side_of(passage_id, thirds, salt="what a dev passage decides"))
