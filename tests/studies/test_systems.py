import numpy as np
import pytest

from erreval.studies.systems import rank_systems
from erreval.taxonomy import ERRORS, ErrorType

RNG = 5


def no_errors(n):
    return np.zeros((n, len(ERRORS)))


def test_means_and_rates_by_hand():
    errors = no_errors(4)
    errors[1, ERRORS.index(ErrorType.VAGUE)] = 1
    found = rank_systems(
        ["a", "a", "b", "b"], ["p", "q", "p", "q"], errors, np.array([1.0, 0.5, 0.4, 0.2]), np.random.default_rng(RNG)
    )
    first, second = found.systems
    # a: (1 + .5) / 2, one of two questions with an error; b: (.4 + .2) / 2, none
    assert (first.name, first.score.value, first.error_rate.value) == ("a", 0.75, 0.5)
    assert (second.name, second.score.value, second.error_rate.value) == ("b", pytest.approx(0.3), 0.0)
    assert first.type_rates[ErrorType.VAGUE] == 0.5
    # by passage: 1 - .4 = .6 and .5 - .2 = .3, mean .45
    assert found.differences[0].score.value == pytest.approx(0.45)
    assert found.differences[0].shared_passages == 2


def test_the_pairing_removes_what_passages_share():
    rng = np.random.default_rng(RNG)
    hard = rng.uniform(0, 0.8, size=50)
    scores = np.concatenate([hard + 0.05, hard])
    passages = [f"p{i}" for i in range(50)] * 2
    found = rank_systems(["a"] * 50 + ["b"] * 50, passages, no_errors(100), scores, rng)
    # every passage differs by exactly .05, so the paired interval has no width, while each mean alone is uncertain
    gap = found.differences[0].score
    assert (gap.low, gap.high) == (pytest.approx(0.05), pytest.approx(0.05))
    assert found.systems[0].score.high - found.systems[0].score.low > 0.1


def test_the_types_that_make_the_difference_are_named():
    errors = no_errors(60)
    errors[30:, ERRORS.index(ErrorType.OFF_TOPIC)] = 1
    passages = [f"p{i}" for i in range(30)] * 2
    scores = np.concatenate([np.ones(30), np.zeros(30)])
    found = rank_systems(["good"] * 30 + ["bad"] * 30, passages, errors, scores, np.random.default_rng(RNG))
    assert set(found.differences[0].types) == {ErrorType.OFF_TOPIC}
    assert found.differences[0].types[ErrorType.OFF_TOPIC].value == -1.0


def test_systems_without_a_shared_passage_are_not_paired():
    found = rank_systems(["a", "b"], ["p", "q"], no_errors(2), np.array([1.0, 0.5]), np.random.default_rng(RNG))
    assert found.differences[0].shared_passages == 0
    assert found.differences[0].score is None


def test_order_does_not_matter_and_nothing_is_refused():
    rng = np.random.default_rng(RNG)
    systems, passages, scores = list("abc") * 20, [f"p{i // 3}" for i in range(60)], rng.random(60)
    order = rng.permutation(60)
    plain = rank_systems(systems, passages, no_errors(60), scores, np.random.default_rng(1))
    mixed = rank_systems(
        [systems[i] for i in order],
        [passages[i] for i in order],
        no_errors(60),
        scores[order],
        np.random.default_rng(1),
    )
    assert [s.name for s in plain.systems] == [s.name for s in mixed.systems]
    assert [s.score.value for s in plain.systems] == pytest.approx([s.score.value for s in mixed.systems])
    with pytest.raises(ValueError, match="at least one"):
        rank_systems([], [], no_errors(0), np.array([]), rng)
