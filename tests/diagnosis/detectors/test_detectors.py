"""Hand-made questions for every detector: what it must find, where, and what it must leave alone."""

from __future__ import annotations

import time

import pytest

from erreval.diagnosis.detectors.registry import (
    DETECTORS,
    detector_scores,
    labels_from_evidence,
    run_detectors,
)
from erreval.records import Evidence, Question
from erreval.taxonomy import ERRORS, ErrorType

E = ErrorType
PASSAGE = (
    "Warsaw is the capital of Poland. The Warsaw Stock Exchange was first opened in 1817 and traded until the war. "
    "It was brought back to life in April 1991 by the Ministry of Finance, which was led by Leszek Balcerowicz. "
    "The largest company on the exchange is a refiner of oil with 120 stations in the north of the country. "
    "Its headquarters stand in Masovia, beside a library that was founded by John Sheepshanks."
)


def evidence_for(
    error: ErrorType, question: str, answer: str | None = "1817", passage: str = PASSAGE
) -> Evidence | None:
    found = run_detectors(Question(question=question, passage=passage, answer=answer))
    return next((e for e in found if e.error is error), None)


GOOD = [
    ("When was the Warsaw Stock Exchange first opened?", "1817"),
    ("Who led the Ministry of Finance when the exchange was brought back to life?", "Leszek Balcerowicz"),
    ("How many stations does the largest company on the exchange have?", "120"),
    ("In which region do the headquarters of the refiner stand?", "Masovia"),
    ("What is the capital of Poland?", "Warsaw"),
    ("Name the capital of Poland.", "Warsaw"),
    ("By whom was the library founded?", "John Sheepshanks"),
    ("What did the Warsaw Stock Exchange do until the war?", "traded"),
]


@pytest.mark.parametrize(("question", "answer"), GOOD)
def test_good_questions_are_left_alone(question: str, answer: str) -> None:
    found = run_detectors(Question(question=question, passage=PASSAGE, answer=answer))
    assert labels_from_evidence(found) == {E.NO_ERROR}, [str(e) for e in found]


BROKEN = [
    (E.INCOMPLETE, "When was the Warsaw Stock Exchange first opened in the", "the"),
    (E.INCOMPLETE, "What is the name of the?", "the"),
    (E.INCOMPLETE, "What was brought back to life in April 1991 by the Ministry", "Ministry"),
    (E.INCOMPLETE, "Who led the Ministry of Finance, which was led by Leszek Balcero", "Balcero"),
    (E.INCOMPLETE, "What is the largest company (a refiner of oil?", "("),
    (E.INCOMPLETE, "What is?", "What is"),
    (
        E.NOT_A_QUESTION,
        "The Warsaw Stock Exchange was first opened in 1817.",
        "The Warsaw Stock Exchange was first opened in 1817",
    ),
    (E.NOT_A_QUESTION, "Warsaw is the capital of Poland?", "Warsaw is the capital of Poland"),
    (E.NOT_A_QUESTION, "song", "song"),
    (
        E.NOT_A_QUESTION,
        "It was brought back to life in April 1991 by the Ministry of Finance, which was led by Leszek Balcerowicz?",
        "which",
    ),
    (E.SPELL_ERROR, "When was the Warsaw Stock Exchange first recieved?", "recieved"),
    (E.SPELL_ERROR, "Who brougth the exchange back to life?", "brougth"),
    (E.SPELL_ERROR, "What did the goverment of Poland do?", "goverment"),
    (E.SPELL_ERROR, "What did John Sheeshanks found?", "Sheeshanks"),
    (E.GRAMMAR_ERROR, "When was the the exchange opened?", "the the"),
    (E.GRAMMAR_ERROR, "When did Warsaw became the capital?", "did Warsaw became"),
    (E.GRAMMAR_ERROR, "What the name of the exchange is?", "What the"),
    (E.GRAMMAR_ERROR, "The exchange was brought back to life by the Ministry, and who?", "and who"),
    (E.GRAMMAR_ERROR, "Who founded an library in Masovia?", "an library"),
    (E.GRAMMAR_ERROR, "What does they trade in Warsaw?", "does they"),
    (E.GRAMMAR_ERROR, "What is name of the capital of Poland?", "is name of"),
    (E.GRAMMAR_ERROR, "Where the exchange opened?", "Where the"),
    (E.VAGUE, "When was it opened?", "it"),
    (E.VAGUE, "What are two other categories?", "other"),
    (E.VAGUE, "When was this committee founded?", "this committee"),
    (E.OFF_TOPIC, "Which guitarist recorded the album Nevermind?", "guitarist"),
    (E.FACTUAL_ERROR, "Which exchange was first opened in 1823?", "1823"),
    (E.FACTUAL_ERROR, "What is the smallest company on the exchange?", "smallest"),
    (E.FACTUAL_ERROR, "What did Peter Sheepshanks found?", "Peter Sheepshanks"),
    (E.INFORMATION_NOT_MENTIONED, "What did Napoleon Bonaparte say about the exchange in Warsaw?", "Napoleon"),
]


