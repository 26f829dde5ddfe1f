"""Users' tables of questions with error labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from erreval.data.cells import as_text
from erreval.data.columns import ColumnMap
from erreval.data.tables import read_questions
from erreval.errors import TableError
from erreval.records import Question
from erreval.taxonomy import LABEL_SEPARATOR, ErrorType, parse_label_set

LABEL_COLUMNS = ("labels", "error_label")
"""The usual names of the label column: ours, and that of the published files."""

DIAGNOSIS_COLUMNS = ("diagnosed_by", "p_no_error")
"""What `erreval diagnose` writes beside its own ``labels``."""


class Labelled(NamedTuple):
    """Questions and their label sets, in the order of the rows."""

    questions: list[Question]
    label_sets: list[frozenset[ErrorType]]
    column: str
    """Where the labels were read from."""


def read_labelled(
    path: Path | str,
    columns: ColumnMap | None = None,
    *,
    label_column: str | None = None,
    encoding: str = "utf-8",
    refuse_diagnosed: bool = False,
) -> Labelled:
    """Read a table whose label column holds label sets such as ``Vague; Off Target Answer``.

    Args:
        path: The table.
        columns: Which column is what.
        label_column: The labels; by default the first of ``LABEL_COLUMNS`` that is there.
        encoding: Of text formats.
        refuse_diagnosed: Take no label column by default from a table that also holds a diagnosis: ``labels`` are then
            the predictions, not the truth.

    Raises:
        TableError: As for ``read_questions``; or there is no label column, a cell is no label set, or the table is
            refused as diagnosed.
    """
    table = read_questions(path, columns, encoding=encoding)
    diagnosis = [name for name in DIAGNOSIS_COLUMNS if name in table.rest.columns]
    if refuse_diagnosed and diagnosis and label_column is None:
        raise TableError(
            f"{path}: column {diagnosis[0]!r} says that it holds a diagnosis, whose labels are predictions; say with "
            "--label-column which column is the truth"
        )
    choices: Sequence[str] = (label_column,) if label_column else LABEL_COLUMNS
    column = next((name for name in choices if name in table.rest.columns), None)
    if column is None:
        there = ", ".join(map(repr, table.rest.columns)) or "none"
        raise TableError(
            f"{path}: no label column {choices[0]!r}; the other columns are: {there}. Name yours with --label-column"
        )
    label_sets = []
    for row, cell in enumerate(table.rest[column], start=1):
        try:
            label_sets.append(parse_label_set(as_text(cell) or ""))
        except ValueError as error:
            raise TableError(
                f"{path}, row {row}, column {column!r}: {error}; separate labels with {LABEL_SEPARATOR.strip()!r}"
            ) from None
    return Labelled(table.questions, label_sets, column)


def parse_types(text: str) -> tuple[ErrorType, ...]:
    """Error types from an option such as ``Vague,spell_error``, in the order of the taxonomy; ``all`` is all eleven.

    Raises:
        TableError: A name is unknown; all unknown ones are told.
    """
    if text.strip().lower() == "all":
        return tuple(ErrorType)
    known = {_folded(t.value): t for t in ErrorType}
    names = [part.strip() for part in text.replace(";", ",").split(",") if part.strip()]
    unknown = [name for name in names if _folded(name) not in known]
    if unknown or not names:
        what = ", ".join(map(repr, unknown)) or "nothing"
        raise TableError(f"{what}: no error type; the types are {', '.join(t.value for t in ErrorType)}, or all")
    chosen = {known[_folded(name)] for name in names}
    return tuple(t for t in ErrorType if t in chosen)


def _folded(name: str) -> str:
    return name.lower().replace("_", " ").replace("-", " ")
