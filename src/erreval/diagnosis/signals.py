"""Graded signals by error type: how strongly a question's text speaks for each error, as numbers for the fusion.

Each signal grows with the error it stands for. The first of a type is its detector's score as log-odds; the others
are continuous and say something below the detector's bar too. All of them look at the text alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from erreval.diagnosis.answer_fit import Alignment, AnswerFit, align, given_share
from erreval.diagnosis.asking import is_choice
from erreval.diagnosis.detectors.base import LONGEST_ANSWER, Reading, rarity, read_passage, read_question
from erreval.diagnosis.detectors.off_target_answer import OffTargetAnswerDetector
from erreval.diagnosis.detectors.off_topic import GENERIC, coverage
from erreval.diagnosis.detectors.registry import detector_scores
from erreval.diagnosis.detectors.unnecessary_copy import shared_runs
from erreval.diagnosis.wording import FINITE_AUXILIARIES, FUNCTION_WORDS, WH_WORDS, is_content, stem, word_set, words
from erreval.records import Question
from erreval.taxonomy import ErrorType

_E = ErrorType

SIGNALS: Mapping[ErrorType, tuple[str, ...]] = MappingProxyType(
    {
        _E.INCOMPLETE: ("detector", "no question mark"),
        _E.NOT_A_QUESTION: ("detector", "no word that asks", "no question mark"),
        _E.SPELL_ERROR: ("detector",),
        _E.GRAMMAR_ERROR: ("detector", "commas", "repeated words", "asks late"),
        _E.VAGUE: ("detector", "says little", "bare nouns", "pronouns"),
        _E.UNNECESSARY_COPY: ("detector", "words too many", "words copied"),
        _E.OFF_TOPIC: ("detector", "not in the passage", "no word that asks"),
        _E.FACTUAL_ERROR: ("detector", "alternatives alike"),
        _E.INFORMATION_NOT_MENTIONED: (
            "detector",
            "comparison not told",
            "in no sentence",
            "in no place",
            "names not told",
            "answer out of place",
            "answer given",
        ),
        _E.OFF_TARGET_ANSWER: (
            "fit",
            "wrong kind",
            "answer given",
            "answer given whole",
            "answer out of place",
            "other sentence",
            "none of the alternatives",
            "comparison not told",
            "short for what is asked",
            "asks twice",
            "one for several",
        ),
    }
)
"""By error type, the names of its signals, in the order of the vectors."""

_LONG = 18
"""Words from which a question is longer than nine in ten good ones (XQuAD)."""
_COPIED = 8
"""Copied words that a good question may well have (XQuAD: longest shared run mostly below 6)."""
_COMPARISONS = word_set(
    "older younger larger smaller bigger taller longer shorter earlier later more less fewer higher lower better worse "
    "first oldest youngest largest smallest most closer farther newer"
)
_POINTERS = word_set("he she they it his her their its this that these those")
_ABSTRACT = re.compile(
    r"(?:what (?:is|are|was|were) the (?:main )?(?:differences?|purpose|origin|impact|effect|role|significance|"
    r"relationship|meaning|definition)|how (?:does|do|did|is|are|was|were)|why|explain|describe)\b",
    re.IGNORECASE,
)
_SECOND_ASK = re.compile(r"(?:\band|\bor|,)\s+(?:what|who|how|why|when|where|which)\b", re.IGNORECASE)
_SEVERAL = re.compile(r"(?:what|which|who) (?:are|were)\b", re.IGNORECASE)
_TARGET = OffTargetAnswerDetector()


def log_odds(score: float) -> float:
    """A score in [0, 1] as log-odds, cut at .01 and .99 and shifted so that nothing found is 0."""
    cut = min(max(score, 0.01), 0.99)
    return math.log(cut / (1 - cut)) + math.log(99)


def measure(question: Question, fit: AnswerFit) -> dict[ErrorType, tuple[float, ...]]:
    """All signals of a question, in milliseconds.

    Args:
        question: Without a passage or an answer, the signals that need one are those of an empty text.
        fit: The model of how well answers fit.

    Returns:
        By error type, numbers in the order of ``SIGNALS``.
    """
    reading, passage = read_question(question.question), read_passage(question.passage)
    alignment = align(question)
    found = {t: log_odds(score or 0.0) for t, score in detector_scores(question).items()}
    unmarked = float(not reading.text.rstrip(" \"'”’)]").endswith(("?", "？")))
    asks_nothing = float(not any(w in WH_WORDS or w in FINITE_AUXILIARIES for w in reading.lower))
    signs = _TARGET.signs(question)
    untold = float(any(w in _COMPARISONS and not passage.has(w) for w in reading.lower))
    return {
        _E.INCOMPLETE: (found[_E.INCOMPLETE], unmarked),
        _E.NOT_A_QUESTION: (found[_E.NOT_A_QUESTION], asks_nothing, unmarked),
        _E.SPELL_ERROR: (found[_E.SPELL_ERROR],),
        _E.GRAMMAR_ERROR: (found[_E.GRAMMAR_ERROR], *_strung_together(reading)),
        _E.VAGUE: (found[_E.VAGUE], *_unspecific(reading)),
        _E.UNNECESSARY_COPY: (found[_E.UNNECESSARY_COPY], *_copied(reading, passage)),
        _E.OFF_TOPIC: (found[_E.OFF_TOPIC], _foreign(reading, passage), asks_nothing),
        _E.FACTUAL_ERROR: (found[_E.FACTUAL_ERROR], _alternatives_alike(reading)),
        _E.INFORMATION_NOT_MENTIONED: (
            found[_E.INFORMATION_NOT_MENTIONED],
            untold,
            1.0 - alignment.sentence_best,
            1.0 - alignment.near_best,
            _names_untold(question, reading, passage),
            alignment.places_above,
            signs[1],
        ),
        _E.OFF_TARGET_ANSWER: _off_target(question, alignment, signs, untold, fit.score(question, alignment)),
    }


def _strung_together(reading: Reading) -> tuple[float, float, float]:
    """Commas, repeated content words, and how late the question word comes, each on a log scale."""
    stems = [stem(t.text) for t in reading.content]
    asks = (i for i, w in enumerate(reading.lower) if w in WH_WORDS or (i == 0 and w in FINITE_AUXILIARIES))
    return (
        math.log1p(reading.text.count(",") + reading.text.count(";")),
        math.log1p(len(stems) - len(set(stems))),
        math.log1p(next(asks, len(reading.lower))),
    )


def _unspecific(reading: Reading) -> tuple[float, float, float]:
    """How little the words say, nouns with "the" and nothing after them, pronouns by content word."""
    told = sum(
        rarity(t.lower) * (0.35 if t.lower in GENERIC else 1.3 if t.is_capitalised and i else 1.0)
        for i, t in enumerate(reading.content)
    )
    lower, size = reading.lower, len(reading.lower)
    bare = sum(
        lower[i] == "the" and i + 2 <= size and (i + 2 == size or lower[i + 2] in FUNCTION_WORDS) for i in range(size)
    )
    pointers = min(2, sum(w in _POINTERS for w in lower))
    different = len({stem(t.text) for t in reading.content})
    return -math.log1p(told), float(bare), pointers / math.sqrt(max(different, 1))


def _copied(reading: Reading, passage: Reading) -> tuple[float, float]:
    """Words beyond what good questions have, in tens: in all, and copied in runs."""
    copied = sum(b - a for a, b in shared_runs(reading, passage))
    return max(0, len(reading.words) - _LONG) / 10, max(0, copied - _COPIED) / 10


def _foreign(reading: Reading, passage: Reading) -> float:
    """Share of what is said that the passage does not have; all of it where a text says and asks nothing."""
    asks = any(w in WH_WORDS or w in FINITE_AUXILIARIES for w in reading.lower)
    return 1.0 - coverage(reading, passage)[0] if reading.content or asks else 1.0


def _alternatives_alike(reading: Reading) -> float:
    """Whether the text ends with one word twice, joined by "or" or "and"."""
    last = reading.lower[-3:]
    return float(len(last) == 3 and last[1] in {"or", "and"} and last[0] == last[2])


def _names_untold(question: Question, reading: Reading, passage: Reading) -> float:
    """Capitalised words that neither passage nor answer has, the first word left out."""
    given = {t.lower for t in words((question.answer or "")[:LONGEST_ANSWER])}
    missing = coverage(reading, passage)[1]
    return float(sum(t.is_capitalised and t is not reading.words[0] and t.lower not in given for t in missing))


def _off_target(
    question: Question, alignment: Alignment, signs: tuple[float, float, float], untold: float, fits: float
) -> tuple[float, ...]:
    reading = read_question(question.question)
    answer = [t.lower for t in words((question.answer or "")[:LONGEST_ANSWER])]
    wrong_kind, given, elsewhere = signs
    choice = bool(reading.lower) and is_choice(reading)
    whole = any(is_content(w) for w in answer) and f" {' '.join(answer)} " in reading.joined
    brief = len(answer) <= 2 and not {"and", "or"} & set(answer)
    several = bool(_SEVERAL.match(reading.text))
    twice = bool(reading.lower) and reading.lower[0] in WH_WORDS and bool(_SECOND_ASK.search(reading.text))
    return (
        -fits,
        wrong_kind,
        max(given, given_share(question) if not choice else 0.0),
        float(whole and not choice),
        alignment.near_best - alignment.near_answer,
        elsewhere,
        float(choice and bool(answer) and not set(answer) & _tail(reading)),
        untold,
        float(len(answer) <= 3 and bool(_ABSTRACT.match(reading.text))),
        float(twice),
        float(several and brief),
    )


def _tail(reading: Reading) -> frozenset[str]:
    """The words around the last "or": the alternatives that a question offers."""
    at = len(reading.lower) - 1 - reading.lower[::-1].index("or")
    return frozenset(reading.lower[max(0, at - 6) :])


def vectors(
    questions: Sequence[Question], fit: AnswerFit, report: Callable[[int, int], None] | None = None
) -> dict[ErrorType, np.ndarray]:
    """The signals of many questions.

    Args:
        questions: Those of one passage side by side are quickest: its reading is kept.
        fit: The model of how well answers fit.
        report: Called with (done, all).

    Returns:
        By error type (n, signals).
    """
    measured = []
    for done, question in enumerate(questions, start=1):
        measured.append(measure(question, fit))
        if report is not None:
            report(done, len(questions))
    return {
        t: np.array([m[t] for m in measured], dtype=float).reshape(len(measured), len(names))
        for t, names in SIGNALS.items()
    }
