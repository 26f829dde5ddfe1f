"""What quality gates found, for programs (JSON), for people (one HTML page), and as an error."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from erreval.data.gate_page import report_page, summary_page
from erreval.errors import GateError

if TYPE_CHECKING:
    import pandas as pd

LISTED = 200
"""The most failing rows that a report lists for one check; their number is always whole."""
_NAMED_IN_ERROR = 5
_VALUE_LIMIT = 160


@dataclass(frozen=True)
class Failure:
    """One row that a check does not let through."""

    row: int
    """Counted from 1, as in the table that was checked."""
    column: str
    value: str
    """The cell, cut to a readable length."""


@dataclass(frozen=True)
class Check:
    """One rule, and the rows that break it."""

    name: str
    statement: str
    """The rule as a sentence."""
    passed: bool
    n_rows: int
    n_failed: int
    failures: tuple[Failure, ...] = ()
    blocks: bool = True
    """Whether a failure stops the run; otherwise it is a warning."""
    note: str = ""
    """What else the reader should know: why a check was not made, what a number means."""


@dataclass(frozen=True)
class Listing:
    """Rows worth showing that break no rule: what was removed, figures beside their thresholds."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""

    @classmethod
    def of(cls, title: str, frame: pd.DataFrame, *, note: str = "") -> Listing:
        """The first ``LISTED`` rows of a frame, long cells cut."""
        shown = frame.head(LISTED).astype(object)
        rows = tuple(
            tuple(cell if isinstance(cell, int | float) else shorten(cell) for cell in row)
            for row in shown.itertuples(index=False, name=None)
        )
        more = len(frame) - len(shown)
        notes = [*([note] if note else []), *([f"{more} more rows are not listed"] if more else [])]
        return cls(title, tuple(map(str, frame.columns)), rows, "; ".join(notes))


@dataclass(frozen=True)
class GateReport:
    """The outcome of one gate. Holds no date, so that the same data give the same report."""

    name: str
    n_rows: int
    checks: tuple[Check, ...]
    counts: Mapping[str, Any] = field(default_factory=dict)
    """Figures worth keeping beside the checks: label counts, say."""
    file: str = ""
    """Whose rows are counted."""
    listings: tuple[Listing, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every check that blocks was passed."""
        return not self.stopping

    @property
    def stopping(self) -> tuple[Check, ...]:
        """The checks that stop the run."""
        return tuple(check for check in self.checks if check.blocks and not check.passed)

    @property
    def warnings(self) -> tuple[Check, ...]:
        """The checks that failed and do not stop the run."""
        return tuple(check for check in self.checks if not check.blocks and not check.passed)

    def stopping_on(self, names: Collection[str]) -> GateReport:
        """The same report where the checks of these names stop the run too."""
        return replace(self, checks=tuple(replace(c, blocks=c.blocks or c.name in names) for c in self.checks))

    def require(self) -> GateReport:
        """Go on only if the gate was passed.

        Raises:
            GateError: Names the file, the failed checks, and the first offending rows of each.
        """
        if self.stopping:
            where = f" ({self.file})" if self.file else ""
            raise GateError(f"gate {self.name!r} not passed{where}: " + "; ".join(map(_told, self.stopping)))
        return self

    def content(self) -> dict[str, Any]:
        """The whole report as JSON has it."""
        content = {"name": self.name, "file": self.file, "passed": self.passed, "n_rows": self.n_rows}
        content |= {"counts": dict(self.counts), "checks": [asdict(check) for check in self.checks]}
        return content | {"listings": [asdict(listing) for listing in self.listings]}

    def to_json(self) -> str:
        """The whole report; the same report gives the same text."""
        return json.dumps(self.content(), ensure_ascii=False, indent=1) + "\n"

    def to_html(self) -> str:
        """One page that needs nothing else."""
        return report_page(self)


@dataclass(frozen=True)
class GateSummary:
    """All gates of one stage."""

    name: str
    reports: tuple[GateReport, ...]

    @property
    def passed(self) -> bool:
        """Whether no gate stops the run."""
        return all(report.passed for report in self.reports)

    def require(self) -> GateSummary:
        """Go on only if every gate was passed.

        Raises:
            GateError: Tells of each gate that was not; see ``GateReport.require``.
        """
        told = []
        for report in self.reports:
            try:
                report.require()
            except GateError as error:
                told.append(str(error))
        if told:
            raise GateError("; ".join(told))
        return self

    def to_json(self) -> str:
        """All reports, and how many checks warn."""
        warnings = sum(len(report.warnings) for report in self.reports)
        content = {"name": self.name, "passed": self.passed, "warnings": warnings}
        content["gates"] = [report.content() for report in self.reports]
        return json.dumps(content, ensure_ascii=False, indent=1) + "\n"

    def to_html(self) -> str:
        """One page that needs nothing else."""
        return summary_page(self.name, self.reports)


def join_reports(name: str, reports: Sequence[GateReport], *, file: str = "") -> GateReport:
    """Several reports about the same table as one; its rows are those of the first."""
    counts: dict[str, Any] = {}
    for report in reports:
        counts |= report.counts
    return GateReport(
        name,
        reports[0].n_rows if reports else 0,
        tuple(check for report in reports for check in report.checks),
        counts,
        file,
        tuple(listing for report in reports for listing in report.listings),
    )


def shorten(value: object) -> str:
    """A cell for a report: cut if it is long, its line breaks shown."""
    text = "(empty)" if value is None or value == "" else str(value).replace("\n", "⏎")
    return text if len(text) <= _VALUE_LIMIT else f"{text[: _VALUE_LIMIT - 1]}…"


def _told(check: Check) -> str:
    rows = ", ".join(f"row {f.row} {f.column} {f.value[:60]!r}" for f in check.failures[:_NAMED_IN_ERROR])
    more = check.n_failed - min(len(check.failures), _NAMED_IN_ERROR)
    told = f"{check.statement} ({check.name})"
    if rows:
        told += f": {rows}" + (f" and {more} more" if more > 0 else "")
    return f"{told} [{check.note}]" if check.note else told
