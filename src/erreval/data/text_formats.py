"""CSV, TSV, JSON Lines and JSON: bytes to rows and back, with the line of every mistake."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from erreval.data.cells import Rows, as_text, unpaired_surrogates
from erreval.errors import TableError


def decode(path: Path, content: bytes, encoding: str) -> str:
    """Bytes to text; a byte-order mark is dropped.

    Raises:
        TableError: The encoding is unknown, the bytes are not in it, or the text holds NUL characters.
    """
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        raise TableError(f"{path}: unknown encoding {encoding!r}; try --encoding utf-8, cp1252 or utf-16") from None
    try:
        text = content.decode("utf-8-sig" if name == "utf-8" else name)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        likely = "utf-16" if content[:2] in {b"\xff\xfe", b"\xfe\xff"} else "cp1252"
        raise TableError(
            f"{path}, line {line}: byte 0x{content[error.start]:02x} at offset {error.start} is not {encoding}; "
            f"save the file as UTF-8 or name its encoding with --encoding (often {likely})"
        ) from None
    at = text.find("\x00")
    if at >= 0:
        line = text.count("\n", 0, at) + 1
        raise TableError(
            f"{path}, line {line}: a NUL character; the file is damaged, is not a text file, "
            "or needs another --encoding (often utf-16)"
        )
    return text


def read_delimited(path: Path, content: bytes, delimiter: str, encoding: str) -> Rows:
    """CSV or TSV with a header. Blank lines are skipped; a column without a name is called ``column N``.

    A CSV file whose header has no comma but semicolons or tabs, as spreadsheets of many countries save it, is read by
    these.

    Raises:
        TableError: An unbalanced quote, a row of another length, or a column named twice.
    """
    text = decode(path, content, encoding)
    if not text.strip():
        raise TableError(f"{path}: the file is empty; it needs a header and at least one row")
    with _long_fields():
        if delimiter == ",":
            delimiter = _sniffed(text)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        records = _records(path, reader)
        _, header = next(records)
        columns = named(path, header)
        rows = Rows(columns, [])
        for line, record in records:
            if len(record) != len(columns):
                raise TableError(
                    f"{path}, line {line}, row {len(rows.cells) + 1}: {len(record)} cells where the header has "
                    f"{len(columns)}; put cells that contain {_name(delimiter)}, quotes or line breaks in double quotes"
                )
            rows.cells.append([cell or None for cell in record])
            rows.lines.append(line)
    return rows


_OTHER_DELIMITERS = (";", "\t")


def _sniffed(text: str) -> str:
    """What separates the cells of a CSV file: the comma, unless the header is one cell by it and several by another."""

    def cells(delimiter: str) -> int:
        try:
            header = next(csv.reader(io.StringIO(text.lstrip("\r\n"), newline=""), delimiter=delimiter, strict=True))
        except csv.Error:  # a quote that ends before this delimiter: not the one that the file was written with
            return 0
        return len(header)

    if cells(",") > 1:
        return ","
    return next((delimiter for delimiter in _OTHER_DELIMITERS if cells(delimiter) > 1), ",")


@contextmanager
def _long_fields() -> Iterator[None]:
    """Lift the csv module's limit of 131,072 characters a cell while one file is read."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _records(path: Path, reader: Any) -> Iterator[tuple[int, list[str]]]:
    while True:
        line = reader.line_num + 1
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise TableError(
                f"{path}, line {line}: an unbalanced quote ({error}); "
                'close it, or double the quotes inside a quoted cell ("")'
            ) from None
        if record:
            yield line, record


def _name(delimiter: str) -> str:
    return {"\t": "tabs", ";": "semicolons"}.get(delimiter, "commas")


def named(path: Path, header: list[str]) -> list[str]:
    """Column names, each once; nameless columns become ``column N``.

    Raises:
        TableError: A name stands twice.
    """
    columns = [name if name.strip() else f"column {i}" for i, name in enumerate(header, start=1)]
    for i, name in enumerate(columns):
        if name in columns[:i]:
            raise TableError(f"{path}: column {name!r} stands twice in the header; rename or remove one")
    return columns


class _PlainLineEnds:
    """Ends rows with LF. The csv module only quotes the line ends it writes itself, so it is asked for CRLF."""

    def __init__(self, out: io.StringIO) -> None:
        self._out = out

    def write(self, row: str) -> None:
        self._out.write(row.removesuffix("\r\n"))
        self._out.write("\n")


def write_delimited(path: Path, rows: Rows, delimiter: str) -> bytes:
    """CSV or TSV in UTF-8, LF line ends, quotes where they are needed.

    Raises:
        TableError: A cell cannot be stored: NUL or half of a surrogate pair.
    """
    check_storable(path, rows, nul=False)
    out = io.StringIO(newline="")
    writer = csv.writer(_PlainLineEnds(out), delimiter=delimiter, lineterminator="\r\n")
    alone = len(rows.columns) == 1 and any(other in rows.columns[0] for other in _OTHER_DELIMITERS)
    header = csv.writer(_PlainLineEnds(out), lineterminator="\r\n", quoting=csv.QUOTE_ALL) if alone else writer
    header.writerow(rows.columns)  # quoted where it would else be taken for several columns
    writer.writerows([as_text(cell) for cell in row] for row in rows.cells)
    return out.getvalue().encode("utf-8")


