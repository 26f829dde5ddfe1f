"""``erreval …``: thin commands over the Python API. Commands that start flows come from `flows` by entry point."""

from __future__ import annotations

import errno
import os
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from erreval.cli_columns import column_options
from erreval.cli_data import data
from erreval.cli_explain import explain
from erreval.cli_identifiers import compare_identifiers, train_lora
from erreval.cli_inject import inject
from erreval.cli_judges import with_judge
from erreval.cli_models import models
from erreval.cli_outputs import check_outputs, counted
from erreval.cli_progress import progress_bar
from erreval.cli_systems import compare_systems
from erreval.errors import ErrevalError

if TYPE_CHECKING:
    from erreval.data.columns import ColumnMap

EXIT_MISTAKE = 2
EXIT_INTERRUPTED = 130


class _Commands(click.Group):
    """A group that tells mistakes in one line and finds the flow commands when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *(point.name for point in entry_points(group="erreval.commands"))})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        for point in entry_points(group="erreval.commands", name=cmd_name):
            return point.load()  # type: ignore[no-any-return]
        return None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ErrevalError as mistake:
            _end(" ".join(str(mistake).split()))
        except OSError as error:
            if error.errno in {None, errno.EPIPE}:  # a reader that has seen enough is no mistake; click ends in silence
                raise
            where = f"{error.filename}: " if error.filename else ""
            _end(f"{where}{error.strerror}; make the place readable or writable, or free some space, and try again")
        except KeyboardInterrupt:
            click.echo("interrupted; nothing was written that is not whole", err=True)
            sys.exit(EXIT_INTERRUPTED)


def _end(message: str) -> NoReturn:
    click.echo(f"error: {message}", err=True)
    sys.exit(EXIT_MISTAKE)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="erreval")
def main() -> None:
    """Judge generated questions by finding their errors first."""
    for name in ("DO_NOT_TRACK", "HF_HUB_DISABLE_TELEMETRY", "MLFLOW_DISABLE_TELEMETRY", "DVC_NO_ANALYTICS"):
        os.environ.setdefault(name, "1")
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")


@main.command()
@click.argument("names", nargs=-1)
@click.option("--list", "show", is_flag=True, help="Show name, size, licence, citation and state of every source.")
def fetch(names: tuple[str, ...], show: bool) -> None:
    """Download public sources, pinned and verified (all those of params.yaml, or NAMES).

    ERREVAL_MIRROR names a folder laid out OWNER/REPO/COMMIT/PATH to take them from instead of the network.
    """
    from erreval.data.sources import fetch as bring
    from erreval.data.sources import load_sources, state_of

    if show:
        for name, source in load_sources().items():
            click.echo(f"{name:22} {source.bytes / 1e6:8.2f} MB  {state_of(source):13} {source.licence}")
            click.echo(f"{'':22} {source.citation}")
        return
    wanted = names or _sources_of_project()
    if not wanted:
        click.echo("nothing to fetch: the profile in params.yaml uses no public source; name one (see --list)")
        return
    for name, files in bring(wanted, progress=sys.stderr.isatty()).items():
        click.echo(f"{name}: {len(files)} files, verified, in {files[0].parent}")


def _sources_of_project() -> tuple[str, ...]:
    from erreval.settings import load_settings

    return load_settings(Path("params.yaml")).data.sources


@main.command()
@click.argument("table", metavar="[INPUT]", required=False, type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="CSV, TSV, JSONL, JSON, XLSX or Parquet.")
@click.option("--question", help="Diagnose this one question instead of a table.")
@click.option("--passage", default="", help="Its passage.")
@click.option("--answer", help="Its answer.")
@click.option("--model", help="As `erreval models list` names it, or a folder. [default: the champion]")
@column_options
def diagnose(
    table: Path | None,
    output: Path | None,
    question: str | None,
    passage: str,
    answer: str | None,
    model: str | None,
    columns: ColumnMap,
    encoding: str,
) -> None:
    """Diagnose the questions of a table (INPUT -o OUTPUT), or one question (--question).

    The output keeps every row and column of the input, in order, and adds question_id, labels, a probability for
    each of the eleven types, a score for each of the seven dimensions, evidence, what could not be judged, and who
    diagnosed.
    """
    if (table is None) == (question is None):
        raise ErrevalError("give either a table (INPUT -o OUTPUT) or --question, see `erreval diagnose --help`")
    if question is not None:
        if output is not None:
            raise ErrevalError("-o takes a table as INPUT; the diagnosis of one --question is printed")
        from erreval.diagnosis.diagnose import diagnose as diagnose_one

        click.echo(str(diagnose_one(question, passage, answer, model=model)))
        return
    if table is None or output is None:
        raise ErrevalError("name the file to write with -o OUTPUT (CSV, TSV, JSONL, JSON, XLSX or Parquet)")
    from erreval.data.tables import check_writable, read_questions, read_table, write_table

    check_outputs([table], [output])
    questions, _ = read_questions(table, columns, encoding=encoding)
    rows = read_table(table, encoding=encoding)
    check_writable(output, rows)
    # After the table has been looked at: a mistake in it is told before seconds go by.
    from erreval.diagnosis.diagnose import find_identifier
    from erreval.diagnosis.report import diagnosis_table
    from erreval.taxonomy import ErrorType

    identifier = find_identifier(model)
    by = identifier.name if identifier else "the detectors alone"
    click.echo(f"{counted(len(questions), 'question')}, diagnosed by {by}")
    found = diagnosis_table(rows, questions, identifier, progress_bar(questions))
    write_table(found, output)
    flawed = int((found["labels"] != ErrorType.NO_ERROR.value).sum())
    click.echo(f"{output}: {counted(len(found), 'row')}, {flawed} with errors")


@main.command()
def doctor() -> None:
    """Tell what is installed, reachable and writable, and what to do about what is not."""
    from erreval.doctor import examine

    findings = examine(Path())
    for finding in findings:
        mark = {"ok": "ok  ", "note": "note", "problem": "BAD "}[finding.state]
        click.echo(
            f"{mark}  {finding.what}: {finding.found}" + (f"\n      -> {finding.remedy}" if finding.remedy else "")
        )
    if any(finding.state == "problem" for finding in findings):
        sys.exit(EXIT_MISTAKE)


main.add_command(data)
main.add_command(compare_systems)
main.add_command(with_judge)
main.add_command(explain)
main.add_command(models)
main.add_command(inject)
main.add_command(compare_identifiers)
main.add_command(train_lora)

if __name__ == "__main__":
    main()
