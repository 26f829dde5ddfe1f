"""What a quality gate found, for programs (JSON), for people (one HTML page), and as an error."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from erreval.errors import GateError

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
class GateReport:
    """The outcome of one gate. Holds no date, so that the same data give the same report."""

    name: str
    n_rows: int
    checks: tuple[Check, ...]
    counts: Mapping[str, Any] = field(default_factory=dict)
    """Figures worth keeping beside the checks: label counts, say."""

    @property
    def passed(self) -> bool:
        """Whether every check that blocks was passed."""
        return all(check.passed for check in self.checks if check.blocks)

    def require(self) -> GateReport:
        """Go on only if the gate was passed.

        Raises:
            GateError: Names the failed checks, and the first offending rows of each.
        """
        failed = [check for check in self.checks if check.blocks and not check.passed]
        if failed:
            raise GateError(f"gate {self.name!r} not passed: " + "; ".join(map(_told, failed)))
        return self

    def to_json(self) -> str:
        """The whole report; the same report gives the same text."""
        content = {"name": self.name, "passed": self.passed, "n_rows": self.n_rows, "counts": dict(self.counts)}
        content["checks"] = [asdict(check) for check in self.checks]
        return json.dumps(content, ensure_ascii=False, indent=1) + "\n"

    def to_html(self) -> str:
        """One page that needs nothing else: no scripts, no fonts, no network; light and dark."""
        verdict = "passed" if self.passed else "not passed"
        parts = [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_e(self.name)}: {verdict}</title><style>{_STYLE}</style></head><body><main>",
            f"<h1>Gate <em>{_e(self.name)}</em></h1>",
            f'<p class="{"good" if self.passed else "bad"}">{verdict.capitalize()}: '
            f"{sum(c.passed for c in self.checks)} of {len(self.checks)} checks hold on {self.n_rows:,} rows.</p>",
            _overview(self.checks),
            *(_details(check) for check in self.checks if check.failures),
            _counts(self.counts),
            "</main></body></html>\n",
        ]
        return "\n".join(part for part in parts if part)


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


def _overview(checks: tuple[Check, ...]) -> str:
    lines = []
    for check in checks:
        outcome, kind = ("holds", "good") if check.passed else ("fails", "bad") if check.blocks else ("warns", "warn")
        note = f"<br><small>{_e(check.note)}</small>" if check.note else ""
        name = f'<a href="#{_e(check.name)}">{_e(check.name)}</a>' if check.failures else _e(check.name)
        lines.append(
            f'<tr><td>{name}</td><td>{_e(check.statement)}{note}</td><td class="{kind}">{outcome}</td>'
            f'<td class="number">{check.n_failed:,}</td><td class="number">{check.n_rows:,}</td></tr>'
        )
    head = "<tr><th>Check</th><th>Rule</th><th>Outcome</th><th>Failing</th><th>Rows</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>"


def _details(check: Check) -> str:
    lines = "".join(
        f'<tr><td class="number">{f.row:,}</td><td>{_e(f.column)}</td><td class="value">{_e(f.value)}</td></tr>'
        for f in check.failures
    )
    more = check.n_failed - len(check.failures)
    rest = f"<p>{more:,} more rows are not listed.</p>" if more > 0 else ""
    head = "<tr><th>Row</th><th>Column</th><th>Value</th></tr>"
    return (
        f'<section id="{_e(check.name)}"><h2>{_e(check.name)}</h2><p>{_e(check.statement)}.</p>'
        f"<table><thead>{head}</thead><tbody>{lines}</tbody></table>{rest}</section>"
    )


def _counts(counts: Mapping[str, Any]) -> str:
    if not counts:
        return ""
    lines = "".join(
        f'<tr><td>{_e(name)}</td><td class="number">{_e(value)}</td></tr>' for name, value in counts.items()
    )
    return f"<section><h2>Counts</h2><table><tbody>{lines}</tbody></table></section>"


def _e(value: object) -> str:
    return html.escape(str(value), quote=True)


_STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #c62828; --warn: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --good: #4ac26b; --bad: #ff7b72; --warn: #d4a72c; } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; }
main { max-width: 70rem; margin: 0 auto; padding: 1.5rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .4rem .6rem; text-align: left; vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.value { overflow-wrap: anywhere; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
td.good, td.bad, td.warn, p.good, p.bad { font-weight: 600; }
"""
