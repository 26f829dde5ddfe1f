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
"""What the dimension is called where a table names none."""


def read_ratings(
    path: Path, columns: ColumnMap | None = None, *, annotators: Sequence[str] = (), encoding: str = "utf-8"
) -> Benchmark:
    """A user's table of single annotators' scores.

    Args:
        path: Either one row a question with a column for each annotator (name these), or one row a score with the
            columns ``annotator``, ``score`` and, if there are several, ``dimension``.
        columns: Which column is what.
        annotators: The columns that hold the annotators' scores, of one dimension.
        encoding: Of text formats.

    Raises:
        TableError: As for ``read_custom``; or an annotator scores a question twice, or there is but one annotator.
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
    questions = pd.DataFrame(
        {
            "question_id": [q.question_id for q in table.questions],
            "passage_id": [q.passage_id for q in table.questions],
            "source": [q.source for q in table.questions],
        },
        dtype=object,
    )
    dimensions = rest["dimension"] if "dimension" in rest else [ONE_DIMENSION] * len(rest)
    scores = questions[["question_id", "source"]].assign(
        dimension=[as_text(cell) or ONE_DIMENSION for cell in dimensions],
        annotator=[as_text(cell) or "" for cell in rest["annotator"]],
        score=numbers(path, rest, "score", -float("inf"), float("inf")),
    )
    twice = scores.duplicated(["question_id", "source", "dimension", "annotator"])
    if twice.any():
        row = int(twice.to_numpy().argmax()) + 1
        raise TableError(f"{path}, row {row}: this annotator has scored this question before; remove one of the rows")
    names = tuple(sorted(set(scores["annotator"]) - {""}))
    if len(names) < 2:
        raise TableError(f"{path}, column 'annotator': fewer than two names; agreement needs at least two")
    scales = {
        str(dimension): observed_scale(path, part.reset_index(drop=True), ["score"])
        for dimension, part in scores.groupby("dimension", sort=False)
    }
    once = questions.drop_duplicates(["question_id", "source"], ignore_index=True)
    once["repeat"] = once["question_id"].duplicated()
    return Benchmark(path.name, once, scores.dropna(subset="score", ignore_index=True), scales, names)
