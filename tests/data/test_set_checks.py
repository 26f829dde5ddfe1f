"""Repeats, contradictions, rare types, flat scores and drift."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from erreval.data.gate_report import GateReport, join_reports
from erreval.data.readers import READERS
from erreval.data.set_checks import (
    check_drift,
    check_duplicates,
    check_type_counts,
    check_variation,
    count_types,
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
    limits = {"label distribution": 0.2, "question length": 0.2, "passage length": 0.2, "source mix": 1.0}
    assert outcome(check_drift(before, before, name="t", thresholds=limits)) == {"drift": True}
    after = before.assign(labels="Off Topic", source="other", question="Why?")
    figures = measure_drift(before, after)
    assert figures == {
        "label distribution": 1.0,
        "question length": 1.0,
        "passage length": 0.0,
        "source mix": 1.0,
    }
    report = check_drift(before, after, name="t", thresholds=limits)
    assert [f.value for f in report.checks[0].failures] == [
        "label distribution | 1.0 | 0.8",
        "question length | 1.0 | 0.8",
    ]
    assert report.passed
    assert report.counts == figures
    with pytest.raises(ValueError, match="missing or unknown: colour"):
        check_drift(before, after, name="t", thresholds={**limits, "colour": 1.0})


def test_drift_of_the_added_rows_is_shown_and_the_whole_set_is_judged() -> None:
    before = labelled([(str(i), "s", "Vague") for i in range(30)])
    after = pd.concat([before, labelled([(f"n{i}", "t", "No Error") for i in range(10)])], ignore_index=True)
    limits = dict.fromkeys(("label distribution", "question length", "passage length", "source mix"), 0.3)
    report = check_drift(before, after, name="t", thresholds=limits)
    (listing,) = report.listings
    assert listing.columns == ("figure", "value", "threshold", "the 10 added rows alone")
    # 10 of 40 rows are of another source: total variation 1/4; the added rows share no source with those before: 1.
    assert listing.rows[3] == ("source mix", 0.25, 0.3, 1.0)
    # Jensen-Shannon of (1, 0) and (3/4, 1/4), base 2: M = (7/8, 1/8); JSD = (log2(8/7) + 3/4 log2(6/7) + 1/4 log2 2)/2
    # = (.19265 - .16679 + .25)/2 = .13793, whose root is .3714 > .3.
    assert listing.rows[0][1] == pytest.approx(0.3714, abs=1e-4)
    assert [f.value for f in report.checks[0].failures] == ["label distribution | 0.3714 | 0.0714"]
    assert report.passed
    assert not report.stopping_on(["drift"]).passed


def test_reports_join() -> None:
    frame = labelled([("a", "s", "Vague")])
    joined = join_reports("both", [check_duplicates(frame, name="a"), check_type_counts(frame, minimum=0, name="b")])
    assert joined.name == "both"
    assert len(joined.checks) == 3
    assert joined.counts["Vague"] == 1