def check_storable(path: Path, rows: Rows, *, nul: bool) -> None:
    """Refuse text that a UTF-8 file cannot hold.

    Raises:
        TableError: Names the first row and column with half of a surrogate pair or, unless ``nul``, a NUL.
    """
    for i, j in unpaired_surrogates(rows.cells):
        raise TableError(
            f"{path}, {rows.place(i)}, column {rows.columns[j]!r}: half of a surrogate pair (a broken emoji, usually), "
            "which no UTF-8 file can hold; remove it"
        )
    if not nul:
        for i, row in enumerate(rows.cells):
            for j, cell in enumerate(row):
                if isinstance(cell, str) and "\x00" in cell:
                    raise TableError(
                        f"{path}, {rows.place(i)}, column {rows.columns[j]!r}: a NUL character, which this format "
                        "cannot hold; remove it or write JSONL"
                    )


def read_jsonl(path: Path, content: bytes, encoding: str) -> Rows:
    """One JSON object a line; the columns are all keys, in the order they first appear.

    Raises:
        TableError: A line is not a whole JSON object.
    """
    text = decode(path, content, encoding)
    records: list[dict[str, Any]] = []
    lines: list[int] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line, parse_constant=_constant)
        except (json.JSONDecodeError, RecursionError) as error:
            why = f"{error.msg} at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else "too deep"
            raise TableError(
                f"{path}, line {number}, row {len(records) + 1}: not a whole JSON object ({why}); "
                "the line is cut off or damaged: complete or remove it"
            ) from None
        if not isinstance(record, dict):
            raise TableError(
                f"{path}, line {number}, row {len(records) + 1}: {_kind(record)} where an object is needed; "
                'write {"question": "…"} on each line, or name the file .json if it is one JSON document'
            )
        records.append(record)
        lines.append(number)
    if not records:
        raise TableError(f"{path}: the file is empty; it needs at least one row")
    rows = _from_records(records, lines)
    check_storable(path, rows, nul=True)
    return rows


def read_json(path: Path, content: bytes, encoding: str) -> Rows:
    """One JSON array of objects.

    Raises:
        TableError: The document is damaged or has another shape.
    """
    text = decode(path, content, encoding)
    if not text.strip():
        raise TableError(f"{path}: the file is empty; it needs a JSON array of objects")
    try:
        document = json.loads(text, parse_constant=_constant)
    except json.JSONDecodeError as error:
        hint = "; one object a line is JSONL: name the file .jsonl" if error.msg == "Extra data" else ""
        raise TableError(
            f"{path}, line {error.lineno}: not JSON ({error.msg} at column {error.colno}){hint}; "
            "complete or repair the file"
        ) from None
    except RecursionError:
        raise TableError(f"{path}: nested too deeply; write a JSON array of flat objects") from None
    if not isinstance(document, list):
        keys = f" with the keys {', '.join(map(str, list(document)[:5]))}" if isinstance(document, dict) else ""
        raise TableError(
            f"{path}: {_kind(document)}{keys} where an array of objects is needed; "
            'write [{"question": "…"}, …], or use the reader of that data set'
        )
    for i, record in enumerate(document):
        if not isinstance(record, dict):
            raise TableError(f"{path}, row {i + 1}: {_kind(record)} where an object is needed; write objects only")
    rows = _from_records(document, [])
    check_storable(path, rows, nul=True)
    return rows


def _constant(name: str) -> float | None:
    return None if name == "NaN" else float(name)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "an array", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _from_records(records: list[dict[str, Any]], lines: list[int]) -> Rows:
    columns = list(dict.fromkeys(key for record in records for key in record))
    cells = [[_empty_is_none(record.get(key)) for key in columns] for record in records]
    return Rows(columns, cells, lines)


def _empty_is_none(value: Any) -> Any:
    return None if value == "" else value


def write_jsonl(path: Path, rows: Rows) -> bytes:
    """One JSON object a line, every column in each."""
    check_storable(path, rows, nul=True)
    lines = [_dumps(dict(zip(rows.columns, row, strict=True))) + "\n" for row in rows.cells]
    return "".join(lines).encode("utf-8")


def write_json(path: Path, rows: Rows) -> bytes:
    """One JSON array, one object a line."""
    check_storable(path, rows, nul=True)
    body = ",\n".join(_dumps(dict(zip(rows.columns, row, strict=True))) for row in rows.cells)
    return (f"[\n{body}\n]\n" if body else "[]\n").encode("utf-8")


def _dumps(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, default=as_text)
