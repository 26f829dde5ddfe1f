"""Fields that give the score away, other than by their content."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from erreval.data.leaks import check_leaks, explain_leaks, mask, measure_leaks, ready_to_judge
from erreval.data.readers import READERS, Benchmark
from erreval.data.readers.frames import long_scores, question_frame
from erreval.data.tables import write_table
from erreval.errors import GateError


def benchmark(n: int, answers: list, scores: list, sources: list | None = None) -> Benchmark:
    questions = question_frame(
        path=Path("t"),
        passages=[f"passage {i % 7}" for i in range(n)],
        answers=answers,
        questions=[f"question {i}?" for i in range(n)],
        sources=sources or ["s"] * n,
    )
    scales = {"answerability": (0.0, 1.0)}
    frame = pd.DataFrame({"answerability": scores})
    return Benchmark("made", questions, long_scores(Path("t"), frame, questions, scales, "mean"), scales)


def strength(b: Benchmark, feature: str, **kwargs) -> float:
    found = measure_leaks(b, **kwargs)
    return float(found.loc[found["feature"] == feature, "strength"].max())


def test_an_answer_that_is_empty_where_the_question_is_unanswerable(tmp_path: Path) -> None:
    n = 60
    possible = np.random.default_rng(0).random(n) < 0.4
    write_table(
        pd.DataFrame(
            {
                "question": [f"q {i}?" for i in range(n)],
                "passage": [f"p {i % 5}" for i in range(n)],
                "answer": ["an answer" if p else None for p in possible],
                "is_impossible": ~possible,
                "answerability": possible.astype(int),
            },
            dtype=object,
        ),
        tmp_path / "squad-1k.xlsx",
    )
    squad = READERS["squad-1k"](tmp_path)
    assert strength(squad, "answer present") == 1.0
    report = check_leaks(squad)
    assert not report.passed
    with pytest.raises(GateError, match=r"answer present \| answerability.*--mask answer"):
        report.require()
    assert check_leaks(squad, masked=["answer"]).require().checks[0].note == "masked: answer"


def test_a_placeholder_that_stands_for_what_has_no_answer() -> None:
    """ "N/A" is as long as the other answers, so nothing but its being repeated tells."""
    scores = [i % 2 for i in range(40)]
    answers = [f"a{i:02}" if score else ("N/A" if i % 4 else "n/a ") for i, score in enumerate(scores)]
    placeholder = benchmark(40, answers, scores)
    assert strength(placeholder, "answer commonest") == 1.0
    told = explain_leaks(measure_leaks(placeholder), place="t.csv", columns={"answer": "target"})
    assert told.startswith("t.csv, column 'target': whether it is the commonest value decides 'answerability' (1.0)")
    # every value once: nothing is repeated, so there is no such feature
    once = benchmark(40, [f"a{i:02}" for i in range(40)], scores)
    assert "answer commonest" not in set(measure_leaks(once)["feature"])
    assert explain_leaks(measure_leaks(once), place="t.csv") == ""


def test_position_source_and_equality() -> None:
    n = 40
    scores = [0] * 20 + [1] * 20
    sorted_rows = benchmark(n, ["a"] * n, scores)
    assert strength(sorted_rows, "position") == 1.0
    mixed = [i % 2 for i in range(n)]
    by_source = benchmark(n, ["a"] * n, mixed, [f"s{i % 2}" for i in range(n)])
    assert strength(by_source, "source") == pytest.approx(1.0)
    copied = benchmark(n, [f"question {i}?" if i % 2 else "other" for i in range(n)], mixed)
    assert strength(copied, "answer equals question") == 1.0
    assert not check_leaks(copied).passed


def test_nothing_is_found_in_noise_or_in_constant_scores() -> None:
    rng = np.random.default_rng(1)
    n = 200
    noise = benchmark(n, ["a" * int(k) for k in rng.integers(1, 30, n)], rng.integers(0, 2, n).tolist())
    assert measure_leaks(noise)["strength"].max() < 0.3
    assert check_leaks(noise).passed
    assert check_leaks(benchmark(5, ["a"] * 5, [1] * 5)).passed
    one_row_a_source = benchmark(n, ["a"] * n, [i % 2 for i in range(n)], [f"s{i}" for i in range(n)])
    assert "source" not in set(measure_leaks(one_row_a_source)["feature"])


def test_without_scores_there_is_nothing_to_test(laid: dict[str, Path]) -> None:
    assert "nothing to test" in check_leaks(READERS["seeds"](laid["seeds"])).require().checks[0].note


def test_masking_keeps_ids() -> None:
    questions = benchmark(3, ["a", "b", "c"], [0, 1, 1]).questions
    hidden = mask(questions, ["answer", "passage"])
    assert hidden["answer"].tolist() == [None] * 3
    assert hidden["passage"].tolist() == [""] * 3
    assert hidden["question_id"].equals(questions["question_id"])
    with pytest.raises(ValueError, match="cannot mask 'question'"):
        mask(questions, ["question"])


def test_a_judge_gets_the_benchmark_without_what_is_masked_or_not_at_all() -> None:
    scores = [i % 2 for i in range(40)]
    leaking = benchmark(40, ["here" if score else None for score in scores], scores)
    with pytest.raises(GateError, match="--mask answer"):
        ready_to_judge(leaking)
    seen = ready_to_judge(leaking, masked=["answer", "source"])
    assert seen.questions["answer"].tolist() == [None] * 40
    assert seen.questions["source"].tolist() == ["s"] * 40  # half of the key: scores still join
    assert seen.wide_scores()["answerability"].tolist() == scores
    in_order = benchmark(40, ["a"] * 40, sorted(scores))
    with pytest.raises(GateError, match="--mask position"):
        ready_to_judge(in_order)
    mixed = ready_to_judge(in_order, masked=["position"])
    assert mixed.questions["question_id"].is_monotonic_increasing
    by_id = dict(zip(in_order.questions["question_id"], in_order.wide_scores()["answerability"], strict=True))
    assert mixed.wide_scores()["answerability"].tolist() == [by_id[i] for i in mixed.questions["question_id"]]
    with pytest.raises(ValueError, match="cannot mask 'question'"):
        ready_to_judge(leaking, masked=["question"])


def test_no_field_of_the_public_benchmarks_leaks(laid: dict[str, Path]) -> None:
    for name in ("qgeval", "paperrq"):
        assert check_leaks(READERS[name](laid[name])).passed
