import numpy as np
import pytest
from scipy import stats

from erreval.studies.correlation import floor, pearson
from erreval.studies.resampling import one_annotator_level, pearson_interval, without_influential


def test_pearson_by_hand():
    # x - mean = (-1, 0, 1), y - mean = (-1, 1, 0): products 1, sums of squares 2 and 2, so r = 1 / 2
    assert pearson(np.array([1, 2, 3]), np.array([1, 3, 2])).value == pytest.approx(0.5)


def test_pearson_is_scipys():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 200))
    assert pearson(x, x + y).value == pytest.approx(stats.pearsonr(x, x + y).statistic)


def test_missing_values_are_left_out_and_counted():
    found = pearson(np.array([1, 2, np.nan, 3]), np.array([1, 3, 5, 2]))
    assert (found.value, found.n) == (pytest.approx(0.5), 3)


@pytest.mark.parametrize(("x", "y"), [([1, 1, 1], [1, 2, 3]), ([1], [2]), ([], []), ([0.1] * 3, [1, 2, 3])])
def test_undefined_stays_undefined(x, y):
    assert pearson(np.array(x), np.array(y)).value is None


def test_the_floor_takes_the_best_feature_whatever_its_sign():
    human = np.array([3.0, 2.0, 1.0])
    found = floor({"a": np.array([1, 3, 2]), "b": np.array([1, 2, 3]), "c": np.array([1, 1, 1])}, human)
    assert (found.feature, found.value) == ("b", pytest.approx(1.0))


def test_without_the_most_influential_item():
    # Nine items without correlation and one far away that makes it.
    x = np.array([1, 2, 3, 1, 2, 3, 1, 2, 3, 100.0])
    y = np.array([1, 1, 1, 2, 2, 2, 3, 3, 3, 100.0])
    assert pearson(x, y).value > 0.99
    assert without_influential(x, y, share=0.1) == pytest.approx(0.0)


def test_influence_is_what_leaving_an_item_out_does():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(2, 30))
    alone = [pearson(np.delete(x, i), np.delete(y, i)).value for i in range(30)]
    worst = int(np.argmin(np.array(alone) * np.sign(pearson(x, y).value)))
    assert without_influential(x, y, share=1 / 30) == pytest.approx(
        pearson(np.delete(x, worst), np.delete(y, worst)).value
    )


def test_the_interval_is_that_of_a_plain_bootstrap_over_groups():
    rng = np.random.default_rng(7)
    groups = np.repeat(np.arange(40), 3)
    x = rng.normal(size=120) + np.repeat(rng.normal(size=40), 3)
    y = x + rng.normal(size=120)
    found = pearson_interval(x, y, groups, np.random.default_rng(1), resamples=4000)
    plain = []
    for _ in range(2000):
        take = np.concatenate([np.flatnonzero(groups == g) for g in rng.integers(40, size=40)])
        plain.append(stats.pearsonr(x[take], y[take]).statistic)
    assert [found.low, found.high] == pytest.approx(np.quantile(plain, [0.025, 0.975]), abs=0.02)


def test_an_interval_needs_two_groups_and_varying_scores():
    one = pearson_interval(np.array([1.0, 2]), np.array([1.0, 2]), np.array(["a", "a"]), np.random.default_rng(0))
    flat = pearson_interval(np.ones(9), np.arange(9.0), np.arange(9), np.random.default_rng(0))
    assert (one.low, flat.high) == (None, None)


def test_one_annotator_against_the_mean_of_the_others():
    scores = np.array([[1, 1, 2], [2, 2, 1], [3, 3, 3.0]])
    # a against (b + c)/2 = (1.5, 1.5, 3): r = .8660; b the same; c against a's and b's mean (1, 2, 3): r = .5
    assert one_annotator_level(scores) == pytest.approx((2 * np.sqrt(3) / 2 + 0.5) / 3)
    assert one_annotator_level(scores[:, :1]) is None