@pytest.mark.parametrize(("error", "question", "shown"), BROKEN)
def test_broken_questions_give_evidence_at_the_right_place(error: ErrorType, question: str, shown: str) -> None:
    found = evidence_for(error, question)
    assert found is not None
    assert found.score >= 0.5, found
    assert shown in [question[a:b] for a, b in found.spans]
    assert found.message.endswith(".")


def test_copy_shows_the_longest_run() -> None:
    question = (
        "Given that it was brought back to life in April 1991 by the Ministry of Finance, which was led by "
        "Leszek Balcerowicz, when was the Warsaw Stock Exchange first opened?"
    )
    found = evidence_for(E.UNNECESSARY_COPY, question)
    assert found is not None
    assert found.score > 0.8
    ((start, end),) = found.spans
    assert question[start:end].startswith("it was brought back")
    assert question[start:end].endswith("Leszek Balcerowicz")
    assert "20 words in a row" in found.message


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was the exchange opened?", "the Ministry of Finance"),
        ("How many stations does the company have?", "Masovia"),
        ("Who brought the exchange back to life?", "1991"),
        ("Where do the headquarters stand?", "April 1991"),
        ("Why was the exchange brought back to life?", "1817"),
        ("Was the exchange opened in 1817?", "Leszek Balcerowicz"),
        ("What ministry did Leszek Balcerowicz lead?", "Leszek Balcerowicz"),
    ],
)
def test_answers_of_another_kind_are_off_target(question: str, answer: str) -> None:
    found = evidence_for(E.OFF_TARGET_ANSWER, question, answer)
    assert found is not None
    assert found.score >= 0.5, found


def test_words_of_passage_and_answer_are_never_misspelt() -> None:
    passage = "The ctenophores of Løvenkrandsby eat Qwzyx daily."
    assert evidence_for(E.SPELL_ERROR, "What do ctenophores eat in Løvenkrandsby, Qwzyx?", "Qwzyx", passage) is None
    assert evidence_for(E.SPELL_ERROR, "Does NASA use 3 qwzyxes in U.S. Москва?", "qwzyxes", passage) is None


def test_the_seed_what_is_detroit_is_not_named_incomplete() -> None:
    found = evidence_for(E.INCOMPLETE, "What is Detroit", "Detroit", "Detroit is a 2017 film. It stars John Boyega.")
    assert found is None or found.score < 0.5


def test_one_detector_for_each_error_in_order() -> None:
    assert tuple(d.error for d in DETECTORS) == ERRORS


def test_scores_are_none_where_nothing_can_be_judged() -> None:
    no_answer = detector_scores(Question(question="Who is he?", passage=PASSAGE))
    assert no_answer[E.OFF_TARGET_ANSWER] is None
    assert no_answer[E.OFF_TOPIC] is not None
    no_passage = detector_scores(Question(question="Who is he?", answer="Leszek"))
    assert {t for t, score in no_passage.items() if score is None} == {
        E.UNNECESSARY_COPY,
        E.OFF_TOPIC,
        E.FACTUAL_ERROR,
        E.INFORMATION_NOT_MENTIONED,
        E.OFF_TARGET_ANSWER,
    }
    assert tuple(no_passage) == ERRORS


def test_labels_are_never_empty_and_respect_the_threshold() -> None:
    weak = Evidence(error=E.VAGUE, score=0.4, message="x.")
    strong = Evidence(error=E.OFF_TOPIC, score=0.5, message="x.")
    assert labels_from_evidence([]) == {E.NO_ERROR}
    assert labels_from_evidence([weak, strong]) == {E.OFF_TOPIC}
    assert labels_from_evidence([weak, strong], threshold=0.3) == {E.VAGUE, E.OFF_TOPIC}


@pytest.mark.parametrize("text", ["?", "…", "   x   ", "🙂", "(", "'", "\u200b?", "Who", "１９９１?", "a" * 50_000])
def test_odd_texts_do_not_break_a_detector(text: str) -> None:
    for passage in (PASSAGE, text, "."):
        for answer in (None, text):
            for found in run_detectors(Question(question=text, passage=passage, answer=answer)):
                assert all(0 <= a <= b <= len(text) for a, b in found.spans)


def test_a_very_long_passage_stays_fast() -> None:
    passage = (PASSAGE + " ") * (200_000 // len(PASSAGE))
    run_detectors(Question(question="Who is helo?", passage=PASSAGE, answer="1817"))  # loads the word lists
    start = time.process_time()
    run_detectors(Question(question=GOOD[0][0] * 3_000, passage=passage, answer="1817"))
    assert time.process_time() - start < 10, "about half a second on two cores; ten means that something is quadratic"
