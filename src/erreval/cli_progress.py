"""How far a long command is, for a person at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from erreval.records import Question


def progress_bar(questions: list[Question]) -> Callable[[int, int], None] | None:
    """What ``diagnose_all`` reports to; None where standard error is no terminal."""
    if not sys.stderr.isatty():
        return None
    from tqdm import tqdm

    bar = tqdm(total=len({question.question_id for question in questions}), unit="question", leave=False)

    def report(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    return report
