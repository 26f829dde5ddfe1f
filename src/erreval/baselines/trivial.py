"""Four features that need no model. The best of them is the floor that every judge has to beat."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from erreval.records import Question

_ASKING = re.compile(
    r"\b(who|whom|whose|what|when|where|which|why|how|is|are|was|were|am|do|does|did|can|could|will|would|shall|should|"
    r"may|might|must|has|have|had)\b",
    re.IGNORECASE,
)


def length(question: Question) -> float:
    """Number of white-space separated words of the question."""
    return float(len(question.question.split()))


def ends_with_question_mark(question: Question) -> float:
    """1 if the question ends with "?", else 0."""
    return float(question.question.rstrip().endswith(("?", "？")))


def contains_question_word(question: Question) -> float:
    """1 if the question contains a question word or an auxiliary verb, else 0."""
    return float(_ASKING.search(question.question) is not None)


def contains_answer(question: Question) -> float:
    """1 if the question contains the given answer, else 0; 0 too where there is no answer."""
    answer = (question.answer or "").strip().casefold()
    return float(bool(answer) and answer in question.question.casefold())


TRIVIAL_FEATURES: Mapping[str, Callable[[Question], float]] = MappingProxyType(
    {
        "question length": length,
        "ends with a question mark": ends_with_question_mark,
        "contains a question word or auxiliary": contains_question_word,
        "contains the answer": contains_answer,
    }
)
