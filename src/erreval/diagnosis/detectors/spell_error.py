"""Spell Error: at least one word is misspelt.

A word is never blamed when it occurs in the passage or in the answer, is a number, an abbreviation or of another
script. The words of English come from pyspellchecker's list and wordfreq; a word outside both is blamed when a
much commoner word, or a word of the passage, is one slip away (a swapped, doubled, dropped or wrong letter).
"""

from __future__ import annotations

import re
from functools import lru_cache

from wordfreq import zipf_frequency

from erreval.diagnosis.detectors.base import LONGEST_ANSWER, Reading, evidence, read_passage, read_question
from erreval.diagnosis.wording import Token, dictionary, is_known, stem, words
from erreval.records import Evidence, Question
from erreval.taxonomy import ErrorType

_LONGEST = 30
"""Letters of the longest word that is looked up; what is longer is no misspelt word."""
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_PLAIN = re.compile(r"[A-Za-z]+")


def one_slip_away(word: str) -> frozenset[str]:
    """All strings that one swapped, dropped, doubled or wrong letter makes of a word."""
    splits = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    found = {a + b[1:] for a, b in splits if b}
    found.update(a + b[1] + b[0] + b[2:] for a, b in splits if len(b) > 1)
    found.update(a + c + b[1:] for a, b in splits if b for c in _ALPHABET)
    found.update(a + c + b for a, b in splits for c in _ALPHABET)
    found.discard(word)
    return frozenset(found)


@lru_cache(maxsize=20_000)
def suggestion(word: str) -> str | None:
    """The commonest English word that is one slip away, if it is much commoner than the word itself."""
    own = zipf_frequency(word, "en")
    best, best_frequency = None, max(2.3, own + 1.2)
    for candidate in sorted(one_slip_away(word)):
        if candidate in dictionary():
            frequency = zipf_frequency(candidate, "en")
            if frequency > best_frequency:
                best, best_frequency = candidate, frequency
    return best


class SpellErrorDetector:
    """Looks up every plain word of the question that passage and answer do not have."""

    error = ErrorType.SPELL_ERROR

    def detect(self, question: Question) -> Evidence | None:
        """See ``base.Detector``."""
        reading = read_question(question.question)
        passage = read_passage(question.passage)
        given = {t.lower for t in words((question.answer or "")[:LONGEST_ANSWER])}
        found: list[tuple[float, str, tuple[int, int]]] = []
        for token in reading.words:
            for part, start in _parts(token):
                if part.lower() in given or passage.has(part):
                    continue
                judged = self._judge(part, token.start + start == reading.words[0].start, passage)
                if judged is not None:
                    at = token.start + start
                    found.append((*judged, (at, at + len(part))))
        if not found:
            return None
        best = max(score for score, _, _ in found)
        score = best if len(found) == 1 else best + 0.05
        messages = [message for s, message, _ in found if s >= 0.5] or [found[0][1]]
        return evidence(self.error, score, "; ".join(messages[:3]) + ".", [span for _, _, span in found])

    def _judge(self, word: str, opens: bool, passage: Reading) -> tuple[float, str] | None:
        lower = word.lower()
        if (
            not 3 <= len(word) <= _LONGEST
            or (word.isupper() and len(word) > 1)
            or (not word.islower() and not word.istitle())
        ):
            return self._glued(word)
        if is_known(lower):
            return None
        in_passage = _near_in_passage(lower, passage)
        if in_passage is not None:
            return 0.9 if word.islower() else 0.75, f"“{word}” is one slip away from the passage's “{in_passage}”"
        near = suggestion(lower)
        capital = word.istitle() and not opens
        if near is not None and len(word) >= 4:
            return (0.35 if capital else 0.9), f"“{word}” is no word; “{near}” is one slip away"
        if near is not None:
            return (0.2 if capital else 0.6), f"“{word}” is no word; “{near}” is one slip away"
        split = _split(lower)
        if split is not None:
            return 0.7, f"“{word}” looks like “{split}” without its blank"
        if capital or zipf_frequency(lower, "en") > 1.3:
            return None
        return 0.55 if len(word) > 4 else 0.3, f"“{word}” is in no word list and not in the passage"

    def _glued(self, word: str) -> tuple[float, str] | None:
        """Words run together, seen by a capital in the middle: "inWhat"."""
        pieces = re.findall(r"[A-Z]?[a-z]+", word)
        if len(pieces) == 2 and "".join(pieces) == word and pieces[0].islower() and len(pieces[0]) > 2:
            lower = [p.lower() for p in pieces]
            if all(is_known(p) and zipf_frequency(p, "en") > 4.5 for p in lower):
                return 0.6, f"“{word}” looks like “{' '.join(pieces)}” without its blank"
        return None


def _parts(token: Token) -> list[tuple[str, int]]:
    """The plain parts of a token with their offsets: hyphens split, "'s" dropped; none in another script."""
    base = re.sub(r"(?:n['’]t|['’](?:s|re|ve|ll|d|m)?)$", "", token.text)
    if "'" in base or "’" in base or not base.isascii() or any(c.isdigit() for c in base) or "." in base:
        return []
    return [(m.group(), m.start()) for m in _PLAIN.finditer(base)]


def _near_in_passage(lower: str, passage: Reading) -> str | None:
    """A word of the passage one slip away, for words long enough that this is no accident."""
    if len(lower) < 5:
        return None
    vocabulary = passage.vocabulary
    for candidate in sorted(one_slip_away(lower)):
        if candidate in vocabulary and stem(candidate) != stem(lower):
            return candidate
    return None


def _split(lower: str) -> str | None:
    for i in range(3, len(lower) - 2):
        left, right = lower[:i], lower[i:]
        if min(zipf_frequency(left, "en"), zipf_frequency(right, "en")) > 4.6 and {left, right} <= dictionary():
            return f"{left} {right}"
    return None
