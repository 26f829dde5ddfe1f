"""The records that cross boundaries: Question, Evidence, Unscored, Diagnosis. Frozen and validated."""

from __future__ import annotations

import hashlib
import unicodedata
from functools import cached_property

from pydantic import BaseModel, ConfigDict, Field, field_validator

from erreval.taxonomy import ErrorType, check_label_set, format_label_set


def content_id(passage: str, answer: str | None, question: str) -> str:
    """The identity of a question: a hash of its passage, answer and question.

    Texts are brought to Unicode NFC and nothing else is folded: case, white space and punctuation count.
    No answer and an empty answer are the same thing.

    Returns:
        16 hexadecimal digits of a SHA-256.
    """
    parts = (passage, answer or "", question)
    text = "\x1f".join(unicodedata.normalize("NFC", part) for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def passage_id(passage: str) -> str:
    """The identity of a passage, by which splits and resampling go: 16 hexadecimal digits of a SHA-256."""
    text = unicodedata.normalize("NFC", passage)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Question(BaseModel):
    """A question to judge, with the passage and the answer it was made from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: str
    passage: str = ""
    answer: str | None = None
    """None where there is no answer; the text "None" is an answer."""
    source: str = ""
    """The system or data set the question comes from; with the id it is the key of a row."""
    reference: str | None = None
    """A human question for the same passage and answer, where the benchmark has one."""

    @field_validator("question")
    @classmethod
    def _not_blank(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("the question is empty")
        return text

    @field_validator("answer")
    @classmethod
    def _empty_is_none(cls, text: str | None) -> str | None:
        return text if text and text.strip() else None

    @cached_property
    def question_id(self) -> str:
        """Hash of passage, answer and question; see ``content_id``."""
        return content_id(self.passage, self.answer, self.question)

    @cached_property
    def passage_id(self) -> str:
        """Hash of the passage alone."""
        return passage_id(self.passage)


class Evidence(BaseModel):
    """What a detector shows a person for one error type."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    error: ErrorType
    score: float = Field(ge=0.0, le=1.0)
    """How strongly the detector speaks for the error, 0 to 1; not a probability."""
    message: str
    """One sentence that names what was found."""
    spans: tuple[tuple[int, int], ...] = ()
    """Character spans of the question that the message is about."""


class Unscored(BaseModel):
    """What could not be read or judged: never a number, never dropped in silence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: str
    raw: str = ""
    """The text that could not be read, as it came."""


class Diagnosis(BaseModel):
    """What is wrong with a question, how sure that is, and who says so."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question_id: str
    labels: frozenset[ErrorType]
    probabilities: dict[ErrorType, float | None]
    """By type: the identifier's probability, or the detector's score; None where it could not be judged."""
    evidence: tuple[Evidence, ...] = ()
    not_judged: dict[ErrorType, str] = Field(default_factory=dict)
    """Types that could not be judged for this row, with the reason."""
    model: str
    """Who diagnosed: "detectors", or the folder or name of the Error Identifier."""
    note: str = ""
    """What the reader should know about this diagnosis: a truncated passage, say."""

    @field_validator("labels")
    @classmethod
    def _valid_set(cls, labels: frozenset[ErrorType]) -> frozenset[ErrorType]:
        return check_label_set(labels)

    def __str__(self) -> str:
        lines = [f"{format_label_set(self.labels)}  (by {self.model})"]
        lines += [f"  {e.error.value}{self._standing(e)}: {e.message}" for e in self.evidence]
        lines += [f"  {t.value}: not judged, {why}" for t, why in self.not_judged.items()]
        if self.note:
            lines.append(f"  note: {self.note}")
        return "\n".join(lines)

    def _standing(self, evidence: Evidence) -> str:
        """The model decides the labels, the detectors give the evidence: where they differ, it is said."""
        return "" if evidence.error in self.labels else " (a detector's finding, not among the labels)"
