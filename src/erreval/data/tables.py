"""The one place that reads and writes users' tables: CSV, TSV, JSONL, JSON, XLSX and Parquet, by the file's ending."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pandas as pd

from erreval.data import binary_formats, text_formats
from erreval.data.cells import Rows, as_text, from_frame, to_frame
from erreval.data.columns import ColumnMap
from erreval.data.files import is_folder, read_bytes, replaceable, replacing
from erreval.errors import TableError
from erreval.records import Question

__all__ = ["ENDINGS", "ColumnMap", "QuestionTable", "read_questions", "read_table", "replacing", "write_table"]

_WRITERS: Mapping[str, Callable[[Path, Rows], bytes]] = MappingProxyType(
    {
        ".csv": lambda path, rows: text_formats.write_delimited(path, rows, ","),
        ".tsv": lambda path, rows: text_formats.write_delimited(path, rows, "\t"),
        ".jsonl": text_formats.write_jsonl,
        ".json": text_formats.write_json,
        ".xlsx": binary_formats.write_xlsx,
        ".parquet": binary_formats.write_parquet,
    }
)

ENDINGS: tuple[str, ...] = tuple(_WRITERS)
"""The file endings that are understood."""


class QuestionTable(NamedTuple):
    """The questions of a table, and the columns that are not part of a question, row for row."""

    questions: list[Question]
    rest: pd.DataFrame


def read_table(path: Path | str, *, encoding: str = "utf-8", sheet: str | None = None) -> pd.DataFrame:
    """Read a table.

    Text is kept exactly as it stands; an empty cell is ``None``. CSV and TSV hold nothing but text. Numbers of the
    other formats stay numbers. A table with a header and no rows is an empty frame.

    Args:
        path: A file with one of the endings in ``ENDINGS``.
        encoding: Of CSV, TSV, JSONL and JSON.
        sheet: Of an XLSX file; the first one where not given.

    Raises:
        TableError: The file cannot be read; the message names the file, the row or line, and what to do.
    """
    return to_frame(_read(Path(path), encoding, sheet))


def _read(path: Path, encoding: str, sheet: str | None) -> Rows:
    ending = _ending(path)
    content = read_bytes(path)
    match ending:
        case ".csv":
            return text_formats.read_delimited(path, content, ",", encoding)
        case ".tsv":
            return text_formats.read_delimited(path, content, "\t", encoding)
        case ".jsonl":
            return text_formats.read_jsonl(path, content, encoding)
        case ".json":
            return text_formats.read_json(path, content, encoding)
        case ".xlsx":
            return binary_formats.read_xlsx(path, content, sheet)
        case _:
            return binary_formats.read_parquet(path, content)


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in _WRITERS and not is_folder(path):
        raise TableError(f"{path}: unknown ending {ending!r}; use one of {', '.join(ENDINGS)}")
    return ending


def write_table(frame: pd.DataFrame, path: Path | str) -> None:
    """Write a table, whole or not at all; the same frame gives the same bytes. The index is not written.

    Missing values (``None``, NaN, NaT) become empty cells.

    Raises:
        TableError: The folder is missing or may not be written, the disk is full, or the format cannot hold a cell.
    """
    path = Path(path)
    ending = _ending(path)
    rows = from_frame(frame)
    text_formats.named(path, rows.columns)
    if is_folder(path):
        raise TableError(f"{path}: is a folder; name a file in it")
    content = _WRITERS[ending](path, rows)
    with replacing(path) as stream:
        stream.write(content)


def read_questions(
    path: Path | str, columns: ColumnMap | None = None, *, encoding: str = "utf-8", sheet: str | None = None
) -> QuestionTable:
    """Read the questions of a user's table.

    Cells that hold numbers (a year as the answer, in XLSX or JSON) are taken as text.

    Args:
        path: The table; see ``read_table``.
        columns: Which column is what; the usual names and their aliases where not given.
        encoding: Of text formats.
        sheet: Of an XLSX file.

    Returns:
        The questions in the order of the rows, and a frame of the other columns.

    Raises:
        TableError: As for ``read_table``; and there is no question column, there are no rows, a question is blank,
            or a cell holds a list where text is needed.
    """
    path = Path(path)
    rows = _read(path, encoding, sheet)
    if rows.columns == [] and not rows.cells:
        raise TableError(f"{path}: there are no rows; it needs at least one question")
    found = (columns or ColumnMap()).resolve(path, rows.columns)
    if not rows.cells:
        raise TableError(f"{path}: there is a header but no row under it; it needs at least one question")
    places = {name: rows.columns.index(column) for name, column in found.items()}
    _refuse_blank_questions(path, rows, places["question"])
    questions = []
    for i, row in enumerate(rows.cells):
        texts: dict[str, str | None] = {}
        for name, place in places.items():
            if isinstance(row[place], (list, dict)):
                raise TableError(
                    f"{path}, {rows.place(i)}, column {rows.columns[place]!r}: a list or an object where text is "
                    "needed; write one text"
                )
            texts[name] = as_text(row[place])
        questions.append(
            Question(
                question=texts["question"] or "",
                passage=texts.get("passage") or "",
                answer=texts.get("answer"),
                source=texts.get("source") or "",
                reference=texts.get("reference"),
            )
        )
    used = set(found.values())
    frame = to_frame(rows)
    return QuestionTable(questions, frame[[name for name in rows.columns if name not in used]])


def _refuse_blank_questions(path: Path, rows: Rows, place: int) -> None:
    blank = [i for i, row in enumerate(rows.cells) if not (as_text(row[place]) or "").strip()]
    if blank:
        more = f" (and {len(blank) - 1} more rows)" if len(blank) > 1 else ""
        raise TableError(
            f"{path}, {rows.place(blank[0])}, column {rows.columns[place]!r}: the question is blank{more}; "
            "fill it in or remove the row"
        )


def check_writable(path: Path | str, frame: pd.DataFrame | None = None) -> None:
    """Find out, before the long work that fills it, that a table can be written at ``path``.

    Args:
        path: Where the table will go.
        frame: Rows that will be part of it; the format must be able to hold their cells.

    Raises:
        TableError: The format is unknown, the folder is missing or may not be written, or a cell is too long for it.
    """
    path = Path(path)
    ending = _ending(path)
    replaceable(path)
    if frame is not None:
        _WRITERS[ending](path, from_frame(frame))
