"""Properties of injected errors, on the project's own sample."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from erreval.diagnosis.detectors.base import Reading
from erreval.diagnosis.detectors.registry import detector_scores
from erreval.diagnosis.detectors.unnecessary_copy import shared_runs
from erreval.diagnosis.injection.form import typo
from erreval.diagnosis.injection.inject import (
    COMPATIBLE,
    GoodExample,
    InjectedExample,
    Neighbours,
    build_labelled_set,
    combine,
    inject,
    is_sound,
    untouched,
)
from erreval.diagnosis.wording import is_known, words
from erreval.records import Question
from erreval.taxonomy import ALL_TYPES, ERRORS, ErrorType, check_label_set

E = ErrorType
SAMPLE = Path(__file__).parents[3] / "data" / "sample"


def read(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (SAMPLE / name).read_text(encoding="utf-8").splitlines()]


@lru_cache
def examples() -> tuple[GoodExample, ...]:
    passages = {row["passage_id"]: row["passage"] for row in read("passages.jsonl")}
    return tuple(
        GoodExample(passages[row["passage_id"]], row["question"], row["answer"], "sample")
        for row in read("questions.jsonl")
    )


@lru_cache
def neighbours() -> Neighbours:
    return Neighbours(examples())


def key(e: InjectedExample) -> tuple[str, str, str]:
    return (e.passage, e.answer, e.question)


EXAMPLES = st.integers(0, 197).map(lambda i: examples()[i])
ERROR = st.sampled_from(ERRORS)
SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=300, deadline=None)
@given(EXAMPLES, ERROR, SEEDS)
def test_what_is_injected_differs_and_keeps_what_it_must(good: GoodExample, error: ErrorType, seed: int) -> None:
    broken = inject(good, error, neighbours(), np.random.default_rng(seed))
    if broken is None:
        return
    assert broken.labels == {error}
    assert check_label_set(broken.labels) == broken.labels
    assert broken.passage == good.passage
    assert broken.pair_id == good.id == untouched(good).pair_id
    assert broken.question.strip() == broken.question != ""
    if error is E.OFF_TARGET_ANSWER:
        assert broken.question == good.question
        assert broken.answer.lower() not in good.answer.lower()
    else:
        assert broken.answer == good.answer
        assert broken.question.lower() != good.question.lower()
    assert broken == inject(good, error, neighbours(), np.random.default_rng(seed))


@settings(max_examples=150, deadline=None)
@given(EXAMPLES, SEEDS)
def test_a_copy_has_eight_words_in_a_row_from_the_passage(good: GoodExample, seed: int) -> None:
    broken = inject(good, E.UNNECESSARY_COPY, neighbours(), np.random.default_rng(seed))
    if broken is not None:
        runs = shared_runs(Reading(broken.question), Reading(broken.passage))
        assert max(b - a for a, b in runs) >= 8


@settings(max_examples=150, deadline=None)
@given(EXAMPLES, SEEDS)
def test_a_misspelling_only_adds_unknown_words(good: GoodExample, seed: int) -> None:
    broken = inject(good, E.SPELL_ERROR, neighbours(), np.random.default_rng(seed))
    if broken is None:
        return
    before, after = words(good.question), words(broken.question)
    assert len(before) == len(after)
    new = [b.lower for a, b in zip(before, after, strict=True) if a.text != b.text]
    assert 1 <= len(new) <= 2
    assert not any(is_known(word) for word in new)
    assert not any(word in Reading(good.passage).vocabulary for word in new)


@settings(max_examples=100, deadline=None)
@given(EXAMPLES, SEEDS)
def test_an_incomplete_question_is_a_beginning(good: GoodExample, seed: int) -> None:
    broken = inject(good, E.INCOMPLETE, neighbours(), np.random.default_rng(seed))
    if broken is not None and broken.question.split()[:2] == good.question.split()[:2]:
        assert good.question.startswith(broken.question.rstrip("?"))


@settings(max_examples=100, deadline=None)
@given(EXAMPLES, SEEDS)
def test_a_stranger_is_from_another_passage(good: GoodExample, seed: int) -> None:
    broken = inject(good, E.OFF_TOPIC, neighbours(), np.random.default_rng(seed))
    if broken is not None:
        homes = {e.passage for e in examples() if e.question == broken.question}
        assert homes
        assert good.passage not in homes


@settings(max_examples=200, deadline=None)
@given(EXAMPLES, st.sampled_from([(a, b) for a in ERRORS for b in COMPATIBLE[a]]), SEEDS)
def test_combined_errors_carry_both_labels(good: GoodExample, pair: tuple[ErrorType, ErrorType], seed: int) -> None:
    broken = combine(good, *pair, neighbours(), np.random.default_rng(seed))
    if broken is not None:
        assert broken.labels == set(pair)
        assert broken.question != good.question
        assert (broken.answer != good.answer) or E.OFF_TARGET_ANSWER not in pair or E.INFORMATION_NOT_MENTIONED in pair


@given(st.sampled_from(["efficiency", "government", "receive", "Sheepshanks", "themselves"]), SEEDS)
def test_a_typo_is_no_word_and_keeps_its_first_letter(word: str, seed: int) -> None:
    slip = typo(word, np.random.default_rng(seed))
    assert slip is None or (slip[0] == word[0] and slip != word and not is_known(slip.lower()))


def test_statements_and_typos_are_not_sound() -> None:
    good = examples()[0]
    assert is_sound(good)
    assert not is_sound(replace(good, question="Foucault hung a ball in Paris?"))
    assert not is_sound(replace(good, question=good.question.replace("famous", "famuos")))


def test_no_error_cannot_be_injected() -> None:
    with pytest.raises(ValueError, match="untouched"):
        inject(examples()[0], E.NO_ERROR, neighbours(), np.random.default_rng(0))


@pytest.mark.parametrize("error", ERRORS)
def test_most_questions_can_carry_every_error(error: ErrorType) -> None:
    made = sum(inject(e, error, neighbours(), np.random.default_rng(i)) is not None for i, e in enumerate(examples()))
    assert made > 0.4 * len(examples())


MIX = {E.NO_ERROR: 4.0, E.SPELL_ERROR: 1.0, E.VAGUE: 1.0, E.OFF_TARGET_ANSWER: 2.0, E.INCOMPLETE: 0.5}


def test_the_set_follows_the_mix() -> None:
    found = build_labelled_set(examples(), MIX, 170, 0.25, np.random.default_rng(5))
    assert len(found) == 170
    assert len({key(e) for e in found}) == 170
    good = {e.id: e for e in examples()}
    single = Counter(next(iter(e.labels)) for e in found if len(e.labels) == 1)
    doubled = [e for e in found if len(e.labels) == 2]
    assert single[E.NO_ERROR] == 80
    assert len(doubled) == 5 + 5 + 10 + 2
    assert {t: single[t] for t in MIX} == {
        E.NO_ERROR: 80, E.SPELL_ERROR: 15, E.VAGUE: 15, E.OFF_TARGET_ANSWER: 30, E.INCOMPLETE: 8,
    }  # fmt: skip
    untouched_keys = {(e.passage, e.answer, e.question) for e in examples()}
    for e in found:
        assert (key(e) in untouched_keys) == (e.labels == {E.NO_ERROR})
        assert e.passage == good[e.pair_id].passage
    paired = {e.pair_id for e in found if E.NO_ERROR not in e.labels}
    assert all(e.pair_id in paired for e in found if e.labels == {E.NO_ERROR}), "pairs come first"


def test_the_set_depends_on_seed_and_not_on_order() -> None:
    mix = dict.fromkeys(ALL_TYPES, 1.0)
    first = build_labelled_set(examples(), mix, 120, 0.3, np.random.default_rng(1))
    turned = build_labelled_set(examples()[::-1], dict(reversed(mix.items())), 120, 0.3, np.random.default_rng(1))
    other = build_labelled_set(examples(), mix, 120, 0.3, np.random.default_rng(2))
    assert first == turned
    assert first != other


def test_too_little_to_work_with_gives_less_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    found = build_labelled_set(examples()[:3], {E.OFF_TOPIC: 1.0}, 50, 0.0, np.random.default_rng(0))
    assert len(found) < 50
    assert "only" in caplog.text


@pytest.mark.parametrize(
    ("mix", "n", "share"),
    [({E.VAGUE: -1.0}, 5, 0.0), ({}, 5, 0.0), ({E.VAGUE: 1.0}, -5, 0.0), ({E.VAGUE: 1.0}, 5, 1.5)],
)
def test_nonsense_is_refused(mix: dict[ErrorType, float], n: int, share: float) -> None:
    with pytest.raises(ValueError):
        build_labelled_set(examples(), mix, n, share, np.random.default_rng(0))


AUROC = {
    E.INCOMPLETE: 0.9, E.NOT_A_QUESTION: 0.9, E.SPELL_ERROR: 0.9, E.GRAMMAR_ERROR: 0.7, E.VAGUE: 0.65,
    E.UNNECESSARY_COPY: 0.9, E.OFF_TOPIC: 0.9, E.INFORMATION_NOT_MENTIONED: 0.75, E.OFF_TARGET_ANSWER: 0.65,
    E.FACTUAL_ERROR: 0.53,
}  # fmt: skip
"""Floors well below what was measured (.99, .99, .99, .84, .78, .99, .99, .94, .78, .61)."""


@pytest.mark.parametrize("error", ERRORS)
def test_detectors_rank_the_broken_above_the_untouched(error: ErrorType) -> None:
    def score(e: GoodExample | InjectedExample) -> float:
        return detector_scores(Question(question=e.question, passage=e.passage, answer=e.answer))[error] or 0.0

    broken = [
        b
        for i, e in enumerate(examples())
        if (b := inject(e, error, neighbours(), np.random.default_rng(i))) is not None
    ]
    scores = [score(e) for e in examples()] + [score(b) for b in broken]
    truth = [0] * len(examples()) + [1] * len(broken)
    assert roc_auc_score(truth, scores) > AUROC[error]
