"""Planted wrong labels are found, right ones are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from erreval.data.label_noise import (
    NOISE_COLUMNS,
    find_label_noise,
    judged_types,
    noise_report,
    present_types,
    separations,
)
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


def test_types_that_cannot_be_told_apart_are_not_judged() -> None:
    frame, probabilities, _ = planted()
    probabilities[:, [VAGUE, CLEAN]] = 0.5  # knows nothing: AUROC .5
    told_apart = separations(present_types(frame), probabilities)
    assert told_apart[ErrorType.VAGUE] == 0.5
    assert told_apart[ErrorType.OFF_TOPIC] is None  # no row has it
    judged = judged_types(told_apart, 0.8)
    assert judged == {ErrorType.GRAMMAR_ERROR}
    assert find_label_noise(frame, probabilities, judged=judged).empty


def test_the_report_says_how_many_rows_and_which() -> None:
    frame, probabilities, _ = planted()
    frame = frame.assign(origin=["injected", "auto"] * 150, question="Why?", answer=None)
    told_apart = separations(present_types(frame), probabilities)
    found = find_label_noise(frame, probabilities)
    report = noise_report(found, frame, told_apart, least_auroc=0.8, most=0.5, file="sets/r0/train.parquet")
    (check,) = report.checks
    assert (check.passed, check.n_failed, check.n_rows) == (True, len(found), 300)
    # The planted rows stand at even positions, which are the injected ones.
    assert report.counts == {"doubtful, auto": "0 of 150", "doubtful, injected": f"{len(found)} of 150"}
    told, doubtful = report.listings
    assert [row[0] for row in told.rows if row[2] == "yes"] == ["Grammar Error", "Vague", "No Error"]
    assert [row[5] for row in doubtful.rows] == found["question_id"].tolist()
    assert all(identity in report.to_html() for identity in found["question_id"])
    few = noise_report(found, frame, told_apart, least_auroc=0.8, most=0.01)
    assert few.passed
    assert few.warnings == (few.checks[0],)


def test_the_table_carries_what_a_person_needs() -> None:
    frame, probabilities, _ = planted()
    frame = frame.assign(passage="P", answer="A", question="Q?", origin="injected", passage_id="p", round=0)
    found = find_label_noise(frame, probabilities)
    assert list(found.columns) == [*NOISE_COLUMNS, "origin", "round", "passage_id", "passage", "answer", "question"]
