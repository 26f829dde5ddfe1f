"""Figures for MLflow: per-type F1, confusion, label distribution, rounds, correlations. Each beside its floor.

They are `matplotlib.figure.Figure` objects made without pyplot, so nothing is shared between threads and no
display is needed. The same values give the same picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from erreval.taxonomy import ALL_TYPES, Dimension, ErrorType

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BAR = "#2f6f9f"
_FLOOR = "#b5532a"
_QUIET = "#6b7280"


def per_type_f1(block: Mapping[str, Any], *, title: str) -> Figure:
    """F1 of each of the eleven types as a bar, with the number of examples, the floor's as a tick.

    The floor always answers No Error, so its F1 is 0 on the ten errors and 2c / (c + n) on the c of n questions
    that have none.

    Args:
        block: ``{"n", "types": [{"type", "count", "f1", …}]}``; a null F1 has no bar and says so.
        title: What was measured, on which set.
    """
    types: Mapping[str, Mapping[str, Any]] = {row["type"]: row for row in block.get("types") or []}
    figure, axes = _canvas(height=0.38 * len(ALL_TYPES) + 1.4)
    for at, label in enumerate(ALL_TYPES):
        row = types.get(label.value, {})
        count, n, floor = row.get("count"), block.get("n"), 0.0
        if label is ErrorType.NO_ERROR and count and n:
            floor = 2 * count / (count + n)
        _bar(axes, at, row.get("f1"), floor, f"n = {'?' if count is None else count}")
    _label_rows(axes, [label.value for label in ALL_TYPES])
    axes.set_xlim(0, 1.3)
    axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    _finish(axes, title, "F1 (tick: always answering No Error)")
    return figure


def confusion(labels: Sequence[str], matrix: Sequence[Sequence[float]], *, title: str) -> Figure:
    """How often each predicted label (column) stands on questions with each true label (row).

    Labels are sets, so a question counts once for every pair of a true and a predicted label. Shades are shares
    of the row; the numbers are counts.
    """
    figure, axes = _canvas(height=6.4, width=7.6)
    shares = [[value / max(sum(row), 1) for value in row] for row in matrix]
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            if value:
                shade = "white" if shares[i][j] > 0.55 else "black"
                axes.text(j, i, f"{value:g}", ha="center", va="center", fontsize=8, color=shade)
    axes.set_xticks(range(len(labels)), labels, rotation=40, ha="right", fontsize=8)
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.set_ylabel("true")
    _finish(axes, title, "predicted")
    return figure


def reliability(block: Mapping[str, Any], *, title: str) -> Figure:
    """Whether probabilities mean what they say: on the diagonal they do. One point a bin, its area by its questions.

    Args:
        block: ``{"types": [{"type", "count", "reliability": [{"n", "mean_probability", "share_true"}]}]}``.
        title: What was measured, on which set.
    """
    figure, axes = _canvas(height=5.6)
    axes.plot([0, 1], [0, 1], color=_QUIET, linewidth=0.8, linestyle="--")
    rows = [row for row in block.get("types") or [] if row.get("reliability") and row.get("count")]
    for row in rows:
        bins = row["reliability"]
        x, y = ([b[key] for b in bins] for key in ("mean_probability", "share_true"))
        areas = [6 + 1.2 * b["n"] for b in bins]
        axes.scatter(x, y, s=areas, alpha=0.55, label=f"{row['type']} (n = {row['count']})")
    if rows:
        legend = axes.legend(frameon=False, fontsize=8, loc="upper left")
        for handle in legend.legend_handles:
            handle.set_sizes([24])  # type: ignore[union-attr]
    axes.set_ylabel("share of questions that have it", fontsize=9)
    _finish(axes, title, "mean probability of the type, by bin")
    return figure


def label_distribution(counts: Mapping[str, int], *, title: str) -> Figure:
    """How many questions carry each label."""
    names = [t.value for t in ALL_TYPES]
    figure, axes = _canvas(height=0.34 * len(names) + 1.3)
    values = [counts.get(name, 0) for name in names]
    axes.barh(range(len(names)), values, color=_BAR, height=0.68)
    for at, value in enumerate(values):
        axes.annotate(f"{value:,}", (value, at), (4, 0), textcoords="offset points", va="center", fontsize=8)
    _label_rows(axes, names)
    axes.set_xlim(0, max([*values, 1]) * 1.15)
    _finish(axes, title, "questions")
    return figure


def rounds(lines: Mapping[str, Sequence[float | None]], floors: Mapping[str, float | None], *, title: str) -> Figure:
    """A score over the rounds, a line for each set it was measured on, its floor dashed.

    Args:
        lines: Set to one value for each round, r0 first; null values leave a gap.
        floors: Set to the floor's value.
        title: What was measured.
    """
    figure, axes = _canvas(height=3.6)
    colours = [_BAR, "#4f9d69", "#8a6bb1"]
    for (name, values), colour in zip(lines.items(), colours, strict=False):
        line = [float("nan") if value is None else value for value in values]
        axes.plot(range(len(line)), line, marker="o", color=colour, label=name)
        floor = floors.get(name)
        if floor is not None:
            axes.axhline(floor, color=colour, linestyle="--", linewidth=1, label=f"{name}: floor")
    count = max((len(values) for values in lines.values()), default=0)
    axes.set_xticks(range(count), [f"r{k}" for k in range(count)])
    axes.set_ylim(0, 1)
    if lines:
        axes.legend(frameon=False, fontsize=8)
    _finish(axes, title, "round")
    return figure


def correlations(dimensions: Mapping[str, Mapping[str, Any]], *, title: str) -> Figure:
    """Pearson's r with the human score for each dimension as a bar, the floor as a tick, with n."""
    names = [d.value for d in Dimension if d.value in dimensions]
    figure, axes = _canvas(height=0.42 * max(len(names), 1) + 1.4)
    lowest = 0.0
    for at, name in enumerate(names):
        row = dimensions[name]
        feature = f", floor: {row['floor_feature']}" if row.get("floor_feature") else ""
        n = row.get("n")
        _bar(axes, at, row.get("pearson"), row.get("floor"), f"n = {'?' if n is None else f'{n:,}'}{feature}")
        lowest = min([lowest, *(row[k] for k in ("pearson", "floor") if row.get(k) is not None)])
    _label_rows(axes, [name.replace("_", " ") for name in names])
    axes.set_xlim(lowest * 1.1, 1.6)
    axes.set_xticks([tick / 5 for tick in range(-5, 6) if tick / 5 >= lowest])
    axes.axvline(0, color=_QUIET, linewidth=0.8)
    _finish(axes, title, "Pearson's r with the human score (tick: best trivial feature)")
    return figure


def _canvas(*, height: float, width: float = 7.6) -> tuple[Figure, Axes]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=110)
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _bar(axes: Axes, at: int, value: float | None, floor: float | None, note: str) -> None:
    if value is not None:
        axes.barh(at, value, color=_BAR, height=0.62)
    if floor is not None:
        axes.plot([floor, floor], [at - 0.4, at + 0.4], color=_FLOOR, linewidth=2.2)
    told = f"{value:.3f}" if value is not None else "unknown"
    if floor:
        told += f" (floor {floor:.3f})"
    end = max(value or 0.0, floor or 0.0, 0.0)
    axes.annotate(
        f"{told}   {note}", (end, at), (5, 0), textcoords="offset points", va="center", fontsize=8, color=_QUIET
    )


def _label_rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names, fontsize=9)
    axes.set_ylim(len(names) - 0.4, -0.6)


def _finish(axes: Axes, title: str, xlabel: str) -> None:
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_xlabel(xlabel, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
