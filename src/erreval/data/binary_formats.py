"""XLSX and Parquet: bytes to rows and back."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Any

from erreval.data.cells import Cell, Rows, as_text
from erreval.data.text_formats import check_storable, named
from erreval.errors import TableError

XLSX_CELL_LIMIT = 32_767
"""The most characters that a cell of an XLSX file can hold."""

_NO_XML = re.compile(r"[\x00-\x08\x0b-\x1f]|_(?=x[0-9A-Fa-f]{4}_)")
_NO_CHARACTER = re.compile("[\ufffe\uffff]")
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_FIXED_TIME = b"2000-01-01T00:00:00Z"


def escape(text: str) -> str:
    """Write characters that XML cannot hold as ``_xHHHH_``, as spreadsheets do (ECMA-376, 22.9.2.19).

    White space alone is written so too: readers take it for layout of the XML.
    """
    if not text.strip(" \t\n\r"):
        return "".join(f"_x{ord(character):04X}_" for character in text)
    return _NO_XML.sub(lambda found: f"_x{ord(found[0]):04X}_", text)


def read_xlsx(path: Path, content: bytes, sheet: str | None) -> Rows:
    """The first sheet, or the one named; the first row is the header.

    Raises:
        TableError: It is no XLSX file, is locked by a password, lacks the sheet, or has no header in its first row.
    """
    title, records = _sheet(path, content, sheet)
    while records and all(value is None for value in records[-1]):
        records.pop()
    if not records:
        raise TableError(f"{path}, sheet {title!r}: the sheet is empty; it needs a header and rows")
    width = max((i + 1 for row in records for i, value in enumerate(row) if value is not None), default=0)
    records = [(row + [None] * width)[:width] for row in records]
    header = [as_text(value) or "" for value in records[0]]
    if not any(header):
        raise TableError(f"{path}, sheet {title!r}: the first row is blank; put the column names there")
    body = records[1:]
    numbered = [(i + 2, row) for i, row in enumerate(body) if any(value is not None for value in row)]
    return Rows(named(path, header), [row for _, row in numbered], [i for i, _ in numbered])


def _sheet(path: Path, content: bytes, sheet: str | None) -> tuple[str, list[list[Cell]]]:
    """The title and all rows of a sheet."""
    import python_calamine

    if content.startswith(_OLE):
        locked = "EncryptedPackage".encode("utf-16-le") in content
        what = "is locked by a password; save it without one" if locked else "is an old .xls file; save it as .xlsx"
        raise TableError(f"{path}: {what}")
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
        kind = python_calamine.SheetTypeEnum.WorkSheet
        sheets = [found.name for found in book.sheets_metadata if found.typ == kind]
        if not sheets:
            raise TableError(f"{path}: the workbook has no sheet with cells; choose another file")
        if sheet is not None and sheet not in sheets:
            raise TableError(f"{path}: no sheet {sheet!r}; there are: {', '.join(sheets)}")
        title = sheet if sheet is not None else sheets[0]
        rows = book.get_sheet_by_name(title).to_python(skip_empty_area=False)
        return title, [[_cell(value) for value in row] for row in rows]
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        raise TableError(
            f"{path}: not an XLSX file, or a damaged one ({' '.join(str(error).split())}); save it again as .xlsx, "
            "or give it the ending of the format it has"
        ) from None


def _cell(value: Cell) -> Cell:
    """Spreadsheets know one kind of number: whole ones become ``int`` here. An error such as #N/A is an empty cell."""
    if value == "":
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def write_xlsx(path: Path, rows: Rows) -> bytes:
    """One sheet; text is always text, never a formula, and the same rows give the same bytes.

    Raises:
        TableError: A text is longer than a cell can hold.
    """
    import openpyxl
    from openpyxl.cell import WriteOnlyCell

    check_storable(path, rows, nul=True)
    cells = [
        [_to_store(path, value, rows.place(i), name) for value, name in zip(row, rows.columns, strict=True)]
        for i, row in enumerate(rows.cells)
    ]
    book = openpyxl.Workbook(write_only=True)
    worksheet = book.create_sheet("Sheet1")

    def written(value: Cell) -> Any:
        if not isinstance(value, str):
            return value
        cell = WriteOnlyCell(worksheet, value)
        cell.data_type = "s"  # text that begins with "=" or reads "#N/A" would become a formula or an error
        return cell

    for row in ([_to_store(path, name, "the header", name) for name in rows.columns], *cells):
        worksheet.append([written(value) for value in row])
    out = io.BytesIO()
    book.save(out)
    return _without_times(out.getvalue())


def _to_store(path: Path, value: Cell, place: str, column: str) -> Cell:
    """A number, or text that fits into a cell; whole numbers beyond double precision become text."""
    if value is None or isinstance(value, (bool, float)) or (isinstance(value, int) and abs(value) < 2**53):
        return value
    text = escape(as_text(value) or "")
    if _NO_CHARACTER.search(text):
        raise TableError(
            f"{path}, {place}, column {column!r}: U+FFFE or U+FFFF, which no XLSX can hold; remove it or write .csv"
        )
    if len(text.encode("utf-16-le")) // 2 > XLSX_CELL_LIMIT:
        raise TableError(
            f"{path}, {place}, column {column!r}: {len(text):,} characters, and an XLSX cell holds "
            f"{XLSX_CELL_LIMIT:,}; write .csv, .jsonl or .parquet instead"
        )
    return text


def _without_times(archive: bytes) -> bytes:
    """Write the archive again with a fixed time, as the same rows must give the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            content = old.read(info)
            if info.filename == "docProps/core.xml":
                content = re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", _FIXED_TIME, content)
            new.writestr(zipfile.ZipInfo(info.filename), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def read_parquet(path: Path, content: bytes) -> Rows:
    """All columns of a Parquet file.

    Raises:
        TableError: It is no Parquet file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO(content))
        columns = [column.to_pylist() for column in table.columns]
    except (pa.ArrowException, OSError, ValueError) as error:
        first = str(error).splitlines()[0].rstrip(".")
        raise TableError(
            f"{path}: not a readable Parquet file ({first}); write it again, or give it the ending of its format"
        ) from None
    names = [name for name in table.column_names if not re.fullmatch(r"__index_level_\d+__", name)]
    kept = [column for name, column in zip(table.column_names, columns, strict=True) if name in names]
    cells = [[None if value == "" else value for value in row] for row in zip(*kept, strict=True)]
    return Rows(named(path, names), cells)


def write_parquet(path: Path, rows: Rows) -> bytes:
    """All columns; a column of nothing is a column of text, one of mixed kinds becomes text.

    Raises:
        TableError: A column cannot be stored.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_storable(path, rows, nul=True)
    arrays = []
    for position, name in enumerate(rows.columns):
        values = [row[position] for row in rows.cells]
        kinds = {type(value) for value in values if value is not None}
        try:
            if len(kinds) > 1 and kinds != {int, float}:
                values, kinds = [as_text(value) for value in values], {str}
            arrays.append(pa.array(values, type=pa.string() if kinds <= {str} else None))
        except (pa.ArrowException, OverflowError, ValueError) as error:
            raise TableError(f"{path}, column {name!r}: cannot be stored as Parquet ({error}); write .jsonl") from None
    out = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, names=rows.columns), out)
    return out.getvalue()
