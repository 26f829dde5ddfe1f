"""Users' tables: what is read is what was written, and every mistake has one clear line."""

from __future__ import annotations

import errno
import io
import json
import os
import stat
import zipfile
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from erreval.data.tables import ENDINGS, ColumnMap, read_questions, read_table, write_table
from erreval.errors import TableError

TRICKY = [
    "None",
    "nan",
    "1984",
    "001",
    "yes",
    "=1+1",
    "#N/A",
    "a\nb\r\nc",
    'say "hi", he',
    "\tx ",
    "\n\na ",
    "授時暦 &amp; é",
    "_x000D_",
]


def refusal(call, *args, **kwargs) -> str:
    with pytest.raises(TableError) as caught:
        call(*args, **kwargs)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("ending", ENDINGS)
def test_text_stays_what_it_is(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t{ending}"
    frame = pd.DataFrame({"question": TRICKY, "answer": [None, *TRICKY[1:]]}, dtype=object)
    write_table(frame, path)
    back = read_table(path)
    assert back["question"].tolist() == TRICKY
    assert back["answer"].tolist() == [None, *TRICKY[1:]]
    questions, rest = read_questions(path)
    assert [q.question for q in questions] == TRICKY
    assert rest.shape == (len(TRICKY), 0)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("blank", [" ", "\n", "\t\n ", "\r\n"])
def test_white_space_alone_is_kept_and_is_no_answer(tmp_path: Path, ending: str, blank: str) -> None:
    path = tmp_path / f"t{ending}"
    write_table(pd.DataFrame({"question": ["q"], "answer": [blank]}), path)
    assert read_table(path)["answer"].tolist() == [blank]
    assert read_questions(path).questions[0].answer is None


@pytest.mark.parametrize("ending", ENDINGS)
def test_same_frame_same_bytes(tmp_path: Path, ending: str) -> None:
    frame = pd.DataFrame({"question": ["a", "b"], "score": [1.5, None], "n": [1, 2]})
    write_table(frame, tmp_path / f"a{ending}")
    write_table(frame, tmp_path / f"b{ending}")
    assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"a{ending}", f"b{ending}"]


@pytest.mark.parametrize("ending", [".xlsx", ".json", ".jsonl", ".parquet"])
def test_numbers_stay_numbers(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t{ending}"
    write_table(pd.DataFrame({"question": ["a", "b"], "score": [3, 2.6667], "year": [1984, 2001]}), path)
    back = read_table(path)
    assert back["score"].tolist() == [3, 2.6667]
    assert back["year"].dtype == "int64"


def test_numbers_as_answers_read_as_people_write_them(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps([{"question": "q", "answer": a} for a in (1984, 1984.0, 2.5, True, None, "")]))
    assert [q.answer for q in read_questions(path).questions] == ["1984", "1984", "2.5", "true", None, None]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".xlsx", ".parquet"])
