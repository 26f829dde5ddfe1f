"""``erreval explain``: why a question got its diagnosis, with the evidence marked in the text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from erreval.cli_columns import column_options
from erreval.cli_outputs import check_outputs
from erreval.errors import ErrevalError

if TYPE_CHECKING:
    from erreval.data.columns import ColumnMap
    from erreval.data.lookup import Found
    from erreval.diagnosis.explanation import Explanation, Verdict
    from erreval.diagnosis.highlight import Piece


@click.command()
@click.argument("question_id", required=False)
@click.option("--question", help="Explain this question instead of one that is looked up.")
@click.option("--passage", default="", help="Its passage.")
@click.option("--answer", help="Its answer.")
@click.option("--table", type=click.Path(path_type=Path), help="Look QUESTION_ID up in this table of yours.")
@click.option("--model", help="An Error Identifier as for `diagnose`, or 'detectors'. [default: the champion]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--html", "page", type=click.Path(path_type=Path), help="Write one self-contained HTML page.")
@column_options
def explain(
    question_id: str | None,
    question: str | None,
    passage: str,
    answer: str | None,
    table: Path | None,
    model: str | None,
    as_json: bool,
    page: Path | None,
    columns: ColumnMap,
    encoding: str,
) -> None:
    """Say why a question got its diagnosis, type by type, with the evidence marked in the text.

    QUESTION_ID, or as many of its digits as single it out, is looked up in the project's tables, or in --table FILE:
    an id stands in the column question_id of every diagnosed table.
    """
    if (question_id is None) == (question is None):
        raise ErrevalError("give either a QUESTION_ID or --question, see `erreval explain --help`")
    if question is not None and table is not None:
        raise ErrevalError("--table is where a QUESTION_ID is looked up; leave it out beside --question")
    if question_id is not None and (passage or answer is not None):
        raise ErrevalError("--passage and --answer go with --question; those of a QUESTION_ID are looked up")
    check_outputs([table], [], [page])
    from erreval.data.lookup import Found

    if question is not None:
        from erreval.diagnosis.diagnose import as_question

        found = Found(as_question(question, passage, answer), ())
    else:
        found = _look_up(str(question_id), table, columns, encoding)
    from erreval.diagnosis.diagnose import find_identifier
    from erreval.diagnosis.explanation import explain as explain_one

    explanation = explain_one(found.question, find_identifier(model), found.tables)
    if page is not None:
        _write_page(explanation, page)
    if as_json:
        import json

        click.echo(json.dumps(explanation.as_json(), ensure_ascii=False, indent=1))
    elif page is None:
        _show(explanation)
    else:
        click.echo(f"{page}: written")


def _look_up(question_id: str, table: Path | None, columns: ColumnMap, encoding: str) -> Found:
    from erreval.data.lookup import find_in_project, find_question

    if table is not None:
        from erreval.data.tables import read_questions

        questions, _ = read_questions(table, columns, encoding=encoding)
        return find_question(question_id, questions, str(table))
    if not Path("params.yaml").is_file():
        raise ErrevalError(
            f"there is no project in {Path.cwd()} to look {question_id!r} up in; go to the folder with params.yaml, "
            "name a table with --table FILE, or give --question"
        )
    from erreval.layout import Layout
    from erreval.settings import load_settings

    return find_in_project(question_id, Layout(load_settings(Path("params.yaml")).profile))


def _write_page(explanation: Explanation, page: Path) -> None:
    from erreval.data.files import replacing
    from erreval.diagnosis.card import explanation_card

    with replacing(page) as stream:
        stream.write(explanation_card(explanation).encode("utf-8"))


def _show(explanation: Explanation) -> None:
    """Print for a person; click takes the colours out where no terminal is."""
    from erreval.diagnosis.explanation import ANSWER
    from erreval.diagnosis.highlight import bracketed, visible
    from erreval.taxonomy import format_label_set

    question, diagnosis = explanation.question, explanation.diagnosis
    click.echo(f"{click.style(format_label_set(diagnosis.labels), bold=True)}  (by {visible(diagnosis.model)})")
    click.echo(f"question_id  {question.question_id}")
    for table in explanation.found_in:
        click.echo(f"found in     {visible(table)}")
    click.echo(f"\nQuestion  {bracketed(explanation.marked_question(), _coloured)}")
    click.echo(f"Answer    {visible(question.answer or '(there is none)')}")
    click.echo(f"Passage   {bracketed(explanation.marked_passage(), _coloured) or '(there is none)'}")
    if any(ANSWER in piece.marks for piece in explanation.marked_passage()):
        click.echo(f"          {{{ANSWER}}} is the answer, where the passage first has it")
    click.echo("\nEvidence" if explanation.marks else "\nThe detectors found no evidence.")
    for mark, found in explanation.marks.items():
        standing = "" if explanation.among_labels(found) else " (a detector's finding, not among the labels)"
        click.echo(f"  {{{mark}}} {found.error.value}{standing}: {visible(found.message)}")
    click.echo(f"\n  {'type':30} {explanation.scale:>14} {'threshold':>10}  verdict")
    for verdict in explanation.verdicts:
        click.echo(_line(verdict))
    told = (f"{d.value} {'not judged' if s is None else f'{s:.3f}'}" for d, s in explanation.scores.items())
    click.echo(f"\nScores, 0 to 1: {', '.join(told)}")
    if diagnosis.note:
        click.echo(f"Note: {visible(diagnosis.note)}")


def _coloured(piece: Piece) -> str:
    from erreval.diagnosis.explanation import ANSWER

    return click.style(piece.text, fg="green" if piece.marks == (ANSWER,) else "yellow", underline=True)


def _line(verdict: Verdict) -> str:
    value = "" if verdict.value is None else f"{verdict.value:.3f}"
    threshold = "" if verdict.threshold is None else f"{verdict.threshold:.3f}"
    line = f"{'*' if verdict.named else ' '} {verdict.type.value:30} {value:>14} {threshold:>10}  {verdict.told}"
    return click.style(line, bold=True) if verdict.named else line
