"""Every reader, on the mirrored files and on fixtures that follow the schema of those that are not mirrored."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from erreval.data.readers import PAIRS, READERS, read, read_custom
from erreval.data.readers.frames import PAIR_COLUMNS, QUESTION_COLUMNS
from erreval.data.sources import load_sources
from erreval.data.tables import ColumnMap, write_table
from erreval.errors import TableError
from erreval.records import content_id, passage_id
from erreval.taxonomy import ErrorType, parse_label_set


def pearson(x: object, y: object) -> float:
    return float(np.corrcoef(np.asarray(x, dtype=float), np.asarray(y, dtype=float))[0, 1])


def test_every_source_has_a_reader() -> None:
    assert set(load_sources()) <= set(READERS)
    with pytest.raises(TableError, match="there are: qgeval"):
        read("nothing", Path())


class TestQGEval:
    @pytest.fixture(scope="class")
    def benchmark(self, laid: dict[str, Path]):
        return READERS["qgeval"](laid["qgeval"])

    def test_counts(self, benchmark) -> None:
        questions = benchmark.questions
        assert tuple(questions.columns) == QUESTION_COLUMNS
        assert len(questions) == 3000
        assert questions["source"].nunique() == 30
        assert questions["passage_id"].nunique() == 200
        assert questions["question_id"].nunique() == 2390
        assert questions["repeat"].sum() == 610
        assert not questions.duplicated(["question_id", "source"]).any()
        assert len(benchmark.scores) == 3000 * 7 * 4

    def test_ids_are_of_the_text_as_it_stands(self, benchmark) -> None:
        row = benchmark.questions.iloc[17]
        assert row["question_id"] == content_id(row["passage"], row["answer"], row["question"])
        assert row["passage_id"] == passage_id(row["passage"])
        assert benchmark.questions["passage"].str.contains("&#10;", regex=False).sum() == 1500

    def test_annotators_average_to_the_published_scores(self, benchmark) -> None:
        mean = benchmark.wide_scores()
        annotators = [benchmark.wide_scores(name) for name in benchmark.annotators]
        for dimension in benchmark.scales:
            own = sum(one[dimension] for one in annotators) / 3
            assert (own - mean[dimension]).abs().max() < 5e-5

    def test_means_and_low_scores(self, benchmark) -> None:
        wide = benchmark.wide_scores()
        means = {"fluency": 2.967, "clarity": 2.910, "conciseness": 2.917, "relevance": 2.991}
        means |= {"consistency": 2.930, "answerability": 2.794, "answer_consistency": 2.588}
        low = {"relevance": 4, "fluency": 24, "consistency": 65, "clarity": 88, "conciseness": 116}
        low |= {"answerability": 251, "answer_consistency": 627}
        for dimension in benchmark.scales:
            assert wide[dimension].mean() == pytest.approx(means[dimension], abs=5e-4)
            assert (wide[dimension] <= 2.0001).sum() == low[dimension]

    def test_trivial_features_beat_the_published_table(self, benchmark) -> None:
        questions, wide = benchmark.questions, benchmark.wide_scores()
        length = questions["question"].str.split().str.len()
        mark = questions["question"].str.strip().str.endswith("?")
        assert pearson(length, wide["conciseness"]) == pytest.approx(-0.753, abs=0.005)
        assert pearson(mark, wide["fluency"]) == pytest.approx(0.489, abs=0.005)

    def test_one_annotator_level(self, benchmark) -> None:
        from erreval.studies.agreement import study_agreement

        study = study_agreement(benchmark, rng=np.random.default_rng(0), resamples=20)
        expected = {"fluency": 0.52, "clarity": 0.66, "conciseness": 0.81, "relevance": 0.54}
        expected |= {"consistency": 0.54, "answerability": 0.73, "answer_consistency": 0.85}
        found = {result.dimension: round(result.one_annotator.value, 2) for result in study.results}
        assert found == expected

    def test_files_that_do_not_belong_together_are_refused(self, laid: dict[str, Path], tmp_path: Path) -> None:
        folder = shutil.copytree(laid["qgeval"], tmp_path / "qgeval")
        shutil.copy(laid["pilot"] / "sample-300.xlsx", folder / "annotator2.xlsx")
        with pytest.raises(TableError, match=r"annotator2\.xlsx: no column 'prediction'"):
            READERS["qgeval"](folder)


def test_published_metrics(laid: dict[str, Path]) -> None:
    qgeval, metrics = READERS["qgeval"](laid["qgeval"]), READERS["qgeval-metrics"](laid["qgeval-metrics"])
    keys = ["question_id", "source"]
    assert metrics.questions[keys].equals(qgeval.questions[keys])
    values = metrics.metrics
    assert values["metric"].nunique() == 15
    assert set(values.loc[values["metric"] == "UniEval", "dimension"]) >= set(qgeval.scales)
    assert values["value"].notna().all()
    rquge = values[values["metric"] == "RQUGE"]["value"]
    assert pearson(rquge, qgeval.wide_scores()["answerability"]) > 0.1


def test_published_llama3_scores(laid: dict[str, Path]) -> None:
    benchmark = READERS["qgeval-llama3"](laid["qgeval-llama3"])
    judged = benchmark.judgements
    assert (judged["score"] == 3).sum() == 2873
    human = benchmark.wide_scores()["answerability"]
    assert pearson(judged["score"], human) == pytest.approx(0.208, abs=5e-4)
    low = human <= 2.0001
    assert low.sum() == 251
    assert (judged["score"][low] == 3).mean() == pytest.approx(0.837, abs=5e-4)
    messages = json.loads(judged["prompt"].iloc[0])
    assert [message["role"] for message in messages] == ["system", "user"]
    for row, said in ((462, judged["reply"][462]), (1377, judged["reply"][1377]), (1878, judged["reply"][1878])):
        assert f"Score: {judged['score'][row]:.0f}" not in said


def test_published_answerability_judges_join_qgeval(laid: dict[str, Path]) -> None:
    benchmark = READERS["qgeval-answerability"](laid["qgeval-answerability"])
    qgeval = READERS["qgeval"](laid["qgeval"])
    keys = ["question_id", "source"]
    joined = benchmark.questions[keys].merge(qgeval.questions[keys])
    assert len(joined) == len(benchmark.questions) == 450
    assert benchmark.judgements.groupby("judge").size().to_dict() == dict.fromkeys(
        ("GPT3.5", "GPT4", "G-EVAL-gpt3.5", "G-EVAL-gpt4"), 450
    )


def test_the_pilot(laid: dict[str, Path]) -> None:
    pilot, qgeval = READERS["pilot"](laid["pilot"]), READERS["qgeval"](laid["qgeval"])
    keys = ["question_id", "source"]
    assert len(pilot.questions) == len(pilot.questions[keys].merge(qgeval.questions[keys])) == 300
    assert pilot.questions["passage_id"].nunique() == 158
    sets = [parse_label_set(cell) for cell in pilot.labels["labels"]]
    e = ErrorType
    expected = {
        **{e.OFF_TARGET_ANSWER: 87, e.UNNECESSARY_COPY: 25, e.INFORMATION_NOT_MENTIONED: 19, e.VAGUE: 12},
        **{e.FACTUAL_ERROR: 10, e.GRAMMAR_ERROR: 8, e.INCOMPLETE: 8, e.NOT_A_QUESTION: 6, e.SPELL_ERROR: 4},
        e.OFF_TOPIC: 0,
    }
    assert {t: sum(t in s for s in sets) for t in expected} == expected
    always = frozenset({e.NO_ERROR})
    assert np.mean([s == always for s in sets]) == pytest.approx(0.537, abs=5e-4)
    hits = sum(e.NO_ERROR in s for s in sets)
    assert 2 * hits / (len(sets) + sum(map(len, sets))) == pytest.approx(0.503, abs=5e-4)


def test_the_seeds(laid: dict[str, Path]) -> None:
    seeds = READERS["seeds"](laid["seeds"])
    assert len(seeds.questions) == len(seeds.labels) == 20
    assert seeds.scores.empty
    assert "Information Not Mentioned; Off Target Answer" in set(seeds.labels["labels"])


def test_paperrq(laid: dict[str, Path]) -> None:
    from scipy.stats import spearmanr

    benchmark = READERS["paperrq"](laid["paperrq"])
    assert len(benchmark.questions) == 217
    assert benchmark.questions["passage_id"].nunique() == 93
    assert benchmark.annotators == ()
    wide = benchmark.wide_scores()
    words = benchmark.questions["question"].str.split().str.len()
    found = {name: round(float(spearmanr(words, wide[name]).statistic), 2) for name in wide.columns[2:]}
    assert found == {"problem": 0.43, "method": 0.44, "type": 0.29}


def test_pairs_of_the_mirrored_sources(laid: dict[str, Path]) -> None:
    for name, n, passages in (("fairytaleqa", 8548, 3457), ("xquad", 1190, 240), ("qed", 1355, 1343)):
        frame = PAIRS[name](laid[name]).frame
        assert tuple(frame.columns[: len(PAIR_COLUMNS)]) == PAIR_COLUMNS
        assert (len(frame), frame["passage_id"].nunique()) == (n, passages)
        assert frame["answer"].str.strip().ne("").all()
        found = frame[frame["answer_start"] >= 0]
        for passage, answer, start in zip(found["passage"], found["answer"], found["answer_start"], strict=True):
            span = passage[start : start + len(answer)]
            assert span.replace("\n", " ") == answer.replace("\n", " ")
        assert len(found) / n > (0.35 if name == "fairytaleqa" else 0.9)


SIMQG = pd.DataFrame(
    {
        "passage": ["the cat sat on the mat .", "the cat sat on the mat ."],
        "target": ["where did the cat sit ?"] * 2,
        "answer": ["on the mat", "on the mat"],
        "question": ["where did the cat sit ?", "who sat ?"],
        "fluency": [1, 0.6667],
        "relevance": [1, 0.3333],
        "answerability": [1, 0],
    }
)


def test_simqg_from_its_schema(tmp_path: Path) -> None:
    write_table(SIMQG, tmp_path / "simqg.xlsx")
    benchmark = READERS["simqg"](tmp_path)
    assert benchmark.questions["reference"].tolist() == ["where did the cat sit ?"] * 2
    assert benchmark.wide_scores()["relevance"].tolist() == [1, 0.3333]
    assert benchmark.annotators == ()
    write_table(SIMQG.assign(fluency=[1, 3]), tmp_path / "simqg.xlsx")
    with pytest.raises(TableError, match="row 2, column 'fluency': 3 is not between 0 and 1"):
        READERS["simqg"](tmp_path)
    write_table(SIMQG.assign(fluency=["good", 1]), tmp_path / "simqg.xlsx")
    with pytest.raises(TableError, match="row 1, column 'fluency': 'good' is no number"):
        READERS["simqg"](tmp_path)
    write_table(SIMQG.drop(columns="target"), tmp_path / "simqg.xlsx")
    with pytest.raises(TableError, match="no column 'target'"):
        READERS["simqg"](tmp_path)


def test_rows_that_repeat_keep_a_key_of_their_own(tmp_path: Path) -> None:
    write_table(pd.concat([SIMQG, SIMQG.iloc[[0]]]), tmp_path / "simqg.xlsx")
    questions = READERS["simqg"](tmp_path).questions
    assert questions["source"].tolist() == ["simqg", "simqg", "simqg#2"]
    assert questions["repeat"].tolist() == [False, False, True]


def test_squad_1k_from_its_schema(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "id": ["a", "b", "c"],
            "question": ["Who?", "When?", "What?"],
            "passage": ["P", "P", "R"],
            "title": ["T"] * 3,
            "answer": ["None", None, 1984],
            "is_impossible": [False, True, False],
            "answerability": [1, 0, 1],
        },
        dtype=object,
    )
    write_table(frame, tmp_path / "squad-1k.xlsx")
    benchmark = READERS["squad-1k"](tmp_path)
    assert benchmark.questions["answer"].tolist() == ["None", None, "1984"]
    assert benchmark.wide_scores()["answerability"].tolist() == [1, 0, 1]


def test_squad_formats(tmp_path: Path) -> None:
    answers = [{"text": t, "answer_start": s} for t, s in (("a tower", 0), ("tower", 2), ("tower", 2))]
    qas = [
        {"id": "1", "question": "What?", "answers": answers},
        {"id": "2", "question": "Why?", "answers": [], "is_impossible": True, "plausible_answers": answers},
    ]
    document = {"version": "v2.0", "data": [{"title": "T", "paragraphs": [{"context": "a tower", "qas": qas}]}]}
    path = tmp_path / "train-v2.0.json"
    path.write_text(json.dumps(document))
    for place in (path, tmp_path):
        frame = READERS["squad"](place).frame
        assert frame["answer"].tolist() == ["tower", None]
        assert frame["answer_start"].tolist() == [2, -1]
        assert frame["is_impossible"].tolist() == [False, True]
    path.write_text('{"data": [{"paragraphs": [{"text": "x"}]}]}')
    with pytest.raises(TableError, match="not in SQuAD's format"):
        READERS["squad"](path)
    path.write_text('{"data": [')
    with pytest.raises(TableError, match="line 1: not JSON"):
        READERS["squad"](path)


def test_hotpotqa_passages_are_built_as_published(tmp_path: Path) -> None:
    item = {
        "_id": "1",
        "type": "bridge",
        "level": "hard",
        "question": "Which?",
        "answer": "Rio",
        "supporting_facts": [["B", 0], ["A", 1], ["B", 1]],
        "context": [["A", ["One.", " Two."]], ["C", ["Not this."]], ["B", ["In Rio."]]],
    }
    path = tmp_path / "hotpot.json"
    path.write_text(json.dumps([item]))
    frame = READERS["hotpotqa"](path).frame
    assert frame["passage"].tolist() == ["In Rio.\nOne.  Two."]
    assert frame["answer_start"].tolist() == [3]
    path.write_text(json.dumps([item, {"question": "?"}]))
    with pytest.raises(TableError, match="question 2: not in HotpotQA's"):
        READERS["hotpotqa"](path)


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("frage,kontext,note\nWer?,Text,2\nWer?,Text,3\n")
    columns = ColumnMap(question="frage", passage="kontext")
    benchmark = read_custom(path, columns, scales={"note": (1, 5)})
    assert benchmark.questions["source"].tolist() == ["mine", "mine#2"]
    assert benchmark.questions["repeat"].tolist() == [False, True]
    assert benchmark.wide_scores()["note"].tolist() == [2, 3]
    assert read_custom(path, columns).scores.empty
    with pytest.raises(TableError, match="no score column 'x'"):
        read_custom(path, columns, scales={"x": (1, 5)})
