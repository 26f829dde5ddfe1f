"""The eleven error types, the seven quality dimensions, and which errors touch which dimension.

Source: ErrEval, Table 1 (error types) and Table 6 (dimension to error types). Definitions are worded anew.
Spelled once here and used everywhere: in code, tables, MLflow keys, prompts and pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType


class ErrorType(StrEnum):
    """One of the ten error types, or No Error. The value is the published spelling of the label."""

    INCOMPLETE = "Incomplete"
    NOT_A_QUESTION = "Not A Question"
    SPELL_ERROR = "Spell Error"
    GRAMMAR_ERROR = "Grammar Error"
    VAGUE = "Vague"
    UNNECESSARY_COPY = "Unnecessary Copy from Passage"
    OFF_TOPIC = "Off Topic"
    FACTUAL_ERROR = "Factual Error"
    INFORMATION_NOT_MENTIONED = "Information Not Mentioned"
    OFF_TARGET_ANSWER = "Off Target Answer"
    NO_ERROR = "No Error"


class Dimension(StrEnum):
    """One of the seven quality dimensions of QGEval. The value is the column name in the published files."""

    FLUENCY = "fluency"
    CLARITY = "clarity"
    CONCISENESS = "conciseness"
    RELEVANCE = "relevance"
    CONSISTENCY = "consistency"
    ANSWERABILITY = "answerability"
    ANSWER_CONSISTENCY = "answer_consistency"


ALL_TYPES: tuple[ErrorType, ...] = tuple(ErrorType)
"""The eleven classes in the fixed order of every probability vector, column and confusion table."""

ERRORS: tuple[ErrorType, ...] = tuple(t for t in ErrorType if t is not ErrorType.NO_ERROR)
"""The ten error types, without No Error."""

TYPE_INDEX: Mapping[ErrorType, int] = MappingProxyType({t: i for i, t in enumerate(ALL_TYPES)})

_E = ErrorType
_ANSWERABILITY = frozenset(
    {
        _E.INCOMPLETE,
        _E.NOT_A_QUESTION,
        _E.VAGUE,
        _E.OFF_TOPIC,
        _E.FACTUAL_ERROR,
        _E.INFORMATION_NOT_MENTIONED,
    }
)

DIMENSION_ERRORS: Mapping[Dimension, frozenset[ErrorType]] = MappingProxyType(
    {
        Dimension.FLUENCY: frozenset({_E.INCOMPLETE, _E.SPELL_ERROR, _E.GRAMMAR_ERROR}),
        Dimension.CLARITY: frozenset({_E.INCOMPLETE, _E.NOT_A_QUESTION, _E.GRAMMAR_ERROR, _E.VAGUE}),
        Dimension.CONCISENESS: frozenset({_E.UNNECESSARY_COPY}),
        Dimension.RELEVANCE: frozenset({_E.OFF_TOPIC}),
        Dimension.CONSISTENCY: frozenset({_E.OFF_TOPIC, _E.FACTUAL_ERROR, _E.INFORMATION_NOT_MENTIONED}),
        Dimension.ANSWERABILITY: _ANSWERABILITY,
        Dimension.ANSWER_CONSISTENCY: _ANSWERABILITY | {_E.OFF_TARGET_ANSWER},
    }
)
"""The errors that lower each dimension (ErrEval, Table 6). No Error belongs to every dimension."""

DEFINITIONS: Mapping[ErrorType, str] = MappingProxyType(
    {
        _E.INCOMPLETE: "The text breaks off, so that the question is never finished.",
        _E.NOT_A_QUESTION: "A statement or a fragment that asks nothing.",
        _E.SPELL_ERROR: "At least one word is misspelt.",
        _E.GRAMMAR_ERROR: "The sentence breaks a rule of grammar: word order, agreement, a missing or doubled word.",
        _E.VAGUE: "It is unclear what is asked: a reference points to nothing, or several readings are possible.",
        _E.UNNECESSARY_COPY: "Long stretches of the passage are copied that the question does not need.",
        _E.OFF_TOPIC: "The question is about something else than the passage.",
        _E.FACTUAL_ERROR: "The question states something that the passage contradicts.",
        _E.INFORMATION_NOT_MENTIONED: "The question relies on, or asks for, something the passage does not say.",
        _E.OFF_TARGET_ANSWER: "The given answer does not answer this question.",
        _E.NO_ERROR: "None of the ten errors.",
    }
)

NEEDS_ANSWER: frozenset[ErrorType] = frozenset({_E.OFF_TARGET_ANSWER})
"""Types that say something about the given answer and cannot be judged without one."""

NEEDS_PASSAGE: frozenset[ErrorType] = frozenset(
    {_E.UNNECESSARY_COPY, _E.OFF_TOPIC, _E.FACTUAL_ERROR, _E.INFORMATION_NOT_MENTIONED, _E.OFF_TARGET_ANSWER}
)
"""Types that compare the question with the passage and cannot be judged without one."""

LABEL_SEPARATOR = "; "
"""How a label set is written in one cell; readers also accept a bare ';'."""


def parse_label_set(cell: str) -> frozenset[ErrorType]:
    """Read a ``;``-separated cell of labels.

    Args:
        cell: Labels in their published spelling, in any order, white space around them ignored.

    Returns:
        The label set.

    Raises:
        ValueError: The cell is empty, names an unknown type, names one twice, or joins No Error with an error.
    """
    names = [part.strip() for part in cell.split(";") if part.strip()]
    known = {t.value: t for t in ErrorType}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"unknown error type {unknown[0]!r}; known are: {', '.join(known)}")
    if len(set(names)) != len(names):
        raise ValueError(f"an error type stands twice in {cell!r}")
    return check_label_set(known[name] for name in names)


def check_label_set(labels: Iterable[ErrorType]) -> frozenset[ErrorType]:
    """Return the labels as a set, if they can be one.

    Raises:
        ValueError: The set is empty, or joins No Error with an error.
    """
    found = frozenset(labels)
    if not found:
        raise ValueError(f"a label set is never empty; write {ErrorType.NO_ERROR.value!r} where there is no error")
    if ErrorType.NO_ERROR in found and len(found) > 1:
        raise ValueError(f"{ErrorType.NO_ERROR.value!r} excludes every other label: {format_label_set(found)!r}")
    return found


def format_label_set(labels: Iterable[ErrorType]) -> str:
    """Write a label set as one cell, in the fixed order of ``ALL_TYPES``."""
    return LABEL_SEPARATOR.join(t.value for t in sorted(set(labels), key=TYPE_INDEX.__getitem__))


def slug(label: ErrorType) -> str:
    """A label as a key for columns, file names and MLflow: lower case with underscores."""
    return label.value.lower().replace(" ", "_")
