"""Off Topic: the question is about something else than the passage."""

from __future__ import annotations

from erreval.diagnosis.detectors.base import Reading, evidence, rarity, read_passage, read_question, squash
from erreval.diagnosis.wording import FINITE_AUXILIARIES, WH_WORDS, Token, word_set
from erreval.records import Evidence, Question
from erreval.taxonomy import ErrorType

GENERIC = word_set(
    "name type kind sort year date time person people place thing number amount percentage country city state term "
    "word way part group many much first main called known happen happened use used according passage text author "
    "article example following best describe mean purpose reason cause role effect result"
)
"""Content words that any question may use, whatever its passage says."""


def coverage(question: Reading, passage: Reading) -> tuple[float, tuple[Token, ...]]:
    """How much of what the question says is in the passage.

    Returns:
        The share in [0, 1] of the content words found in the passage, weighted by their rarity, and the words that
        are not there. The share is 1 for a question without content words.
    """
    told = absent = 0.0
    missing = []
    for token in question.content:
        weight = rarity(token.lower) * (0.4 if token.lower in GENERIC else 1.0)
        told += weight
        if not passage.has(token.text):
            missing.append(token)
            absent += weight
    return (1.0 - absent / told if told else 1.0), tuple(missing)


class OffTopicDetector:
    """Measures which share of the question's content words the passage has."""

    error = ErrorType.OFF_TOPIC

    def detect(self, question: Question) -> Evidence | None:
        """See ``base.Detector``."""
        reading = read_question(question.question)
        passage = read_passage(question.passage)
        share, missing = coverage(reading, passage)
        if reading.words and not reading.content and not (WH_WORDS | FINITE_AUXILIARIES) & set(reading.lower):
            shown = reading.text.strip()[:40]
            span = (reading.words[0].start, reading.words[-1].end)
            return evidence(self.error, 0.9, f"“{shown}” says nothing that the passage could be about.", [span])
        if not reading.content or not missing:
            return None
        # One missing word of two says less than four of eight.
        doubt = 0.6 if len(reading.content) <= 2 and len(reading.words) > 2 else 0.0
        score = squash(9.0 * (0.22 - share) - doubt)
        if score < 0.02:
            return None
        present = len(reading.content) - len(missing)
        shown = ", ".join(f"“{t.text}”" for t in missing[:4])
        message = f"Of {len(reading.content)} content words the passage has {present}; it does not have {shown}."
        return evidence(self.error, score, message, [(t.start, t.end) for t in missing])
