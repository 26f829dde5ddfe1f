"""What readers give: question frames, long tables of scores, and the checks that all of them share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from erreval.data.cells import as_text
from erreval.data.tables import read_table
from erreval.errors import TableError
from erreval.records import content_id, passage_id
from erreval.taxonomy import Dimension, format_label_set, parse_label_set

QUESTION_COLUMNS = ("question_id", "passage_id", "source", "passage", "answer", "question", "reference", "repeat")
SCORE_COLUMNS = ("question_id", "source", "dimension", "annotator", "score")
LABEL_COLUMNS = ("question_id", "source", "labels")
METRIC_COLUMNS = ("question_id", "source", "metric", "dimension", "value")
JUDGEMENT_COLUMNS = ("question_id", "source", "dimension", "judge", "prompt", "reply", "score")
PAIR_COLUMNS = ("passage_id", "passage", "question", "answer", "answer_start", "source", "register")

SEVEN: tuple[str, ...] = tuple(d.value for d in Dimension)
"""The seven dimensions of QGEval, as column names."""


@dataclass(frozen=True)
class Benchmark:
    """Questions that people judged, and what is published about them. Rows are keyed by (question_id, source)."""

    name: str
    questions: pd.DataFrame
    """``QUESTION_COLUMNS``; ``repeat`` is true where an earlier row has the same passage, answer and question."""
    scores: pd.DataFrame
    """``SCORE_COLUMNS``; the annotator is "mean" for a published average, else "1", "2", …"""
    scales: Mapping[str, tuple[float, float]]
    """The lowest and highest score of each dimension that people scored."""
    annotators: tuple[str, ...] = ()
    """Empty where the benchmark publishes only averages: no agreement can be computed."""
    labels: pd.DataFrame | None = None
    """``LABEL_COLUMNS``: error labels, joined by ``"; "``."""
    metrics: pd.DataFrame | None = None
    """``METRIC_COLUMNS``: published metric values; the dimension is "" for a metric that has one value."""
    judgements: pd.DataFrame | None = None
    """``JUDGEMENT_COLUMNS``: published prompts, replies and scores of judges."""

    def wide_scores(self, annotator: str = "mean") -> pd.DataFrame:
        """One row a question in the order of ``questions``, one column a dimension."""
        part = self.scores[self.scores["annotator"] == annotator]
        wide = part.pivot(index=["question_id", "source"], columns="dimension", values="score")
        keys = pd.MultiIndex.from_frame(self.questions[["question_id", "source"]])
        return wide.reindex(keys)[[name for name in self.scales if name in wide.columns]].reset_index()


@dataclass(frozen=True)
class Pairs:
    """Passages with questions and answers that people wrote: raw material, not judged."""

    name: str
    frame: pd.DataFrame
    """``PAIR_COLUMNS`` and what else the data set says. ``answer_start`` is -1 where the answer is no single span."""


def read_columns(path: Path, needed: Iterable[str]) -> pd.DataFrame:
    """Read a table that must have certain columns.

    Raises:
        TableError: It cannot be read, has no rows, or lacks a column.
    """
    frame = read_table(path)
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        there = ", ".join(map(repr, frame.columns))
        raise TableError(
            f"{path}: no column {missing[0]!r}; there are: {there}. Is this the right file? Fetch it again"
        )
    if frame.empty:
        raise TableError(f"{path}: there are no rows; fetch it again")
    return frame


def question_frame(
    *,
    path: Path,
    passages: Sequence[Any],
    answers: Sequence[Any],
    questions: Sequence[Any],
    sources: Sequence[str],
    references: Sequence[Any] | None = None,
) -> pd.DataFrame:
    """Assemble ``QUESTION_COLUMNS`` with content ids.

    Raises:
        TableError: A question or a passage is blank, or a (question_id, source) stands twice.
    """
    frame = pd.DataFrame(
        {
            "source": list(sources),
            "passage": [as_text(p) or "" for p in passages],
            "answer": [_answer(a) for a in answers],
            "question": [as_text(q) or "" for q in questions],
            "reference": [as_text(r) for r in references] if references is not None else [None] * len(questions),
        },
        dtype=object,
    )
    for column in ("passage", "question"):
        blank = [i for i, text in enumerate(frame[column]) if not text.strip()]
        if blank:
            raise TableError(f"{path}, row {blank[0] + 1}, column {column!r}: is blank; fill it in or remove the row")
    ids = [content_id(p, a, q) for p, a, q in zip(frame["passage"], frame["answer"], frame["question"], strict=True)]
    known = {text: passage_id(text) for text in dict.fromkeys(frame["passage"])}
    frame.insert(0, "question_id", pd.Series(ids, dtype=object))
    frame.insert(1, "passage_id", pd.Series([known[text] for text in frame["passage"]], dtype=object))
    frame["repeat"] = frame["question_id"].duplicated()
    twice = frame.duplicated(["question_id", "source"], keep=False)
    if twice.any():
        first, second = [int(i) + 1 for i in frame.index[twice][:2]]
        raise TableError(
            f"{path}, rows {first} and {second}: the same question from the same source; "
            "remove one or give them different sources"
        )
    return frame[list(QUESTION_COLUMNS)]


def _answer(cell: Any) -> str | None:
    text = as_text(cell)
    return text if text and text.strip() else None


def numbers(path: Path, frame: pd.DataFrame, column: str, low: float, high: float) -> list[float]:
    """A column as numbers within a range; ``nan`` where the cell is empty.

    Raises:
        TableError: A cell is no finite number, or is out of range.
    """
    values = []
    for i, cell in enumerate(frame[column].tolist()):
        try:
            value = math.nan if cell is None else float(cell)
        except (TypeError, ValueError):
            raise TableError(f"{path}, row {i + 1}, column {column!r}: {cell!r} is no number; correct it") from None
        except OverflowError:  # a whole number, in JSON, beyond what a float holds
            value = math.inf
        if math.isinf(value):
            raise TableError(
                f"{path}, row {i + 1}, column {column!r}: {str(cell)[:20]} is no finite number; correct it"
            )
        if not (math.isnan(value) or low <= value <= high):
            raise TableError(f"{path}, row {i + 1}, column {column!r}: {cell!r} is not between {low:g} and {high:g}")
        values.append(value)
    return values


def long_scores(
    path: Path,
    frame: pd.DataFrame,
    keys: pd.DataFrame,
    scales: Mapping[str, tuple[float, float]],
    annotator: str,
    columns: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Score columns as ``SCORE_COLUMNS``; empty cells give no row.

    Args:
        path: For messages.
        frame: Holds the score columns, row for row with ``keys``.
        keys: Holds question_id and source.
        scales: Dimension to lowest and highest score.
        annotator: "mean", "1", "2", …
        columns: Dimension to column name, where they differ.
    """
    parts = []
    for dimension, (low, high) in scales.items():
        part = keys[["question_id", "source"]].copy()
        part["dimension"] = dimension
        part["annotator"] = annotator
        part["score"] = numbers(path, frame, (columns or {}).get(dimension, dimension), low, high)
        parts.append(part.dropna(subset="score"))
    return pd.concat(parts, ignore_index=True)


