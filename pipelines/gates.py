"""The gate before every training set, and its report."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from erreval.data.gates import check_training_set
from erreval.frames import ORIGINS
from erreval.layout import Layout


def gate_training_set(frame: pd.DataFrame, layout: Layout, name: str, report: Path) -> None:
    """Check a training set, keep the report as JSON and HTML, and stop the run if the gate does not let it through.

    Raises:
        GateError: Names the offending rows. The report is then printed nowhere else: its folder is not published.
    """
    check(frame, pd.read_parquet(layout.prepared / "protected.parquet"), name, report)


def check(frame: pd.DataFrame, protected: pd.DataFrame | None, name: str, report: Path) -> None:
    """``gate_training_set`` with the protected passages at hand."""
    found = check_training_set(frame, protected, name=name, origins=ORIGINS)
    found.require()
    report.mkdir(parents=True)
    (report / "report.json").write_text(found.to_json(), encoding="utf-8")
    (report / "report.html").write_text(found.to_html(), encoding="utf-8")
