"""Planted wrong labels are found, right ones are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from erreval.data.label_noise import NOISE_COLUMNS, find_label_noise
from erreval.taxonomy import ALL_TYPES, TYPE_INDEX, ErrorType, format_label_set

VAGUE, GRAMMAR, CLEAN = (TYPE_INDEX[t] for t in (ErrorType.VAGUE, ErrorType.GRAMMAR_ERROR, ErrorType.NO_ERROR))


def planted(n: int = 300, wrong: int = 12) -> tuple[pd.DataFrame, np.ndarray, set[str]]:
    rng = np.random.default_rng(0)
    truth = [[{VAGUE}, {GRAMMAR}, {CLEAN}, {VAGUE, GRAMMAR}][i % 4] for i in range(n)]
    probabilities = rng.uniform(0.01, 0.1, (n, len(ALL_TYPES)))
    for row, labels in enumerate(truth):
        probabilities[row, list(labels)] = rng.uniform(0.9, 0.99, len(labels))
    given = list(truth)
    changed = rng.choice(np.arange(0, n, 4), wrong, replace=False)  # rows that are truly Vague
    for row in changed:
        given[row] = {CLEAN}
    cells = [format_label_set(ALL_TYPES[i] for i in labels) for labels in given]
    frame = pd.DataFrame({"question_id": [f"q{i:03}" for i in range(n)], "source": "s", "labels": cells})
    return frame, probabilities, {f"q{row:03}" for row in changed}


def test_planted_noise_is_found_with_a_suggestion() -> None:
    frame, probabilities, wrong = planted()
    found = find_label_noise(frame, probabilities)
    assert tuple(found.columns) == NOISE_COLUMNS
    assert set(found["question_id"]) <= wrong
    assert len(found) >= 10  # cleanlab removes as many as it estimates, rounded down
    assert set(found["suggested"]) == {"Vague"}
    assert set(found["doubtful"]) <= {"Vague", "No Error", "Vague; No Error"}
    assert found["quality"].is_monotonic_increasing
    assert found.equals(find_label_noise(frame, probabilities))


def test_nothing_to_find() -> None:
    frame, probabilities, _ = planted(wrong=0)
    assert find_label_noise(frame, probabilities).empty
    assert find_label_noise(frame.iloc[:0], probabilities[:0]).empty
    one = frame.iloc[:1]
    assert find_label_noise(one, probabilities[:1]).empty


def test_probabilities_must_fit() -> None:
    frame, probabilities, _ = planted()
    with pytest.raises(ValueError, match="shape"):
        find_label_noise(frame, probabilities[:5])
    probabilities[0, 0] = np.nan
    with pytest.raises(ValueError, match="between 0 and 1"):
        find_label_noise(frame, probabilities)
