"""Whatever the text: it survives writing and reading in every format, ids do not change, order does not matter."""

from __future__ import annotations

import tempfile
import unicodedata
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from erreval.data.overlap import find_overlaps, words_of
from erreval.data.readers import READERS, read_custom
from erreval.data.splits import side_of
from erreval.data.tables import ENDINGS, read_questions, read_table, write_table
from erreval.records import Question, content_id, passage_id

# everything but halves of surrogate pairs and NUL, which CSV cannot hold; U+FFFE and U+FFFF, which XLSX cannot
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\x00\ufffe\uffff")
CURIOUS = st.sampled_from(
    [
        "None",
        "nan",
        "NaN",
        "null",
        "1984",
        "001",
        "1e5",
        "yes",
        "TRUE",
        "=1+1",
        "@x",
        "#N/A",
        "_x000D_",
        '"',
        "a\r\nb",
        "\n",
    ]
)
TEXT = st.one_of(CURIOUS, st.text(CHARACTERS, min_size=1, max_size=40))
WRITTEN = TEXT.filter(lambda text: bool(text.strip()))
ROWS = st.lists(
    st.tuples(WRITTEN, st.one_of(st.just(""), TEXT), st.one_of(st.none(), TEXT)), min_size=1, max_size=8, unique=True
)
QUICK = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def frame_of(rows: list[tuple[str, str, str | None]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["question", "passage", "answer"], dtype=object)


@pytest.mark.parametrize("ending", ENDINGS)
@given(rows=ROWS)
@QUICK
def test_text_survives_and_ids_do_not_change(ending: str, rows: list[tuple[str, str, str | None]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{ending}"
        write_table(frame_of(rows), path)
        back = read_table(path)
        expected = [tuple(cell or None for cell in row) for row in rows]
        assert list(back.itertuples(index=False, name=None)) == expected
        questions, rest = read_questions(path)
        assert [q.question_id for q in questions] == [content_id(p, _answer(a), q) for q, p, a in rows]
        assert rest.shape == (len(rows), 0)
        write_table(back, path)
        assert read_table(path).equals(back)


def _answer(text: str | None) -> str | None:
    return text if text and text.strip() else None


@pytest.mark.parametrize("ending", ENDINGS)
@given(rows=ROWS, data=st.data())
@QUICK
def test_order_of_rows_does_not_matter(
    ending: str, rows: list[tuple[str, str, str | None]], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(rows))
    with tempfile.TemporaryDirectory() as folder:
        tables = []
        for name, order in (("a", rows), ("b", shuffled)):
            path = Path(folder) / f"{name}{ending}"
            write_table(frame_of(order).assign(source="s"), path)
            tables.append(read_custom(path).questions.drop(columns="repeat"))
        first, second = (t.sort_values(["question_id", "source"], ignore_index=True) for t in tables)
        assert set(first["question_id"]) == set(second["question_id"])
        assert set(first["passage_id"]) == set(second["passage_id"])


def _simqg(rows: list[tuple[str, str, str | None]]) -> pd.DataFrame:
    return frame_of(rows).assign(target="t", fluency=1, relevance=0.5, answerability=0)


def _squad_1k(rows: list[tuple[str, str, str | None]]) -> pd.DataFrame:
    return frame_of(rows).assign(is_impossible=False, answerability=1)


def _seeds(rows: list[tuple[str, str, str | None]]) -> pd.DataFrame:
    return frame_of(rows).assign(source=[f"s{i}" for i in range(len(rows))], error_label="Vague; Off Topic")


def _pilot(rows: list[tuple[str, str, str | None]]) -> pd.DataFrame:
    from erreval.data.readers.frames import SEVEN

    return _seeds(rows).assign(reference="r", **dict.fromkeys(SEVEN, 2.5))


@pytest.mark.parametrize(
    ("name", "file", "make"),
    [
        ("simqg", "simqg.xlsx", _simqg),
        ("squad-1k", "squad-1k.xlsx", _squad_1k),
        ("seeds", "samples_for_simulation.xlsx", _seeds),
        ("pilot", "sample-300.xlsx", _pilot),
    ],
)
@given(rows=ROWS)
@QUICK
def test_benchmark_readers_keep_text_and_ids(name: str, file: str, make, rows: list) -> None:
    rows = [(q, p if p.strip() else "passage", a) for q, p, a in rows]
    with tempfile.TemporaryDirectory() as folder:
        write_table(make(rows), Path(folder) / file)
        questions = READERS[name](Path(folder)).questions
        assert questions["question"].tolist() == [q for q, _, _ in rows]
        assert questions["passage"].tolist() == [p for _, p, _ in rows]
        assert questions["question_id"].tolist() == [content_id(p, _answer(a), q) for q, p, a in rows]


@given(passage=TEXT, answer=st.one_of(st.none(), TEXT), question=WRITTEN)
@QUICK
def test_ids_are_of_the_nfc_text(passage: str, answer: str | None, question: str) -> None:
    record = Question(question=question, passage=passage, answer=answer)
    assert record.question_id == content_id(passage, _answer(answer), question)
    decomposed = Question(
        question=unicodedata.normalize("NFD", question),
        passage=unicodedata.normalize("NFD", passage),
        answer=unicodedata.normalize("NFD", answer) if answer else None,
    )
    assert decomposed.question_id == record.question_id
    assert decomposed.passage_id == record.passage_id == passage_id(passage)


@given(ids=st.lists(st.text(max_size=10), unique=True), salt=st.text(max_size=5))
@QUICK
def test_a_side_is_decided_alone(ids: list[str], salt: str) -> None:
    shares = {"a": 0.25, "b": 0.25, "c": 0.5}
    together = {one: side_of(one, shares, salt) for one in ids}
    assert all(together[one] == side_of(one, shares, salt) for one in reversed(ids))
    assert set(together.values()) <= set(shares)


@given(text=st.text(CHARACTERS, max_size=200))
@QUICK
def test_a_passage_overlaps_with_itself_if_it_has_words(text: str) -> None:
    found = find_overlaps([text, "something else"], [text])
    if words_of(text):
        assert found["kind"].tolist() == ["equal"]
