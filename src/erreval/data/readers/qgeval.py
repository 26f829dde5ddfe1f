"""QGEval and everything published about it: scores, metric values, judges' scores, the pilot, the seeds."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from erreval.data.readers.frames import (
    JUDGEMENT_COLUMNS,
    METRIC_COLUMNS,
    SEVEN,
    Benchmark,
    label_frame,
    long_scores,
    numbers,
    question_frame,
    read_columns,
)
from erreval.errors import TableError

SCALES: Mapping[str, tuple[float, float]] = MappingProxyType(dict.fromkeys(SEVEN, (1.0, 3.0)))

PLAIN_METRICS = (
    *("BLEU-4", "METEOR", "ROUGE-L", "BERTScore", "MoverScore", "BLEURT", "Q-BLEU4", "QSTS"),
    *("BARTScore-ref", "BARTScore-src", "QRelScore", "RQUGE"),
)
METRICS_BY_DIMENSION = ("GPTScore-ref", "GPTScore-src", "UniEval")
JUDGES = ("GPT3.5", "GPT4", "G-EVAL-gpt3.5", "G-EVAL-gpt4")
"""The judges of ``test_answerability.xlsx``; the first two answer 0 or 1, the G-EVAL ones 1 to 5."""

_TEXTS = ("reference", "passage", "answer", "question", "source")


def _as_in_erreval(passage: str | None) -> str:
    """QGEval writes a line break between two paragraphs, ErrEval's copy of it the five characters ``&#10;``.

    The text of ErrEval's copy is the benchmark (the published judges saw it); the files of QGEval itself are brought
    to it, so that one question has one id and the tables can be joined.
    """
    return (passage or "").replace("\n", "&#10;")


def _questions(path: Path, frame: pd.DataFrame, question: str = "question", *, original: bool = False) -> pd.DataFrame:
    passages = frame["passage"].map(_as_in_erreval) if original else frame["passage"]
    return question_frame(
        path=path,
        passages=passages.tolist(),
        answers=frame["answer"].tolist(),
        questions=frame[question].tolist(),
        sources=frame["source"].tolist(),
        references=frame["reference"].tolist() if "reference" in frame else None,
    )


def read_qgeval(folder: Path) -> Benchmark:
    """3,000 questions, seven dimensions from 1 to 3: the published means and the three annotators."""
    path = folder / "qgeval.xlsx"
    frame = read_columns(path, (*_TEXTS, *SEVEN))
    questions = _questions(path, frame)
    scores = [long_scores(path, frame, questions, SCALES, "mean")]
    annotators = ("1", "2", "3")
    for annotator in annotators:
        own_path = folder / f"annotator{annotator}.xlsx"
        own = read_columns(own_path, ("passage", "answer", "prediction", "source", *SEVEN))
        own_questions = _questions(own_path, own, "prediction", original=True)
        keys = ["question_id", "source"]
        if not own_questions[keys].equals(questions[keys]):
            raise TableError(f"{own_path}: its questions are not those of {path}; fetch both again")
        scores.append(long_scores(own_path, own, questions, SCALES, annotator))
    return Benchmark("qgeval", questions, pd.concat(scores, ignore_index=True), SCALES, annotators)


def read_pilot(folder: Path) -> Benchmark:
    """300 questions of QGEval with error labels. Also the development set: see the honesty rules in the design."""
    path = folder / "sample-300.xlsx"
    frame = read_columns(path, (*_TEXTS, *SEVEN, "error_label"))
    questions = _questions(path, frame)
    scores = long_scores(path, frame, questions, SCALES, "mean")
    labels = label_frame(path, frame["error_label"].tolist(), questions, "error_label")
    return Benchmark("pilot", questions, scores, SCALES, labels=labels)


def read_seeds(folder: Path) -> Benchmark:
    """20 labelled examples for error simulation; nobody scored them. Their labels are published in any order."""
    path = folder / "samples_for_simulation.xlsx"
    frame = read_columns(path, ("passage", "answer", "question", "source", "error_label"))
    questions = _questions(path, frame)
    labels = label_frame(path, frame["error_label"].tolist(), questions, "error_label")
    return Benchmark("seeds", questions, _no_scores(), {}, labels=labels)


def _no_scores() -> pd.DataFrame:
    return pd.DataFrame(
        {"question_id": [], "source": [], "dimension": [], "annotator": [], "score": pd.Series([], dtype=float)}
    )


def read_qgeval_metrics(folder: Path) -> Benchmark:
    """Fifteen published metric values for each QGEval question; GPTScore and UniEval have one a dimension."""
    path = folder / "metric_result.xlsx"
    frame = read_columns(
        path, ("passage", "answer", "prediction", "source", "reference", *PLAIN_METRICS, *METRICS_BY_DIMENSION)
    )
    questions = _questions(path, frame, "prediction", original=True)
    infinity = float("inf")
    parts = []
    for metric in PLAIN_METRICS:
        part = questions[["question_id", "source"]].copy()
        part["metric"], part["dimension"] = metric, ""
        part["value"] = numbers(path, frame, metric, -infinity, infinity)
        parts.append(part)
    for metric in METRICS_BY_DIMENSION:
        cells = [_literal(path, i, metric, cell, dict) for i, cell in enumerate(frame[metric])]
        for dimension in dict.fromkeys(name for cell in cells for name in cell):
            part = questions[["question_id", "source"]].copy()
            part["metric"], part["dimension"] = metric, dimension
            part["value"] = [float(cell.get(dimension, float("nan"))) for cell in cells]
            parts.append(part)
    metrics = pd.concat(parts, ignore_index=True)[list(METRIC_COLUMNS)]
    return Benchmark("qgeval-metrics", questions, _no_scores(), {}, metrics=metrics)


def _literal(path: Path, row: int, column: str, cell: Any, kind: type) -> Any:
    """Read a cell that holds a Python dict or list, as these files were written with pandas."""
    try:
        value = ast.literal_eval(cell)
    except (ValueError, SyntaxError, TypeError):
        value = None
    if not isinstance(value, kind):
        raise TableError(f"{path}, row {row + 1}, column {column!r}: not a {kind.__name__}; fetch the file again")
    return value


def read_qgeval_llama3(folder: Path) -> Benchmark:
    """The prompt (as JSON messages), reply and published score of LLaMA-3 for answerability.

    Three published scores contradict their replies (rows 462, 1377 and 1878, counted from 0); they are kept.
    """
    path = folder / "qgeval-answerability.xlsx"
    judge = "answerability_llama3"
    frame = read_columns(path, (*_TEXTS, *SEVEN, "messages", judge, f"{judge}_score"))
    questions = _questions(path, frame)
    judgements = questions[["question_id", "source"]].copy()
    judgements["dimension"], judgements["judge"] = "answerability", "llama3"
    judgements["prompt"] = [
        json.dumps(_literal(path, i, "messages", cell, list), ensure_ascii=False)
        for i, cell in enumerate(frame["messages"])
    ]
    judgements["reply"] = frame[judge]
    judgements["score"] = numbers(path, frame, f"{judge}_score", 1, 3)
    scores = long_scores(path, frame, questions, SCALES, "mean")
    return Benchmark("qgeval-llama3", questions, scores, SCALES, judgements=judgements[list(JUDGEMENT_COLUMNS)])


def read_qgeval_answerability(folder: Path) -> Benchmark:
    """450 QGEval questions with the scores of four LLM judges for answerability, and three metrics."""
    path = folder / "test_answerability.xlsx"
    metric_names = ("GPTScore-src", "UniEval", "RQUGE")
    frame = read_columns(
        path, ("reference", "passage", "answer", "prediction", "source", "answerability", *JUDGES, *metric_names)
    )
    questions = _questions(path, frame, "prediction", original=True)
    scales = {"answerability": (1.0, 3.0)}
    judgements, metrics = [], []
    for judge in JUDGES:
        part = questions[["question_id", "source"]].copy()
        part["dimension"], part["judge"], part["prompt"], part["reply"] = "answerability", judge, None, None
        part["score"] = numbers(path, frame, judge, *((1, 5) if judge.startswith("G-EVAL") else (0, 1)))
        judgements.append(part)
    for metric in metric_names:
        part = questions[["question_id", "source"]].copy()
        part["metric"], part["dimension"] = metric, "" if metric == "RQUGE" else "answerability"
        part["value"] = numbers(path, frame, metric, -float("inf"), float("inf"))
        metrics.append(part)
    return Benchmark(
        "qgeval-answerability",
        questions,
        long_scores(path, frame, questions, scales, "mean"),
        scales,
        metrics=pd.concat(metrics, ignore_index=True),
        judgements=pd.concat(judgements, ignore_index=True)[list(JUDGEMENT_COLUMNS)],
    )
