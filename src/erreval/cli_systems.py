"""``erreval compare-systems``: which question generation system writes better, without human scores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from erreval.cli_columns import column_options
from erreval.cli_outputs import check_outputs, counted, with_interval
from erreval.cli_progress import progress_bar

if TYPE_CHECKING:
    from erreval.data.columns import ColumnMap
    from erreval.studies.systems import Difference, Estimate, Ranking


@click.command(name="compare-systems")
@click.argument("table", metavar="FILE", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the ranking as a table, too.")
@click.option("--pairs", type=click.Path(path_type=Path), help="Write the difference of every two systems as a table.")
@click.option("--model", help="Folder of an Error Identifier, or 'detectors'. [default: the project's champion]")
@click.option("--seed", default=0, show_default=True, help="Of the resampling behind the intervals.")
@column_options
def compare_systems(
    table: Path,
    output: Path | None,
    pairs: Path | None,
    model: str | None,
    seed: int,
    columns: ColumnMap,
    encoding: str,
) -> None:
    """Rank the question generation systems in FILE by diagnosed errors, without human scores.

    The score is the mean diagnosis score over the seven dimensions. Each system is compared with the next in the
    ranking that wrote on the same passages, with 95 % intervals from resampling passages, and the error types that
    make the difference are named.
    """
    import numpy as np

    from erreval.data.tables import read_questions, write_table
    from erreval.diagnosis.comparison import errors_and_scores
    from erreval.diagnosis.diagnose import find_identifier
    from erreval.studies.systems import difference_frame, rank_systems, ranking_frame

    check_outputs([table], [output, pairs])
    questions, _ = read_questions(table, columns, encoding=encoding)
    _refuse_unnamed(table, columns.source, [question.source for question in questions])
    _warn_of_spellings(table, columns.source, [question.source for question in questions])
    identifier = find_identifier(model)
    errors, scores = errors_and_scores(questions, identifier, progress_bar(questions))
    ranking = rank_systems(
        [question.source for question in questions],
        [question.passage_id for question in questions],
        errors,
        scores,
        np.random.default_rng(seed),
    )
    by = identifier.name if identifier else "the detectors alone"
    click.echo(f"{counted(len(questions), 'question')}, diagnosed by {by}")
    _print_ranking(ranking)
    for difference in ranking.differences:
        _print_difference(difference)
    for place, frame in ((output, ranking_frame(ranking)), (pairs, difference_frame(ranking.pairs))):
        if place is not None:
            write_table(frame, place)
            click.echo(f"{place}: {counted(len(frame), 'row')}")


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


def _warn_of_spellings(table: Path, column: str, sources: list[str]) -> None:
    """Names that differ only in white space or case are most likely one system, but that is not for us to decide."""
    spellings: dict[str, list[str]] = {}
    for source in dict.fromkeys(sources):
        spellings.setdefault(" ".join(source.casefold().split()), []).append(source)
    for names in spellings.values():
        if len(names) > 1:
            told = " and ".join(map(repr, names))
            click.echo(
                f"warning: {table}, column {column!r}: {told} differ only in white space or case and are compared as "
                "different systems; write them alike if they are one",
                err=True,
            )


def _print_ranking(ranking: Ranking) -> None:
    width = max(len(system.name) for system in ranking.systems)
    by_name = {system.name: system for system in ranking.systems}
    if len(ranking.groups) > 1:
        click.echo(
            f"{len(ranking.groups)} groups of systems wrote on different passages: scores compare within a group only"
        )
    for number, group in enumerate(ranking.groups, start=1):
        title = f"group {number}" if len(ranking.groups) > 1 else "system"
        click.echo(f"{'':3} {title:{width}} {'questions':>9} {'score':>22} {'with an error':>22}")
        for position, system in enumerate((by_name[name] for name in group), start=1):
            click.echo(
                f"{position:3} {system.name:{width}} {system.questions:9} {_estimate(system.score):>22} "
                f"{_estimate(system.error_rate):>22}"
            )


def _print_difference(gap: Difference) -> None:
    if gap.score is None:
        click.echo(f"{gap.better} and {gap.other} share no passage: not compared")
        return
    shared = counted(gap.shared_passages, "passage")
    verdict = "" if gap.score.is_clear else "  (not told apart)"
    click.echo(f"{gap.better} - {gap.other}: {_estimate(gap.score)} on {shared}{verdict}")
    for error, estimate in sorted(gap.types.items(), key=lambda item: -abs(item[1].value)):
        click.echo(f"      {error.value}: {_estimate(estimate)}")
    if not gap.types:
        click.echo("      no single error type differs clearly")


def _estimate(estimate: Estimate) -> str:
    return with_interval(estimate.value, estimate.low, estimate.high)
