"""Diagnosis of questions: by a trained Error Identifier where there is one, by the detectors alone otherwise.

Either way the detectors give the evidence, and the diagnosis says who made it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from erreval.diagnosis.detectors.registry import labels_from_evidence, run_detectors, why_not_judged
from erreval.diagnosis.loading import SavedIdentifier, load_identifier
from erreval.errors import ErrevalError
from erreval.layout import Layout, read_champion
from erreval.models.catalogue import LocatedModel, locate
from erreval.records import Diagnosis, Evidence, Question
from erreval.settings import load_settings
from erreval.taxonomy import ALL_TYPES, ERRORS, ErrorType

DETECTORS = "detectors"
"""Who diagnosed, where no model did."""

MODEL_VARIABLE = "ERREVAL_MODEL"
"""Environment variable that names an Error Identifier as ``locate`` takes it, or ``detectors``."""


def diagnose(
    question: str, passage: str = "", answer: str | None = None, *, model: SavedIdentifier | Path | str | None = None
) -> Diagnosis:
    """Diagnose one question.

    Args:
        question: The generated question.
        passage: The text it was made from; without it only what needs no passage is judged.
        answer: The answer it was made for; without it only what needs no answer is judged.
        model: An Error Identifier, the folder of one, a name that `erreval models list` shows, or ``"detectors"``. By
            default the one that ``ERREVAL_MODEL`` names, else the champion of the project in the current folder,
            else the detectors.

    Returns:
        The label set with probabilities and evidence; ``Diagnosis.model`` says who diagnosed.

    Raises:
        ErrevalError: The question is empty, something is no text, or the given model cannot be loaded.
    """
    return diagnose_all([as_question(question, passage, answer)], find_identifier(model))[0]


def as_question(question: str, passage: str = "", answer: str | None = None) -> Question:
    """A question from what a caller gives.

    Raises:
        ErrevalError: The question is empty, or something is no text.
    """
    for name, text in (("question", question), ("passage", passage), ("answer", answer or "")):
        if not isinstance(text, str):
            raise ErrevalError(f"the {name} is {type(text).__name__}, not text; give a str")
    if not question.strip():
        raise ErrevalError("the question is empty; give the text to diagnose")
    for name, text in (("question", question), ("passage", passage), ("answer", answer or "")):
        if not text.isascii():
            _refuse_broken_text(name, text)
    return Question(question=question, passage=passage, answer=answer)


def _refuse_broken_text(name: str, text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ErrevalError(
            f"the {name} is not valid Unicode at character {error.start + 1}; give it as UTF-8 text"
        ) from None


_loaded: dict[tuple[str, str, tuple[tuple[str, int], ...]], SavedIdentifier] = {}


def find_identifier(
    model: SavedIdentifier | Path | str | None = None, project: Path | None = None
) -> SavedIdentifier | None:
    """The Error Identifier to use, or None for the detectors alone.

    Args:
        model: As for ``diagnose``.
        project: The project's root folder; the current folder by default.

    Raises:
        ErrevalError: A named model cannot be loaded.
    """
    if isinstance(model, SavedIdentifier):
        return model
    named = model or os.environ.get(MODEL_VARIABLE)
    if named == DETECTORS:
        return None
    place = locate(named) if named else _champion(project or Path())
    if place is None:
        return None
    key = (place.name, str(place.folder.resolve()), _stamp(place.folder))
    if key not in _loaded:
        _loaded[key] = load_identifier(place.folder)
        _loaded[key].name = place.name
    return _loaded[key]


def _stamp(folder: Path) -> tuple[tuple[str, int], ...]:
    """When the files of a model were last written: a model that was trained anew is loaded anew."""
    return tuple(sorted((str(path), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()))


def _champion(project: Path) -> LocatedModel | None:
    if not (project / "params.yaml").is_file():
        return None
    layout = Layout(load_settings(project / "params.yaml").profile, project)
    if not layout.champion.exists():
        return None
    folder = read_champion(layout)
    return LocatedModel(folder, str(folder))


def diagnose_all(
    questions: Sequence[Question],
    identifier: SavedIdentifier | None,
    report: Callable[[int, int], None] | None = None,
) -> list[Diagnosis]:
    """Diagnose many questions, each distinct one once.

    Args:
        questions: What to diagnose; a question that stands there twice gets the same answer twice.
        identifier: The model, or None for the detectors alone.
        report: Called with (done, all) as the work goes on.

    Returns:
        One diagnosis a question, in order.
    """
    distinct = list({question.question_id: question for question in questions}.values())
    if identifier is None:
        found = []
        for done, question in enumerate(distinct, start=1):
            found.append(_by_detectors(question))
            if report is not None:
                report(done, len(distinct))
    else:
        found = _by_identifier(distinct, identifier, report)
    by_id = {question.question_id: diagnosis for question, diagnosis in zip(distinct, found, strict=True)}
    return [by_id[question.question_id] for question in questions]


def _unjudged(question: Question) -> dict[ErrorType, str]:
    reasons = {error: why_not_judged(question, error) for error in ERRORS}
    return {error: why for error, why in reasons.items() if why is not None}


def _by_detectors(question: Question) -> Diagnosis:
    evidence = run_detectors(question)
    unjudged = _unjudged(question)
    scores: dict[ErrorType, float | None] = {error: None if error in unjudged else 0.0 for error in ERRORS}
    scores.update({found.error: found.score for found in evidence})
    worst = max((score for score in scores.values() if score is not None), default=0.0)
    return Diagnosis(
        question_id=question.question_id,
        labels=labels_from_evidence(evidence),
        probabilities={**scores, ErrorType.NO_ERROR: 1.0 - worst},
        evidence=evidence,
        not_judged=unjudged,
        model=DETECTORS,
    )


def _by_identifier(
    questions: Sequence[Question], identifier: SavedIdentifier, report: Callable[[int, int], None] | None
) -> list[Diagnosis]:
    probabilities = identifier.predict_probabilities(questions, report)
    sets = identifier.decide(probabilities)
    cut = identifier.truncated(questions)
    found = []
    for question, row, labels, truncated in zip(questions, probabilities, sets, cut, strict=True):
        unjudged = _unjudged(question)
        judged = (labels - unjudged.keys()) or frozenset({ErrorType.NO_ERROR})
        found.append(
            Diagnosis(
                question_id=question.question_id,
                labels=judged,
                probabilities={t: None if t in unjudged else float(p) for t, p in zip(ALL_TYPES, row, strict=True)},
                evidence=_supporting(run_detectors(question), judged),
                not_judged=unjudged,
                model=identifier.name,
                note=f"the model sees {identifier.max_tokens} tokens; the rest of the text was left out"
                if truncated
                else "",
            )
        )
    return found


def _supporting(evidence: Sequence[Evidence], labels: frozenset[ErrorType]) -> tuple[Evidence, ...]:
    """Evidence for what was diagnosed, and strong evidence for what was not."""
    return tuple(e for e in evidence if e.error in labels or e.score >= 0.5)
