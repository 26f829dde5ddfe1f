"""Is a data set what it says, as its reader gave it: schema and range of benchmarks, scores, and pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from erreval.data.gate_report import GateReport, join_reports
from erreval.data.gates import (
    Rule,
    among,
    has_columns,
    has_rows,
    label_rules,
    load_great_expectations,
    not_blank,
    row_keys,
    run_gate,
    says_yes,
)
from erreval.data.readers.frames import PAIR_COLUMNS, SCORE_COLUMNS, Benchmark, Pairs
from erreval.errors import GateError

_KEY = ("question_id", "source")


def check_benchmark(benchmark: Benchmark, *, file: str = "") -> GateReport:
    """Schema and range of a benchmark as it was read: questions, scores, labels. All parts are in one report.

    Args:
        benchmark: As its reader gave it.
        file: The file or folder that it was read from.

    Raises:
        GateError: The benchmark has no questions.
    """
    if benchmark.questions.empty:
        raise GateError(f"benchmark {benchmark.name!r} has no questions")
    question_rules = [not_blank("passage"), not_blank("question"), row_keys()]
    parts = [run_gate(benchmark.questions, question_rules, name=benchmark.name)]
    if not benchmark.scores.empty:
        parts.append(check_scores(benchmark.scores, benchmark.questions, benchmark.scales, name=benchmark.name))
    if benchmark.labels is not None:
        parts.append(run_gate(benchmark.labels, label_rules(), name=benchmark.name, show=_KEY))
    counts = {
        "questions": len(benchmark.questions),
        "different questions": int((~benchmark.questions["repeat"]).sum()),
        "passages": int(benchmark.questions["passage_id"].nunique()),
        "scores": len(benchmark.scores),
    }
    joined = join_reports(benchmark.name, parts, file=file)
    return GateReport(joined.name, joined.n_rows, joined.checks, counts, file, joined.listings)


def check_scores(
    scores: pd.DataFrame, questions: pd.DataFrame, scales: Mapping[str, tuple[float, float]], *, name: str
) -> GateReport:
    """Schema and range of a long table of human scores.

    Args:
        scores: ``SCORE_COLUMNS``.
        questions: Has ``question_id`` and ``source``: what may be scored.
        scales: Lowest and highest score of each dimension.
        name: Of the report.
    """
    gxe = load_great_expectations().expectations
    if not set(SCORE_COLUMNS) <= set(scores.columns):
        return run_gate(scores, [has_columns(SCORE_COLUMNS)], name=name)
    wide = {f"{d} score": scores["score"].where(scores["dimension"] == d) for d in scales}
    rules = [
        has_columns(SCORE_COLUMNS),
        Rule(
            "dimensions",
            f"the dimension is one of {', '.join(scales)}",
            [gxe.ExpectColumnValuesToBeInSet(column="dimension", value_set=list(scales))],
        ),
        Rule("score", "no score is missing", [gxe.ExpectColumnValuesToNotBeNull(column="score")]),
        *(
            Rule(
                f"{dimension} range",
                f"{dimension} is scored from {low:g} to {high:g}",
                [gxe.ExpectColumnValuesToBeBetween(column=f"{dimension} score", min_value=low, max_value=high)],
            )
            for dimension, (low, high) in scales.items()
        ),
        Rule(
            "scores once",
            "no annotator scores a question twice for one dimension",
            [gxe.ExpectCompoundColumnsToBeUnique(column_list=[*_KEY, "dimension", "annotator"])],
        ),
        says_yes("question is there", "every score is of a question that is there", name="scored questions"),
    ]
    table = scores.assign(**wide, **{"question is there": among(scores, questions)})
    return run_gate(table, rules, name=name, show=(*_KEY, "annotator"))


def check_pairs(pairs: Pairs, *, file: str = "") -> GateReport:
    """Schema and spans of question-answer pairs as they were read.

    Args:
        pairs: As their reader gave them.
        file: The file or folder that they were read from.
    """
    frame = pairs.frame
    if not set(PAIR_COLUMNS) <= set(frame.columns):
        return run_gate(frame, [has_columns(PAIR_COLUMNS)], name=pairs.name, file=file)
    rules = [
        has_columns(PAIR_COLUMNS),
        has_rows(),
        *(not_blank(column) for column in ("passage", "question", "source", "register")),
        says_yes(
            "span is the answer", "where answer_start is not -1 the passage has the answer there", name="answer spans"
        ),
    ]
    columns = (frame[name] for name in ("passage", "answer", "answer_start"))
    spans = ["yes" if _is_span(p, a, s) else "no" for p, a, s in zip(*columns, strict=True)]
    counts = {"questions": len(frame), "passages": int(frame["passage_id"].nunique())}
    table = frame.assign(**{"span is the answer": spans})
    return run_gate(table, rules, name=pairs.name, counts=counts, show=("answer",), file=file)


def _is_span(passage: Any, answer: Any, start: int) -> bool:
    """A line break in the passage counts as a space, as in ``readers.pairs.find_span``."""
    if start == -1:
        return True
    if not isinstance(passage, str) or not isinstance(answer, str):
        return False
    return passage[start : start + len(answer)].replace("\n", " ") == answer.replace("\n", " ")
