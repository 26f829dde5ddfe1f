import numpy as np
import pytest

from erreval.labelling.simulated import answer
from erreval.taxonomy import ErrorType, check_label_set

TRUTH = [frozenset({ErrorType.NO_ERROR}), frozenset({ErrorType.VAGUE, ErrorType.OFF_TOPIC})] * 500


def test_without_errors_it_knows_everything():
    assert answer(TRUTH, 0.0, np.random.default_rng(1)) == TRUTH


def test_always_wrong_is_always_wrong_and_always_valid():
    given = answer(TRUTH, 1.0, np.random.default_rng(1))
    assert all(said != true for said, true in zip(given, TRUTH, strict=True))
    for labels in given:
        check_label_set(labels)


def test_the_error_rate_is_what_was_asked_for():
    given = answer(TRUTH, 0.2, np.random.default_rng(1))
    wrong = sum(said != true for said, true in zip(given, TRUTH, strict=True))
    # binomial(1000, .2): mean 200, sd sqrt(160) = 12.6; five sd
    assert 137 <= wrong <= 263


def test_an_impossible_rate_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        answer(TRUTH, 1.5, np.random.default_rng(1))
