"""Paired differences and rankings with intervals by passage."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from erreval.studies.paired import micro_f1_difference, ranking


def test_micro_f1_by_hand_and_by_scikit_learn() -> None:
    true = np.array([[1, 0], [0, 1], [1, 1]])
    first = np.array([[1, 0], [0, 1], [1, 0]])  # 3 hits, 3 said, 4 true: 6/7
    second = np.array([[0, 1], [0, 1], [0, 1]])  # 2 hits, 3 said, 4 true: 4/7
    found = micro_f1_difference(true, first, second, np.array(["a", "a", "b"]), np.random.default_rng(0))
    assert (found.first, found.second) == (pytest.approx(6 / 7), pytest.approx(4 / 7))
    assert found.difference == pytest.approx(2 / 7)
    assert (found.n, found.passages) == (3, 2)
    assert found.first == pytest.approx(f1_score(true, first, average="micro"))
    # Resamples of two passages are aa (1 - 1/2), ab (2/7) and bb (2/3 - 2/3): the ends are the extremes.
    assert found.interval.low == pytest.approx(0.0)
    assert found.interval.high == pytest.approx(1 / 2)


def test_both_are_resampled_together() -> None:
    rng = np.random.default_rng(1)
    true = (rng.random((200, 3)) < 0.3).astype(int)
    same = (rng.random((200, 3)) < 0.3).astype(int)
    found = micro_f1_difference(true, same, same, np.arange(200) // 4, rng)
    assert (found.interval.low, found.interval.high) == (0.0, 0.0)


def test_one_passage_has_no_interval_and_none_is_refused() -> None:
    ones = np.ones((3, 2))
    found = micro_f1_difference(ones, ones, ones, np.array(["a"] * 3), np.random.default_rng(0))
    assert found.interval.low is None
    with pytest.raises(ValueError, match="shapes differ or are empty"):
        micro_f1_difference(ones[:0], ones[:0], ones[:0], np.array([]), np.random.default_rng(0))


def test_ranking_is_that_of_scikit_learn_and_leaves_out_what_has_no_score() -> None:
    rng = np.random.default_rng(2)
    true = (rng.random(120) < 0.3).astype(float)
    scores = true + rng.normal(size=120)
    holes = np.append(scores, np.nan)
    passages = np.append(np.arange(120) // 3, 0)
    found = ranking(np.append(true, 1), holes, passages, rng, resamples=200)
    assert (found.n, found.count) == (120, int(true.sum()))
    assert found.auroc == pytest.approx(roc_auc_score(true, scores))
    assert found.average_precision == pytest.approx(average_precision_score(true, scores))
    assert found.auroc_interval.low is not None
    assert found.auroc_interval.high is not None
    assert found.auroc_interval.low < found.auroc < found.auroc_interval.high


def test_without_positives_a_ranking_is_undefined() -> None:
    found = ranking(np.zeros(6), np.arange(6.0), np.arange(6), np.random.default_rng(0), resamples=20)
    assert (found.count, found.auroc, found.average_precision, found.auroc_interval.low) == (0, None, None, None)
