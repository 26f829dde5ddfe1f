"""Questions by the beginning of their id, in a project's tables and in a user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from erreval.data.lookup import find_in_project, find_question
from erreval.errors import ErrevalError
from erreval.frames import labelled_frame
from erreval.layout import Layout
from erreval.records import Question
from erreval.taxonomy import ErrorType

QUESTIONS = [
    Question(question=f"Who lives in town {k}?", passage="Ann lives in town 1.", source="s") for k in range(40)
]
BY_ID = {q.question_id: q for q in QUESTIONS}


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A project with a benchmark of 40 questions, half of which stand in a training set, too."""
    layout = Layout("sample", tmp_path)
    labels = [frozenset({ErrorType.VAGUE})] * 40
    frame = labelled_frame(QUESTIONS, labels, ["injected"] * 40, 0)
    layout.prepared.mkdir(parents=True)
    frame.drop(columns=["labels", "origin", "round"]).to_parquet(layout.prepared / "benchmark.parquet")
    layout.training_set("r0").parent.mkdir(parents=True)
    frame.head(20).to_parquet(layout.training_set("r0"))
    return layout


def test_the_whole_id_and_any_beginning_of_its_own(layout: Layout) -> None:
    for question in QUESTIONS[:3]:
        whole = question.question_id
        for k in range(1, 17):
            if sum(other.startswith(whole[:k]) for other in BY_ID) == 1:
                assert find_in_project(whole[:k].upper(), layout).question == question
                assert find_question(f" {whole[:k]} ", QUESTIONS, "mine").question == question


def test_it_says_which_tables_hold_the_question_and_what_they_say(layout: Layout) -> None:
    both = find_in_project(QUESTIONS[0].question_id, layout).tables
    assert [table.split(" ")[0].split("/")[-1] for table in both] == ["benchmark.parquet", "train.parquet"]
    assert "labels Vague" in both[1] and "origin injected" in both[1]
    assert len(find_in_project(QUESTIONS[30].question_id, layout).tables) == 1


def test_an_ambiguous_beginning_lists_what_it_may_mean() -> None:
    first = next(d for d in "0123456789abcdef" if sum(i.startswith(d) for i in BY_ID) > 1)
    fits = sorted(i for i in BY_ID if i.startswith(first))
    with pytest.raises(ErrevalError, match=f"^{len(fits)} ids begin '{first}'.*give more digits") as caught:
        find_question(first, QUESTIONS, "mine")
    for i in fits[:10]:
        assert f"{i} '{BY_ID[i].question}'" in str(caught.value)


def test_an_unknown_id_names_those_near_it(layout: Layout) -> None:
    whole = QUESTIONS[5].question_id
    wrong = whole[:-1] + ("0" if whole[-1] != "0" else "1")
    with pytest.raises(ErrevalError, match=f"begins '{wrong}' in .*40 ids.*near it: {whole}.*SHA-256"):
        find_in_project(wrong, layout)


@pytest.mark.parametrize("bad", ["", "xyz", "Who?", "0" * 17])
def test_what_is_no_id_is_said_to_be_none(bad: str) -> None:
    with pytest.raises(ErrevalError, match=r"is no question id.*first 16 hexadecimal digits"):
        find_question(bad, QUESTIONS, "mine")


def test_a_project_without_questions_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ErrevalError, match="no questions yet; run `dvc repro prepare`"):
        find_in_project("ab", Layout("sample", tmp_path))
