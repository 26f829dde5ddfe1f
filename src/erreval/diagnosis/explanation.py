"""Why a question got its diagnosis: each type with its probability and threshold, and the evidence in the text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from erreval.diagnosis.diagnose import DETECTORS, diagnose_all
from erreval.diagnosis.highlight import Piece, Span, pieces
from erreval.diagnosis.loading import SavedIdentifier, thresholds
from erreval.diagnosis.scores import one_diagnosis_scores
from erreval.records import Diagnosis, Evidence, Question
from erreval.taxonomy import ALL_TYPES, DEFINITIONS, TYPE_INDEX, Dimension, ErrorType

ANSWER = "A"
"""The mark on the answer, where the passage has it; evidence is marked 1, 2, 3 …"""


@dataclass(frozen=True)
class Verdict:
    """What was decided about one type, and on what grounds."""

    type: ErrorType
    value: float | None
    """The identifier's probability, or the detector's score; None where it could not be judged."""
    threshold: float | None
    """From which value on the error is named; None for No Error, which has none."""
    named: bool
    """Whether it is among the labels."""
    why_not_judged: str | None = None

    @property
    def told(self) -> str:
        """The verdict in words."""
        if self.why_not_judged is not None:
            return f"not judged: {self.why_not_judged}"
        if self.named:
            return "named"
        over = self.value is not None and self.threshold is not None and self.value >= self.threshold
        return "not named: No Error is more probable" if over else "not named"


@dataclass(frozen=True)
class Explanation:
    """A diagnosis with all that a person needs to check it."""

    question: Question
    diagnosis: Diagnosis
    verdicts: tuple[Verdict, ...]
    """One a type, in the order of the taxonomy."""
    found_in: tuple[str, ...] = ()
    """The tables that hold the question, where it was looked up."""

    @property
    def scale(self) -> str:
        """What the values are: probabilities of a model, or scores of detectors, which are none."""
        return "detector score" if self.diagnosis.model == DETECTORS else "probability"

    @property
    def marks(self) -> dict[str, Evidence]:
        """The evidence by its mark, which is its number from 1 on."""
        return {str(k): evidence for k, evidence in enumerate(self.diagnosis.evidence, start=1)}

    @property
    def scores(self) -> dict[Dimension, float | None]:
        """The diagnosis score of each dimension; None where one of its errors could not be judged."""
        return one_diagnosis_scores(self.diagnosis.probabilities)

    def among_labels(self, evidence: Evidence) -> bool:
        """Whether the labels name the error of this evidence: model and detectors can differ."""
        return evidence.error in self.diagnosis.labels

    def marked_question(self) -> tuple[Piece, ...]:
        """The question, cut at the spans of the evidence."""
        return pieces(self.question.question, {mark: found.spans for mark, found in self.marks.items()})

    def marked_passage(self) -> tuple[Piece, ...]:
        """The passage with what the question copies from it, and the answer where it first stands (``ANSWER``)."""
        return pieces(self.question.passage, self._passage_spans())

    def _passage_spans(self) -> dict[str, list[Span]]:
        passage, asked = self.question.passage, self.question.question
        spans = {
            mark: [span for start, end in found.spans for span in _places(asked[start:end], passage)]
            for mark, found in self.marks.items()
            if found.error is ErrorType.UNNECESSARY_COPY
        }
        return {**spans, ANSWER: _places(self.question.answer or "", passage)[:1]}

    def as_json(self) -> dict[str, Any]:
        """All of it as plain values; spans are characters of the question, ``end`` not included."""
        question, diagnosis = self.question, self.diagnosis
        return {
            "question_id": question.question_id,
            "question": question.question,
            "passage": question.passage,
            "answer": question.answer,
            "found_in": list(self.found_in),
            "diagnosed_by": diagnosis.model,
            "labels": [t.value for t in _in_order(diagnosis.labels)],
            "scale": self.scale,
            "types": [
                {
                    "type": verdict.type.value,
                    "definition": DEFINITIONS[verdict.type],
                    "value": verdict.value,
                    "threshold": verdict.threshold,
                    "named": verdict.named,
                    "verdict": verdict.told,
                    "not_judged": verdict.why_not_judged,
                }
                for verdict in self.verdicts
            ],
            "evidence": [
                {
                    "mark": mark,
                    "error": found.error.value,
                    "among_labels": self.among_labels(found),
                    "score": found.score,
                    "message": found.message,
                    "spans": [
                        {"start": start, "end": end, "text": question.question[start:end]} for start, end in found.spans
                    ],
                }
                for mark, found in self.marks.items()
            ],
            "scores": {dimension.value: score for dimension, score in self.scores.items()},
            "note": diagnosis.note,
        }


def explain(question: Question, identifier: SavedIdentifier | None, found_in: Iterable[str] = ()) -> Explanation:
    """Diagnose one question and keep the grounds.

    Args:
        question: What to explain.
        identifier: The model, or None for the detectors alone.
        found_in: The tables that hold the question.
    """
    diagnosis = diagnose_all([question], identifier)[0]
    threshold = thresholds(identifier)
    verdicts = tuple(
        Verdict(
            type=t,
            value=diagnosis.probabilities.get(t),
            threshold=threshold.get(t),
            named=t in diagnosis.labels,
            why_not_judged=diagnosis.not_judged.get(t),
        )
        for t in ALL_TYPES
    )
    return Explanation(question, diagnosis, verdicts, tuple(found_in))


def _in_order(labels: Iterable[ErrorType]) -> list[ErrorType]:
    return sorted(labels, key=TYPE_INDEX.__getitem__)


def _places(wanted: str, text: str) -> list[Span]:
    """Where the words of ``wanted`` stand in a row, whatever their case and what is between them."""
    found = re.findall(r"\w+", wanted)
    if not found:
        return []
    pattern = r"(?<!\w)" + r"\W+".join(map(re.escape, found)) + r"(?!\w)"
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
