"""Off Target Answer: the given answer does not answer this question.

Three signs: the question word asks for another kind of thing than the answer is; the question already says the
answer; the sentence that holds the answer has little in common with the question while another has much.
"""

from __future__ import annotations

import re
from enum import StrEnum

from erreval.diagnosis.detectors.base import LONGEST_ANSWER, Reading, evidence, rarity, read_passage, read_question
from erreval.diagnosis.detectors.factual_error import is_year, number_of
from erreval.diagnosis.detectors.off_topic import GENERIC
from erreval.diagnosis.wording import (
    FINITE_AUXILIARIES,
    PREPOSITIONS,
    Token,
    is_content,
    stem,
    word_set,
    words,
)
from erreval.records import Evidence, Question
from erreval.taxonomy import ErrorType


class Kind(StrEnum):
    """What a question asks for."""

    PERSON = "a person or a group"
    TIME = "a time"
    PLACE = "a place"
    COUNT = "a number"
    YES_NO = "yes or no"
    REASON = "a reason"
    ANY = "anything"


_TIME_HEADS = word_set("year years date day decade century month time")
_COUNT_HEADS = word_set("percentage percent number amount population proportion fraction")
_PERSON_HEADS = word_set("person man woman player actor actress singer author writer king queen president leader")
QUANTITY = word_set(
    "half third quarter thirds quarters halves halve dozen dozens "
    "hundred hundreds thousand thousands million millions billion trillion none all "
    "many few several most some much little couple pair once twice double twice both every no zero single everything "
    "large small majority less more equal enough great plenty lot lots percent nothing always"
)
TIME_WORDS = word_set(
    "january february march april may june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday spring summer autumn fall winter morning evening night noon midnight day days "
    "week weeks month months year years century centuries decade decades today yesterday tomorrow before after during "
    "when while until since then ago later early late end beginning time times age era period moment once soon now "
    "christmas easter war reign season immediately never always dawn dusk sunset sunrise birthday daily annually upon "
    "mid as hour hours minute minutes second-ever season whenever prehistoric ancient modern medieval renaissance"
)


def asked_kind(reading: Reading) -> Kind:
    """What kind of answer a question asks for, by its question word and the noun after it."""
    lower = reading.lower
    at = next(
        (
            i
            for i, w in enumerate(lower)
            if w in {"who", "whom", "whose", "what", "which", "when", "where", "why", "how"}
        ),
        None,
    )
    if at is None:
        yes_no = lower and lower[0] in FINITE_AUXILIARIES and "or" not in lower
        return Kind.YES_NO if yes_no else Kind.ANY
    if lower[0] in FINITE_AUXILIARIES:
        return Kind.ANY
    word = lower[at]
    after = lower[at + 1] if at + 1 < len(lower) else ""
    clear = at == 0 or (at == 1 and lower[0] in PREPOSITIONS)
    if not clear and word in {"when", "where", "who", "which", "whose"}:
        return Kind.ANY  # may well open a relative clause
    if word in {"who", "whom"}:
        return Kind.PERSON
    if word == "when":
        return Kind.TIME if after in FINITE_AUXILIARIES else Kind.ANY
    if word == "where":
        return Kind.PLACE
    if word == "why":
        return Kind.REASON
    if word == "how":
        return Kind.COUNT if after == "many" else Kind.ANY
    if word in {"what", "which"} and clear:
        if after in {"year", "date", "decade", "century", "month", "day"}:
            return Kind.TIME
        if after in {"percentage", "percent"}:
            return Kind.COUNT
        if after in FINITE_AUXILIARIES and len(lower) > at + 3 and lower[at + 2] in {"the", "a", "an"}:
            head = lower[at + 3]
            if head in {"year", "date"}:
                return Kind.TIME
            if head in {"percentage", "population", "number"}:
                return Kind.COUNT
    return Kind.ANY


def _is_number(token: Token) -> bool:
    return number_of(token) is not None or any(c.isdigit() for c in token.text)


def kind_mismatch(kind: Kind, answer: str) -> float:
    """How surely an answer cannot be of the kind asked for, 0 (it can) to 1."""
    given = words(answer)
    if not given:
        return 0.0
    lower = {t.lower for t in given} | {part for t in given for part in t.lower.split("-")}
    numeric = all(_is_number(t) or t.lower in TIME_WORDS | {"of", "the", "in", "to", "and"} for t in given)
    has_number = any(_is_number(t) for t in given)
    yes_no = given[0].lower in {"yes", "no", "true", "false"}
    proper = all(t.is_capitalised or t.lower in {"of", "the", "and", "de", "von"} for t in given)
    if kind is Kind.YES_NO:
        return 0.0 if yes_no else 0.55 if len(given) <= 4 else 0.4
    if yes_no and len(given) == 1:
        return 0.75
    if kind is Kind.PERSON:
        only_number = all(_is_number(t) for t in given) or (numeric and has_number)
        lower_case = not any(t.is_capitalised for t in given)
        return 0.85 if only_number else 0.25 if lower_case and len(given) <= 2 else 0.0
    if kind is Kind.TIME:
        timely = (
            has_number
            or bool(re.search(r"(?:th|first|second|third)\b", answer.lower()))
            or bool(lower & TIME_WORDS)
            or bool(lower & QUANTITY)
        )
        return 0.0 if timely else 0.7 if len(given) <= 5 else 0.45
    if kind is Kind.COUNT:
        counted = has_number or bool(lower & QUANTITY)
        return 0.0 if counted else 0.7 if len(given) <= 5 else 0.5
    if kind is Kind.PLACE:
        if numeric and has_number and all(is_year(t) or t.lower in TIME_WORDS or _is_number(t) for t in given):
            return 0.8
        return 0.0
    if kind is Kind.REASON:
        return 0.65 if (numeric and has_number) or (proper and len(given) <= 3) else 0.0
    return 0.0


