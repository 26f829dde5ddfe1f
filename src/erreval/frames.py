"""Records as rows of pandas frames, and back. The columns of a labelled set are named here, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from erreval.records import Question
from erreval.taxonomy import ErrorType, format_label_set, parse_label_set

if TYPE_CHECKING:
    import pandas as pd

LABELLED_COLUMNS = (
    "question_id",
    "passage_id",
    "source",
    "passage",
    "answer",
    "question",
    "labels",
    "origin",
    "round",
)
"""A labelled set: text, its label set as one cell, where the label comes from, and the round that added it."""

ORIGINS = ("injected", "untouched", "llm", "auto", "simulated", "human", "adjudicated")
"""Where a label comes from: error injection by rule, left as it was, written and judged by chat models, reliable in the
pool, a simulated or a real annotator."""


def labelled_frame(
    questions: Sequence[Question],
    label_sets: Sequence[frozenset[ErrorType]],
    origins: Sequence[str],
    round_index: int,
) -> pd.DataFrame:
    """A labelled set, one row a question, in the given order."""
    import pandas as pd

    rows = [
        (
            q.question_id,
            q.passage_id,
            q.source,
            q.passage,
            q.answer,
            q.question,
            format_label_set(labels),
            origin,
            round_index,
        )
        for q, labels, origin in zip(questions, label_sets, origins, strict=True)
    ]
    return pd.DataFrame(rows, columns=list(LABELLED_COLUMNS))


def questions_of(frame: pd.DataFrame) -> list[Question]:
    """The questions of a frame with the columns question, passage, answer and source."""
    columns = (frame[name].tolist() for name in ("question", "passage", "answer", "source"))
    return [
        Question(question=question, passage=passage, answer=answer if isinstance(answer, str) else None, source=source)
        for question, passage, answer, source in zip(*columns, strict=True)
    ]


def label_sets_of(frame: pd.DataFrame) -> list[frozenset[ErrorType]]:
    """The label sets of a frame's column ``labels``.

    Raises:
        ValueError: A cell is no label set.
    """
    return [parse_label_set(cell) for cell in frame["labels"]]
