"""The gates of a stage: their reports are kept, and a run that they do not let through stops."""

from __future__ import annotations

from pathlib import Path

from erreval.data.gate_report import GateSummary
from erreval.errors import GateError
from pipelines.supervision import state_folder


def keep_and_require(found: GateSummary, report: Path) -> None:
    """Keep a stage's gate reports as JSON and HTML, tell its warnings, and stop the run if a gate says so.

    Reports that stop the run are kept in the state folder, since a stage that fails publishes nothing.

    Raises:
        GateError: Names the offending rows, and where the whole report lies.
    """
    try:
        found.require()
    except GateError as stopped:
        kept = state_folder() / "stopped" / found.name
        _write(found, kept)
        raise GateError(f"{stopped}; the whole report is in {kept / 'report.html'}") from stopped
    _write(found, report)
    for one in found.reports:
        for check in one.warnings:
            print(f"{found.name}: gate {one.name} warns: {check.name}, {check.n_failed} of {check.n_rows}", flush=True)


def _write(found: GateSummary, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(found.to_json(), encoding="utf-8")
    (folder / "report.html").write_text(found.to_html(), encoding="utf-8")
