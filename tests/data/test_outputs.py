"""A stage's table that is damaged or gone is told in one line, with the command that brings it back."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from erreval.data.outputs import read_output
from erreval.errors import TableError


def test_what_was_written_is_read(tmp_path: Path) -> None:
    pd.DataFrame({"a": [1, 2], "b": ["x", None]}).to_parquet(tmp_path / "t.parquet")
    assert read_output(tmp_path / "t.parquet", ["b"]).columns.tolist() == ["b"]


@pytest.mark.parametrize("damage", ["cut", "gone", "other column"])
def test_damage_is_told_with_its_remedy(tmp_path: Path, damage: str) -> None:
    place = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1, 2]}).to_parquet(place)
    if damage == "cut":
        place.write_bytes(place.read_bytes()[:50])
    elif damage == "gone":
        place.unlink()
    with pytest.raises(TableError, match=r"t\.parquet: cannot be read .*`dvc checkout .*` brings it back"):
        read_output(place, ["b"] if damage == "other column" else None)
