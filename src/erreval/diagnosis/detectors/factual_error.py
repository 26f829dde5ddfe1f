"""Factual Error: the question states something that the passage contradicts.

Without reading comprehension only some contradictions can be seen: a number, a year or a name that the passage does
not have while it has another one in the same place, and the opposite of a word that the passage uses.
"""

from __future__ import annotations

import re
from functools import lru_cache

from erreval.diagnosis.detectors.base import LONGEST_ANSWER, Reading, evidence, rarity, read_passage, read_question
from erreval.diagnosis.wording import NUMBER_WORDS, Token, is_content, is_known, stem, word_set, words
from erreval.records import Evidence, Question
from erreval.taxonomy import ErrorType

_ORDINALS = {
    word: value
    for value, word in enumerate("first second third fourth fifth sixth seventh eighth ninth tenth".split(), start=1)  # noqa: SIM905
}
_OPPOSITES_TEXT = (
    "first last; largest smallest; biggest smallest; highest lowest; oldest youngest; oldest newest; longest shortest; "
    "before after; north south; northern southern; east west; eastern western; increase decrease; increased decreased; "
    "increasing decreasing; rise fall; more less; more fewer; most least; best worst; win lose; won lost; male female; "
    "men women; husband wife; brother sister; father mother; son daughter; king queen; prince princess; upper lower; "
    "major minor; majority minority; maximum minimum; allowed forbidden; allowed prohibited; legal illegal; "
    "success failure; accepted rejected; strong weak; strongest weakest; rich poor; hot cold; summer winter; "
    "morning evening; early late; earliest latest; public private; internal external; positive negative; "
    "import export; old young; older younger; good bad; happy sad; love hate; fastest slowest; heaviest lightest"
)
OPPOSITES: dict[str, tuple[str, ...]] = {}
"""By lower-case word, its opposites, in both directions."""
for _pair in _OPPOSITES_TEXT.split("; "):
    _a, _b = _pair.split()
    OPPOSITES[_a] = (*OPPOSITES.get(_a, ()), _b)
    OPPOSITES[_b] = (*OPPOSITES.get(_b, ()), _a)

_OFTEN_TOGETHER = word_set(
    "before after king queen prince princess man men women husband wife brother sister son daughter"
)
"""Words that a text may well use beside their opposite, so that the opposite contradicts little."""
_SKIP_AFTER = word_set("century centuries")


def number_of(token: Token) -> float | None:
    """The value of a number written in digits or as a word ("1,200", "10th", "twelve"); None for other words."""
    lower = token.lower
    if lower in NUMBER_WORDS:
        return float(NUMBER_WORDS[lower])
    tens, hyphen, ones = lower.partition("-")
    if hyphen and tens in NUMBER_WORDS and ones in NUMBER_WORDS:
        return float(NUMBER_WORDS[tens] + NUMBER_WORDS[ones])
    if lower in _ORDINALS:
        return float(_ORDINALS[lower])
    if not lower[0].isdigit():
        return None
    digits = re.sub(r"(?:st|nd|rd|th|s|%)$", "", lower).replace(",", "")
    return float(digits) if re.fullmatch(r"\d{1,15}(?:\.\d{1,6})?", digits) else None


def is_year(token: Token) -> bool:
    """Whether a token looks like a year or a decade ("1996", "1950s")."""
    return re.fullmatch(r"(?:1\d|20)\d\d(?:s)?", token.lower) is not None


