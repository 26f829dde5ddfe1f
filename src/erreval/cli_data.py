"""``erreval data …``: what training sets are made of, what gives scores away, how far people agree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from erreval.cli_columns import column_options
from erreval.cli_outputs import check_outputs, counted, with_interval
from erreval.errors import ErrevalError, GateError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from erreval.data.columns import ColumnMap
    from erreval.data.readers.frames import Benchmark
    from erreval.studies.agreement import AgreementStudy, Estimate

_STRONGEST = 5
_FEWEST_RESAMPLES = 20
"""Fewer leave no resample outside a 95 % interval."""
_SHOWN = ("question_id", "source", "passage", "answer", "question", "reference")
"""Of a public benchmark: what has been tested, and the id."""


@click.group(name="data")
def data() -> None:
    """What the data of a run is made of, and how far it can be trusted."""


@data.command()
@click.option("--labels", is_flag=True, help="Show the counts of all eleven labels too.")
def log(labels: bool) -> None:
    """List the rounds' training sets: sizes, where samples came from, hashes."""
    from erreval.data.versions import versions
    from erreval.layout import Layout
    from erreval.settings import load_settings

    layout = Layout(load_settings(Path("params.yaml")).profile)
    found = versions(layout)
    click.echo(f"profile {layout.profile}")
    for version in found:
        added = ", ".join(f"{count} {origin}" for origin, count in version.added.items()) or "nothing"
        click.echo(
            f"{version.round_key}  {version.rows} rows on {version.passages} passages  "
            f"added: {added}  sha256 {version.sha256[:12]}"
        )
        if labels:
            for name, count in version.labels.items():
                click.echo(f"      {count:6}  {name}")


@data.command()
@click.argument("what", metavar="BENCHMARK|FILE")
@click.option("--score", "scores", multiple=True, metavar="COLUMN", help="Holds human scores (of a FILE; repeat it).")
@click.option("--scale", type=(float, float), metavar="LOW HIGH", help="Of these scores. [default: what occurs]")
@click.option("--mask", "masked", multiple=True, metavar="FIELD", help="passage, answer, reference, source, position.")
@click.option("--threshold", type=click.FloatRange(0, 1), default=0.9, show_default=True, help="Strength that blocks.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the table that a judge may see.")
@click.option("--report", type=click.Path(path_type=Path), help="Write the gate's report as an HTML page.")
@column_options
def leaks(
    what: str,
    scores: tuple[str, ...],
    scale: tuple[float, float] | None,
    masked: tuple[str, ...],
    threshold: float,
    output: Path | None,
    report: Path | None,
    columns: ColumnMap,
    encoding: str,
) -> None:
    """Test, before a judge runs, whether something gives the human score away that is not content.

    Tested are whether passage, answer and reference are there, how long they are, whether they are the commonest value
    or equal another text, the row's position and its source; the question's own text may predict its score. Where one
    all but decides the score the command ends with exit code 2 and says what to --mask; -o then writes the table
    without it, with ids by which scores are joined again, and without scores and columns that were not tested.
    """
    from erreval.data.leaks import MASKABLE, explain_leaks, leak_report, measure_leaks
    from erreval.data.readers import BENCHMARKS
    from erreval.data.tables import write_table

    for field in masked:
        if field not in MASKABLE:
            raise ErrevalError(f"--mask {field}: cannot be hidden; choose from {', '.join(MASKABLE)}")
    check_outputs([None if what in BENCHMARKS else Path(what)], [output], [report])
    benchmark, table = _scored(what, scores, scale, columns, encoding)
    _refuse_few(what, benchmark)
    measured = measure_leaks(benchmark, masked=masked)
    click.echo(f"{what}: {counted(len(benchmark.questions), 'question')}; strongest features that are not content:")
    for row in measured.head(_STRONGEST).itertuples():
        click.echo(f"  {row.strength:.3f}  {row.feature} with {row.dimension} ({row.statistic}, n = {row.n})")
    if measured.empty:
        click.echo("  none: there are no scores that vary")
    if report is not None:
        from erreval.data.files import replacing

        found = leak_report(measured, place=benchmark.name, threshold=threshold, masked=masked)
        with replacing(report) as stream:
            stream.write(found.to_html().encode("utf-8"))
    if measured.empty:
        _nothing(f"{what}: not tested, there are no scores that vary", [output])
        return
    names = columns.resolve(Path(what), list(table.columns)) if table is not None else {}
    leaking = explain_leaks(measured, place=what, threshold=threshold, columns=names)
    if leaking:
        raise GateError(leaking)
    click.echo(f"passed: nothing above {threshold:g}" + (f", with {', '.join(masked)} masked" if masked else ""))
    if output is not None:
        shown, left_out = _visible(benchmark, table, names, masked)
        write_table(shown, output)
        told = f"; left out, as scores or not tested: {', '.join(left_out)}" if left_out else ""
        click.echo(f"{output}: {counted(len(shown), 'row')}{told}")