class OffTargetAnswerDetector:
    """Compares the kind asked for with the answer's form, and the question with the sentence that holds the answer."""

    error = ErrorType.OFF_TARGET_ANSWER

    def detect(self, question: Question) -> Evidence | None:
        """See ``base.Detector``."""
        reading = read_question(question.question)
        answer = (question.answer or "").strip()[:LONGEST_ANSWER]
        if not reading.words or not words(answer):
            return None
        kept = sorted((f for f in self._signs(question, answer) if f is not None), key=lambda f: (-f.score, f.message))
        if not kept:
            return None
        # Weak signs add up: 1 − Π(1 − s), with the weaker ones at half their weight.
        doubt = 1.0 - kept[0].score
        for other in kept[1:]:
            doubt *= 1.0 - 0.5 * other.score
        spans = list(dict.fromkeys(span for f in kept for span in f.spans))
        return evidence(self.error, 1.0 - doubt, " ".join(f.message for f in kept[:2]), spans)

    def signs(self, question: Question) -> tuple[float, float, float]:
        """How strong each of the three signs is, in [0, 1]; 0 without an answer."""
        answer = (question.answer or "").strip()[:LONGEST_ANSWER]
        if not read_question(question.question).words or not words(answer):
            return 0.0, 0.0, 0.0
        kind, given, sentence = (f.score if f is not None else 0.0 for f in self._signs(question, answer))
        return kind, given, sentence

    def _signs(self, question: Question, answer: str) -> tuple[Evidence | None, Evidence | None, Evidence | None]:
        reading = read_question(question.question)
        elsewhere = self._sentence(reading, read_passage(question.passage), answer)
        return self._kind(reading, answer), self._given_away(reading, answer), elsewhere

    def _kind(self, reading: Reading, answer: str) -> Evidence | None:
        kind = asked_kind(reading)
        score = kind_mismatch(kind, answer)
        if score <= 0.0:
            return None
        first = reading.words[0]
        shown = answer if len(answer) <= 60 else answer[:57] + "…"
        return evidence(
            self.error, score, f"It asks for {kind.value}; the answer is “{shown}”.", [(first.start, first.end)]
        )

    def _given_away(self, reading: Reading, answer: str) -> Evidence | None:
        """The question says its own answer."""
        given = [t.lower for t in words(answer)]
        telling = [w for w in given if is_content(w)]
        if not telling or len(given) > 30:
            return None
        joined = " ".join(re.escape(w) for w in given)
        at = re.search(rf" {joined} ", reading.joined)
        if at is not None:
            place = reading.joined.count(" ", 0, at.start() + 1) - 1
            span = (reading.words[place].start, reading.words[place + len(given) - 1].end)
            choice = "or" in reading.lower or reading.lower[0] in {"which", "between"}
            score = 0.3 if choice or (len(telling) == 1 and not _strong(telling[0])) else 0.62
            return evidence(self.error, score, "The question itself says the answer.", [span])
        stems = {stem(w) for w in telling}
        inside = [t for t in reading.content if stem(t.text) in stems]
        share = len({stem(t.text) for t in inside}) / len(stems)
        if len(stems) >= 2 and share >= 0.6:
            spans = [(t.start, t.end) for t in inside]
            return evidence(self.error, 0.45 * share, "The question says most of the answer's words.", spans)
        return None

    def _sentence(self, reading: Reading, passage: Reading, answer: str) -> Evidence | None:
        """The answer's sentence shares less with the question than the best sentence does."""
        weights = {stem(t.text): rarity(t.lower) * (0.4 if t.lower in GENERIC else 1.0) for t in reading.content}
        total = sum(weights.values())
        sentences = passage.sentence_stems
        holds = [
            (sentences[i], sentences[i - 1] if i else frozenset())
            for i, (a, b) in enumerate(passage.sentence_spans)
            if _holds(passage.text[a:b], answer)
        ]
        if not total or not holds or len(passage.sentence_stems) < 2:
            return None

        def shared(sentence: frozenset[str]) -> float:
            return sum(w for s, w in weights.items() if s in sentence) / total

        best = max(map(shared, passage.sentence_stems))
        # A sentence often speaks of "it" and means what the sentence before it named.
        lack = best - max(max(shared(own), 0.75 * shared(own | before)) for own, before in holds)
        if lack < 0.12:
            return None
        message = f"The answer's sentence has {best - lack:.0%} of the question's words, another one {best:.0%}."
        return evidence(self.error, min(0.48, 0.75 * lack), message)


def _strong(word: str) -> bool:
    return rarity(word) > 1.6 or any(c.isdigit() for c in word)


def _holds(sentence: str, answer: str) -> bool:
    return answer.lower().rstrip(" .") in sentence.lower()
