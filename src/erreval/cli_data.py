"""``erreval data …`` and ``erreval compare-systems``: what training sets are made of, which system writes better."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from erreval.studies.systems import Estimate


@click.group(name="data")
def data() -> None:
    """What the data of a run is made of."""


@data.command()
@click.option("--labels", is_flag=True, help="Show the counts of all eleven labels too.")
def log(labels: bool) -> None:
    """List the rounds' training sets: sizes, where samples came from, hashes."""
    from erreval.data.versions import versions
    from erreval.layout import Layout
    from erreval.settings import load_settings

    layout = Layout(load_settings(Path("params.yaml")).profile)
    click.echo(f"profile {layout.profile}")
    for version in versions(layout):
        added = ", ".join(f"{count} {origin}" for origin, count in version.added.items()) or "nothing"
        click.echo(
            f"{version.round_key}  {version.rows} rows on {version.passages} passages  "
            f"added: {added}  sha256 {version.sha256[:12]}"
        )
        if labels:
            for name, count in version.labels.items():
                click.echo(f"      {count:6}  {name}")


@click.command(name="compare-systems")
@click.argument("table", metavar="FILE", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the ranking as a table, too.")
@click.option("--model", help="Folder of an Error Identifier, or 'detectors'. [default: the project's champion]")
@click.option("--question-column", default="question", show_default=True)
@click.option("--passage-column", default="passage", show_default=True)
@click.option("--answer-column", default="answer", show_default=True)
@click.option("--source-column", default="source", show_default=True, help="Names the system of each question.")
@click.option("--seed", default=0, show_default=True, help="Of the resampling behind the intervals.")
@click.option("--encoding", default="utf-8", show_default=True)
def compare_systems(
    table: Path,
    output: Path | None,
    model: str | None,
    question_column: str,
    passage_column: str,
    answer_column: str,
    source_column: str,
    seed: int,
    encoding: str,
) -> None:
    """Rank the question generation systems in FILE by diagnosed errors, without human scores.

    The score is the mean diagnosis score over the seven dimensions. Neighbours in the ranking are compared on the
    passages that they share, with 95 % intervals from resampling passages.
    """
    import numpy as np

    from erreval.data.columns import ColumnMap
    from erreval.data.tables import check_writable, read_questions, write_table
    from erreval.diagnosis.comparison import errors_and_scores
    from erreval.diagnosis.diagnose import find_identifier
    from erreval.studies.systems import rank_systems, ranking_frame

    if output is not None:
        check_writable(output)
    columns = ColumnMap(question=question_column, passage=passage_column, answer=answer_column, source=source_column)
    questions, _ = read_questions(table, columns, encoding=encoding)
    identifier = find_identifier(model)
    _refuse_unnamed(table, source_column, [question.source for question in questions])
    errors, scores = errors_and_scores(questions, identifier)
    ranking = rank_systems(
        [question.source for question in questions],
        [question.passage_id for question in questions],
        errors,
        scores,
        np.random.default_rng(seed),
    )
    click.echo(f"{len(questions)} questions, diagnosed by {identifier.name if identifier else 'the detectors alone'}")
    click.echo(f"{'':3} {'system':28} {'questions':>9} {'score':>22} {'with an error':>22}")
    for position, system in enumerate(ranking.systems, start=1):
        click.echo(
            f"{position:3} {system.name[:28]:28} {system.questions:9} {_estimate(system.score):>22} "
            f"{_estimate(system.error_rate):>22}"
        )
    for gap in ranking.differences:
        if gap.score is None:
            click.echo(f"{gap.better} and {gap.other} share no passage: not compared")
            continue
        clear = "" if gap.score.is_clear else "  (not told apart)"
        click.echo(f"{gap.better} - {gap.other}: {_estimate(gap.score)} on {gap.shared_passages} passages{clear}")
        for error, estimate in sorted(gap.types.items(), key=lambda item: -abs(item[1].value)):
            click.echo(f"      {error.value}: {_estimate(estimate)}")
    if output is not None:
        write_table(ranking_frame(ranking.systems), output)
        click.echo(f"{output}: {len(ranking.systems)} systems")


def _refuse_unnamed(table: Path, column: str, sources: list[str]) -> None:
    from erreval.errors import TableError

    unnamed = next((row for row, source in enumerate(sources, start=1) if not source.strip()), None)
    if unnamed is not None:
        raise TableError(
            f"{table}, row {unnamed}, column {column!r}: no system is named; fill it in or name the column with "
            "--source-column"
        )
    if len(set(sources)) < 2:
        raise TableError(f"{table}, column {column!r}: only one system, {sources[0]!r}; give the rows of at least two")


def _estimate(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f} [unknown]"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
