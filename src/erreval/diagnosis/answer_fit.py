"""How well an answer fits a question on its passage: a small linear model, learnt from good questions alone.

For a question and a passage the right answer is set against other answers that the same passage offers: those of its
other questions, and names, numbers and phrases of the answer's own sentence. The features are those of the logistic
regression that SQuAD's authors set against neural readers (Rajpurkar et al. 2016, section 5): what is asked for by the
form of the answer, and how near the question's words stand to the answer. Weights are plain numbers in a JSON file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from erreval.diagnosis.asking import answer_form, asked_for
from erreval.diagnosis.detectors.base import LONGEST_ANSWER, Reading, rarity, read_passage, read_question
from erreval.diagnosis.detectors.off_topic import GENERIC
from erreval.diagnosis.injection.answer import other_answers
from erreval.diagnosis.injection.examples import GoodExample, Neighbours
from erreval.diagnosis.wording import is_content, stem, words
from erreval.records import Question

_REACH = 6.0
"""Words over which nearness falls to 1/e."""
_MOST_PLACES = 12
"""Occurrences of one word in a passage that are looked at."""


@dataclass(frozen=True)
class Alignment:
    """Where a question and its answer stand in the passage, as shares of the question's weight in [0, 1]."""

    near_answer: float
    """How much of the question stands near the answer."""
    near_best: float
    """The same at the passage's best place for the question."""
    places_above: float
    """Share of the passage's words that are nearer to the question than the answer is; 1 where it is not there."""
    sentence_answer: float
    """How much of the question the answer's sentence has."""
    sentence_best: float
    """The same of the best sentence."""
    found: bool
    """Whether the passage has the answer word for word."""


