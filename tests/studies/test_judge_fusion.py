"""A judge joined with a diagnosis, and three levels, on tables worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from erreval.studies.judge_fusion import fuse_with_judge, overestimation, three_levels

NAN = float("nan")


def test_equal_weights_by_hand() -> None:
    # Standardised: judge (1, 3) -> (-1, 1); diagnosis (0, 10) -> (-1, 1), reversed (1, -1).
    assert fuse_with_judge(np.array([1, 3]), np.array([0, 10])).scores.tolist() == [-1, 1]
    assert fuse_with_judge(np.array([1, 3]), np.array([10, 0])).scores.tolist() == [0, 0]
    third = fuse_with_judge(np.array([1, 3]), np.array([10, 0]), weight=0.25)
    assert third.scores == pytest.approx([-0.5, 0.5])
    assert (third.weight, third.n) == (0.25, 2)


def test_what_is_unscored_stays_so_and_does_not_count() -> None:
    found = fuse_with_judge(np.array([1, 3, NAN, 1]), np.array([0, 10, 5, NAN]))
    assert found.n == 2
    assert np.isnan(found.scores[2:]).all()
    assert found.scores[:2].tolist() == [-1, 1]


def test_a_constant_judge_says_nothing() -> None:
    fused = fuse_with_judge(np.full(4, 3.0), np.array([1.0, 2.0, 3.0, 4.0]), 0.5).scores
    alone = fuse_with_judge(np.full(4, 3.0), np.array([1.0, 2.0, 3.0, 4.0]), 1.0).scores
    assert fused == pytest.approx(alone / 2)


@pytest.mark.parametrize("weight", [-0.1, 1.1, NAN])
def test_weights_out_of_range_are_told(weight: float) -> None:
    with pytest.raises(ValueError, match="must lie in"):
        fuse_with_judge(np.ones(2), np.ones(2), weight)


def test_levels_by_hand() -> None:
    scores = np.arange(20.0)
    assert three_levels(scores).tolist() == [1, 2, 2] + [3] * 17  # 5 % of 20 is one, 15 % three
    # Three equal lowest scores are 15 % together: not within 5 %, within 15 %.
    assert three_levels(np.array([0.0, 0.0, 0.0, *range(1, 18)])).tolist() == [2, 2, 2] + [3] * 17
    # Four equal ones are 20 %, and nobody is below level 3.
    assert three_levels(np.array([0.0] * 4 + [1.0] * 16)).tolist() == [3] * 20
    assert np.isnan(three_levels(np.array([NAN, 1.0]))[0])
    with pytest.raises(ValueError, match="must rise"):
        three_levels(scores, (0.2, 0.1))


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=60))
def test_levels_keep_the_order_and_the_shares(values: list[int]) -> None:
    scores = np.array(values, dtype=float)
    levels = three_levels(scores)
    assert (np.diff(levels[np.argsort(scores, kind="stable")]) >= 0).all()
    assert (levels < 3).mean() <= 0.15
    assert (levels < 2).mean() <= 0.05


def test_overestimation_by_hand() -> None:
    levels = np.array([3, 2, 3, 3, 1, NAN])
    human = np.array([1.0, 2.0, 2.0, 3.0, 3.0, 1.0])
    found = overestimation(levels, human)
    assert (found.overestimated, found.flawed) == (pytest.approx(2 / 3), 3)  # of 1.0, 2.0, 2.0 two are at level 3
    assert (found.penalised, found.good) == (pytest.approx(1 / 2), 2)
    nobody = overestimation(np.array([3.0]), np.array([2.5]))
    assert (nobody.overestimated, nobody.penalised) == (None, None)
