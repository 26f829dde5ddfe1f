"""Diagnoses as columns beside a user's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from erreval.diagnosis.diagnose import diagnose_all
from erreval.diagnosis.loading import SavedIdentifier
from erreval.diagnosis.scores import one_diagnosis_scores
from erreval.records import Diagnosis, Evidence, Question
from erreval.taxonomy import ALL_TYPES, format_label_set, slug


def diagnosis_table(
    rows: pd.DataFrame,
    questions: Sequence[Question],
    identifier: SavedIdentifier | None,
    report: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """The rows of a table with their diagnoses.

    Args:
        rows: The user's table, one row a question.
        questions: Its questions, in order.
        identifier: The model, or None for the detectors alone.
        report: Called with (done, all).

    Returns:
        Every row and column of ``rows`` in order, and the columns of the diagnosis. A column of the input that has
        the name of one of them is kept with ``input_`` before its name, twice where that name is taken too: a table
        that was diagnosed before can be diagnosed again.
    """
    diagnoses = diagnose_all(questions, identifier, report)
    added = pd.DataFrame(
        [_columns(question.question_id, d) for question, d in zip(questions, diagnoses, strict=True)],
        dtype=object,
        index=rows.index,
    )
    taken = {*added.columns, *(name for name in rows.columns if name not in added.columns)}
    names = {}
    for name in (name for name in rows.columns if name in added.columns):
        names[name] = f"input_{name}"
        while names[name] in taken:
            names[name] = f"input_{names[name]}"
        taken.add(names[name])
    return pd.concat([rows.rename(columns=names), added], axis=1)


def _columns(question_id: str, diagnosis: Diagnosis) -> dict[str, Any]:
    scores = one_diagnosis_scores(diagnosis.probabilities)
    return {
        "question_id": question_id,
        "labels": format_label_set(diagnosis.labels),
        **{f"p_{slug(t)}": _rounded(diagnosis.probabilities.get(t)) for t in ALL_TYPES},
        **{f"score_{dimension.value}": _rounded(score) for dimension, score in scores.items()},
        "evidence": " | ".join(_told(e, diagnosis) for e in diagnosis.evidence) or None,
        "not_judged": "; ".join(f"{t.value}: {why}" for t, why in diagnosis.not_judged.items()) or None,
        "diagnosed_by": diagnosis.model,
        "note": diagnosis.note or None,
    }


def _told(evidence: Evidence, diagnosis: Diagnosis) -> str:
    aside = "" if evidence.error in diagnosis.labels else " (not among the labels)"
    return f"{evidence.error.value}: {evidence.message}{aside}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
