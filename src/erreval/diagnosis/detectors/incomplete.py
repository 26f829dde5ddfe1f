"""Incomplete: the text breaks off, so that the question is never finished."""

from __future__ import annotations

from erreval.diagnosis.detectors.base import Reading, evidence, read_passage, read_question
from erreval.diagnosis.wording import (
    ARTICLES,
    CONJUNCTIONS,
    FINITE_AUXILIARIES,
    POSSESSIVES,
    PREPOSITIONS,
    WH_WORDS,
    Token,
    word_set,
)
from erreval.records import Evidence, Question
from erreval.taxonomy import ErrorType

_NEVER_LAST = (ARTICLES | POSSESSIVES | CONJUNCTIONS | {"that", "than", "every", "whose", "very"}) - {
    "so",
    "his",
    "her",
}
_RARELY_LAST = PREPOSITIONS | (FINITE_AUXILIARIES - {"do", "did", "does"}) | {"be", "been", "being", "not", "who"}
_STRANDED = word_set("of in on at by for with from to into about against between up down out off over through like")
"""Prepositions that may well end a finished question ("What is it made of?")."""
_OPENING = {"(": ")", "[": "]", "“": "”"}
_SENTENCE_ENDS = "?.!"


class IncompleteDetector:
    """Looks at how the text ends: the mark, the last word, open brackets, and a copied sentence that goes on."""

    error = ErrorType.INCOMPLETE

    def detect(self, question: Question) -> Evidence | None:
        """See ``base.Detector``."""
        reading = read_question(question.question)
        text = reading.text.rstrip()
        if not reading.words:
            return evidence(self.error, 0.8, "There is no word in it.")
        last = reading.words[-1]
        ended = text.rstrip("\"'”’)] ").endswith(tuple(_SENTENCE_ENDS))
        found = [
            self._bare(reading, last),
            self._dangling(reading, last, ended),
            self._open_mark(text),
            self._cut_copy(reading, question.passage, ended, last),
            self._no_end(reading, ended, last),
        ]
        return max((f for f in found if f is not None), key=lambda f: f.score, default=None)

    def _bare(self, reading: Reading, last: Token) -> Evidence | None:
        lower = reading.lower
        if len(lower) <= 3 and lower[0] in WH_WORDS and not reading.content and lower[-1] not in {"it", "he", "she"}:
            return evidence(self.error, 0.85, "There is a question word and nothing after it.", [(0, last.end)])
        if len(lower) == 1:
            return evidence(self.error, 0.35, f"It is the single word “{last.text}”.", [(last.start, last.end)])
        return None

    def _dangling(self, reading: Reading, last: Token, ended: bool) -> Evidence | None:
        word = last.lower
        tail = reading.text[last.end :].strip()
        span = [(last.start, last.end)]
        if len(reading.words) < 2 or (last.is_capitalised and (word not in ARTICLES or len(word) == 1)):
            return None
        if word == "while" and reading.lower[-2] in {"a", "short", "long", "little"}:
            return None
        if word in _NEVER_LAST:
            return evidence(
                self.error, 0.85 if ended else 0.95, f"It ends with “{word}”, which needs a word after it.", span
            )
        if tail and tail[-1] in ",;:(-–":
            return evidence(self.error, 0.85, f"It ends with the mark “{tail[-1]}”.", span)
        if word in _RARELY_LAST and word not in _STRANDED and word not in WH_WORDS:
            starts_well = reading.lower[0] in WH_WORDS and word in FINITE_AUXILIARIES
            # "Do you know who he is?" is whole, and so is "What the capital is?" (Grammar's matter).
            whole = ended or (starts_well and word in FINITE_AUXILIARIES)
            score = 0.3 if whole else 0.72
            return evidence(self.error, score, f"It ends with “{word}”.", span)
        if word in _STRANDED and not ended:
            return evidence(self.error, 0.55, f"It ends with “{word}” and no question mark.", span)
        return None

    def _open_mark(self, text: str) -> Evidence | None:
        for opening, closing in _OPENING.items():
            at = text.rfind(opening)
            if at >= 0 and text.count(opening) > text.count(closing):
                near_end = len(text) - at < 60
                return evidence(
                    self.error, 0.55 if near_end else 0.3, f"The “{opening}” is never closed.", [(at, at + 1)]
                )
        if text.count('"') % 2:
            at = text.rfind('"')
            return evidence(self.error, 0.3, "A quotation mark is never closed.", [(at, at + 1)])
        return None

    def _cut_copy(self, reading: Reading, passage: str, ended: bool, last: Token) -> Evidence | None:
        """A tail copied from the passage that stops in the middle of the passage's sentence, or of a word."""
        if ended or not passage.strip() or len(reading.words) < 5:
            return None
        joined = read_passage(passage).joined
        tail = " ".join(reading.lower[-5:])
        at = joined.find(f" {tail} ")
        if at >= 0:
            source = read_passage(passage)
            index = joined.count(" ", 0, at + 1) - 1 + 5
            if index < len(source.words):
                between = source.text[source.words[index - 1].end : source.words[index].start]
                if not between.strip():
                    following = source.words[index].text
                    return evidence(
                        self.error,
                        0.8,
                        f"It breaks off at “{last.text}”, where the passage goes on with “{following}”.",
                        [(last.start, last.end)],
                    )
        elif f" {tail}" in joined and last.lower not in read_passage(passage).vocabulary:
            return evidence(self.error, 0.85, f"It breaks off inside a word: “{last.text}”.", [(last.start, last.end)])
        return None

    def _no_end(self, reading: Reading, ended: bool, last: Token) -> Evidence | None:
        if ended:
            return None
        score = 0.25 if len(reading.words) > 3 else 0.3
        return evidence(self.error, score, "There is no mark at the end.", [(last.start, last.end)])
