"""Tables that stages write: good ones pass, and each rule names the row that breaks it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from erreval.data.gate_report import GateReport
from erreval.data.reader_checks import check_benchmark, check_scores
from erreval.data.readers import READERS, Benchmark
from erreval.data.readers.frames import long_scores, question_frame
from erreval.data.table_checks import (
    check_answers,
    check_contamination,
    check_development,
    check_pool,
    check_protected,
    check_selection,
    check_sides,
)
from erreval.data.tables import write_table
from erreval.records import content_id, passage_id

LONG = "A quick brown fox jumps over the lazy dog while twelve wise owls watch from the old oak tree nearby"
TOWER = "The tower was built in 1889 by a company of engineers for the world fair in the city of Paris in France."


def questions(n: int = 4) -> pd.DataFrame:
    rows = []
    for i in range(n):
        passage, question = f"{LONG}, number {i}.", f"What jumps over dog {i}?"
        rows.append((content_id(passage, "a fox", question), passage_id(passage), "s", passage, "a fox", question))
    return pd.DataFrame(rows, columns=["question_id", "passage_id", "source", "passage", "answer", "question"])


def protecting(*passages: str) -> pd.DataFrame:
    rows = [(passage_id(text), text, "qgeval") for text in passages]
    return pd.DataFrame(rows, columns=["passage_id", "passage", "benchmark"])


def failed(report: GateReport) -> dict[str, list[int]]:
    return {check.name: [f.row for f in check.failures] for check in report.checks if not check.passed}


def test_pool() -> None:
    pool = questions()
    truth = pool[["question_id", "source"]].assign(labels="Vague")
    assert failed(check_pool(pool, truth, protecting(TOWER), name="pool")) == {}
    near = protecting(f"{LONG}, number 17.")  # all but the last of its 13-grams are in each of the four passages
    assert failed(check_pool(pool, truth, near, name="pool")) == {"contamination": [1, 2, 3, 4]}
    assert failed(check_pool(pool, truth.iloc[1:], protecting(TOWER), name="pool")) == {"truth is known": [1]}
    wrong = truth.assign(labels=["Vague", "Typo", "Vague", "Vague"])
    assert failed(check_pool(pool, wrong, protecting(TOWER), name="pool")) == {"label vocabulary": [2]}
    told = failed(check_pool(pool.assign(labels="Vague"), truth, protecting(TOWER), name="pool"))
    assert list(told) == ["unlabelled"]


def test_development() -> None:
    frame = questions().assign(labels="Vague", side=["dev", "dev", "test", "test"])
    assert failed(check_development(frame, name="t")) == {}
    assert failed(check_development(frame.assign(side=["dev", "dev", "test", "train"]), name="t")) == {"sides": [4]}
    both = frame.assign(passage_id=frame["passage_id"].iloc[0])
    assert failed(check_development(both, name="t")) == {"sides apart": [1, 2, 3, 4]}
    assert failed(check_development(frame.assign(labels=["Vague", "No Error; Vague", "Vague", "Vague"]), name="t")) == {
        "no error alone": [2]
    }


def test_sides() -> None:
    a, b = questions(4).iloc[:2], questions(4).iloc[2:]
    report = check_sides({"train": a, "pool": b}, name="t")
    assert report.passed
    assert report.counts == {"train: passages": 2, "pool: passages": 2}
    assert failed(check_sides({"train": a, "pool": questions(2)}, name="t")) == {"sides apart": [1, 2, 3, 4]}


def selected() -> pd.DataFrame:
    measures = {"p_e": 0.9, "p_v": 0.8, "uncertainty": 0.6, "inconsistency": 0.1}
    return questions()[["question_id", "source"]].assign(labels="Vague", **measures, verdict="reliable")


VERDICTS = ["reliable", "unreliable", "neither"]


@pytest.mark.parametrize(
    ("column", "value", "check"),
    [
        ("p_e", 1.2, "p_e range"),
        ("p_v", None, "p_v range"),
        ("uncertainty", 0.4, "uncertainty range"),
        ("inconsistency", -0.1, "inconsistency range"),
        ("verdict", "perhaps", "verdict"),
        ("labels", "Typo", "label vocabulary"),
        ("question_id", "0" * 16, "in the pool"),
    ],
)
def test_selection(column: str, value: object, check: str) -> None:
    assert failed(check_selection(selected(), questions(), VERDICTS, name="t")) == {}
    frame = selected().astype(object)
    frame.loc[1, column] = value
    assert failed(check_selection(frame, questions(), VERDICTS, name="t")) == {check: [2]}


def test_answers() -> None:
    asked = questions()
    answers = asked[["question_id", "source"]].assign(labels="Vague", annotator="simulated")
    report = check_answers(answers, asked, name="t")
    assert failed(report) == {}
    assert report.counts == {"answered by simulated": 4}
    assert failed(check_answers(answers, asked.iloc[1:], name="t")) == {"was asked": [1]}
    twice = pd.concat([answers, answers.iloc[[3]]], ignore_index=True)
    assert failed(check_answers(twice, asked, name="t")) == {"row keys": [4, 5]}
    assert list(failed(check_answers(answers.drop(columns="annotator"), asked, name="t"))) == ["columns"]
    assert failed(check_answers(answers.iloc[:0], asked, name="t")) == {}


def test_nothing_is_protected_where_no_benchmark_is_at_hand() -> None:
    report = check_protected(protecting(), name="t")
    assert report.passed
    assert "no benchmark is at hand" in report.checks[1].note


def test_scores_out_of_range_name_row_and_question() -> None:
    asked = question_frame(
        path=Path("t"), passages=["p"] * 3, answers=["a"] * 3, questions=["x?", "y?", "z?"], sources=["s"] * 3
    )
    scales = {"fluency": (1.0, 3.0), "clarity": (1.0, 3.0)}
    raw = pd.DataFrame({"fluency": [1, 2, 3], "clarity": [3, 3, 1]})
    scores = long_scores(Path("t"), raw, asked, scales, "mean")
    assert failed(check_scores(scores, asked, scales, name="t")) == {}
    high = scores.assign(score=[1, 2, 3, 3, 3.5, 1])  # the fifth row: clarity of the second question
    report = check_scores(high, asked, scales, name="t")
    assert failed(report) == {"clarity range": [5]}
    value = next(c for c in report.checks if not c.passed).failures[0].value
    assert value == f"{asked['question_id'][1]} | s | mean | 3.5"
    assert failed(check_scores(scores.assign(dimension="beauty"), asked, scales, name="t")) == {
        "dimensions": [1, 2, 3, 4, 5, 6],
        "scores once": [1, 2, 3, 4, 5, 6],
    }
    assert failed(check_scores(scores, asked.iloc[1:], scales, name="t")) == {"scored questions": [1, 4]}
    made = Benchmark("made", asked, high, scales)
    assert not check_benchmark(made, file="raw/made").passed


def test_xquad_passages_of_qgeval_are_removed_and_counted(laid: dict[str, Path]) -> None:
    """11 of XQuAD's 240 passages are QGEval's (design.md)."""
    pairs = READERS["xquad"](laid["xquad"]).frame
    protected = READERS["qgeval"](laid["qgeval"]).questions.drop_duplicates("passage_id").assign(benchmark="qgeval")
    taken = set(protected["passage_id"])
    kept = pairs[~pairs["passage_id"].isin(taken)]
    report = check_contamination(pairs, kept, protected, name="contamination")
    assert report.passed
    assert report.counts == {"xquad: passages": 240, "xquad: removed": 11, "xquad: equal to one of qgeval": 11}
    assert report.name == "contamination"
    (listing,) = report.listings
    assert len(listing.rows) == 11
    assert report.checks[0].note == "11 of 240 passages removed"
    assert "in or around" not in report.to_html()
    # What was not removed is found.
    assert list(failed(check_contamination(pairs, pairs, protected, name="t"))) == ["contamination"]


def test_overlaps_with_simqg_and_squad_1k_are_counted_by_benchmark(tmp_path: Path) -> None:
    """Their files are not mirrored, so files of their schema stand in: SimQG's texts are lower-cased and tokenised."""
    tokenised = TOWER.lower().replace(".", " .")
    scored = {"fluency": [1.0], "relevance": [1.0], "answerability": [1.0]}
    simqg = {"passage": [tokenised], "target": ["when was it built ?"], "answer": ["1889"], "question": ["when ?"]}
    write_table(pd.DataFrame({**simqg, **scored}), tmp_path / "simqg.xlsx")
    squad = {"id": ["a"], "question": ["When?"], "passage": [f"{TOWER} {LONG}."], "title": ["T"], "answer": ["1889"]}
    write_table(pd.DataFrame({**squad, "is_impossible": [False], "answerability": [1]}), tmp_path / "squad-1k.xlsx")
    read = {name: READERS[name](tmp_path).questions.assign(benchmark=name) for name in ("simqg", "squad-1k")}
    protected = pd.concat(read.values(), ignore_index=True)
    other = "Nothing of this is in any benchmark, since it was written for this test and for no other purpose at all."
    pairs = pd.DataFrame({"source": "xquad", "passage": [TOWER, other]})
    pairs["passage_id"] = pairs["passage"].map(passage_id)
    report = check_contamination(pairs, pairs.iloc[1:], protected, name="t")
    assert report.passed
    assert report.counts == {
        "xquad: passages": 2,
        "xquad: removed": 1,
        "xquad: equal to one of simqg": 1,
        "xquad: in or around one of squad-1k": 1,
    }