class FactualErrorDetector:
    """Compares numbers, years, names and opposites of the question with those of the passage."""

    error = ErrorType.FACTUAL_ERROR

    def detect(self, question: Question) -> Evidence | None:
        """See ``base.Detector``."""
        reading = read_question(question.question)
        passage = read_passage(question.passage)
        found = [
            *self._numbers(reading, passage, question.answer or ""),
            *self._names(reading, passage),
            *self._opposites(reading, passage),
            *self._misplaced(reading, passage),
        ]
        found.sort(key=lambda f: (-f[0], f[2]))
        if not found:
            return None
        score = min(0.95, found[0][0] + 0.06 * (len(found) - 1))
        return evidence(self.error, score, " ".join(f[1] for f in found[:2]), [f[2] for f in found])

    def _numbers(self, reading: Reading, passage: Reading, answer: str) -> list[tuple[float, str, tuple[int, int]]]:
        found: list[tuple[float, str, tuple[int, int]]] = []
        asked = [(i, t, v) for i, t in enumerate(reading.words) if (v := number_of(t)) is not None]
        if not asked:
            return found
        told = _numbers_of(passage.text)
        values = {value for value, _ in told}
        answered = {number_of(t) for t in words(answer[:LONGEST_ANSWER])}
        for i, token, value in asked:
            after = reading.lower[i + 1] if i + 1 < len(reading.words) else ""
            if value in values or value in answered or after in _SKIP_AFTER:
                continue
            span = (token.start, token.end)
            if is_year(token):
                years = sorted({int(v) for v, t in told if is_year(t)}, key=lambda y: (abs(y - value), y))
                if any(token.lower.endswith("s") and y // 10 == int(value) // 10 for y in years):
                    continue
                if years:
                    near = f"the nearest year there is {years[0]}"
                    found.append((0.68, f"The passage does not have {token.text}; {near}.", span))
            elif token.text[0].isdigit() and value > 12:
                others = [t.text for v, t in told if t.text[0].isdigit() and not is_year(t)]
                if others:
                    found.append((0.6, f"The passage does not have {token.text}; it has {others[0]}.", span))
            elif after.endswith("s") and is_content(after) and token.lower not in _ORDINALS:
                rival = _counted_otherwise(stem(after), passage)
                if rival is not None:
                    found.append((0.55, f"“{token.text} {after}”, but the passage has “{rival}”.", span))
        return found

    def _names(self, reading: Reading, passage: Reading) -> list[tuple[float, str, tuple[int, int]]]:
        """A two-word name of which the passage has one word, always beside another one."""
        found = []
        for i in range(len(reading.words) - 1):
            a, b = reading.words[i], reading.words[i + 1]
            if not (a.is_capitalised and b.is_capitalised and not reading.text[a.end : b.start].strip(" ")):
                continue
            if i == 0 or reading.text[a.end : b.start] != " ":
                continue
            for known, other, step in ((b, a, -1), (a, b, 1)):
                if passage.has(other.text) or not passage.has(known.text) or not other.text.isalpha():
                    continue
                if any(_alike(other.lower, w) for w in passage.vocabulary):
                    continue  # misspelt or inflected, not another name
                partners = _partners(known.lower, step, passage)
                if partners and None not in partners and other.lower not in _TITLES:
                    rival = sorted(p for p in partners if p)[0]
                    full = f"{rival} {known.text}" if step < 0 else f"{known.text} {rival}"
                    score = 0.6 if not is_known(other.lower) or len(other.text) > 3 else 0.4
                    message = f"“{a.text} {b.text}” is not in the passage, “{full}” is."
                    found.append((score, message, (a.start, b.end)))
                    break
        return found

    def _misplaced(self, reading: Reading, passage: Reading) -> list[tuple[float, str, tuple[int, int]]]:
        """A number or name of the passage that stands far from what the question otherwise speaks of. Weak alone."""
        rest = {stem(t.text): rarity(t.lower) for t in reading.content if not _exchangeable(t)}
        total = sum(rest.values())
        own = [t for t in reading.content if _exchangeable(t) and t.start > 0 and passage.has(t.text)]
        sentences = passage.sentence_stems
        if not own or total < 2.0 or len(sentences) < 3:
            return []

        def shared(i: int) -> float:
            near = sentences[i] | sentences[max(0, i - 1)]
            inside = sum(w for s, w in rest.items() if s in sentences[i])
            return (inside + 0.6 * sum(w for s, w in rest.items() if s in near - sentences[i])) / total

        fits = [shared(i) for i in range(len(sentences))]
        best = max(fits)
        found = []
        for token in own:
            key = stem(token.text)
            there = max((fit for fit, s in zip(fits, sentences, strict=True) if key in s), default=best)
            if best - there >= 0.25:
                score = min(0.45, 0.6 * (best - there))
                message = f"“{token.text}” stands elsewhere in the passage than the rest of the question."
                found.append((score, message, (token.start, token.end)))
        return sorted(found, reverse=True)[:1]

    def _opposites(self, reading: Reading, passage: Reading) -> list[tuple[float, str, tuple[int, int]]]:
        """An opposite of the question's word stands in the passage's sentence that the question is most like."""
        found = []
        content = {stem(t.text) for t in reading.content}
        for token in reading.words:
            rivals = OPPOSITES.get(token.lower)
            if rivals is None or token.lower in passage.vocabulary:
                continue
            rest = content - {stem(token.text)}
            for rival in rivals:
                if rival not in passage.vocabulary or rival in reading.vocabulary or not rest:
                    continue
                near = max((len(rest & s) / len(rest) for s in passage.sentence_stems if stem(rival) in s), default=0.0)
                score = 0.62 if near >= 0.7 else 0.4 if near >= 0.45 else 0.15
                score *= 0.55 if token.lower in _OFTEN_TOGETHER else 1.0
                found.append((score, f"“{token.text}”, but the passage says “{rival}”.", (token.start, token.end)))
                break
        return found


def _alike(a: str, b: str) -> bool:
    """Whether two words are inflections or misspellings of one another: same beginning, lengths within three."""
    if abs(len(a) - len(b)) > 3 or a[0] != b[0]:
        return False
    return a[:4] == b[:4] or (len(a) > 3 and sorted(a) == sorted(b)) or len(set(a) ^ set(b)) <= 1


def _exchangeable(token: Token) -> bool:
    return token.is_capitalised or token.text[0].isdigit()


_TITLES = word_set("mr mrs ms dr prof president king queen emperor pope saint st general sir lord lady prince princess")


@lru_cache(maxsize=16)
def _numbers_of(passage: str) -> tuple[tuple[float, Token], ...]:
    pieces = (t for token in read_passage(passage).words for t in _split_range(token))
    return tuple((value, t) for t in pieces if (value := number_of(t)) is not None)


def _split_range(token: Token) -> list[Token]:
    if "-" not in token.text:
        return [token]
    return [Token(part, token.start, token.end) for part in token.text.split("-") if part]


def _counted_otherwise(noun: str, passage: Reading) -> str | None:
    """A number that the passage puts before a noun, as "five tackles"."""
    if noun not in passage.stems:
        return None
    for a, b in zip(passage.words, passage.words[1:], strict=False):
        if stem(b.text) == noun and number_of(a) is not None and not is_year(a) and a.lower not in _ORDINALS:
            return f"{a.text} {b.text}"
    return None


def _partners(word: str, step: int, passage: Reading) -> set[str | None]:
    """The capitalised words that stand before (step −1) or after (+1) a word in the passage; None where none does."""
    found: set[str | None] = set()
    for i, token in enumerate(passage.words):
        if token.lower.removesuffix("'s") == word:
            j = i + step
            partner = passage.words[j] if 0 <= j < len(passage.words) else None
            found.add(partner.text if partner is not None and partner.is_capitalised else None)
    return found
