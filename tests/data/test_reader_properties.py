"""Every reader of published data on made-up files: any text survives, ids follow from it, order counts nothing."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from erreval.data.readers import READERS, Benchmark, Pairs
from erreval.data.readers.frames import SEVEN
from erreval.data.readers.qgeval import JUDGES, METRICS_BY_DIMENSION, PLAIN_METRICS
from erreval.data.tables import write_table
from erreval.records import content_id, passage_id

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\x00\ufffe\uffff")
CURIOUS = st.sampled_from(["None", "nan", "1984", "001", "yes", "=1+1", "a\r\nb", "a\nb", "&amp; &#10;", '"', "é", "é"])
TEXT = st.one_of(CURIOUS, st.text(CHARACTERS, min_size=1, max_size=20)).filter(lambda text: bool(text.strip()))
Row = tuple[str, str, str]
ROWS = st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=5, unique=True)
QUICK = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def table(rows: list[Row], **columns: object) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["question", "passage", "answer"], dtype=object)
    # a source for each text, so that it does not depend on where the row stands
    return frame.assign(source=[f"s{content_id(p, a, q)}" for q, p, a in rows], reference="r").assign(**columns)


def shown(passage: str) -> str:
    """QGEval's own files have a line break where ErrEval's copy has an entity."""
    return passage.replace("\n", "&#10;")


def in_erreval(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(passage=frame["passage"].map(shown))


def qgeval(rows: list[Row], folder: Path) -> None:
    frame = table(rows, **dict.fromkeys(SEVEN, 2.0))
    write_table(in_erreval(frame), folder / "qgeval.xlsx")
    for annotator in "123":
        write_table(frame.rename(columns={"question": "prediction"}), folder / f"annotator{annotator}.xlsx")


def metrics(rows: list[Row], folder: Path) -> None:
    cells = dict.fromkeys(PLAIN_METRICS, 0.5) | dict.fromkeys(METRICS_BY_DIMENSION, "{'fluency': 0.25}")
    write_table(table(rows, **cells).rename(columns={"question": "prediction"}), folder / "metric_result.xlsx")


def llama3(rows: list[Row], folder: Path) -> None:
    cells = dict.fromkeys(SEVEN, 2.0) | {"messages": "[{'role': 'user', 'content': 'x'}]"}
    cells |= {"answerability_llama3": "Score: 3", "answerability_llama3_score": 3}
    write_table(in_erreval(table(rows, **cells)), folder / "qgeval-answerability.xlsx")


def answerability(rows: list[Row], folder: Path) -> None:
    cells = dict.fromkeys((*JUDGES, "GPTScore-src", "UniEval", "RQUGE"), 1) | {"answerability": 3}
    write_table(table(rows, **cells).rename(columns={"question": "prediction"}), folder / "test_answerability.xlsx")


def squad(rows: list[Row], folder: Path, name: str = "train-v2.0.json") -> None:
    paragraphs = [
        {"context": p, "qas": [{"id": "1", "question": q, "answers": [{"text": a, "answer_start": 0}]}]}
        for q, p, a in rows
    ]
    document = {"data": [{"title": "t", "paragraphs": paragraphs}]}
    (folder / name).write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8", newline="")


def xquad(rows: list[Row], folder: Path) -> None:
    squad(rows, folder, "xquad.en.json")


def qed(rows: list[Row], folder: Path) -> None:
    records = [
        {
            **{"question_text": q, "paragraph_text": p, "title_text": "t"},
            "original_nq_answers": [[{"string": a, "start": 0}]],
            "annotation": {"explanation_type": "single_sentence"},
        }
        for q, p, a in rows
    ]
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    (folder / "qed-dev.jsonlines").write_text(lines, encoding="utf-8", newline="")


def hotpotqa(rows: list[Row], folder: Path) -> None:
    items = [{"question": q, "answer": a, "context": [["t", [p]]], "supporting_facts": [["t", 0]]} for q, p, a in rows]
    (folder / "hotpot.json").write_text(json.dumps(items, ensure_ascii=False), encoding="utf-8", newline="")


def fairytaleqa(rows: list[Row], folder: Path) -> None:
    (folder / "questions").mkdir()
    (folder / "section-stories").mkdir()
    sections = pd.DataFrame({"section": [str(i) for i in range(len(rows))], "text": [p for _, p, _ in rows]})
    write_table(sections, folder / "section-stories" / "tale-story.csv")
    questions = pd.DataFrame(
        {
            "cor_section": sections["section"],
            "question": [q for q, _, _ in rows],
            "answer1": [a for _, _, a in rows],
            "attribute1": "action",
            "ex-or-im1": "explicit",
        }
    )
    write_table(questions, folder / "questions" / "tale-questions.csv")


MAKERS: dict[str, Callable[[list[Row], Path], None]] = {
    "qgeval": qgeval,
    "qgeval-metrics": metrics,
    "qgeval-llama3": llama3,
    "qgeval-answerability": answerability,
    "squad": squad,
    "xquad": xquad,
    "qed": qed,
    "hotpotqa": hotpotqa,
    "fairytaleqa": fairytaleqa,
}


def read(name: str, rows: list[Row]) -> list[tuple[str, str, str | None, str]]:
    """Question, passage, answer and the id of each row, as the reader gives them."""
    with tempfile.TemporaryDirectory() as folder:
        MAKERS[name](rows, Path(folder))
        found: Benchmark | Pairs = READERS[name](Path(folder))
    frame = found.questions if isinstance(found, Benchmark) else found.frame
    ids = frame["question_id"] if isinstance(found, Benchmark) else frame["passage_id"]
    return list(zip(frame["question"], frame["passage"], frame["answer"], ids, strict=True))


@pytest.mark.parametrize("name", MAKERS)
@given(rows=ROWS, data=st.data())
@QUICK
def test_text_and_ids_survive_and_order_does_not_matter(name: str, rows: list[Row], data: st.DataObject) -> None:
    entities = name.startswith("qgeval")
    expected = []
    for q, p, a in rows:
        passage = shown(p) if entities else p
        expected.append((q, passage, a, content_id(passage, a, q) if entities else passage_id(passage)))
    assert read(name, rows) == expected
    shuffled = data.draw(st.permutations(rows))
    assert sorted(read(name, shuffled)) == sorted(expected)


@given(rows=ROWS, data=st.data())
@QUICK
def test_paperrq_keeps_text_and_ids(rows: list[Row], data: st.DataObject) -> None:
    def paper(order: list[Row]) -> list[tuple[str, str, str]]:
        unique = {(q, p): a for q, p, a in order}
        frame = pd.DataFrame(
            [(a, p, "intro", q) for (q, p), a in unique.items()],
            columns=["title", "abstract", "introduction", "predicted_rq"],
            dtype=object,
        ).assign(score_problem=1, score_method=2, is_target_rq_type=0)
        with tempfile.TemporaryDirectory() as folder:
            write_table(frame, Path(folder) / "dataset.csv")
            questions = READERS["paperrq"](Path(folder)).questions
        assert questions["question"].tolist() == [q for q, _ in unique]
        assert questions["passage"].tolist() == [f"{p}\n\nintro" for _, p in unique]
        return sorted(zip(questions["question"], questions["abstract"], questions["question_id"], strict=True))

    assert paper(rows) == [
        (q, p, content_id(f"{p}\n\nintro", None, q)) for q, p in sorted({(q, p) for q, p, _ in rows})
    ]
    assert paper(data.draw(st.permutations(rows))) == paper(rows)