def label_frame(path: Path, cells: Sequence[Any], keys: pd.DataFrame, column: str) -> pd.DataFrame:
    """Label cells as ``LABEL_COLUMNS``, in the fixed order of the types.

    Raises:
        TableError: A cell is no label set.
    """
    labels = []
    for i, cell in enumerate(cells):
        try:
            labels.append(format_label_set(parse_label_set(as_text(cell) or "")))
        except ValueError as error:
            raise TableError(f"{path}, row {i + 1}, column {column!r}: {error}") from None
    frame = keys[["question_id", "source"]].copy()
    frame["labels"] = pd.Series(labels, index=frame.index, dtype=object)
    return frame


def pair_frame(rows: Iterable[Mapping[str, Any]], extra: Sequence[str] = ()) -> pd.DataFrame:
    """Assemble ``PAIR_COLUMNS`` and ``extra`` from rows; passage ids are added here."""
    frame = pd.DataFrame(list(rows), dtype=object)
    if frame.empty:
        return pd.DataFrame(columns=[*PAIR_COLUMNS, *extra])
    known = {text: passage_id(text) for text in dict.fromkeys(frame["passage"])}
    frame["passage_id"] = pd.Series([known[text] for text in frame["passage"]], dtype=object)
    frame["answer_start"] = frame["answer_start"].astype("int64")
    return frame[[*PAIR_COLUMNS, *extra]]
