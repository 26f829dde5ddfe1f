"""All detectors, and the three ways to ask them."""

from __future__ import annotations

from collections.abc import Iterable

from erreval.diagnosis.detectors.base import LONGEST_PASSAGE, Detector
from erreval.diagnosis.detectors.factual_error import FactualErrorDetector
from erreval.diagnosis.detectors.grammar_error import GrammarErrorDetector
from erreval.diagnosis.detectors.incomplete import IncompleteDetector
from erreval.diagnosis.detectors.information_not_mentioned import InformationNotMentionedDetector
from erreval.diagnosis.detectors.not_a_question import NotAQuestionDetector
from erreval.diagnosis.detectors.off_target_answer import OffTargetAnswerDetector
from erreval.diagnosis.detectors.off_topic import OffTopicDetector
from erreval.diagnosis.detectors.spell_error import SpellErrorDetector
from erreval.diagnosis.detectors.unnecessary_copy import UnnecessaryCopyDetector
from erreval.diagnosis.detectors.vague import VagueDetector
from erreval.diagnosis.readable import readable
from erreval.records import Evidence, Question
from erreval.taxonomy import NEEDS_ANSWER, NEEDS_PASSAGE, TYPE_INDEX, ErrorType

DETECTORS: tuple[Detector, ...] = (
    IncompleteDetector(),
    NotAQuestionDetector(),
    SpellErrorDetector(),
    GrammarErrorDetector(),
    VagueDetector(),
    UnnecessaryCopyDetector(),
    OffTopicDetector(),
    FactualErrorDetector(),
    InformationNotMentionedDetector(),
    OffTargetAnswerDetector(),
)
"""One detector for each error type, in the order of the taxonomy."""


def why_not_judged(question: Question, error: ErrorType) -> str | None:
    """Why an error cannot be judged on this question, or None where it can."""
    if error in NEEDS_ANSWER and question.answer is None:
        return "there is no answer"
    if error in NEEDS_PASSAGE and not question.passage.strip():
        return "there is no passage"
    if error in NEEDS_PASSAGE and len(question.passage) > LONGEST_PASSAGE:
        return f"the passage has more than {LONGEST_PASSAGE:,} characters; give the part that the question is about"
    return None


def run_detectors(question: Question) -> tuple[Evidence, ...]:
    """Ask every detector that can judge this question.

    Returns:
        What was found, in the order of the taxonomy, weak findings (score below one half) included.
    """
    read = readable(question)
    asked = (d.detect(read) for d in DETECTORS if why_not_judged(question, d.error) is None)
    return tuple(found for found in asked if found is not None)


def detector_scores(question: Question) -> dict[ErrorType, float | None]:
    """The score of every detector.

    Returns:
        By error type, in the order of the taxonomy: 0.0 where nothing was found, None where the error could not be
        judged for want of an answer or a passage.
    """
    scores: dict[ErrorType, float | None] = {
        d.error: None if why_not_judged(question, d.error) else 0.0 for d in DETECTORS
    }
    scores.update({found.error: found.score for found in run_detectors(question)})
    return scores


def labels_from_evidence(found: Iterable[Evidence], threshold: float = 0.5) -> frozenset[ErrorType]:
    """The errors whose evidence reaches the threshold, or No Error where there is none.

    Args:
        found: What ``run_detectors`` gave.
        threshold: The lowest score that counts, in [0, 1].
    """
    errors = sorted({e.error for e in found if e.score >= threshold}, key=TYPE_INDEX.__getitem__)
    return frozenset(errors or [ErrorType.NO_ERROR])
