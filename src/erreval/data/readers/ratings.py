"""Users' tables that hold every annotator's own scores, in either of the two shapes that people keep them in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from erreval.data.cells import as_text
from erreval.data.columns import ColumnMap
from erreval.data.readers.frames import SCORE_COLUMNS, Benchmark, numbers
from erreval.data.readers.others import observed_scale, read_custom
from erreval.data.tables import read_questions
from erreval.errors import TableError

ONE_DIMENSION = "score"
"""What the dimension of annotators' columns is called: a table in that shape names none."""


def read_ratings(
    path: Path, columns: ColumnMap | None = None, *, annotators: Sequence[str] = (), encoding: str = "utf-8"
) -> Benchmark:
    """A user's table of single annotators' scores.

    Args:
        path: Either one row a question with a column for each annotator (name these), or one row a score with the
            columns ``annotator``, ``dimension`` and ``score``.
        columns: Which column is what.
        annotators: The columns that hold the annotators' scores, of one dimension.
        encoding: Of text formats.

    Raises:
        TableError: As for ``read_custom``; or a column is lacking or has an empty cell where a row is a score, an
            annotator scores a question twice, or there is but one annotator.
    """
    if not annotators:
        return _from_long(path, columns, encoding)
    if len(set(annotators)) < 2:
        raise TableError(f"{path}: only one annotator, {annotators[0]!r}; agreement needs at least two")
    table = read_custom(path, columns, scales=dict.fromkeys(annotators), encoding=encoding)
    scores = table.scores.assign(annotator=table.scores["dimension"], dimension=ONE_DIMENSION)
    lows, highs = zip(*table.scales.values(), strict=True)
    scales = {ONE_DIMENSION: (min(lows), max(highs))}
    return Benchmark(path.name, table.questions, scores[list(SCORE_COLUMNS)], scales, tuple(table.scales))


def _from_long(path: Path, columns: ColumnMap | None, encoding: str) -> Benchmark:
    table = read_questions(path, columns, encoding=encoding)
    rest = table.rest
    lacking = [name for name in ("annotator", "score") if name not in rest.columns]
    if lacking:
        there = ", ".join(map(repr, rest.columns)) or "none"
        raise TableError(
            f"{path}: no column {lacking[0]!r}; the other columns are: {there}. Name the columns that hold the "
            "annotators' scores with --annotator, each with one, or keep one score a row (annotator, dimension, score)"
        )
    if "dimension" not in rest.columns:
        there = ", ".join(map(repr, rest.columns))
        raise TableError(
            f"{path}: there is no column 'dimension'; there are: {there}. Give the column that says what was scored "
            "this name, or add it"
        )
    _refuse_empty(path, rest)
    questions = pd.DataFrame(
        {
            "question_id": [q.question_id for q in table.questions],
            "passage_id": [q.passage_id for q in table.questions],
            "source": [q.source for q in table.questions],
        },
        dtype=object,
    )
    scores = questions[["question_id", "source"]].assign(
        dimension=[as_text(cell) or "" for cell in rest["dimension"]],
        annotator=[as_text(cell) or "" for cell in rest["annotator"]],
        score=numbers(path, rest, "score", -float("inf"), float("inf")),
    )
    twice = scores.duplicated(["question_id", "source", "dimension", "annotator"])
    if twice.any():
        row = int(twice.to_numpy().argmax()) + 1
        raise TableError(f"{path}, row {row}: this annotator has scored this question before; remove one of the rows")
    names = tuple(sorted(set(scores["annotator"])))
    if len(names) < 2:
        raise TableError(f"{path}, column 'annotator': fewer than two names; agreement needs at least two")
    scales = {
        str(dimension): observed_scale(path, part.reset_index(drop=True), ["score"])
        for dimension, part in scores.groupby("dimension", sort=False)
    }
    once = questions.drop_duplicates(["question_id", "source"], ignore_index=True)
    once["repeat"] = once["question_id"].duplicated()
    return Benchmark(path.name, once, scores, scales, names)


def _refuse_empty(path: Path, rest: pd.DataFrame) -> None:
    """A row that is one score has no use for an empty cell: it would be dropped, or counted for somebody else."""
    for row, cells in enumerate(rest[["annotator", "dimension", "score"]].to_dict("records"), start=1):
        for column, cell in cells.items():
            if not (as_text(cell) or "").strip():
                raise TableError(f"{path}, row {row}, column {column!r}: is empty; fill it in or remove the row")
