"""Dimension scores from a diagnosis, against products and logarithms written out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from erreval.diagnosis.scores import dimension_scores, one_diagnosis_scores, probability_sound
from erreval.taxonomy import ALL_TYPES, DIMENSION_ERRORS, Dimension, ErrorType

PROBABILITIES = arrays(np.float64, (3, 11), elements=st.floats(0, 1))


def test_by_hand() -> None:
    p = dict.fromkeys(ALL_TYPES, 0.0) | {
        ErrorType.INCOMPLETE: 0.5,
        ErrorType.VAGUE: 0.2,
        ErrorType.UNNECESSARY_COPY: 0.9,
        ErrorType.OFF_TARGET_ANSWER: 0.25,
        ErrorType.NO_ERROR: 0.7,
    }
    scores = one_diagnosis_scores(p)
    sound = {
        Dimension.FLUENCY: 0.5,
        Dimension.CLARITY: 0.5 * 0.8,
        Dimension.CONCISENESS: 0.1,
        Dimension.RELEVANCE: 1.0,
        Dimension.CONSISTENCY: 1.0,
        Dimension.ANSWERABILITY: 0.5 * 0.8,
        Dimension.ANSWER_CONSISTENCY: 0.5 * 0.8 * 0.75,
    }
    row = np.array([[p[t] for t in ALL_TYPES]])
    assert {d: v[0] for d, v in probability_sound(row).items()} == pytest.approx(sound)
    # log(P + .02) brought to run from 0 at P = 0 to 1 at P = 1: (ln(P + .02) - ln .02) / (ln 1.02 - ln .02).
    assert scores == pytest.approx(
        {d: (np.log(v + 0.02) - np.log(0.02)) / (np.log(1.02) - np.log(0.02)) for d, v in sound.items()}
    )


def test_ends_of_the_scale_and_what_lies_near_them() -> None:
    sure, none = np.zeros((1, 11)), np.ones((1, 11))
    assert all(v[0] == 1.0 for v in dimension_scores(sure).values())
    assert all(v[0] == pytest.approx(0.0, abs=1e-12) for v in dimension_scores(none).values())
    # .90 and .99 of a Copy are .09 apart as probabilities, and much further than .01 and .10 as scores.
    copy = ALL_TYPES.index(ErrorType.UNNECESSARY_COPY)
    rows = np.zeros((4, 11))
    rows[:, copy] = [0.01, 0.10, 0.90, 0.99]
    found = dimension_scores(rows)[Dimension.CONCISENESS]
    assert found[2] - found[3] > 3 * (found[0] - found[1])


@given(PROBABILITIES)
def test_one_and_many_agree_and_stay_between_0_and_1(probabilities: np.ndarray) -> None:
    many = dimension_scores(probabilities)
    for k, row in enumerate(probabilities):
        single = one_diagnosis_scores(dict(zip(ALL_TYPES, map(float, row), strict=True)))
        for dimension in Dimension:
            assert single[dimension] == pytest.approx(many[dimension][k], abs=1e-12)
            assert -1e-12 <= many[dimension][k] <= 1


@given(PROBABILITIES, st.sampled_from(ALL_TYPES), st.floats(0, 1))
def test_a_likelier_error_never_raises_a_score(probabilities: np.ndarray, error: ErrorType, more: float) -> None:
    worse = probabilities.copy()
    at = ALL_TYPES.index(error)
    worse[:, at] += (1 - worse[:, at]) * more
    before, after = dimension_scores(probabilities), dimension_scores(worse)
    for dimension in Dimension:
        assert (after[dimension] <= before[dimension] + 1e-12).all()
        if error not in DIMENSION_ERRORS[dimension]:
            np.testing.assert_array_equal(after[dimension], before[dimension])


@pytest.mark.parametrize("error", [*DIMENSION_ERRORS[Dimension.ANSWER_CONSISTENCY]])
def test_unknown_is_not_zero(error: ErrorType) -> None:
    scores = one_diagnosis_scores(dict.fromkeys(ALL_TYPES, 0.1) | {error: None})
    for dimension, errors in DIMENSION_ERRORS.items():
        assert (scores[dimension] is None) == (error in errors)