def _refuse_few(what: str, benchmark: Benchmark) -> None:
    """A feature that goes with the scores of a handful of rows may do so by chance."""
    from erreval.data.leaks import MINIMUM

    wide = benchmark.wide_scores()
    for dimension in benchmark.scales:
        scored = int(wide[dimension].notna().sum()) if dimension in wide else 0
        if scored < MINIMUM:
            raise ErrevalError(
                f"{what}, column {dimension!r}: {counted(scored, 'scored row')}, too few rows to judge; give at least "
                f"{MINIMUM}"
            )


def _nothing(told: str, outputs: Sequence[Path | None]) -> None:
    """Say that there is no result; a mistake where one was to be written."""
    asked = [str(output) for output in outputs if output is not None]
    if asked:
        raise ErrevalError(f"{told}; not written: {', '.join(asked)}")
    click.echo(told)


def _scored(
    what: str, scores: tuple[str, ...], scale: tuple[float, float] | None, columns: ColumnMap, encoding: str
) -> tuple[Benchmark, pd.DataFrame | None]:
    """A benchmark with human scores and, where it is a user's file, its table as it stands."""
    from erreval.data.benchmarks import open_benchmark
    from erreval.data.readers import BENCHMARKS, read_custom
    from erreval.data.tables import read_table

    if what in BENCHMARKS:
        if scores:
            raise ErrevalError(f"--score names a column of a FILE; {what} has its own scores")
        return open_benchmark(what), None
    path = _file(what)
    if not scores:
        raise ErrevalError(f"{path}: name the column that holds human scores with --score COLUMN")
    if scale is not None and scale[0] >= scale[1]:
        raise ErrevalError(f"--scale {scale[0]:g} {scale[1]:g}: give the lowest score first")
    table = read_custom(path, columns, scales=dict.fromkeys(scores, scale), encoding=encoding)
    return table, read_table(path, encoding=encoding)


def _file(what: str) -> Path:
    from erreval.data.readers import BENCHMARKS

    path = Path(what)
    if not path.suffix and not path.exists():
        raise ErrevalError(f"{what}: neither a file nor a benchmark; these are {', '.join(BENCHMARKS)}")
    return path


def _visible(
    benchmark: Benchmark, table: pd.DataFrame | None, names: dict[str, str], masked: tuple[str, ...]
) -> tuple[pd.DataFrame, list[str]]:
    """The tested columns without what is masked, with the ids of the whole texts; and the names of other columns."""
    from erreval.data.leaks import mask

    if table is None:
        left_out = [*(str(name) for name in benchmark.questions if name not in _SHOWN), *benchmark.scales]
        return mask(benchmark.questions[list(_SHOWN)], masked), left_out
    field_of = {column: field for field, column in names.items()}
    as_fields = table[[column for column in table if column in field_of]].rename(columns=field_of)
    # Always the content's: an id of the user's may count the rows, and masking the position sorts by this one.
    as_fields.insert(0, "question_id", benchmark.questions["question_id"])
    fields = [field for field in masked if field in names or field == "position"]
    left_out = [str(column) for column in table if column not in field_of and column != "question_id"]
    return mask(as_fields, fields).rename(columns=names), left_out


