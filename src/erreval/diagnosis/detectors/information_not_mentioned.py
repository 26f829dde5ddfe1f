"""Information Not Mentioned: the question relies on, or asks for, something the passage does not say."""

from __future__ import annotations

from erreval.diagnosis.detectors.base import LONGEST_ANSWER, evidence, rarity, read_passage, read_question, squash
from erreval.diagnosis.detectors.off_topic import GENERIC, coverage
from erreval.diagnosis.wording import Token, is_known, words
from erreval.records import Evidence, Question
from erreval.taxonomy import ErrorType


class InformationNotMentionedDetector:
    """Weighs names, numbers and telling words of the question that the passage does not have."""

    error = ErrorType.INFORMATION_NOT_MENTIONED

    def detect(self, question: Question) -> Evidence | None:
        """See ``base.Detector``."""
        reading = read_question(question.question)
        passage = read_passage(question.passage)
        share, missing = coverage(reading, passage)
        if not missing:
            return None
        given = {t.lower for t in words((question.answer or "")[:LONGEST_ANSWER])}
        names = [t for t in self._names_of(reading.words[0], missing) if t.lower not in given and is_telling(t)]
        others = [t for t in missing if t not in names and t.lower not in GENERIC and not t.text[0].isdigit()]
        weight = sum(min(1.0, rarity(t.lower) / 2.2) for t in others)
        # Off Topic speaks where nearly nothing is in the passage; a paraphrase lacks a word or two.
        score = squash(1.25 * len(names) + 0.42 * weight + 1.6 * (0.72 - share) - 2.45)
        if score < 0.1:
            return None
        told = [*names, *others] or list(missing)
        what = "name" if names else "word"
        plural = "s" if len(told) > 1 else ""
        shown = ", ".join(f"“{t.text}”" for t in told[:4])
        message = f"The passage does not have the {what}{plural} {shown}."
        return evidence(self.error, score, message, [(t.start, t.end) for t in told])

    def _names_of(self, first: Token, missing: tuple[Token, ...]) -> list[Token]:
        return [t for t in missing if t.is_capitalised and t.start != first.start]


def is_telling(token: Token) -> bool:
    """Whether a capitalised word is more than a common word written large ("Bowl" in a title may be one)."""
    return not is_known(token.lower) or rarity(token.lower) > 1.4
