"""What stands in one cell of a table, and how rows become a data frame and back.

Text is text: ``"None"``, ``"nan"``, ``"1984"`` and ``"001"`` stay what they are. An empty cell is ``None``.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

Cell = Any
"""``str``, ``int``, ``float``, ``bool``, ``None``, a date, or (JSON, Parquet) a list or a mapping."""


@dataclass
class Rows:
    """A table as a file format gives it: named columns and one list of cells a row."""

    columns: list[str]
    cells: list[list[Cell]]
    lines: list[int] = field(default_factory=list)
    """The line each row begins on, in formats that have lines."""

    def place(self, row: int) -> str:
        """Where a row (counted from 0) stands, for a person: its number from 1, and its line if there is one."""
        return f"row {row + 1} (line {self.lines[row]})" if self.lines else f"row {row + 1}"


def to_frame(rows: Rows) -> pd.DataFrame:
    """Make a data frame: columns of numbers get a number type, all others hold Python objects and ``None``."""
    columns = {}
    for position, name in enumerate(rows.columns):
        values = [row[position] for row in rows.cells]
        columns[name] = _column(values)
    return pd.DataFrame(columns, index=pd.RangeIndex(len(rows.cells)))


def _column(values: list[Cell]) -> pd.Series[Any]:
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return pd.Series(values, dtype=bool)
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values):
        return pd.Series(values, dtype="int64")
    if kinds in ({float}, {int, float}):
        return pd.Series(values, dtype="float64")
    return pd.Series(values, dtype=object)


def from_frame(frame: pd.DataFrame) -> Rows:
    """The rows of a data frame, with plain Python values and ``None`` for everything missing."""
    columns = [[_plain(value) for value in frame.iloc[:, i].tolist()] for i in range(frame.shape[1])]
    cells = [list(row) for row in zip(*columns, strict=True)] if columns else []
    return Rows([str(name) for name in frame.columns], cells)


def _plain(value: object) -> Cell:
    if isinstance(value, str):
        return value or None
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, (np.ndarray, set, frozenset, tuple)):
        listed = value.tolist() if isinstance(value, np.ndarray) else list(value)
        return sorted(listed, key=str) if isinstance(value, (set, frozenset)) else listed
    return value


def as_text(value: Cell) -> str | None:
    """A cell as text, where a column must be text: a number as people write it, a list as JSON.

    Whole numbers lose the ``.0`` that spreadsheets add: 1984 stored as a number reads ``"1984"``.
    """
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return str(value)


def unpaired_surrogates(cells: Sequence[Sequence[Cell]]) -> Iterator[tuple[int, int]]:
    """Row and column (from 0) of text that holds half of a surrogate pair and so cannot be stored as UTF-8."""
    for i, row in enumerate(cells):
        for j, value in enumerate(row):
            if isinstance(value, str) and not value.isascii():
                try:
                    value.encode("utf-8")
                except UnicodeEncodeError:
                    yield i, j
