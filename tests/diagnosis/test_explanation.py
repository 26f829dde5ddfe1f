"""Explanations: what the detectors or a model say, with thresholds, marks and what could not be judged."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from erreval.diagnosis.card import explanation_card
from erreval.diagnosis.diagnose import find_identifier
from erreval.diagnosis.explanation import ANSWER, Explanation, Verdict, explain
from erreval.records import Diagnosis, Evidence, Question
from erreval.taxonomy import ALL_TYPES, NEEDS_ANSWER, NEEDS_PASSAGE, ErrorType

PASSAGE = "Paris is the capital of France. <script>alert(1)</script>"
FLAWED = Question(question="What is the captial of France?", passage=PASSAGE, answer="Paris")


def test_the_grounds_of_a_diagnosis_by_the_detectors() -> None:
    found = explain(FLAWED, None, ["mine.csv"])
    assert [v.type for v in found.verdicts] == list(ALL_TYPES)
    (spelling,) = (v for v in found.verdicts if v.named)
    assert (spelling.type, spelling.threshold, spelling.told) == (ErrorType.SPELL_ERROR, 0.5, "named")
    assert found.verdicts[-1].threshold is None  # No Error is what is left
    assert found.scale == "detector score"
    marked = [piece.text for piece in found.marked_question() if "1" in piece.marks]
    assert marked == ["captial"]
    assert [piece.text for piece in found.marked_passage() if ANSWER in piece.marks] == ["Paris"]


def test_a_model_gives_probabilities_and_its_own_threshold(tiny_identifier: Path) -> None:
    identifier = find_identifier(tiny_identifier)
    assert identifier is not None
    found = explain(FLAWED, identifier)
    assert found.scale == "probability"
    assert {v.threshold for v in found.verdicts[:-1]} == {identifier.threshold}
    assert found.diagnosis.model == str(tiny_identifier)


@pytest.mark.parametrize(
    ("passage", "answer", "missing"),
    [(PASSAGE, None, NEEDS_ANSWER), ("", "Paris", NEEDS_PASSAGE), ("", None, NEEDS_PASSAGE | NEEDS_ANSWER)],
)
def test_what_could_not_be_judged_is_said(passage: str, answer: str | None, missing: frozenset[ErrorType]) -> None:
    found = explain(Question(question=FLAWED.question, passage=passage, answer=answer), None)
    unjudged = {v.type: v for v in found.verdicts if v.value is None}
    assert set(unjudged) == missing
    assert all(re.match("not judged: there is no (passage|answer)", v.told) for v in unjudged.values())
    page = explanation_card(found)
    assert page.count("not judged: ") == len(missing)
    assert ("There is no passage." in page) == (not passage)
    assert ("There is no answer." in page) == (answer is None)


def test_what_is_copied_is_marked_in_question_and_passage() -> None:
    passage = (
        "The oldest bridge of the city, the Pont Neuf, was finished in 1607 under King Henry IV of France, they say."
    )
    asked = "When was the oldest bridge of the city, the Pont Neuf, was finished in 1607 under King Henry IV of France?"
    found = explain(Question(question=asked, passage=passage, answer="1607"), None)
    (mark,) = (m for m, e in found.marks.items() if e.error is ErrorType.UNNECESSARY_COPY)
    copied = "".join(p.text for p in found.marked_passage() if mark in p.marks)
    assert "bridge of the city, the Pont Neuf, was finished in 1607" in copied


def test_an_error_over_its_threshold_yields_to_no_error() -> None:
    verdict = Verdict(ErrorType.VAGUE, value=0.6, threshold=0.5, named=False)
    assert verdict.told == "not named: No Error is more probable"
    assert Verdict(ErrorType.VAGUE, value=0.4, threshold=0.5, named=False).told == "not named"


def test_as_json_the_spans_give_their_text() -> None:
    found = json.loads(json.dumps(explain(FLAWED, None).as_json()))
    assert found["question_id"] == FLAWED.question_id
    assert found["labels"] == ["Spell Error"]
    assert len(found["types"]) == len(ALL_TYPES)
    for evidence in found["evidence"]:
        for span in evidence["spans"]:
            assert span["text"] == FLAWED.question[span["start"] : span["end"]]
    assert found["evidence"][0]["spans"][0]["text"] == "captial"


def test_the_card_needs_nothing_and_runs_nothing() -> None:
    page = explanation_card(explain(FLAWED, None))
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not re.search(r"(src|href)=\"(?!#)|@import|url\(|https?://", page)
    assert "prefers-color-scheme: dark" in page
    assert '<html lang="en">' in page
    targets = set(re.findall(r'href="#([^"]+)"', page))
    assert targets and all(page.count(f'id="{target}"') == 1 for target in targets)


def test_html_in_every_text_is_text() -> None:
    bad = '<img src=x onerror="alert(1)">'
    question = Question(question=f"What {bad}?", passage=bad, answer=bad)
    evidence = (Evidence(error=ErrorType.VAGUE, score=0.9, message=bad, spans=((0, 9),)),)
    diagnosis = Diagnosis(
        question_id=question.question_id,
        labels=frozenset({ErrorType.VAGUE}),
        probabilities=dict.fromkeys(ALL_TYPES, 0.5),
        evidence=evidence,
        model=bad,
        note=bad,
    )
    verdicts = tuple(Verdict(t, 0.5, 0.5, named=t is ErrorType.VAGUE) for t in ALL_TYPES)
    assert "<img" not in explanation_card(Explanation(question, diagnosis, verdicts, (bad,)))
