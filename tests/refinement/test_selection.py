import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from erreval.refinement.confidence import inconsistency, set_confidence, uncertainty
from erreval.refinement.selection import Verdict, queue_order, select

THRESHOLDS = {
    "reliable_uncertainty": 0.6,
    "reliable_inconsistency": 0.3,
    "unreliable_uncertainty": 0.8,
    "unreliable_inconsistency": 0.5,
}


def test_uncertainty_is_equation_3():
    # 1 - |.9 - .5| = .6; 1 - |.5 - .5| = 1; 1 - |.1 - .5| = .6
    assert uncertainty(np.array([0.9, 0.5, 0.1])) == pytest.approx([0.6, 1.0, 0.6])


def test_inconsistency_is_equation_4():
    assert inconsistency(np.array([0.9, 0.2]), np.array([0.4, 0.2])) == pytest.approx([0.5, 0.0])


def test_confidence_of_a_set_takes_each_decision():
    p = np.array([[0.9, 0.2, 0.4]])
    said = np.array([[1, 0, 0]])
    # decisions taken with .9, .8 and .6: mean .7667, minimum .6, product .432
    assert set_confidence(p, said, "mean") == pytest.approx([(0.9 + 0.8 + 0.6) / 3])
    assert set_confidence(p, said, "min") == pytest.approx([0.6])
    assert set_confidence(p, said, "joint") == pytest.approx([0.9 * 0.8 * 0.6])


def test_a_set_that_both_models_reject_is_not_reliable():
    # uncertainty 1 - |.05 - .5| = .55 and inconsistency 0 are both good, but the models agree that it is wrong
    assert select(np.array([0.05]), np.array([0.05]), **THRESHOLDS) == [Verdict.NEITHER]


def test_the_three_verdicts():
    p_e = np.array([0.95, 0.95, 0.52, 0.75])
    p_v = np.array([0.90, 0.30, 0.52, 0.60])
    # .55/.05 reliable; .55/.65 disputed; .98/0 unsure; .75/.15 neither
    assert select(p_e, p_v, **THRESHOLDS) == [
        Verdict.RELIABLE,
        Verdict.UNRELIABLE,
        Verdict.UNRELIABLE,
        Verdict.NEITHER,
    ]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40))
def test_reliable_samples_are_accepted_by_both_and_never_beyond_a_threshold(pairs):
    p_e, p_v = (np.array(column) for column in zip(*pairs, strict=True))
    for e, v, verdict in zip(p_e, p_v, select(p_e, p_v, **THRESHOLDS), strict=True):
        if verdict is Verdict.RELIABLE:
            assert e > 0.5
            assert v > 0.5
            assert 1 - abs(e - 0.5) <= 0.6
            assert abs(e - v) <= 0.3
        if verdict is Verdict.UNRELIABLE:
            assert 1 - abs(e - 0.5) >= 0.8 or abs(e - v) >= 0.5


@pytest.mark.parametrize(("p_e", "p_v", "told"), [([0.5], [0.5, 0.5], "length"), ([1.5], [0.5], "no probabilities")])
def test_what_are_no_probabilities_is_refused(p_e, p_v, told):
    with pytest.raises(ValueError, match=told):
        select(np.array(p_e), np.array(p_v), **THRESHOLDS)


def test_overlapping_thresholds_are_refused():
    with pytest.raises(ValueError, match="below"):
        select(np.array([0.5]), np.array([0.5]), **{**THRESHOLDS, "unreliable_uncertainty": 0.6})


def test_the_queue_takes_every_passage_once_before_any_twice():
    p_e = np.array([0.5, 0.6, 0.9, 0.7])
    p_v = p_e.copy()
    passages = np.array(["a", "a", "b", "b"])
    # doubt 1.0, .9, .6, .8: a's most doubtful, then b's, then the seconds by doubt
    assert queue_order(p_e, p_v, passages).tolist() == [0, 3, 1, 2]