def test_a_table_without_rows_can_be_read_but_holds_no_questions(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t{ending}"
    write_table(pd.DataFrame({"question": pd.Series([], dtype=object), "x": pd.Series([], dtype=object)}), path)
    assert read_table(path).columns.tolist() == ["question", "x"]
    assert len(read_table(path)) == 0
    assert "no row" in refusal(read_questions, path)


def test_missing_file_folder_empty_and_unknown(tmp_path: Path) -> None:
    assert "no such file" in refusal(read_table, tmp_path / "none.csv")
    assert "is a folder" in refusal(read_table, tmp_path)
    (tmp_path / "e.csv").touch()
    assert "is empty" in refusal(read_table, tmp_path / "e.csv")
    (tmp_path / "e.jsonl").write_text("\n \n")
    assert "is empty" in refusal(read_table, tmp_path / "e.jsonl")
    assert "unknown ending '.ods'" in refusal(read_table, tmp_path / "e.ods")
    (tmp_path / "e.json").write_text("[]")
    assert "no rows" in refusal(read_questions, tmp_path / "e.json")


def test_no_question_column_lists_those_there_are(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("frage,text\nWer?,da\n")
    message = refusal(read_questions, path)
    assert "no column 'question'" in message
    assert "'frage', 'text'" in message
    assert "--question-column" in message
    assert [q.question for q in read_questions(path, ColumnMap(question="frage")).questions] == ["Wer?"]
    assert "--passage-column" in refusal(read_questions, path, ColumnMap(question="frage", passage="nope"))


def test_aliases_and_other_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("context,prediction,system,note\nP,Q?,S,keep\n")
    questions, rest = read_questions(path)
    assert (questions[0].passage, questions[0].question, questions[0].source) == ("P", "Q?", "S")
    assert rest.to_dict("records") == [{"note": "keep"}]


def test_a_map_from_yaml(tmp_path: Path) -> None:
    path = tmp_path / "map.yaml"
    path.write_text("question: frage\n")
    assert ColumnMap.from_yaml(path).question == "frage"
    path.write_text("frage: question\n")
    assert "cannot use frage" in refusal(ColumnMap.from_yaml, path)
    path.write_text("- a\n")
    assert "no mapping" in refusal(ColumnMap.from_yaml, path)
    path.write_text("a: [b\n")
    assert "not a YAML file" in refusal(ColumnMap.from_yaml, path)


def test_invalid_utf8_names_offset_line_and_remedy(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("question\nok\ncaf\xe9\n".encode("cp1252"))
    message = refusal(read_table, path)
    assert "line 3" in message
    assert "offset 15" in message
    assert "--encoding" in message
    assert read_table(path, encoding="cp1252")["question"].tolist() == ["ok", "café"]
    assert "unknown encoding" in refusal(read_table, path, encoding="klingon")
    path.write_bytes("question\nok\n".encode("utf-16"))
    assert "utf-16" in refusal(read_table, path)
    assert read_table(path, encoding="utf-16")["question"].tolist() == ["ok"]


def test_a_byte_order_mark_is_no_part_of_the_name(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfquestion\nok\n")
    assert read_table(path).columns.tolist() == ["question"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('question,answer\nq,a\n"open,a\nr,b\n', "line 3"),
        ('question,answer\n"a" b,c\n', "line 2"),
        ("question,answer\n\nq\n", "line 3, row 1: 1 cells where the header has 2"),
        ("question,answer\nq,a,b\n", "3 cells where the header has 2"),
        ('question,answer\n"two\nlines",a\nq,a,b\n', "line 4, row 2"),
        ("question,question\nq,a\n", "'question' stands twice"),
        ("question,answer\nq\x00,a\n", "line 2: a NUL"),
    ],
)
def test_damaged_csv(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert expected in refusal(read_table, path)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("t.jsonl", '{"question": "a"}\n{"question": "b', "line 2, row 2: not a whole JSON object"),
        ("t.jsonl", '{"question": "a"}\n[1]\n', "an array where an object is needed"),
        ("t.jsonl", '{"question": "\\ud83d"}\n', "surrogate"),
        ("t.json", '{"data": []}', "an object with the keys data"),
        ("t.json", '[{"question": "a"}, 3]', "row 2: a number"),
        ("t.json", '[{"question": "a"},\n', "line 2: not JSON"),
        ("t.json", '{"question": "a"}\n{"question": "b"}', ".jsonl"),
    ],
)
def test_damaged_json(tmp_path: Path, name: str, text: str, expected: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert expected in refusal(read_table, path)


def test_nested_cells_are_kept_but_are_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"question": "q", "answer": "a", "tags": ["x", "y"]}\n')
    _, rest = read_questions(path)
    write_table(rest, tmp_path / "u.jsonl")
    assert json.loads((tmp_path / "u.jsonl").read_text()) == {"tags": ["x", "y"]}
    path.write_text('{"question": "q", "answer": ["a"]}\n')
    assert "row 1 (line 1), column 'answer'" in refusal(read_questions, path)


def test_blank_questions_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('question,passage\n"q\nr",p\n ,p\n,p\n')
    assert "row 2 (line 4), column 'question': the question is blank (and 1 more rows)" in refusal(read_questions, path)


def test_files_that_only_look_like_xlsx(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    path.write_text("question\nq\n")
    assert "not an XLSX file" in refusal(read_table, path)
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 512 + "EncryptedPackage".encode("utf-16-le"))
    assert "password" in refusal(read_table, path)
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 512)
    assert "old .xls" in refusal(read_table, path)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as z:
        z.writestr("word/document.xml", "<x/>")
    path.write_bytes(archive.getvalue())
    assert "not an XLSX file" in refusal(read_table, path)
    write_table(pd.DataFrame({"question": ["q"] * 50}), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "not an XLSX file" in refusal(read_table, path)


def test_xlsx_of_another_shape(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    book = openpyxl.Workbook()
    book.active.append(["My questions, exported"])
    book.active.append(["question", "answer"])
    book.active.append(["q", "a"])
    book.create_sheet("empty")
    book.save(path)
    assert "there are: 'My questions, exported', 'column 2'" in refusal(read_questions, path)
    assert "no sheet 'x'; there are: Sheet, empty" in refusal(read_table, path, sheet="x")
    assert "the sheet is empty" in refusal(read_table, path, sheet="empty")


def test_blank_rows_of_a_sheet_are_skipped_and_rows_keep_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    book = openpyxl.Workbook()
    for row in (["question", "answer"], ["q", 1984], [None, None], [" ", "a"], [None, None]):
        book.active.append(row)
    book.save(path)
    assert len(read_table(path)) == 2
    assert "row 2 (line 4)" in refusal(read_questions, path)


def test_xlsx_survives_control_characters_and_refuses_long_text(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    texts = ["bell\x07 vt\x0b nul\x00", "_x0041_ stays", "=SUM(A1)"]
    write_table(pd.DataFrame({"question": texts}), path)
    assert read_table(path)["question"].tolist() == texts
    assert openpyxl.load_workbook(path).active["A4"].data_type == "s"
    assert "U+FFFE" in refusal(write_table, pd.DataFrame({"question": ["\ufffe"]}), path)
    before = path.read_bytes()
    message = refusal(write_table, pd.DataFrame({"question": ["a", "x" * 32_768]}), path)
    assert "row 2, column 'question'" in message
    assert "32,767" in message
    assert path.read_bytes() == before
    write_table(pd.DataFrame({"question": ["x" * 32_767]}), path)
    assert len(read_table(path)["question"][0]) == 32_767


def test_passages_of_any_length(tmp_path: Path) -> None:
    for ending in (".csv", ".tsv", ".jsonl", ".json", ".parquet"):
        write_table(pd.DataFrame({"question": ["q"], "passage": ["x" * 200_000]}), tmp_path / f"t{ending}")
        assert len(read_questions(tmp_path / f"t{ending}").questions[0].passage) == 200_000


def test_parquet_garbage(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 this is not it PAR1")
    assert "not a readable Parquet file" in refusal(read_table, path)


def test_text_that_no_format_can_hold(tmp_path: Path) -> None:
    frame = pd.DataFrame({"question": ["ok", "broken \ud83d"]}, dtype=object)
    for ending in ENDINGS:
        message = refusal(write_table, frame, tmp_path / f"t{ending}")
        assert "row 2, column 'question'" in message
    assert "NUL" in refusal(write_table, pd.DataFrame({"question": ["a\x00"]}), tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


def test_output_folder_missing_or_a_folder_itself(tmp_path: Path) -> None:
    frame = pd.DataFrame({"question": ["q"]})
    assert "does not exist; create it" in refusal(write_table, frame, tmp_path / "no" / "t.csv")
    (tmp_path / "t.csv").mkdir()
    assert "is a folder" in refusal(write_table, frame, tmp_path / "t.csv")


def test_read_only_output_folder(ordinary_user: Path) -> None:
    ordinary_user.chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert "may not be written" in refusal(write_table, pd.DataFrame({"question": ["q"]}), ordinary_user / "t.csv")
    assert list(ordinary_user.iterdir()) == []


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("question\nold\n")

    def full(*_args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, full)
    assert "the disk is full" in refusal(write_table, pd.DataFrame({"question": ["new"]}), path)
    assert path.read_text() == "question\nold\n"
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]
