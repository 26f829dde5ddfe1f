"""``erreval compare-identifiers`` and ``erreval train-lora``: other ways to identify errors (ErrEval, Table 5)."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from erreval.cli_columns import column_options
from erreval.cli_outputs import check_outputs, counted
from erreval.cli_progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from erreval.data.columns import ColumnMap
    from erreval.diagnosis.contest import Standing
    from erreval.diagnosis.interface import Prediction
    from erreval.records import Question
    from erreval.taxonomy import ErrorType

_HEADERS = ("micro-F1", "macro-F1", "weighted-F1", "exact match", "over-prediction")
_NAME_WIDTH = 32


@click.command(name="compare-identifiers")
@click.argument("table", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--model",
    "specs",
    multiple=True,
    required=True,
    metavar="KIND[:WHICH]",
    help="detectors, encoder:FOLDER, fusion:FOLDER, zero-shot:MODEL, lora:FOLDER; several times.",
)
@click.option("--label-column", help="Right labels, separated by ';'. [default: labels or error_label]")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write every question's labels as a table, too.")
@click.option("--models", default="models.yaml", show_default=True, type=click.Path(path_type=Path))
@click.option("--calls", type=click.Path(path_type=Path), metavar="FILE.jsonl", help="Keep and reuse calls to models.")
@column_options
def compare_identifiers(
    table: Path,
    specs: tuple[str, ...],
    label_column: str | None,
    output: Path | None,
    models: Path,
    calls: Path | None,
    columns: ColumnMap,
    encoding: str,
) -> None:
    """Compare ways to identify errors on the labelled questions of FILE, beside the floor (ErrEval, Table 5).

    An unscored question (a reply that cannot be read) counts as predicting nothing: it is never No Error and never
    dropped. Where there are such, a second line has the figures of the scored questions alone. Where nothing at all
    could be scored, the command ends with code 2.
    """
    from erreval.chat.journal import Journal
    from erreval.data.labelled import read_labelled
    from erreval.data.tables import write_table
    from erreval.diagnosis.contest import compare_identifiers as compare
    from erreval.diagnosis.kinds import Surroundings, open_all
    from erreval.errors import ErrevalError

    check_outputs([table, models], [output], [calls])
    questions, truth, column = read_labelled(
        table, columns, label_column=label_column, encoding=encoding, refuse_diagnosed=True
    )
    with Journal(calls) if calls is not None else nullcontext() as journal:
        identifiers = open_all(list(specs), Surroundings(models, journal))
        standings, predictions = compare(identifiers, questions, truth, progress_bar(questions))
    click.echo(f"{counted(len(questions), 'question')}, the truth from column {column!r}")
    names = [standings[0].name, *_shortened(specs)]
    width = max(_NAME_WIDTH, *map(len, names))
    click.echo(f"{'':{width}} {'unscored':>8} " + " ".join(f"{name:>15}" for name in _HEADERS))
    for name, standing in zip(names, standings, strict=True):
        _print(name, standing, width)
    if output is not None:
        write_table(_by_question(questions, truth, list(specs), predictions), output)
        click.echo(f"{output}: {counted(len(questions), 'row')}")
    mute = [
        f"{spec}: none of {counted(len(questions), 'question')} could be scored ({_reasons(standing)})"
        for spec, standing in zip(specs, standings[1:], strict=True)
        if sum(standing.unscored.values()) == len(questions)
    ]
    if mute:
        raise ErrevalError("; ".join(mute) + "; -o FILE shows what came instead of labels, question by question")


def _reasons(standing: Standing) -> str:
    return ", ".join(f"{number} {reason}" for reason, number in standing.unscored.most_common(3))


def _shortened(specs: Sequence[str]) -> list[str]:
    """The kinds with the ends of long names, as ``fusion:…/fused/r0``; longer where two would look the same."""
    width = _NAME_WIDTH
    while True:
        shown = [spec if len(spec) <= width else _cut(spec, width) for spec in specs]
        if len(set(shown)) == len(set(specs)):
            return shown
        width += 1


def _cut(spec: str, width: int) -> str:
    kind, _, which = spec.partition(":")
    end = which[len(kind) + 2 - width :]
    return f"{kind}:…{end[max(end.find('/', 0, -1), 0) :]}"


def _print(name: str, standing: Standing, width: int) -> None:
    missing = sum(standing.unscored.values())
    click.echo(f"{name:{width}} {missing:8} {_figures(standing.metrics)}")
    if standing.on_scored is not None:
        click.echo(f"{'  the scored ones alone':{width}} {'':8} {_figures(standing.on_scored)}")
    for reason, number in standing.unscored.most_common():
        click.echo(f"  {number} unscored: {reason}")


def _figures(metrics: dict[str, float | None]) -> str:
    return " ".join(f"{'unknown' if value is None else f'{value:.3f}':>15}" for value in metrics.values())


def _by_question(
    questions: list[Question],
    truth: list[frozenset[ErrorType]],
    specs: list[str],
    predictions: list[Prediction],
) -> pd.DataFrame:
    import pandas as pd

    from erreval.records import Unscored
    from erreval.taxonomy import format_label_set

    rows: list[dict[str, str | None]] = []
    for k, question in enumerate(questions):
        row: dict[str, str | None] = {
            "question_id": question.question_id,
            "question": question.question,
            "labels": format_label_set(truth[k]),
        }
        for spec, prediction in zip(specs, predictions, strict=True):
            found = prediction.label_sets[k]
            if isinstance(found, Unscored):
                row |= {f"{spec} labels": None, f"{spec} unscored": f"{found.reason}: {found.raw}"}
            else:
                row |= {f"{spec} labels": format_label_set(found), f"{spec} unscored": None}
        rows.append(row)
    return pd.DataFrame(rows, dtype=object)


@click.command(name="train-lora")
@click.argument("table", metavar="LABELLED", type=click.Path(path_type=Path))
@click.option("--backbone", required=True, metavar="KIND:NAME", help="hub:NAME or folder:PATH of a causal model.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder of the adapter.")
@click.option("--label-column", help="Labels, separated by ';'. [default: labels or error_label]")
@click.option("--epochs", default=3, show_default=True, type=click.IntRange(min=1))
@click.option("--batch-size", default=8, show_default=True, type=click.IntRange(min=1))
@click.option("--learning-rate", default=2e-4, show_default=True, type=click.FloatRange(0, 1, min_open=True))
@click.option("--rank", default=16, show_default=True, type=click.IntRange(min=1))
@click.option("--max-tokens", default=512, show_default=True, type=click.IntRange(min=32))
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@column_options
def train_lora(
    table: Path,
    backbone: str,
    output: Path,
    label_column: str | None,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    rank: int,
    max_tokens: int,
    seed: int,
    columns: ColumnMap,
    encoding: str,
) -> None:
    """Fine-tune a causal language model with LoRA on a labelled set.

    `compare-identifiers --model lora:FOLDER` uses it. Not to train on a benchmark's labels is up to you: docs/llm.md.
    """
    import tempfile

    from erreval.data.labelled import read_labelled
    from erreval.diagnosis.lora import LoraSettings
    from erreval.diagnosis.lora import train_lora as train
    from erreval.errors import ErrevalError

    if output.exists():
        raise ErrevalError(f"{output}: is there already; name another folder or remove it")
    if not output.parent.is_dir():
        raise ErrevalError(f"{output}: the folder {output.parent} does not exist; create it or choose another")
    questions, labels, _ = read_labelled(
        table, columns, label_column=label_column, encoding=encoding, refuse_diagnosed=True
    )
    settings = LoraSettings(
        backbone,
        rank=rank,
        alpha=2 * rank,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        max_tokens=max_tokens,
    )
    with tempfile.TemporaryDirectory(prefix=".training-", dir=output.parent) as scratch:
        made = Path(scratch) / "adapter"
        train(questions, labels, settings, seed=seed, output=made, work=Path(scratch) / "work", report=click.echo)
        made.rename(output)
    click.echo(f"{output}: an adapter for {backbone}, trained on {len(questions)} questions")
