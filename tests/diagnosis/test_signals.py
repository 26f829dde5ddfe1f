"""What the signals measure, worked out by hand, and the answer's fit learnt from a handful of questions."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from erreval.diagnosis.answer_fit import AnswerFit, align, fit_answers, fit_features, given_share
from erreval.diagnosis.asking import answer_form, asked_for
from erreval.diagnosis.detectors.base import LONGEST_PASSAGE, Reading
from erreval.diagnosis.detectors.registry import run_detectors, why_not_judged
from erreval.diagnosis.injection.examples import GoodExample
from erreval.diagnosis.signals import SIGNALS, measure, vectors
from erreval.records import Question
from erreval.taxonomy import ERRORS, NEEDS_PASSAGE, ErrorType

PASSAGE = (
    "The bridge was built in 1607 by Anna Meyer. Fishermen from Lisbon catch sardines near the harbour. "
    "The harbour burned down in 1755."
)
NO_FIT = AnswerFit({}, 0.0)


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Who built the bridge?", "who"),
        ("In which year was the bridge built?", "what noun:time"),
        ("What is the name of the river?", "what is:place"),
        ("What did Anna build?", "what do"),
        ("How many bridges are there?", "how many"),
        ("How tall is it?", "how long"),
        ("How did it burn?", "how"),
        ("Is the bridge old?", "yes or no"),
        ("Which burned first, the bridge or the harbour?", "choice"),
        ("The bridge burned.", "nothing"),
        ("", "nothing"),
    ],
)
def test_what_is_asked_for(question: str, asked: str) -> None:
    assert asked_for(Reading(question)) == asked


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        ("yes", "yes or no"),
        ("17 October 2006", "time"),
        ("1,200", "number"),
        ("2.3 km", "number and unit"),
        ("Anna Meyer", "name of 2"),
        ("Presbyterian Church", "organisation"),
        ("because it burned", "clause"),
        ("to avoid a visit", "clause"),
        ("arrows", "word"),
        ("theatre director", "phrase"),
        ("the men who had come there over the long winter", "sentence"),
        ("", "none"),
    ],
)
def test_form_of_answers(answer: str, form: str) -> None:
    assert answer_form(answer) == form


def test_alignment_by_hand() -> None:
    question = Question(question="Who built the bridge?", passage=PASSAGE, answer="Anna Meyer")
    found = align(question)
    assert found.found
    assert found.sentence_answer == found.sentence_best == pytest.approx(1.0)  # "built" and "bridge"
    # Words: 0 The, 1 bridge, 2 was, 3 built, 4 in, 5 1607, 6 by, 7 Anna, 8 Meyer. From the place before the answer,
    # "by" at 6, "built" is 3 away and "bridge" 5; the best place is between them.
    weight = {"bridge": math.exp(-5 / 6), "built": math.exp(-3 / 6)}
    assert min(weight.values()) < found.near_answer < max(weight.values())
    assert found.near_best > found.near_answer
    elsewhere = align(question.model_copy(update={"answer": "Lisbon"}))
    assert elsewhere.near_answer < found.near_answer
    assert elsewhere.sentence_answer < 1.0
    absent = align(question.model_copy(update={"answer": "Peter"}))
    assert not absent.found
    assert absent.places_above == 1.0


def test_share_of_the_answer_that_the_question_says() -> None:
    question = Question(question="Why did Anna build it?", passage=PASSAGE, answer="Anna Meyer")
    assert given_share(question) == pytest.approx(1 / 2)
    assert given_share(question.model_copy(update={"answer": None})) == 0.0


def named(question: Question) -> dict[ErrorType, dict[str, float]]:
    return {t: dict(zip(SIGNALS[t], values, strict=True)) for t, values in measure(question, NO_FIT).items()}


def test_signals_grow_with_their_error() -> None:
    good = named(Question(question="In which year was the bridge built?", passage=PASSAGE, answer="1607"))
    assert good[ErrorType.INCOMPLETE] == {"detector": 0.0, "no question mark": 0.0}
    assert good[ErrorType.UNNECESSARY_COPY] == {"detector": 0.0, "words too many": 0.0, "words copied": 0.0}
    cut = named(Question(question="In which year was the", passage=PASSAGE, answer="1607"))
    assert cut[ErrorType.INCOMPLETE]["detector"] > 3
    assert cut[ErrorType.INCOMPLETE]["no question mark"] == 1.0
    nothing = named(Question(question="no", passage=PASSAGE, answer="no"))
    assert nothing[ErrorType.OFF_TOPIC]["not in the passage"] == 1.0
    assert nothing[ErrorType.OFF_TOPIC]["detector"] > 6  # log-odds of .9, and more
    option = named(Question(question="Which is older, the bridge or the harbour?", passage=PASSAGE, answer="yes"))
    assert option[ErrorType.OFF_TARGET_ANSWER]["none of the alternatives"] == 1.0
    assert option[ErrorType.INFORMATION_NOT_MENTIONED]["comparison not told"] == 1.0
    # 29 words: (29 - 18) / 10 beyond what good questions have
    long = named(Question(question=" ".join(["Which"] + ["word"] * 28) + "?", passage=PASSAGE, answer="1607"))
    assert long[ErrorType.UNNECESSARY_COPY]["words too many"] == pytest.approx(1.1)


def test_many_are_measured_as_one() -> None:
    questions = [
        Question(question=text, passage=PASSAGE, answer="1607") for text in ("When was it built?", "When?", "?!")
    ]
    many = vectors(questions, NO_FIT)
    for k, question in enumerate(questions):
        for t, values in measure(question, NO_FIT).items():
            np.testing.assert_array_equal(many[t][k], values)
    assert {t: v.shape for t, v in vectors([], NO_FIT).items()} == {t: (0, len(SIGNALS[t])) for t in ERRORS}


def test_answers_that_fit_are_told_from_others() -> None:
    examples = []
    for k in range(40):
        passage = (
            f"The bridge number {k} was built in {1600 + k} by Anna Meyer {k}. Fishermen from Lisbon catch sardines "
            f"there. The harbour of Porto burned down in {1700 + k}."
        )
        asked = {
            f"Who built bridge number {k}?": f"Anna Meyer {k}",
            f"In which year was bridge number {k} built?": str(1600 + k),
            "What do the fishermen catch?": "sardines",
            "In which year did the harbour of Porto burn down?": str(1700 + k),
        }
        examples += [GoodExample(passage, question, answer, "made up") for question, answer in asked.items()]
    fit = fit_answers(examples, np.random.default_rng(0))
    right = Question(question="In which year was the bridge built?", passage=PASSAGE, answer="1607")
    for wrong in ("Lisbon", "sardines", "1755"):
        assert fit.score(right) > fit.score(right.model_copy(update={"answer": wrong})), wrong
    assert AnswerFit.from_json(fit.to_json()).score(right) == pytest.approx(fit.score(right))
    assert fit == fit_answers(examples[::-1], np.random.default_rng(0))  # the examples count as a set
    with pytest.raises(ValueError, match="another answer"):
        fit_answers([GoodExample("A passage.", "Who is it?", "nobody there", "made up")], np.random.default_rng(0))


def test_features_have_the_pair_of_question_and_form() -> None:
    question = Question(question="What is the name of the river?", passage=PASSAGE, answer="Anna Meyer")
    assert {"pair what is:place / name of 2", "pair what is / name of 2"} <= fit_features(question).keys()


def test_a_passage_of_two_megabytes_takes_seconds_and_is_said_to_be_too_long() -> None:
    passage = (PASSAGE + " ") * (2_000_000 // len(PASSAGE))
    question = Question(question="Who built the twelve largest bridges in 1609?", passage=passage, answer="Anna Meyer")
    start = time.perf_counter()
    run_detectors(question)
    measure(question, NO_FIT)
    assert time.perf_counter() - start < 20  # about 3 on a quiet machine, more than 40 before it was bounded
    for t in ERRORS:
        reason = why_not_judged(question, t)
        assert (reason is not None and f"{LONGEST_PASSAGE:,}" in reason) == (t in NEEDS_PASSAGE)
