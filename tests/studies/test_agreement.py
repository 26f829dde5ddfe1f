"""Agreement among people, against the krippendorff package, scipy and worked examples."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr

from erreval.data.readers import Benchmark
from erreval.studies.agreement import (
    LEVELS,
    krippendorff_alpha,
    majority_vote,
    measure_agreement,
    rating_matrix,
    study_agreement,
)

NAN = float("nan")
# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", section C: 4 observers, 12 units
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T


@pytest.mark.parametrize(("level", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_the_worked_example(level: str, expected: float) -> None:
    assert krippendorff_alpha(OBSERVERS, level) == pytest.approx(expected, abs=5e-4)


def test_alpha_is_undefined_rather_than_one_where_all_scores_are_alike() -> None:
    assert krippendorff_alpha(np.full((5, 3), 2.0), "ordinal") is None
    assert krippendorff_alpha(np.array([[1.0, NAN], [NAN, 2.0]]), "nominal") is None


def test_majority_vote() -> None:
    ratings = np.array([[1, 1, 3], [1, 2, 3], [2, 2, 2], [1, NAN, 1], [1, NAN, 2], [1, NAN, NAN]], dtype=float)
    np.testing.assert_array_equal(majority_vote(ratings), [1, NAN, 2, 1, NAN, NAN])


def made_up(n: int = 60, seed: int = 1) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 4, n)
    ratings = np.clip(truth[:, None] + rng.integers(-1, 2, (n, 3)) * (rng.random((n, 3)) < 0.4), 1, 3).astype(float)
    ratings[rng.random((n, 3)) < 0.05] = NAN
    return ratings, [f"p{i // 4}" for i in range(n)]


def test_resampling_by_sums_is_resampling_of_rows() -> None:
    ratings, passages = made_up()
    found = measure_agreement(
        ratings, passages, ("1", "2", "3"), dimension="d", rng=np.random.default_rng(3), resamples=40
    )
    # the same draws, done row by row with the package and scipy
    kept = (~np.isnan(ratings)).sum(axis=1) >= 2
    rows = ratings[kept]
    names = [p for p, k in zip(passages, kept, strict=True) if k]
    unique = list(dict.fromkeys(names))
    draws = np.random.default_rng(3).multinomial(len(unique), [1 / len(unique)] * len(unique), size=40)
    members = {p: [i for i, q in enumerate(names) if q == p] for p in unique}
    alphas = {level: [] for level in LEVELS}
    correlations = []
    for draw in draws:
        index = [i for p, times in zip(unique, draw, strict=True) for _ in range(times) for i in members[p]]
        sample = rows[index]
        for level in LEVELS:
            alphas[level].append(krippendorff_alpha(sample, level))
        correlations.append(one_annotator(sample))
    for level in LEVELS:
        low, high = np.quantile(alphas[level], [0.025, 0.975])
        assert (found.alpha[level].low, found.alpha[level].high) == pytest.approx((low, high))
    assert found.one_annotator.value == pytest.approx(one_annotator(rows))
    assert (found.one_annotator.low, found.one_annotator.high) == pytest.approx(
        tuple(np.quantile(correlations, [0.025, 0.975]))
    )
    assert found.n_items == len(rows)
    assert found.n_passages == len(unique)


def one_annotator(ratings: np.ndarray) -> float:
    values = []
    for i in range(ratings.shape[1]):
        others = np.nanmean(np.delete(ratings, i, axis=1), axis=1)
        own = ~np.isnan(ratings[:, i])
        values.append(pearsonr(ratings[own, i], others[own]).statistic)
    return float(np.mean(values))


def test_constant_scores_give_no_number() -> None:
    found = measure_agreement(
        np.full((6, 3), 3.0), list("aabbcc"), "123", dimension="d", rng=np.random.default_rng(0), resamples=20
    )
    assert found.alpha["interval"].value is None
    assert found.one_annotator.value is None
    assert found.one_annotator.undefined == 1.0
    assert found.perfect.value == 1.0


def test_order_of_items_does_not_matter() -> None:
    ratings, passages = made_up()
    order = np.random.default_rng(0).permutation(len(ratings))
    kinds = [
        measure_agreement(r, p, "123", dimension="d", rng=np.random.default_rng(0), resamples=0)
        for r, p in ((ratings, passages), (ratings[order], [passages[i] for i in order]))
    ]
    assert kinds[0].alpha["ordinal"].value == pytest.approx(kinds[1].alpha["ordinal"].value)
    assert kinds[0].perfect == kinds[1].perfect


def test_a_benchmark_without_annotators_says_so() -> None:
    empty = pd.DataFrame({"question_id": [], "source": [], "repeat": [], "passage_id": []})
    study = study_agreement(Benchmark("simqg", empty, empty, {}), rng=np.random.default_rng(0))
    assert study.results == ()
    assert "simqg publishes no single annotators' scores" in study.note
    assert study.table().empty


def test_long_scores_become_a_matrix() -> None:
    scores = pd.DataFrame(
        [
            ("q1", "s", "d", "1", 3.0),
            ("q1", "s", "d", "2", 1.0),
            ("q2", "s", "d", "2", 2.0),
            ("q2", "s", "e", "1", 9.0),
        ],
        columns=["question_id", "source", "dimension", "annotator", "score"],
    )
    keys, ratings = rating_matrix(scores, "d", ("1", "2", "3"))
    assert keys["question_id"].tolist() == ["q1", "q2"]
    np.testing.assert_array_equal(ratings, [[3, 1, NAN], [NAN, 2, NAN]])
