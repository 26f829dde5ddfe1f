"""Repeats, contradictions, rare types, flat scores and drift."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from erreval.data.gates import GateReport
from erreval.data.readers import READERS
from erreval.data.set_checks import (
    check_drift,
    check_duplicates,
    check_type_counts,
    check_variation,
    count_types,
    join_reports,
    measure_drift,
)
from erreval.errors import GateError


def outcome(report: GateReport) -> dict[str, bool]:
    return {check.name: check.passed for check in report.checks}


def labelled(rows: list[tuple[str, str, str]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["question_id", "source", "labels"])
    return frame.assign(question="What is it about?", passage="It is about this.")


def test_conflicts_block_and_repeats_warn() -> None:
    good = labelled([("a", "s", "Vague"), ("b", "s", "No Error")])
    assert outcome(check_duplicates(good, name="t")) == {"conflicting labels": True, "repeated questions": True}
    repeated = labelled([("a", "s", "Vague; Incomplete"), ("a", "t", "Incomplete;Vague")])
    report = check_duplicates(repeated, name="t")
    assert outcome(report) == {"conflicting labels": True, "repeated questions": False}
    assert report.passed
    report = check_duplicates(labelled([("a", "s", "Vague"), ("a", "t", "No Error")]), name="t")
    with pytest.raises(GateError, match=r"row 1 question_id, source, labels, label sets 'a \| s \| Vague \| 2'"):
        report.require()


def test_rare_types_are_named() -> None:
    frame = labelled([(str(i), "s", "Vague") for i in range(5)])
    report = check_type_counts(frame, minimum=3, name="t")
    failing = [f.value for f in report.checks[0].failures]
    assert len(failing) == 9
    assert "Off Topic | 0" in failing
    assert report.passed
    assert not check_type_counts(frame, minimum=3, name="t", blocks=True).passed
    assert count_types(["Vague; Incomplete", "Vague"])["Vague"] == 2


def test_flat_scores(laid: dict[str, Path]) -> None:
    qgeval = READERS["qgeval"](laid["qgeval"])
    report = check_variation(qgeval, most=0.95)
    warned = next(c for c in report.checks if c.name == "nearly constant scores")
    assert [f.value.split(" | ")[0] for f in warned.failures] == ["relevance"]
    assert report.passed
    flat = qgeval.scores.assign(score=3.0)
    constant = type(qgeval)("flat", qgeval.questions, flat, qgeval.scales)
    with pytest.raises(GateError, match="constant scores"):
        check_variation(constant).require()


def test_drift() -> None:
    before = labelled([(str(i), "s", "Vague" if i % 2 else "No Error") for i in range(40)])
    assert set(measure_drift(before, before).values()) == {0.0}
    assert outcome(check_drift(before, before, name="t")) == {"drift": True}
    after = before.assign(labels="Off Topic", source="other", question="Why?")
    figures = measure_drift(before, after)
    assert figures == {
        "label distribution": 1.0,
        "question length": 1.0,
        "passage length": 0.0,
        "source mix": 1.0,
    }
    report = check_drift(before, after, name="t", thresholds={"source mix": 1.0})
    assert [f.value for f in report.checks[0].failures] == [
        "label distribution | 1.0 | 0.8",
        "question length | 1.0 | 0.8",
    ]
    assert report.passed
    assert report.counts == figures
    with pytest.raises(ValueError, match="no drift figure 'colour'"):
        check_drift(before, after, name="t", thresholds={"colour": 1.0})


def test_reports_join() -> None:
    frame = labelled([("a", "s", "Vague")])
    joined = join_reports("both", [check_duplicates(frame, name="a"), check_type_counts(frame, minimum=0, name="b")])
    assert joined.name == "both"
    assert len(joined.checks) == 3
    assert joined.counts["Vague"] == 1
