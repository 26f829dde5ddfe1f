"""What a detector is, and the reading of a passage that all of them share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

from wordfreq import zipf_frequency

from erreval.diagnosis.wording import Name, Token, is_content, names, sentences, stem, stem_set, words
from erreval.records import Evidence, Question
from erreval.taxonomy import ErrorType

LONGEST_QUESTION = 400
"""Words of a question that are looked at; nobody asks more, and the rest would only cost time."""


LONGEST_ANSWER = 1_000
"""Characters of an answer that are looked at."""

LONGEST_PASSAGE = 300_000
"""Characters of a passage that are looked at (50,000 words, in about a second); see ``registry.why_not_judged``."""


class Detector(Protocol):
    """Looks for one type of error in one question."""

    error: ErrorType
    """The type it looks for."""

    def detect(self, question: Question) -> Evidence | None:
        """Say what was found, how strongly it speaks for the error, and where; None where nothing was found.

        A score of one half or more means: name this error. Below it, the finding is weak and only counts in sum.
        """
        ...


def evidence(error: ErrorType, score: float, message: str, spans: Iterable[tuple[int, int]] = ()) -> Evidence:
    """Make an Evidence with the score cut to [0, 1] and rounded, so that equal findings compare equal."""
    return Evidence(error=error, score=round(min(max(score, 0.0), 1.0), 4), message=message, spans=tuple(spans))


def squash(x: float) -> float:
    """The logistic function: 0 gives one half, +2 gives .88, −2 gives .12."""
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, x))))


def rarity(stem_or_word: str) -> float:
    """How much a word says: 0 for the commonest words, about 4 for rare ones and unknown names (8 − Zipf, halved)."""
    return max(0.0, 8.0 - float(zipf_frequency(stem_or_word, "en"))) / 2.0


@dataclass(frozen=True)
class Reading:
    """A text taken apart once: words, sentences, stems, names."""

    text: str

    @cached_property
    def words(self) -> tuple[Token, ...]:
        """Words and numbers, without punctuation."""
        return words(self.text)

    @cached_property
    def lower(self) -> tuple[str, ...]:
        """The words in lower case."""
        return tuple(t.lower for t in self.words)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The different words in lower case, with the parts of hyphenated ones and without possessive endings."""
        found = set(self.lower)
        for word in self.lower:
            found.add(word.removesuffix("'s").removesuffix("'"))
            if "-" in word:
                found.update(word.split("-"))
                found.add(word.replace("-", ""))
        return frozenset(found)

    @cached_property
    def joined(self) -> str:
        """The words in lower case between single blanks, with one at either end: runs of words are substrings of it."""
        return f" {' '.join(self.lower)} "

    @cached_property
    def stems(self) -> frozenset[str]:
        """Stems of all words."""
        return stem_set(self.words)

    @cached_property
    def content(self) -> tuple[Token, ...]:
        """The words that carry content."""
        return tuple(t for t in self.words if is_content(t.text))

    @cached_property
    def names(self) -> tuple[Name, ...]:
        """Runs of capitalised words."""
        return names(self.text)

    @cached_property
    def sentence_spans(self) -> tuple[tuple[int, int], ...]:
        """Character spans of the sentences."""
        return sentences(self.text)

    @cached_property
    def sentence_stems(self) -> tuple[frozenset[str], ...]:
        """For each sentence, the stems of its words."""
        grouped: list[list[Token]] = [[] for _ in self.sentence_spans]
        place = 0
        for token in self.words:
            while place + 1 < len(self.sentence_spans) and token.start >= self.sentence_spans[place][1]:
                place += 1
            grouped[place].append(token)
        return tuple(stem_set(group) for group in grouped)

    def has(self, word: str) -> bool:
        """Whether a word occurs, in this or another inflection, or inside a hyphenated word."""
        lower = word.lower().replace("’", "'")
        return lower in self.vocabulary or stem(lower) in self.stems


@lru_cache(maxsize=16)
def read_passage(passage: str) -> Reading:
    """The reading of a passage, of its first ``LONGEST_PASSAGE`` characters; kept for the next questions on it."""
    return Reading(passage[:LONGEST_PASSAGE])


@lru_cache(maxsize=256)
def read_question(question: str) -> Reading:
    """The reading of a question, of its first ``LONGEST_QUESTION`` words."""
    text = question[: 20 * LONGEST_QUESTION]
    found = words(text)
    return Reading(text if len(found) <= LONGEST_QUESTION else text[: found[LONGEST_QUESTION - 1].end])
