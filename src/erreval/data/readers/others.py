"""SimQG, SQuAD-1k, PaperRQ, and users' own tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from erreval.data.readers.frames import SCORE_COLUMNS, Benchmark, long_scores, numbers, question_frame, read_columns
from erreval.data.tables import ColumnMap, read_questions
from erreval.errors import TableError


def read_simqg(folder: Path) -> Benchmark:
    """500 questions with averages from 0 to 1; the text is lower-cased and tokenised, and stays so.

    No annotators are published. ``target`` is the reference question.
    """
    path = folder / "simqg.xlsx"
    scales = dict.fromkeys(("fluency", "relevance", "answerability"), (0.0, 1.0))
    frame = read_columns(path, ("passage", "target", "answer", "question", *scales))
    questions = question_frame(
        path=path,
        passages=frame["passage"].tolist(),
        answers=frame["answer"].tolist(),
        questions=frame["question"].tolist(),
        sources=_sources(frame, "simqg"),
        references=frame["target"].tolist(),
    )
    return Benchmark("simqg", questions, long_scores(path, frame, questions, scales, "mean"), scales)


def _sources(frame: pd.DataFrame, name: str) -> list[str]:
    """The benchmark's name as the source; repeats of the same row are numbered, so that each keeps a key."""
    columns = ["passage", "answer", "question"]
    repeat = frame.groupby(columns, dropna=False, sort=False).cumcount()
    return [name if n == 0 else f"{name}#{n + 1}" for n in repeat]


def read_squad_1k(folder: Path) -> Benchmark:
    """1,000 questions of SQuAD 2.0; answerability is 0 or 1.

    The answer cell is empty exactly where the question is unanswerable, so that showing it gives the score away:
    see ``leaks``.
    """
    path = folder / "squad-1k.xlsx"
    scales = {"answerability": (0.0, 1.0)}
    frame = read_columns(path, ("passage", "answer", "question", "is_impossible", "answerability"))
    questions = question_frame(
        path=path,
        passages=frame["passage"].tolist(),
        answers=frame["answer"].tolist(),
        questions=frame["question"].tolist(),
        sources=_sources(frame, "squad-1k"),
    )
    return Benchmark("squad-1k", questions, long_scores(path, frame, questions, scales, "mean"), scales)


PAPERRQ_SCALES = {"problem": (0.0, 2.0), "method": (0.0, 2.0), "type": (0.0, 1.0)}
_PAPERRQ_COLUMNS = {"problem": "score_problem", "method": "score_method", "type": "is_target_rq_type"}


def read_paperrq(folder: Path) -> Benchmark:
    """217 research questions that GPT-4 extracted from 93 papers, scored for problem, method and type.

    The passage is the abstract and the introduction, a blank line between them, so the passage stands for the paper;
    ``title``, ``abstract`` and ``introduction`` are kept as columns of ``questions``. Neither prompts nor annotators
    are published.
    """
    path = folder / "dataset.csv"
    texts = ("title", "abstract", "introduction", "predicted_rq")
    frame = read_columns(path, (*texts, *_PAPERRQ_COLUMNS.values()))
    questions = question_frame(
        path=path,
        passages=[f"{a or ''}\n\n{b or ''}" for a, b in zip(frame["abstract"], frame["introduction"], strict=True)],
        answers=[None] * len(frame),
        questions=frame["predicted_rq"].tolist(),
        sources=["paperrq"] * len(frame),
    )
    scores = long_scores(path, frame, questions, PAPERRQ_SCALES, "mean", _PAPERRQ_COLUMNS)
    questions = questions.assign(**{name: frame[name] for name in ("title", "abstract", "introduction")})
    return Benchmark("paperrq", questions, scores, PAPERRQ_SCALES)


def read_custom(
    path: Path,
    columns: ColumnMap | None = None,
    *,
    scales: Mapping[str, tuple[float, float] | None] | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
) -> Benchmark:
    """A user's own table as a benchmark; without scales it has no scores.

    Args:
        path: CSV, TSV, JSONL, JSON, XLSX or Parquet.
        columns: Which column is what.
        scales: Columns that hold human scores, with their lowest and highest value; None for those that occur.
        encoding: Of text formats.
        sheet: Of an XLSX file.

    Raises:
        TableError: See ``read_questions``; or a score column is missing or holds something else than scores.
    """
    table = read_questions(path, columns, encoding=encoding, sheet=sheet)
    for name in scales or {}:
        if name not in table.rest.columns:
            there = ", ".join(map(repr, table.rest.columns)) or "none"
            raise TableError(f"{path}: no score column {name!r}; the other columns are: {there}")
    records = pd.DataFrame([q.model_dump() for q in table.questions], dtype=object)
    named = records["source"].replace("", path.stem)
    repeat = records.assign(source=named).groupby(["passage", "answer", "question", "source"], dropna=False, sort=False)
    sources = [s if n == 0 else f"{s}#{n + 1}" for s, n in zip(named, repeat.cumcount(), strict=True)]
    questions = _custom_frame(records, sources)
    known = {name: scale or observed_scale(path, table.rest, [name]) for name, scale in (scales or {}).items()}
    if not known:
        scores = pd.DataFrame(columns=list(SCORE_COLUMNS))
    else:
        scores = long_scores(path, table.rest, questions, known, "mean")
    return Benchmark("custom", questions, scores, known)


def observed_scale(path: Path, frame: pd.DataFrame, columns: Sequence[str]) -> tuple[float, float]:
    """The lowest and highest score in columns of a user's table.

    Raises:
        TableError: A cell is no number, or there is no score at all.
    """
    infinity = float("inf")
    found = [
        value for name in columns for value in numbers(path, frame, name, -infinity, infinity) if not math.isnan(value)
    ]
    if not found:
        raise TableError(f"{path}, column {columns[0]!r}: there is no score in it; name another column")
    return min(found), max(found)


def _custom_frame(records: pd.DataFrame, sources: list[str]) -> pd.DataFrame:
    """Unlike a benchmark's, a user's questions may lack a passage."""
    from erreval.records import content_id, passage_id

    frame = records.assign(source=pd.Series(sources, dtype=object))
    texts = zip(frame["passage"], frame["answer"], frame["question"], strict=True)
    frame["question_id"] = pd.Series([content_id(p, a, q) for p, a, q in texts], dtype=object)
    frame["passage_id"] = pd.Series([passage_id(p) for p in frame["passage"]], dtype=object)
    frame["repeat"] = frame["question_id"].duplicated()
    return frame[["question_id", "passage_id", "source", "passage", "answer", "question", "reference", "repeat"]]
