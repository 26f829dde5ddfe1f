"""What a run of the route gives: a labelled set, and the account of everything that did not stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from erreval.diagnosis.injection.by_llm.prompts import VERSION
from erreval.diagnosis.injection.by_llm.route import Agreement, Written
from erreval.frames import labelled_frame
from erreval.records import Question, Unscored

if TYPE_CHECKING:
    import pandas as pd

ORIGIN = "llm"
EXTRA_COLUMNS = ("writer", "judges", "confidences", "prompt_version", "base_id", "seed_id")
"""Beside those of a labelled set: who wrote, who judged and how sure, the prompts, and what it was made from."""


@dataclass(frozen=True)
class Account:
    """Where every item went; the counts add up to ``items``."""

    items: int
    kept: int
    doubted: int
    """Written and judged, but too few judges were confident."""
    repeated: int
    """The same question with the same passage and answer was kept before."""
    unread: Counter[str]
    """Nothing was written that could be read, by reason."""
    unread_verdicts: Counter[str]
    """Verdicts (not items) that could not be read, by judge and reason."""


def labelled_set(written: Iterable[Written], agreement: Agreement, writer: str) -> tuple[pd.DataFrame, Account]:
    """The samples that stay, as a labelled set, and the account of all.

    Args:
        written: Of ``write_and_judge``, in the order of the items.
        agreement: Which samples stay.
        writer: The writer's name.

    Returns:
        A frame of ``LABELLED_COLUMNS`` (origin ``llm``, round 0) and ``EXTRA_COLUMNS``; and the account.
    """
    kept: dict[str, tuple[Question, Written]] = {}
    items = doubted = repeated = 0
    unread: Counter[str] = Counter()
    unread_verdicts: Counter[str] = Counter()
    for one in written:
        items += 1
        unread_verdicts.update(f"{name}: {v.reason}" for name, v in one.verdicts.items() if isinstance(v, Unscored))
        if isinstance(one.question, Unscored):
            unread[one.question.reason] += 1
        elif not agreement.keeps(one.verdicts):
            doubted += 1
        elif one.question.question_id in kept:
            repeated += 1
        else:
            kept[one.question.question_id] = (one.question, one)
    rows = list(kept.values())
    frame = labelled_frame(
        [question for question, _ in rows], [one.item.labels for _, one in rows], [ORIGIN] * len(rows), 0
    )
    frame = frame.assign(
        writer=writer,
        judges=["; ".join(one.verdicts) for _, one in rows],
        confidences=["; ".join(_confidence(v) for v in one.verdicts.values()) for _, one in rows],
        prompt_version=VERSION,
        base_id=[one.item.base.question_id for _, one in rows],
        seed_id=[one.item.seed.question.question_id for _, one in rows],
    )
    return frame, Account(items, len(rows), doubted, repeated, unread, unread_verdicts)


def _confidence(verdict: float | Unscored) -> str:
    return f"unscored ({verdict.reason})" if isinstance(verdict, Unscored) else f"{verdict:g}"
