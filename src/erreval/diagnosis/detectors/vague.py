"""Vague: a reference points to nothing, or so little is said that several readings are possible."""

from __future__ import annotations

from erreval.diagnosis.detectors.base import Reading, evidence, rarity, read_question, squash
from erreval.diagnosis.detectors.off_topic import GENERIC
from erreval.diagnosis.wording import (
    DEMONSTRATIVES,
    FINITE_AUXILIARIES,
    FUNCTION_WORDS,
    NUMBER_WORDS,
    PREPOSITIONS,
    WH_WORDS,
    Token,
    word_set,
)
from erreval.records import Evidence, Question
from erreval.taxonomy import ErrorType

_PERSONAL = word_set("he she they him them his her their hers theirs it its")
_NO_ANTECEDENT = word_set("thing things something someone somebody stuff")
_TAKES_EMPTY_IT = word_set(
    "take took cost mean means meant is was be has possible important necessary true known happen made harder easier "
    "difficult hard like rain called thought believed said"
)
_TIME_NOUNS = word_set("time year day point moment period century way case regard")
_ALTERNATIVES = word_set("term name word way example word phrase title")
_OTHERS = word_set("other another others")


class VagueDetector:
    """Looks for references without antecedent, and weighs how specific the question's words are."""

    error = ErrorType.VAGUE

    def detect(self, question: Question) -> Evidence | None:
        """See ``base.Detector``."""
        reading = read_question(question.question)
        found = [
            self._pronoun(reading),
            self._demonstrative(reading),
            self._other(reading),
            self._thing(reading),
            self._thin(reading),
        ]
        kept = sorted((f for f in found if f is not None), key=lambda f: (-f.score, f.message))
        if not kept:
            return None
        score = kept[0].score + 0.08 * sum(f.score >= 0.3 for f in kept[1:])
        return evidence(self.error, score, kept[0].message, [span for f in kept for span in f.spans])

    def _referents(self, reading: Reading, before: int) -> list[Token]:
        """Nouns-to-be before a place: content words that are not bare question heads."""
        return [t for t in reading.content if t.start < before and t.lower not in GENERIC]

    def _pronoun(self, reading: Reading) -> Evidence | None:
        for i, token in enumerate(reading.words):
            word = token.lower
            if word not in _PERSONAL or token.text.isupper():
                continue
            if word == "it" and self._empty_it(reading, i):
                continue
            earlier = [n for n in reading.names if n.start < token.start]
            later = [n for n in reading.names if n.start > token.start]
            referents = self._referents(reading, token.start)
            if earlier or len(referents) >= 2 or (i > 0 and reading.lower[0] in {"who", "whose"} and i > 3):
                continue
            if word in {"its", "their", "his", "her"} and referents:
                continue
            score = 0.45 if later else 0.68
            if referents:
                score -= 0.2
            return evidence(
                self.error, score, f"“{token.text}” refers to nothing in the question.", [(token.start, token.end)]
            )
        return None

    def _empty_it(self, reading: Reading, i: int) -> bool:
        around = set(reading.lower[max(0, i - 2) : i + 3]) - WH_WORDS
        rest = reading.lower[i + 1 :]
        return bool(around & _TAKES_EMPTY_IT) and bool({"that", "to", "for", "when", "if"} & set(rest))

    def _demonstrative(self, reading: Reading) -> Evidence | None:
        lower = reading.lower
        for i, token in enumerate(reading.words[:-1]):
            word, after = lower[i], lower[i + 1]
            if word not in DEMONSTRATIVES or self._referents(reading, token.start):
                continue
            names_before = any(n.start < token.start for n in reading.names)
            if names_before or after in FUNCTION_WORDS - {"one"}:
                continue
            if word == "that" and (i == 0 or lower[i - 1] not in PREPOSITIONS | FINITE_AUXILIARIES):
                continue  # a relative clause or a conjunction
            score = 0.35 if after in _TIME_NOUNS else 0.55
            span = (token.start, reading.words[i + 1].end)
            return evidence(self.error, score, f"“{token.text} {after}” points to nothing in the question.", [span])
        return None

    def _other(self, reading: Reading) -> Evidence | None:
        for i, token in enumerate(reading.words):
            if token.lower not in _OTHERS or (i > 0 and reading.lower[i - 1] in {"each", "or", "and", "among"}):
                continue
            after = reading.lower[i + 1] if i + 1 < len(reading.words) else ""
            if token.lower == "another" and after in _ALTERNATIVES:
                continue  # "another term for …"
            if "than" in reading.lower or any(
                w in {"besides", "aside", "along", "addition", "apart"} for w in reading.lower
            ):
                continue
            empty = GENERIC | _OTHERS | NUMBER_WORDS.keys()
            specific = [t for t in reading.content if t.lower not in empty]
            if reading.names or len(specific) > 2:
                continue
            score = 0.75 if len(specific) <= 1 else 0.45
            span = [(token.start, token.end)]
            return evidence(self.error, score, f"“{token.text}” than what? The question does not say.", span)
        return None

    def _thing(self, reading: Reading) -> Evidence | None:
        for i, token in enumerate(reading.words):
            if token.lower not in _NO_ANTECEDENT:
                continue
            bare = i + 1 == len(reading.words) or reading.lower[i + 1] in PREPOSITIONS | FINITE_AUXILIARIES
            score = 0.6 if bare and i > 0 and reading.lower[i - 1] in {"the", "this", "that"} else 0.3
            if reading.lower[i - 1 : i] == ("what",) or reading.lower[0:1] == ("name",):
                score = 0.2
            return evidence(self.error, score, f"“{token.text}” could be anything.", [(token.start, token.end)])
        return None

    def _thin(self, reading: Reading) -> Evidence | None:
        """Too few telling words: "What are the categories?"."""
        if not reading.words or len(reading.words) > 12:
            return None
        weight = sum(
            rarity(t.lower) * (0.35 if t.lower in GENERIC else 1.3 if t.is_capitalised and i else 1.0)
            for i, t in enumerate(reading.content)
        )
        score = squash(2.4 * (1.9 - weight))
        if score < 0.05:
            return None
        shown = ", ".join(f"“{t.text}”" for t in reading.content[:3]) or "no telling word"
        return evidence(self.error, score, f"It says too little to be understood alone: {shown}.")
