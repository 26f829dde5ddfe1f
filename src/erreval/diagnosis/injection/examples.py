"""What goes into injection and what comes out, and where one question finds others to borrow from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from numpy.random import Generator

from erreval.diagnosis.detectors.base import Reading
from erreval.diagnosis.wording import is_content, stem
from erreval.records import content_id
from erreval.taxonomy import ErrorType

T = TypeVar("T")


@dataclass(frozen=True)
class GoodExample:
    """A question without error, with the passage and the answer it was made from."""

    passage: str
    question: str
    answer: str
    source: str
    """The data set; borrowed questions come from the same one, so that style does not give the error away."""

    @cached_property
    def id(self) -> str:
        """The hash of passage, answer and question."""
        return content_id(self.passage, self.answer, self.question)


@dataclass(frozen=True)
class InjectedExample:
    """A labelled question, broken or untouched."""

    passage: str
    question: str
    answer: str
    labels: frozenset[ErrorType]
    source: str
    pair_id: str
    """The id of the untouched question: a broken one and the one it was made from share it."""


def choose(rng: Generator, items: Sequence[T]) -> T:
    """One item, each with the same chance."""
    return items[int(rng.integers(len(items)))]


def shuffled(rng: Generator, items: Sequence[T]) -> list[T]:
    """The items in a random order."""
    return [items[int(i)] for i in rng.permutation(len(items))]


class Neighbours:
    """An index over good examples: those on the same passage, on related ones, and on quite other ones.

    Args:
        examples: Good examples in any order; repeated ones count once.
    """

    def __init__(self, examples: Sequence[GoodExample]) -> None:
        unique = {e.id: e for e in examples}
        self.examples: tuple[GoodExample, ...] = tuple(unique[i] for i in sorted(unique))
        self._on_passage: dict[str, list[GoodExample]] = defaultdict(list)
        self._of_source: dict[str, list[GoodExample]] = defaultdict(list)
        for example in self.examples:
            self._on_passage[example.passage].append(example)
            self._of_source[example.source].append(example)
        self._readings: dict[str, Reading] = {}

    def reading(self, passage: str) -> Reading:
        """The passage taken apart; those of indexed passages are kept."""
        if passage not in self._readings:
            reading = Reading(passage)
            if passage not in self._on_passage:
                return reading
            self._readings[passage] = reading
        return self._readings[passage]

    def siblings(self, example: GoodExample) -> tuple[GoodExample, ...]:
        """Other questions on the same passage."""
        return tuple(e for e in self._on_passage.get(example.passage, ()) if e.question != example.question)

    def strangers(self, example: GoodExample, rng: Generator, tries: int = 25) -> Iterator[GoodExample]:
        """Questions on other passages of the same source that share little with this passage.

        At most ``tries`` random ones are looked at. A stranger's question has less than a third of its content words
        in this passage, and none of its names.
        """
        pool = self._of_source.get(example.source, [])
        here = self.reading(example.passage)
        for _ in range(tries if pool else 0):
            other = choose(rng, pool)
            if other.passage != example.passage and self._foreign(other.question, here):
                yield other

    def _foreign(self, question: str, here: Reading) -> bool:
        reading = Reading(question)
        content = reading.content
        if not content or any(here.has(t.text) for t in content if t.is_capitalised and t is not reading.words[0]):
            return False
        present = sum(here.has(t.text) for t in content)
        return present < len(content) / 3 and len(content) - present >= 2

    @cached_property
    def _passages_with(self) -> dict[str, list[str]]:
        """By stem of a capitalised word that few passages have, those passages."""
        index: dict[str, list[str]] = defaultdict(list)
        for passage in self._on_passage:
            stems = {stem(t.text) for t in self.reading(passage).words if t.is_capitalised and is_content(t.text)}
            for key in sorted(stems):
                index[key].append(passage)
        most = max(12, len(self._on_passage) // 50)
        return {key: found for key, found in index.items() if 2 <= len(found) <= most}

    def relatives(self, example: GoodExample, rng: Generator, tries: int = 15) -> Iterator[GoodExample]:
        """Questions on related passages (which share a rare name with this one) that this passage cannot answer.

        What is asked must look at home here (half of its content words or more are in this passage), while
        something it says, and its answer, are not here.
        """
        here = self.reading(example.passage)
        keys = sorted({stem(t.text) for t in here.words if t.is_capitalised} & self._passages_with.keys())
        for _ in range(tries if keys else 0):
            passage = choose(rng, self._passages_with[choose(rng, keys)])
            if passage == example.passage:
                continue
            other = choose(rng, self._on_passage[passage])
            content = Reading(other.question).content
            present = sum(here.has(t.text) for t in content)
            away = other.answer.lower() not in example.passage.lower()
            if other.source == example.source and away and 0.5 * len(content) <= present < len(content):
                yield other

    def people(self, source: str) -> tuple[str, ...]:
        """Names that answer who-questions of a source."""
        return self._named.get((source, "who"), ())

    def places(self, source: str) -> tuple[str, ...]:
        """Names that answer where-questions of a source."""
        return self._named.get((source, "where"), ())

    @cached_property
    def _named(self) -> dict[tuple[str, str], tuple[str, ...]]:
        found: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
        for example in self.examples:
            opening = example.question.split(maxsplit=1)[0].lower() if example.question.strip() else ""
            tokens = Reading(example.answer).words
            proper = tokens and len(tokens) <= 4 and all(t.text.istitle() and t.text.isalpha() for t in tokens)
            if opening in {"who", "where"} and proper and is_content(tokens[0].text):
                found[(example.source, opening)].setdefault(example.answer.strip(" ."))
        return {key: tuple(value) for key, value in found.items()}
