"""Dimension scores from a diagnosis, against products written out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from erreval.diagnosis.scores import dimension_scores, one_diagnosis_scores
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
    assert scores == {
        Dimension.FLUENCY: pytest.approx(0.5),
        Dimension.CLARITY: pytest.approx(0.5 * 0.8),
        Dimension.CONCISENESS: pytest.approx(0.1),
        Dimension.RELEVANCE: 1.0,
        Dimension.CONSISTENCY: 1.0,
        Dimension.ANSWERABILITY: pytest.approx(0.5 * 0.8),
        Dimension.ANSWER_CONSISTENCY: pytest.approx(0.5 * 0.8 * 0.75),
    }


@given(PROBABILITIES)
def test_one_and_many_agree_and_stay_between_0_and_1(probabilities: np.ndarray) -> None:
    many = dimension_scores(probabilities)
    for k, row in enumerate(probabilities):
        single = one_diagnosis_scores(dict(zip(ALL_TYPES, map(float, row), strict=True)))
        for dimension in Dimension:
            assert single[dimension] == pytest.approx(many[dimension][k], abs=1e-12)
            assert 0 <= many[dimension][k] <= 1


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
