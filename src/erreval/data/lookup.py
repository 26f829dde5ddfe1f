"""Questions by their id, or the beginning of it, in the tables of a project or of a user."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from erreval.data.outputs import read_output
from erreval.errors import ErrevalError
from erreval.frames import questions_of
from erreval.layout import Layout
from erreval.records import Question

if TYPE_CHECKING:
    pass

MADE_OF = "an id is the first 16 hexadecimal digits of the SHA-256 of passage, answer and question"
_LISTED = 10
_NEAREST = 3


@dataclass(frozen=True)
class Found:
    """A question and the tables that hold it."""

    question: Question
    tables: tuple[str, ...]


def project_tables(layout: Layout) -> list[Path]:
    """The tables of questions in a project, those that are there: benchmark, development set, pool, training sets."""
    names = ("benchmark", "development", "heldout", "pool")
    places = [layout.prepared / f"{name}.parquet" for name in names]
    places += sorted((layout.work / "sets").glob("*/train.parquet"))
    return [path for path in places if path.is_file()]


def find_in_project(beginning: str, layout: Layout) -> Found:
    """The question of a project whose id begins so.

    Raises:
        ErrevalError: The project has no questions yet; or as ``find_question``.
    """
    places = project_tables(layout)
    if not places:
        raise ErrevalError(
            f"{layout.prepared}: this project has no questions yet; run `dvc repro prepare`, name a table of your own "
            "with --table FILE, or give --question"
        )
    ids = {path: read_output(path, ["question_id"])["question_id"] for path in places}
    wanted = _one_of({str(i) for column in ids.values() for i in column}, beginning, "this project's tables", None)
    holding = [path for path, column in ids.items() if (column == wanted).any()]
    frame = read_output(holding[0])
    question = questions_of(frame[frame["question_id"] == wanted].head(1))[0]
    return Found(question, tuple(_told(path, wanted) for path in holding))


def find_question(beginning: str, questions: Iterable[Question], table: str) -> Found:
    """The question whose id begins so.

    Args:
        beginning: Of the id, as many digits as single it out.
        questions: Where to look.
        table: What they are called in messages.

    Raises:
        ErrevalError: It is no beginning of an id, none begins so, or several do.
    """
    by_id = {question.question_id: question for question in questions}
    return Found(by_id[_one_of(by_id, beginning, table, by_id)], (table,))


def _one_of(ids: Iterable[str], beginning: str, where: str, texts: Mapping[str, Question] | None) -> str:
    wanted = beginning.strip().lower()
    if not re.fullmatch(r"[0-9a-f]{1,16}", wanted):
        raise ErrevalError(
            f"{beginning!r} is no question id: {MADE_OF} (column question_id of a diagnosed table); "
            "to explain a text give it with --question"
        )
    known = sorted(set(ids))
    matches = [i for i in known if i.startswith(wanted)]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        near = difflib.get_close_matches(wanted, known, n=_NEAREST, cutoff=0.6)
        hint = f"; near it: {', '.join(near)}" if near else ""
        raise ErrevalError(
            f"no question with an id that begins {wanted!r} in {where} ({len(known)} ids){hint}; {MADE_OF}, "
            "so one changed character gives another"
        )
    shown = [f"{i} {texts[i].question[:40]!r}" if texts else i for i in matches[:_LISTED]]
    more = f" and {len(matches) - _LISTED} more" if len(matches) > _LISTED else ""
    raise ErrevalError(f"{len(matches)} ids begin {wanted!r}: {', '.join(shown)}{more}; give more digits")


def _told(path: Path, question_id: str) -> str:
    """A table with what it says of the question: the systems that asked it, the side, the labels and who gave them."""
    frame = read_output(path)
    rows = frame[frame["question_id"] == question_id]
    said = []
    for column in ("source", "side", "labels", "origin"):
        if column in rows:
            values = sorted({str(value) for value in rows[column]})
            said.append(f"{column} {', '.join(values)}")
    return f"{path} ({'; '.join(said)})"
