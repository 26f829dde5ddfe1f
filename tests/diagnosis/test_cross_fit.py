"""Probabilities of heads that never saw the row's passage."""

from __future__ import annotations

import numpy as np
import pytest

from erreval.diagnosis.cross_fit import cross_fitted_probabilities, detector_features
from erreval.errors import ErrevalError
from erreval.records import Question


def test_a_head_never_sees_the_passage_it_predicts() -> None:
    """The feature names the passage, and so does the label: only a head that saw the passage could know."""
    groups = [f"p{i // 4}" for i in range(80)]
    features = np.eye(20)[[i // 4 for i in range(80)]]
    present = np.array([[(i // 4) % 2 == 0] for i in range(80)])
    found = cross_fitted_probabilities(features, present, groups, folds=5, seed=1)
    assert np.abs(found - 0.5).max() < 0.2


def test_what_carries_over_to_other_passages_is_learnt() -> None:
    rng = np.random.default_rng(0)
    present = rng.random((200, 1)) < 0.5
    features = present + rng.normal(0, 0.1, (200, 1))
    groups = [f"p{i % 40}" for i in range(200)]
    found = cross_fitted_probabilities(features, present, groups, folds=5, seed=1)
    assert ((found > 0.5) == present).all()
    assert np.array_equal(found, cross_fitted_probabilities(features, present, groups, folds=5, seed=1))


def test_a_type_that_all_or_none_have_gets_its_smoothed_share() -> None:
    present = np.column_stack([np.zeros(10, bool), np.ones(10, bool)])
    groups = [f"p{i}" for i in range(10)]
    found = cross_fitted_probabilities(np.arange(10.0)[:, None], present, groups, folds=5, seed=1)
    # Each head sees 8 of 10 rows: (0 + 1/2) / 9 and (8 + 1/2) / 9.
    assert found[:, 0] == pytest.approx(0.5 / 9)
    assert found[:, 1] == pytest.approx(8.5 / 9)


def test_one_passage_is_too_few() -> None:
    with pytest.raises(ErrevalError, match="two passages or more, not on 1"):
        cross_fitted_probabilities(np.zeros((3, 1)), np.zeros((3, 1), bool), ["p"] * 3, folds=5, seed=1)


def test_detectors_that_cannot_judge_say_so() -> None:
    passage = "The river Seine flows through Paris."
    asked = Question(question="Which river flows through Paris?", passage=passage, answer="the river Seine", source="s")
    bare = Question(question="Which river flows through Paris?", passage="", answer=None, source="s")
    features = detector_features([asked, bare])
    assert features.shape == (2, 21)
    # Without passage and answer five of the ten errors cannot be judged (taxonomy.NEEDS_PASSAGE, NEEDS_ANSWER).
    assert (features[:, :10] == -1).sum(axis=1).tolist() == [0, 5]
    assert features[:, 20].tolist() == features[:, :10].max(axis=1).tolist()
