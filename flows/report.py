"""Finished results as small tables, for the terminal and for Prefect's page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from erreval.errors import StageError
from erreval.layout import Layout
from erreval.taxonomy import Dimension

_HEADLINES = {"micro_f1": "micro-F1", "macro_f1": "macro-F1", "exact_match": "exact match"}


@dataclass(frozen=True)
class Table:
    """A title, column names, and rows of cells as they are shown."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def as_text(self) -> str:
        """Aligned columns for a terminal; the first is flush left."""
        widths = [max(len(row[i]) for row in (self.columns, *self.rows)) for i in range(len(self.columns))]
        lines = [
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
            for row in (self.columns, *self.rows)
        ]
        return "\n".join([self.title, lines[0], "-" * len(lines[0]), *lines[1:]])

    def as_markdown(self) -> str:
        """A Markdown table under its title."""
        head = ["| " + " | ".join(self.columns) + " |", "|" + " --- |" * len(self.columns)]
        return "\n".join([f"**{self.title}**", "", *head, *("| " + " | ".join(row) + " |" for row in self.rows)])


def identifier_table(layout: Layout) -> Table:
    """The Error Identifier by round and set, each number beside that of the floor.

    Raises:
        StageError: The refinement has not been summarised.
    """
    result = _read(layout.results / "identifier.json")
    champion = result.get("champion")
    rows = []
    for key, name, block in ((r["round"], s, b) for r in result["rounds"] for s, b in r.items() if s != "round"):
        floor = block.get("floor", {})
        pairs = [f"{_number(block.get(m))} ({_number(floor.get(m))})" for m in _HEADLINES]
        mark = " *" if key == champion else ""
        rows.append((f"{key}{mark}", name, str(block["n"]), *pairs, _number(block.get("over_prediction_rate"))))
    columns = ("round", "set", "n", *_HEADLINES.values(), "over-prediction")
    return Table("Error Identifier (in brackets: always No Error; *: champion)", columns, tuple(rows))


def evaluation_table(layout: Layout) -> Table | None:
    """Pearson's r of the diagnosis with people by dimension, beside the floor; None where nobody scored the questions.

    Raises:
        StageError: The evaluation has not been run.
    """
    result = _read(layout.results / "evaluate.json")
    found = result.get("dimensions") or {}
    if all(row.get("pearson") is None for row in found.values()):
        return None
    rows = [
        (d.value, _number(found[d].get("pearson")), _number(found[d].get("floor")), str(found[d].get("n", "?")))
        for d in Dimension
        if d in found
    ]
    rows.append(("mean of seven", _number(result.get("mean_pearson")), "", ""))
    rows.append(("mean without relevance", _number(result.get("mean_pearson_six")), "", ""))
    title = "Pearson's r with people (floor: best of four trivial features)"
    return Table(title, ("dimension", "pearson", "floor", "n"), tuple(rows))


def evaluation_text(layout: Layout) -> str:
    """The evaluation for a terminal, or why there is nothing to show.

    Raises:
        StageError: The evaluation has not been run.
    """
    table = evaluation_table(layout)
    return table.as_text() if table else _unscored(layout)


def refinement_page(layout: Layout, mlflow: str) -> str:
    """The page that Prefect shows for a refinement, in Markdown."""
    return "\n\n".join([identifier_table(layout).as_markdown(), f"MLflow: {_linked(mlflow)}"])


def evaluation_page(layout: Layout, mlflow: str) -> str:
    """The page that Prefect shows for an evaluation, in Markdown."""
    table = evaluation_table(layout)
    return "\n\n".join([table.as_markdown() if table else _unscored(layout), f"MLflow: {_linked(mlflow)}"])


def _unscored(layout: Layout) -> str:
    return (
        f"No correlation with people in profile {layout.profile}: nobody has scored these questions. "
        f"The diagnoses stand in {layout.diagnosis.relative_to(layout.root)}."
    )


def _linked(address: str) -> str:
    return f"<{address}>" if address.startswith("http") else f"`{address}` (`erreval up` shows it)"


def _number(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}".replace("0.", ".", 1) if 0 <= abs(value) < 1 else f"{value:.3f}"


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise StageError(f"{path}: not there yet; run `erreval run` or `dvc repro`") from None


def where_next(layout: Layout, *, evaluated: bool) -> list[str]:
    """What a person can do now."""

    def shown(path: Path) -> str:
        return path.relative_to(layout.root).as_posix()

    lines = [
        f"numbers     {shown(layout.results)}/ (`dvc metrics show`)",
        f"models      {shown(layout.work / 'models')}/",
        *([f"diagnoses   {shown(layout.diagnosis)}"] if evaluated else []),
        "look at it  erreval up",
        "try it      erreval diagnose --question 'Who it wrote?' --passage '…' --answer '…'",
        "your own    erreval diagnose INPUT.csv -o OUTPUT.csv",
    ]
    if not evaluated:
        lines.insert(2, "go on       erreval evaluate")
    return lines


def box(lines: Sequence[str]) -> str:
    """Lines in a frame."""
    width = max(map(len, lines))
    bar = "─" * (width + 2)
    return "\n".join([f"╭{bar}╮", *(f"│ {line.ljust(width)} │" for line in lines), f"╰{bar}╯"])
