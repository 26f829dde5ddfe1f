"""The gates stop what must not pass, and name it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from erreval.data.gates import check_training_set
from erreval.data.reader_checks import check_benchmark, check_pairs
from erreval.data.readers import READERS, Pairs
from erreval.errors import GateError
from erreval.records import content_id, passage_id

PASSAGE = "The tower was built in 1889 by a company of engineers for the world fair in the city of Paris in France."
OTHER = "A quick brown fox jumps over the lazy dog while twelve wise owls watch from the old oak tree nearby."


def training_set(n: int = 6) -> pd.DataFrame:
    rows = []
    for i in range(n):
        passage, answer, question = f"{OTHER} Number {i}.", "a fox" if i else None, f"What jumps over dog {i}?"
        rows.append(
            {
                "question_id": content_id(passage, answer, question),
                "passage_id": passage_id(passage),
                "source": "sample",
                "passage": passage,
                "answer": answer,
                "question": question,
                "labels": "No Error" if i % 2 else "Vague; Off Target Answer",
                "origin": "injected",
                "round": 0,
            }
        )
    return pd.DataFrame(rows)


PROTECTED = pd.DataFrame({"passage": [PASSAGE]})


def failed(frame: pd.DataFrame) -> dict[str, list[tuple[int, str]]]:
    report = check_training_set(frame, PROTECTED, name="t")
    return {c.name: [(f.row, f.value) for f in c.failures] for c in report.checks if not c.passed}


def test_a_good_set_passes_and_its_labels_are_counted() -> None:
    report = check_training_set(training_set(), PROTECTED, name="round 0", origins={"injected"})
    assert report.passed
    assert report.require() is report
    assert report.counts["Vague"] == 3
    assert report.counts["Off Topic"] == 0
    assert {check.n_rows for check in report.checks} == {6}


@pytest.mark.parametrize(
    ("column", "value", "check"),
    [
        ("labels", "Vague; Typo", "label vocabulary"),
        ("labels", "", "label vocabulary"),
        ("labels", None, "label vocabulary"),
        ("labels", "Vague; Vague", "label vocabulary"),
        ("labels", "No Error; Vague", "no error alone"),
        ("passage", "  ", "passage not blank"),
        ("passage", None, "passage not blank"),
        ("question", "", "question not blank"),
        ("origin", None, "origin not blank"),
        ("round", -1, "round"),
        ("question_id", "0" * 16, "content ids"),
    ],
)
def test_each_rule_names_the_row(column: str, value: object, check: str) -> None:
    frame = training_set().astype(object)
    frame.loc[2, column] = value
    found = failed(frame)
    assert [row for row, _ in found[check]] == [3]
    report = check_training_set(frame, PROTECTED, name="t")
    with pytest.raises(GateError, match=rf"gate 't' not passed.*{re.escape(check)}.*row 3"):
        report.require()


def test_a_repeated_key_names_both_rows() -> None:
    frame = training_set()
    frame = pd.concat([frame, frame.iloc[[1]]], ignore_index=True)
    assert [row for row, _ in failed(frame)["row keys"]] == [2, 7]
    frame.loc[6, "source"] = "another"
    assert failed(frame) == {}


def test_missing_columns_are_all_there_is_to_say() -> None:
    report = check_training_set(training_set().drop(columns=["labels", "round"]), PROTECTED, name="t")
    assert [check.name for check in report.checks] == ["columns"]
    assert "missing columns: labels, round" in report.checks[0].note
    with pytest.raises(GateError, match="missing columns: labels, round"):
        report.require()


@pytest.mark.parametrize("text", [PASSAGE, PASSAGE.upper().replace(",", ""), f"{OTHER} {PASSAGE} {OTHER}"])
def test_a_benchmark_passage_is_stopped(text: str) -> None:
    frame = training_set()
    frame.loc[4, "passage"] = text
    frame.loc[4, "passage_id"] = passage_id(text)
    frame.loc[4, "question_id"] = content_id(text, frame.loc[4, "answer"], frame.loc[4, "question"])
    assert [row for row, _ in failed(frame)["contamination"]] == [5]


def test_what_was_not_checked_is_said() -> None:
    report = check_training_set(training_set(), None, name="t")
    assert report.passed
    assert "not checked" in next(c for c in report.checks if c.name == "contamination").note


def test_an_empty_set_is_stopped() -> None:
    report = check_training_set(training_set().iloc[:0], PROTECTED, name="t")
    assert [check.name for check in report.checks if not check.passed] == ["rows"]
    with pytest.raises(GateError, match=r"at least one row.*found 0"):
        report.require()


def test_many_failures_are_counted_whole_and_listed_in_part() -> None:
    frame = training_set(400)
    frame["labels"] = "Nonsense"
    report = check_training_set(frame, None, name="t")
    check = next(c for c in report.checks if c.name == "label vocabulary")
    assert (check.n_failed, len(check.failures)) == (400, 200)
    with pytest.raises(GateError, match="and 395 more"):
        report.require()
    assert "200 more rows are not listed" in report.to_html()


def test_reports_are_the_same_each_time_and_stand_alone() -> None:
    frame = training_set().astype(object)
    frame.loc[0, "question"] = "<script>alert(1)</script>"
    first, second = (check_training_set(frame, PROTECTED, name="a & b") for _ in range(2))
    assert first.to_json() == second.to_json()
    assert first.to_html() == second.to_html()
    loaded = json.loads(first.to_json())
    assert loaded["passed"] is False
    assert not re.search(r"\d{4}-\d\d-\d\d", first.to_json())
    page = first.to_html()
    assert "<script" not in page
    assert "http" not in page
    assert "prefers-color-scheme: dark" in page


def test_gx_is_not_imported_before_a_gate_runs() -> None:
    code = "import sys, erreval.data.gates; assert 'great_expectations' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_benchmarks_pass_their_gate(laid: dict[str, Path]) -> None:
    for name in ("qgeval", "pilot", "paperrq"):
        report = check_benchmark(READERS[name](laid[name]))
        assert report.passed, report.to_json()
    assert report.counts == {"questions": 217, "different questions": 217, "passages": 93, "scores": 651}


def test_pairs_pass_their_gate_and_wrong_spans_do_not(laid: dict[str, Path]) -> None:
    xquad = READERS["xquad"](laid["xquad"])
    assert check_pairs(xquad).require().counts == {"questions": 1190, "passages": 240}
    moved = xquad.frame.copy()
    moved.loc[3, "answer_start"] += 1
    report = check_pairs(Pairs("xquad", moved))
    assert [(f.row, f.column) for c in report.checks for f in c.failures] == [(4, "answer, span is the answer")]


def test_a_training_set_with_qgeval_passages_is_stopped(laid: dict[str, Path]) -> None:
    xquad = READERS["xquad"](laid["xquad"]).frame.drop_duplicates("passage_id").reset_index(drop=True)
    frame = xquad.assign(
        question_id=[
            content_id(*row) for row in zip(xquad["passage"], xquad["answer"], xquad["question"], strict=True)
        ],
        labels="No Error",
        origin="injected",
        round=0,
    )
    protected = READERS["qgeval"](laid["qgeval"]).questions
    report = check_training_set(frame, protected, name="xquad")
    check = next(c for c in report.checks if c.name == "contamination")
    assert check.n_failed == 11
    assert check.note == "200 benchmark passages, 11 training passages equal"
    with pytest.raises(GateError, match="contamination"):
        report.require()