@lru_cache(maxsize=16)
def _places(passage: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """By stem, the places of a passage's words, and the sentence of each place."""
    reading = read_passage(passage)
    places: dict[str, list[int]] = {}
    for i, token in enumerate(reading.words):
        for key in {stem(token.text), *(stem(part) for part in token.text.split("-") if part)}:
            places.setdefault(key, []).append(i)
    starts = np.array([start for start, _ in reading.sentence_spans] or [0])
    at = np.array([token.start for token in reading.words], dtype=int)
    return {key: np.array(found[:_MOST_PLACES]) for key, found in places.items()}, np.searchsorted(
        starts, at, side="right"
    ) - 1


def _answer_places(passage: Reading, answer: Sequence[str]) -> list[tuple[int, int]]:
    """Half-open ranges of word places at which the passage has the answer; at most eight."""
    found: list[tuple[int, int]] = []
    key, start = f" {' '.join(answer)} ", 0
    while answer and len(found) < 8 and (at := passage.joined.find(key, start)) >= 0:
        first = passage.joined.count(" ", 0, at + 1) - 1
        found.append((first, first + len(answer)))
        start = at + 1
    return found


def align(question: Question) -> Alignment:
    """Find a question's words and its answer in the passage, in time proportional to the passage's length."""
    reading, passage = read_question(question.question), read_passage(question.passage)
    places, sentence_of = _places(question.passage)
    answer = [t.lower for t in words((question.answer or "")[:LONGEST_ANSWER])]
    own = {stem(w) for w in answer if is_content(w)}
    weights = {stem(t.text): rarity(t.lower) * (0.4 if t.lower in GENERIC else 1.0) for t in reading.content}
    total = sum(weights.values()) or 1.0
    size = len(passage.words)
    nearness = np.zeros(size)
    everywhere = np.arange(size)
    for key, weight in weights.items():
        if key in places and key not in own:
            # The nearest occurrence: of the two between which a place lies.
            marks = places[key]
            after = np.searchsorted(marks, everywhere)
            distance = np.minimum(
                np.abs(everywhere - marks[np.minimum(after, len(marks) - 1)]),
                np.abs(everywhere - marks[np.maximum(after - 1, 0)]),
            )
            nearness += weight * np.exp(-distance / _REACH)
    spans = _answer_places(passage, answer)
    here = max((float(nearness[max(0, a - 1) : b + 1].max()) for a, b in spans), default=0.0)
    shares = [sum(w for k, w in weights.items() if k in s) / total for s in passage.sentence_stems]
    beside = 0.0
    for first, _ in spans:
        i = int(sentence_of[first])
        before = passage.sentence_stems[i - 1] if i else frozenset()
        both = sum(w for k, w in weights.items() if k in passage.sentence_stems[i] or k in before) / total
        # A sentence often speaks of "it" and means what the sentence before it named.
        beside = max(beside, shares[i], 0.75 * both if i else 0.0)
    return Alignment(
        near_answer=here / total,
        near_best=float(nearness.max()) / total if size else 0.0,
        places_above=float((nearness > here + 1e-9).mean()) if spans else 1.0,
        sentence_answer=beside,
        sentence_best=max(shares, default=0.0),
        found=bool(spans),
    )


def given_share(question: Question) -> float:
    """Share of the answer's telling words that the question says itself; 0 without an answer."""
    own = {stem(t.text) for t in words((question.answer or "")[:LONGEST_ANSWER]) if is_content(t.text)}
    return len(own & read_question(question.question).stems) / len(own) if own else 0.0


def fit_features(question: Question, alignment: Alignment | None = None) -> dict[str, float]:
    """What the model looks at: ten numbers, and the pair of what is asked for and the answer's form."""
    a = alignment or align(question)
    asked, form = asked_for(read_question(question.question)), answer_form((question.answer or "")[:LONGEST_ANSWER])
    return {
        "near answer": a.near_answer,
        "near best": a.near_best,
        "near lack": a.near_best - a.near_answer,
        "places above": a.places_above,
        "sentence answer": a.sentence_answer,
        "sentence lack": a.sentence_best - a.sentence_answer if a.found else 0.5,
        "found": float(a.found),
        "given share": given_share(question),
        "given whole": float(_says_whole(question)),
        "answer length": math.log1p(len(words((question.answer or "")[:LONGEST_ANSWER]))),
        f"asks {asked}": 1.0,
        f"form {form}": 1.0,
        f"pair {asked} / {form}": 1.0,
        f"pair {asked.partition(':')[0]} / {form}": 1.0,
    }


def _says_whole(question: Question) -> bool:
    answer = [t.lower for t in words((question.answer or "")[:LONGEST_ANSWER])]
    telling = any(is_content(w) for w in answer)
    return telling and f" {' '.join(answer)} " in read_question(question.question).joined


@dataclass(frozen=True)
class AnswerFit:
    """Log-odds that an answer is the question's own rather than another one from the passage."""

    weights: Mapping[str, float]
    intercept: float

    def score(self, question: Question, alignment: Alignment | None = None) -> float:
        """The log-odds; a pair of question and form that training never saw counts nothing."""
        features = fit_features(question, alignment)
        return self.intercept + sum(self.weights.get(name, 0.0) * value for name, value in features.items())

    def to_json(self) -> dict[str, Any]:
        """Plain numbers, for ``from_json``."""
        return {"intercept": self.intercept, "weights": dict(sorted(self.weights.items()))}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> AnswerFit:
        """What ``to_json`` gave.

        Raises:
            KeyError: A part is missing.
        """
        return cls({k: float(v) for k, v in found["weights"].items()}, float(found["intercept"]))


def fit_answers(examples: Sequence[GoodExample], rng: np.random.Generator) -> AnswerFit:
    """Learn from good questions: each one's answer against up to three others of the same passage.

    Args:
        examples: Questions that people wrote, with passage and answer; never a benchmark's.
        rng: Draws the other answers.

    Returns:
        The model; ridge-regularised logistic regression (C = 0.1) on standardised numbers.

    Raises:
        ValueError: No passage offers another answer.
    """
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    neighbours = Neighbours(examples)
    rows: list[dict[str, float]] = []
    right: list[int] = []
    for example in sorted(neighbours.examples, key=lambda e: (e.passage, e.id)):
        answers = other_answers(example, neighbours, rng)
        for answer in [example.answer, *answers] if answers else []:
            rows.append(fit_features(Question(question=example.question, passage=example.passage, answer=answer)))
            right.append(int(answer == example.answer))
    if not rows:
        raise ValueError(f"none of {len(examples)} good questions has another answer on its passage to learn from")
    vectors = DictVectorizer(sparse=True)
    matrix = vectors.fit_transform(rows).toarray()
    names = list(vectors.get_feature_names_out())
    number = np.array([not name.startswith(("asks ", "form ", "pair ")) for name in names])
    centre = np.where(number, matrix.mean(axis=0), 0.0)
    spread = np.where(number & (matrix.std(axis=0) > 0), matrix.std(axis=0), 1.0)
    model = LogisticRegression(C=0.1, max_iter=2000).fit((matrix - centre) / spread, right)
    weights = model.coef_[0] / spread
    return AnswerFit(
        {name: round(float(w), 6) for name, w in zip(names, weights, strict=True) if abs(w) > 1e-6},
        round(float(model.intercept_[0] - weights @ centre), 6),
    )
