"""``erreval with-judge``: a judge's scores joined with the diagnosis, at a weight that is stated."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from erreval.cli_outputs import check_outputs
from erreval.errors import ErrevalError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

FEWEST = 3
"""Questions with both scores."""


@click.command(name="with-judge")
@click.argument("table", metavar="DIAGNOSED", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Where to write the table.")
@click.option(
    "--judge",
    "judges",
    multiple=True,
    required=True,
    metavar="DIMENSION=COLUMN",
    help="The column with a judge's scores of a dimension; may be repeated.",
)
@click.option(
    "--weight", type=click.FloatRange(0, 1), default=0.5, show_default=True, help="Of the diagnosis against the judge."
)
def with_judge(table: Path, output: Path, judges: tuple[str, ...], weight: float) -> None:
    """Join a judge's scores with the diagnosis in a table that `erreval diagnose` has written.

    Adds for each dimension `with_judge_DIMENSION`, the weighted mean of both, each standardised over the questions
    that have both, and `level_DIMENSION`, 1 to 3 by rank. Fix the weight before you look at human scores.
    """
    import numpy as np

    from erreval.data.tables import read_table, write_table
    from erreval.studies.judge_fusion import LEVEL_SHARES, fuse_with_judge, three_levels

    asked = [_asked(text) for text in judges]
    twice = [name for name, _ in asked if [d for d, _ in asked].count(name) > 1]
    if twice:
        raise ErrevalError(f"--judge names {twice[0]} twice; join one judge at a time")
    check_outputs([table], [output])
    rows = read_table(table)
    scores = {
        dimension: (_numbers(table, rows, column), _numbers(table, rows, f"score_{dimension}"))
        for dimension, column in asked
    }
    for dimension, (judged, diagnosed) in scores.items():
        fused = fuse_with_judge(judged, diagnosed, weight)
        if fused.n < FEWEST:
            raise ErrevalError(
                f"{table}: {fused.n} of {len(rows)} questions have both scores of {dimension}; at least {FEWEST} are "
                "needed, since both are standardised over them"
            )
        both = np.isfinite(fused.scores)
        if len(set(judged[both])) == 1:
            click.echo(f"warning: the judge gives all questions the same {dimension}, so it tells nothing", err=True)
        for column in {f"with_judge_{dimension}", f"level_{dimension}"} & set(rows.columns):
            raise ErrevalError(
                f"{table}: there is a column {column!r} already; join with the diagnosed table as it was"
            )
        rows[f"with_judge_{dimension}"] = _cells(fused.scores.round(6))
        rows[f"level_{dimension}"] = _cells(three_levels(fused.scores))
        told = f"{fused.n} of {len(rows)} questions have both scores; weight of the diagnosis {fused.weight:g}"
        click.echo(f"{dimension}: {told}")
    low, middle = LEVEL_SHARES
    click.echo(f"levels by rank: the lowest {low:.0%} are 1, up to {middle:.0%} are 2, the rest 3")
    write_table(rows, output)


def _asked(text: str) -> tuple[str, str]:
    from erreval.taxonomy import Dimension

    dimension, sign, column = text.partition("=")
    if not sign or not column:
        raise ErrevalError(f"--judge {text}: write it as DIMENSION=COLUMN, such as answerability=gpt4")
    if dimension not in {d.value for d in Dimension}:
        raise ErrevalError(f"--judge {text}: no such dimension; there are: {', '.join(d.value for d in Dimension)}")
    return dimension, column


def _numbers(table: Path, rows: pd.DataFrame, column: str) -> np.ndarray:
    """The column as numbers, NaN where a cell is empty."""
    import numpy as np

    from erreval.data.readers.frames import numbers

    if column not in rows.columns:
        remedy = "; run `erreval diagnose` on it first" if column.startswith("score_") else ""
        raise ErrevalError(f"{table}: there is no column {column!r}; there are: {', '.join(rows.columns)}{remedy}")
    return np.array(numbers(table, rows, column, -math.inf, math.inf))


def _cells(values: np.ndarray) -> list[float | None]:
    return [None if value != value else float(value) for value in values]
