"""The gate before every training set, and its report."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from erreval.data.gate_report import GateReport
from erreval.data.gates import check_training_set
from erreval.errors import GateError
from erreval.frames import ORIGINS
from erreval.layout import Layout
from pipelines.supervision import state_folder


def gate_training_set(frame: pd.DataFrame, layout: Layout, name: str, report: Path) -> None:
    """Check a training set, keep the report as JSON and HTML, and stop the run if the gate does not let it through.

    Raises:
        GateError: Names the offending rows.
    """
    check(frame, pd.read_parquet(layout.prepared / "protected.parquet"), name, report)


def check(frame: pd.DataFrame, protected: pd.DataFrame | None, name: str, report: Path) -> None:
    """``gate_training_set`` with the protected passages at hand.

    A report that stops the run is kept in the state folder, since a stage that fails publishes nothing.
    """
    found = check_training_set(frame, protected, name=name, origins=ORIGINS)
    try:
        found.require()
    except GateError as stopped:
        kept = state_folder() / "stopped" / name
        _write(found, kept)
        raise GateError(f"{stopped}; the whole report is in {kept / 'report.html'}") from stopped
    _write(found, report)


def _write(found: GateReport, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(found.to_json(), encoding="utf-8")
    (folder / "report.html").write_text(found.to_html(), encoding="utf-8")
