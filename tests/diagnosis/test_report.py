"""The diagnosis table: a user's rows and columns as they were, and what was found beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from erreval.diagnosis.identifier import Identifier
from erreval.diagnosis.report import diagnosis_table
from erreval.records import Question
from erreval.taxonomy import ALL_TYPES, Dimension, ErrorType, parse_label_set, slug

ADDED = [
    "question_id",
    "labels",
    *[f"p_{slug(t)}" for t in ALL_TYPES],
    *[f"score_{d.value}" for d in Dimension],
    "evidence",
    "not_judged",
    "diagnosed_by",
    "note",
]
PASSAGE = "Eve ate the red apple in the garden of the palace."
ROWS = pd.DataFrame(
    {
        "zebra": ["z1", None, "z3"],
        "question": ["Who ate the red apple?", "Who ate the red apple?", "Who ate the red apple?"],
        "answer": ["Eve", None, "Eve"],
        "alpha": [1, 2, 3],
    },
    dtype=object,
)  # as ``read_table`` gives it: an empty cell is None


def questions_of(rows: pd.DataFrame) -> list[Question]:
    return [
        Question(question=q, passage=PASSAGE, answer=a) for q, a in zip(rows["question"], rows["answer"], strict=True)
    ]


@pytest.fixture(params=["detectors", "tiny"])
def identifier(request: pytest.FixtureRequest) -> Identifier | None:
    """Nobody, or a tiny Error Identifier."""
    return None if request.param == "detectors" else Identifier.load(request.getfixturevalue("tiny_identifier"))


def test_rows_and_columns_stay_and_the_diagnosis_follows(identifier: Identifier | None) -> None:
    found = diagnosis_table(ROWS, questions_of(ROWS), identifier)
    assert list(found.columns) == [*ROWS.columns, *ADDED]
    pd.testing.assert_frame_equal(found[list(ROWS.columns)], ROWS)
    for _, row in found.iterrows():
        parse_label_set(row["labels"])
        assert all(row[f"p_{slug(t)}"] is None or 0 <= row[f"p_{slug(t)}"] <= 1 for t in ALL_TYPES)
    assert set(found["diagnosed_by"]) == {identifier.name if identifier else "detectors"}


def test_a_repeated_row_is_kept_and_answered_alike(identifier: Identifier | None) -> None:
    found = diagnosis_table(ROWS, questions_of(ROWS), identifier)
    assert len(found) == 3
    assert found.loc[0, ADDED].to_dict() == found.loc[2, ADDED].to_dict()
    assert found.loc[0, "question_id"] != found.loc[1, "question_id"]


def test_a_row_without_an_answer_says_what_was_not_judged(identifier: Identifier | None) -> None:
    found = diagnosis_table(ROWS, questions_of(ROWS), identifier)
    off_target = f"p_{slug(ErrorType.OFF_TARGET_ANSWER)}"
    assert found.loc[1, off_target] is None
    assert found.loc[1, "not_judged"] == f"{ErrorType.OFF_TARGET_ANSWER.value}: there is no answer"
    assert found.loc[1, "score_answer_consistency"] is None
    assert found.loc[1, "score_answerability"] is not None
    assert ErrorType.OFF_TARGET_ANSWER not in parse_label_set(found.loc[1, "labels"])
    assert found.loc[0, "not_judged"] is None
    assert found.loc[0, off_target] is not None


def test_without_a_passage_only_the_form_is_judged(identifier: Identifier | None) -> None:
    found = diagnosis_table(ROWS[:1], [Question(question="Who ate?", answer="Eve")], identifier)
    assert found.loc[0, "score_relevance"] is None
    assert found.loc[0, "score_fluency"] is not None
    assert found.loc[0, "not_judged"].count("there is no passage") == 5


def test_columns_named_like_ours_are_kept_under_another_name() -> None:
    rows = ROWS.assign(labels="mine", note=["a", "b", "c"], input_note="older")
    found = diagnosis_table(rows, questions_of(rows), None)
    assert list(found.columns) == [*ROWS.columns, "input_labels", "input_input_note", "input_note", *ADDED]
    assert found["input_labels"].tolist() == ["mine"] * 3
    assert found["input_input_note"].tolist() == ["a", "b", "c"]
    assert found["input_note"].tolist() == ["older"] * 3


def test_a_diagnosed_table_can_be_diagnosed_again_and_again() -> None:
    found = ROWS
    for times in range(1, 4):
        found = diagnosis_table(found, questions_of(ROWS), None)
        assert found.columns.is_unique
        assert len(found.columns) == len(ROWS.columns) + times * len(ADDED)


def test_evidence_is_told_in_words() -> None:
    question = Question(question="Who aet the red appel", passage=PASSAGE, answer="Eve")
    found = diagnosis_table(ROWS[:1], [question], None)
    assert f"{ErrorType.SPELL_ERROR.value}: " in found.loc[0, "evidence"]


def test_a_cut_passage_is_noted(tiny_identifier: Path) -> None:
    question = Question(question="Who ate the red apple?", passage=PASSAGE * 4000, answer="Eve")
    found: Any = diagnosis_table(ROWS[:1], [question], Identifier.load(tiny_identifier))
    assert found.loc[0, "note"] == "the model sees 64 tokens; the rest of the text was left out"


def test_the_index_of_the_rows_does_not_matter() -> None:
    rows = ROWS.set_axis([7, 7, 3])
    found = diagnosis_table(rows, questions_of(rows), None)
    assert found["zebra"].tolist() == ["z1", None, "z3"]
    assert found["not_judged"].notna().tolist() == [False, True, False]