@data.command()
@click.argument("what", metavar="[BENCHMARK|FILE]", default="qgeval")
@click.option("--annotator", "annotators", multiple=True, metavar="COLUMN", help="Holds one annotator's scores.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the figures as a table.")
@click.option("--votes", type=click.Path(path_type=Path), help="Write each question's majority vote as a table.")
@click.option("--each-once", is_flag=True, help="Count repeats of a question once.")
@click.option(
    "--resamples", type=click.IntRange(min=0), default=1000, show_default=True, help="Of passages; 0 for no intervals."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the resampling.")
@column_options
def agreement(
    what: str,
    annotators: tuple[str, ...],
    output: Path | None,
    votes: Path | None,
    each_once: bool,
    resamples: int,
    seed: int,
    columns: ColumnMap,
    encoding: str,
) -> None:
    """How far annotators agree: the ceiling of every correlation with people.

    For each dimension Krippendorff's alpha (nominal, ordinal, interval), the share of questions on which all agree
    and on which more than half do (what a majority vote keeps), and the mean correlation of one annotator with the
    mean of the others, with 95 % intervals from resampling passages.

    A FILE of your own has either a column for each annotator (name them with --annotator) or a score a row, with the
    columns annotator, score and dimension. A majority is more than half of a question's annotators, at least two.
    """
    import numpy as np

    from erreval.data.readers import ANNOTATED, BENCHMARKS
    from erreval.data.tables import write_table
    from erreval.studies.agreement import majority_votes, study_agreement

    if what in BENCHMARKS and what not in ANNOTATED:
        _nothing(f"{what} publishes no single annotators' scores: agreement is unknown", [output, votes])
        return
    if 0 < resamples < _FEWEST_RESAMPLES:
        raise ErrevalError(
            f"--resamples {resamples}: too few for an interval; give at least {_FEWEST_RESAMPLES}, or 0 for none"
        )
    check_outputs([None if what in BENCHMARKS else Path(what)], [output, votes])
    benchmark = _annotated(what, annotators, columns, encoding)
    study = study_agreement(benchmark, rng=np.random.default_rng(seed), resamples=resamples, each_once=each_once)
    if not any(result.n_items for result in study.results):
        _nothing(f"{what}: nothing to compute, no question has scores of two annotators", [output, votes])
        return
    _print_agreement(study)
    if output is not None:
        write_table(study.table(), output)
        click.echo(f"{output}: {counted(len(study.table()), 'figure')}")
    if votes is not None:
        kept = majority_votes(benchmark)
        write_table(kept, votes)
        click.echo(f"{votes}: {counted(len(kept), 'vote')}")


def _annotated(what: str, annotators: tuple[str, ...], columns: ColumnMap, encoding: str) -> Benchmark:
    from erreval.data.benchmarks import open_benchmark
    from erreval.data.readers import BENCHMARKS
    from erreval.data.readers.ratings import read_ratings

    if what in BENCHMARKS:
        if annotators:
            raise ErrevalError(f"--annotator names a column of a FILE; {what} has its own annotators")
        return open_benchmark(what)
    return read_ratings(_file(what), columns, annotators=annotators, encoding=encoding)


def _print_agreement(study: AgreementStudy) -> None:
    width = max(len(result.dimension) for result in study.results)
    heads = ("alpha nominal", "alpha ordinal", "alpha interval", "one annotator", "all agree", "majority")
    first = study.results[0]
    click.echo(f"{study.benchmark}: annotators {', '.join(first.annotators)}; {counted(first.n_passages, 'passage')}")
    click.echo(f"{'':{width}} {'items':>6} " + " ".join(f"{head:>20}" for head in heads))
    for result in study.results:
        estimates = (*result.alpha.values(), result.one_annotator, result.perfect, result.majority)
        click.echo(
            f"{result.dimension:{width}} {result.n_items:6} " + " ".join(f"{_estimate(one):>20}" for one in estimates)
        )


def _estimate(estimate: Estimate) -> str:
    return "undefined" if estimate.value is None else with_interval(estimate.value, estimate.low, estimate.high)
