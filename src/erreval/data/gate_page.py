"""Gate reports as one page for people: no scripts, no fonts, no network; light and dark."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from erreval.data.gate_report import Check, GateReport, Listing


def report_page(report: GateReport) -> str:
    """One gate on a page of its own."""
    return _page(report.name, report.passed, _section(report, anchor="", heading="h1"))


def summary_page(name: str, reports: Sequence[GateReport]) -> str:
    """Several gates on one page: an overview, what stops the run, what only warns, then each gate."""
    passed = all(report.passed for report in reports)
    parts = [f"<h1>Gates of <em>{_e(name)}</em></h1>", _told(reports, passed=passed), _gates(reports)]
    for stops, title in ((True, "What stops the run"), (False, "Warnings")):
        lines = [
            f'<li><a href="#{_anchor(report.name)}">{_e(report.name)}</a>: {_e(check.name)}, {_how_many(check)}'
            f"{f' <small>({_e(check.note)})</small>' if check.note else ''}</li>"
            for report in reports
            for check in report.checks
            if not check.passed and check.blocks is stops
        ]
        if lines:
            parts.append(f"<h2>{title}</h2><ul>{''.join(lines)}</ul>")
    parts += [
        f'<article id="{_anchor(report.name)}">{_section(report, anchor=_anchor(report.name), heading="h2")}</article>'
        for report in reports
    ]
    return _page(name, passed, "\n".join(parts))


def _page(name: str, passed: bool, body: str) -> str:
    verdict = "passed" if passed else "not passed"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_e(name)}: {verdict}</title><style>{_STYLE}</style></head><body><main>",
        body,
        "</main></body></html>\n",
    ]
    return "\n".join(parts)


def _section(report: GateReport, *, anchor: str, heading: str) -> str:
    verdict = "Passed" if report.passed else "Not passed"
    warned = len(report.warnings)
    parts = [
        f"<{heading}>Gate <em>{_e(report.name)}</em></{heading}>",
        f"<p><code>{_e(report.file)}</code></p>" if report.file else "",
        f'<p class="{"good" if report.passed else "bad"}">{verdict}: '
        f"{sum(c.passed for c in report.checks)} of {len(report.checks)} checks hold on {report.n_rows:,} rows"
        f"{f', {warned} warn' if warned else ''}.</p>",
        _overview(report.checks, anchor),
        *(_details(check, anchor) for check in report.checks if check.failures),
        *(_listing(listing) for listing in report.listings),
        _counts(report.counts),
    ]
    return "\n".join(part for part in parts if part)


def _told(reports: Sequence[GateReport], *, passed: bool) -> str:
    if passed:
        return f'<p class="good">Passed: none of {len(reports)} gates stops the run.</p>'
    stopped = ", ".join(_e(report.name) for report in reports if not report.passed)
    return f'<p class="bad">Not passed: the run stops at {stopped}.</p>'


def _gates(reports: Sequence[GateReport]) -> str:
    lines = []
    for report in reports:
        outcome, kind = (
            ("stops", "bad") if not report.passed else ("warns", "warn") if report.warnings else ("", "good")
        )
        lines.append(
            f'<tr><td><a href="#{_anchor(report.name)}">{_e(report.name)}</a></td>'
            f'<td class="{kind}">{outcome or "holds"}</td>'
            f'<td class="number">{sum(c.passed for c in report.checks)} of {len(report.checks)}</td>'
            f'<td class="number">{report.n_rows:,}</td><td><code>{_e(report.file)}</code></td></tr>'
        )
    head = "<tr><th>Gate</th><th>Outcome</th><th>Checks that hold</th><th>Rows</th><th>File</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>"


def _how_many(check: Check) -> str:
    return f"{check.n_failed:,} of {check.n_rows:,} rows" if check.n_failed else check.statement


def _overview(checks: Sequence[Check], anchor: str) -> str:
    lines = []
    for check in checks:
        outcome, kind = ("holds", "good") if check.passed else ("fails", "bad") if check.blocks else ("warns", "warn")
        note = f"<br><small>{_e(check.note)}</small>" if check.note else ""
        place = _anchor(anchor, check.name)
        name = f'<a href="#{place}">{_e(check.name)}</a>' if check.failures else _e(check.name)
        lines.append(
            f'<tr><td>{name}</td><td>{_e(check.statement)}{note}</td><td class="{kind}">{outcome}</td>'
            f'<td class="number">{check.n_failed:,}</td><td class="number">{check.n_rows:,}</td></tr>'
        )
    head = "<tr><th>Check</th><th>Rule</th><th>Outcome</th><th>Failing</th><th>Rows</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>"


def _details(check: Check, anchor: str) -> str:
    lines = "".join(
        f'<tr><td class="number">{f.row:,}</td><td>{_e(f.column)}</td><td class="value">{_e(f.value)}</td></tr>'
        for f in check.failures
    )
    more = check.n_failed - len({f.row for f in check.failures})
    rest = f"<p>{more:,} more rows are not listed.</p>" if more > 0 else ""
    head = "<tr><th>Row</th><th>Column</th><th>Value</th></tr>"
    return (
        f'<section id="{_anchor(anchor, check.name)}"><h3>{_e(check.name)}</h3><p>{_e(check.statement)}.</p>'
        f"<table><thead>{head}</thead><tbody>{lines}</tbody></table>{rest}</section>"
    )


def _listing(listing: Listing) -> str:
    head = "".join(f"<th>{_e(name)}</th>" for name in listing.columns)
    lines = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in listing.rows)
    note = f"<p>{_e(listing.note)}</p>" if listing.note else ""
    return (
        f"<section><h3>{_e(listing.title)}</h3>{note}<table><thead><tr>{head}</tr></thead>"
        f"<tbody>{lines}</tbody></table></section>"
    )


def _cell(value: object) -> str:
    return f'<td class="{"number" if isinstance(value, int | float) else "value"}">{_e(value)}</td>'


def _counts(counts: Mapping[str, Any]) -> str:
    if not counts:
        return ""
    lines = "".join(
        f'<tr><td>{_e(name)}</td><td class="number">{_e(value)}</td></tr>' for name, value in counts.items()
    )
    return f"<section><h3>Counts</h3><table><tbody>{lines}</tbody></table></section>"


def _anchor(*names: str) -> str:
    return _e("-".join(name.replace(" ", "-") for name in names if name))


def _e(value: object) -> str:
    return html.escape(str(value), quote=True)


_STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #c62828; --warn: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --good: #4ac26b; --bad: #ff7b72; --warn: #d4a72c; } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; }
main { max-width: 70rem; margin: 0 auto; padding: 1.5rem; }
article { border-top: 2px solid var(--line); margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .4rem .6rem; text-align: left; vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.value, code { overflow-wrap: anywhere; }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
td.good, td.bad, td.warn, p.good, p.bad { font-weight: 600; }
"""
