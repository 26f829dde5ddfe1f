"""The tables that stages write: pool, development set, verdicts, answers; and which passage stands where."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from erreval.data.gate_report import GateReport, Listing, join_reports
from erreval.data.gates import (
    Rule,
    among,
    check_questions,
    has_columns,
    label_rules,
    load_great_expectations,
    not_blank,
    row_keys,
    run_gate,
    says_yes,
)
from erreval.data.overlap import NGRAM, SHARE, find_overlaps

_KEY = ("question_id", "source")
_OVERLAPS = {"equal": "equal to", "contained": "in or around"}


def check_protected(protected: pd.DataFrame, *, name: str) -> GateReport:
    """The table of benchmark passages; it is empty where no benchmark is at hand, and says so."""
    counts = {f"{benchmark}: passages": int(n) for benchmark, n in protected["benchmark"].value_counts().items()}
    note = "" if len(protected) else "no benchmark is at hand, so nothing is protected"
    rules = [
        has_columns(("passage_id", "passage", "benchmark")),
        Rule("protected", "every benchmark passage is known by its text", not_blank("passage").expectations, note=note),
    ]
    return run_gate(protected, rules, name=name, counts=counts)


def check_contamination(
    pairs: pd.DataFrame,
    kept: pd.DataFrame,
    protected: pd.DataFrame,
    *,
    name: str,
    n: int = NGRAM,
    share: float = SHARE,
) -> GateReport:
    """Which passages were taken out because a benchmark has them too, and that none is left.

    Args:
        pairs: Every passage at hand: ``passage_id``, ``passage``, ``source``.
        kept: What is left of it to make training sets, pool and held-out questions from.
        protected: ``passage``, ``passage_id`` and ``benchmark``.
        name: Of the report.
        n: See ``find_overlaps``.
        share: See ``find_overlaps``.
    """
    gxe = load_great_expectations().expectations
    passages = pairs.drop_duplicates(["source", "passage_id"])[["source", "passage_id", "passage"]]
    removed = passages[~passages["passage_id"].isin(set(kept["passage_id"]))]
    overlaps = find_overlaps(removed["passage"], protected["passage"], n=n, share=share)
    benchmarks = protected[["passage_id", "benchmark"]].rename(columns={"passage_id": "protected_id"})
    found = removed.merge(overlaps, on="passage_id").merge(benchmarks, on="protected_id")
    counts: dict[str, int] = {}
    for source, size in passages["source"].value_counts(sort=False).items():
        counts[f"{source}: passages"] = int(size)
        counts[f"{source}: removed"] = int((removed["source"] == source).sum())
    different = found.drop_duplicates(["source", "benchmark", "kind", "passage_id"])
    for source, kind, benchmark in zip(different["source"], different["kind"], different["benchmark"], strict=True):
        overlapping = f"{source}: {_OVERLAPS[kind]} one of {benchmark}"
        counts[overlapping] = counts.get(overlapping, 0) + 1
    left = set(find_overlaps(kept["passage"].unique(), protected["passage"], n=n, share=share)["passage_id"])
    rule = Rule(
        "contamination",
        "no passage that is left equals, holds or lies inside a benchmark passage",
        [gxe.ExpectColumnValuesToNotBeInSet(column="passage_id", value_set=sorted(left))],
        note=f"{len(removed)} of {len(passages)} passages removed"
        if len(protected)
        else "no benchmark is at hand, so nothing is protected",
    )
    columns = ["source", "benchmark", "kind", "share", "passage_id", "protected_id", "passage"]
    listings = [Listing.of("Passages removed", found[columns])] if len(found) else []
    table = kept.drop_duplicates("passage_id")[["source", "passage_id", "passage"]]
    return run_gate(table, [rule], name=name, counts=counts, show=("source",), listings=listings)


def check_sides(sets: Mapping[str, pd.DataFrame], *, name: str) -> GateReport:
    """No passage is on two sides of the split.

    Args:
        sets: Each side's table, with ``passage_id``.
        name: Of the report.
    """
    gxe = load_great_expectations().expectations
    parts = [frame[["passage_id"]].drop_duplicates().assign(side=side) for side, frame in sets.items()]
    table = pd.concat(parts, ignore_index=True)
    rule = Rule(
        "sides apart",
        f"no passage is on two of the sides {', '.join(sets)}",
        [gxe.ExpectColumnValuesToBeUnique(column="passage_id")],
    )
    counts = {f"{side}: passages": int(frame["passage_id"].nunique()) for side, frame in sets.items()}
    return run_gate(table, [rule], name=name, counts=counts, show=("side",))


def check_pool(
    pool: pd.DataFrame,
    truth: pd.DataFrame,
    protected: pd.DataFrame,
    *,
    name: str,
    n: int = NGRAM,
    share: float = SHARE,
) -> GateReport:
    """The pool carries no label, its questions may be trained on, and the annotator's truth covers them.

    Args:
        pool: Questions without labels.
        truth: ``question_id``, ``source`` and ``labels``: what the simulated annotator knows.
        protected: See ``check_training_set``.
        name: Of the report.
        n: See ``find_overlaps``.
        share: See ``find_overlaps``.
    """
    gxe = load_great_expectations().expectations
    columns = pd.DataFrame({"column": list(pool.columns)})
    reports = [
        check_questions(pool, name=name, protected=protected, n=n, share=share),
        run_gate(
            columns,
            [
                Rule(
                    "unlabelled",
                    "the pool has no column labels",
                    [gxe.ExpectColumnValuesToNotBeInSet(column="column", value_set=["labels"])],
                )
            ],
            name=name,
        ),
        run_gate(
            pool[list(_KEY)].assign(**{"truth is known": among(pool, truth)}),
            [says_yes("truth is known", "the annotator's truth covers every question of the pool")],
            name=name,
            show=_KEY,
        ),
        run_gate(truth, [*label_rules(), row_keys()], name=name, show=_KEY),
    ]
    return join_reports(name, reports)


def check_development(frame: pd.DataFrame, *, name: str) -> GateReport:
    """The set to assess on: labelled questions, each passage on one side, dev or test."""
    gxe = load_great_expectations().expectations
    sides = frame.groupby("passage_id")["side"].transform("nunique")
    rules = [
        *label_rules(),
        Rule(
            "sides",
            "every question is on the side dev or test",
            [gxe.ExpectColumnValuesToBeInSet(column="side", value_set=["dev", "test"]), _never_null("side")],
        ),
        Rule(
            "sides apart",
            "no passage is on both sides",
            [gxe.ExpectColumnValuesToBeBetween(column="sides of the passage", max_value=1)],
        ),
    ]
    table = frame.assign(**{"sides of the passage": sides})
    return join_reports(name, [check_questions(frame, name=name), run_gate(table, rules, name=name, show=_KEY)])


def check_selection(selection: pd.DataFrame, pool: pd.DataFrame, verdicts: Collection[str], *, name: str) -> GateReport:
    """The pool as it was predicted and judged: label sets, measures in their ranges, a verdict each.

    Args:
        selection: ``question_id``, ``source``, ``labels``, the four measures and ``verdict``.
        pool: What may be in it.
        verdicts: The verdicts that there are.
        name: Of the report.
    """
    gxe = load_great_expectations().expectations
    ranges = {"p_e": (0, 1), "p_v": (0, 1), "uncertainty": (0.5, 1), "inconsistency": (0, 1)}
    needed = (*_KEY, "labels", *ranges, "verdict")
    if not set(needed) <= set(selection.columns):
        return run_gate(selection, [has_columns(needed)], name=name)
    rules = [
        has_columns(needed),
        row_keys(),
        *label_rules(),
        *(
            Rule(
                f"{column} range",
                f"{column} lies between {low:g} and {high:g}",
                [gxe.ExpectColumnValuesToBeBetween(column=column, min_value=low, max_value=high), _never_null(column)],
            )
            for column, (low, high) in ranges.items()
        ),
        Rule(
            "verdict",
            f"the verdict is one of {', '.join(verdicts)}",
            [gxe.ExpectColumnValuesToBeInSet(column="verdict", value_set=list(verdicts)), _never_null("verdict")],
        ),
        says_yes("in the pool", "every question is of the pool"),
    ]
    counts = {str(verdict): int(n) for verdict, n in selection["verdict"].value_counts().items()}
    table = selection.assign(**{"in the pool": among(selection, pool)})
    return run_gate(table, rules, name=name, counts=counts, show=_KEY)


def check_answers(answers: pd.DataFrame, asked: pd.DataFrame, *, name: str) -> GateReport:
    """What annotators answered: one label set a question, and only for questions that they could be asked.

    Args:
        answers: ``question_id``, ``source``, ``labels``, ``annotator``.
        asked: The unreliable questions.
        name: Of the report.
    """
    needed = (*_KEY, "labels", "annotator")
    if not set(needed) <= set(answers.columns):
        return run_gate(answers, [has_columns(needed)], name=name)
    rules = [
        has_columns(needed),
        row_keys(),
        *label_rules(),
        not_blank("annotator"),
        says_yes("was asked", "only unreliable questions were answered"),
    ]
    counts = {f"answered by {who}": int(n) for who, n in answers["annotator"].value_counts().items()}
    return run_gate(answers.assign(**{"was asked": among(answers, asked)}), rules, name=name, counts=counts, show=_KEY)


def _never_null(column: str) -> Any:
    return load_great_expectations().expectations.ExpectColumnValuesToNotBeNull(column=column)
