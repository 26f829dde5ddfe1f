"""Tables that stages have written, read back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from erreval.errors import TableError


def read_output(path: Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """A stage's Parquet file.

    Raises:
        TableError: It is not there, damaged, or lacks a column; the message says how to bring it back.
    """
    try:
        return pd.read_parquet(path, columns=None if columns is None else list(columns))
    except (OSError, ValueError) as error:
        why = " ".join(str(error).split())[:120]
        raise TableError(
            f"{path}: cannot be read ({why}); `dvc checkout {path}` brings it back, `dvc repro` makes it again"
        ) from error
