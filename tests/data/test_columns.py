"""Columns mapped by option or YAML on the real command line, and CSV files that are not separated by commas."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from erreval.cli import main
from erreval.data.columns import ColumnMap
from erreval.data.tables import read_questions, read_table, write_table
from erreval.errors import TableError

TABLE = "frage,text,antwort,wer\nWho ate the apple?,Eve ate the apple.,Eve,gpt\n"
MAP = "question: frage\npassage: text\nanswer: antwort\nsource: wer\n"


def diagnose(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["diagnose", "t.csv", "-o", "out.csv", "--model", "detectors", *arguments])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE)
    return tmp_path


def test_any_columns_by_a_small_yaml_file(folder: Path) -> None:
    (folder / "map.yaml").write_text(MAP)
    reply = diagnose("--columns", "map.yaml")
    assert reply.exit_code == 0, reply.output
    found = read_table("out.csv")
    expected = read_questions("t.csv", ColumnMap(question="frage", passage="text", answer="antwort", source="wer"))
    assert found["question_id"].tolist() == [expected.questions[0].question_id]
    assert found["not_judged"].tolist() == [None]  # answer and passage were found


def test_an_option_counts_more_than_the_file(folder: Path) -> None:
    (folder / "map.yaml").write_text(MAP.replace("frage", "nirgends"))
    assert "no column 'nirgends'" in diagnose("--columns", "map.yaml").stderr
    assert diagnose("--columns", "map.yaml", "--question-column", "frage").exit_code == 0


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "no mapping; write lines such as 'question: prediction'"),
        ("- question\n", "no mapping"),
        ("question\n", "no mapping"),
        ("question: [frage\n", "not a YAML file"),
        ("question: frage\nquestion: text\n", "not a YAML file"),
        ("frage: question\n", "cannot use frage: 'question'; the names are question, passage, answer, source"),
        ("question: 3\n", "cannot use question: 3"),
        ("question:\n", "cannot use question: None"),
        ("question: ''\n", "cannot use question: ''"),
        ("question: {a: b}\n", "cannot use question: {'a': 'b'}"),
        ("question: frage\npassage: [text]\n", "cannot use passage: ['text']"),
        ("question: frage\nanswer: nirgends\n", "no column 'nirgends'; there are: 'frage', 'text', 'antwort', 'wer'"),
    ],
)
def test_a_bad_yaml_file_is_refused_in_one_line(folder: Path, text: str, part: str) -> None:
    (folder / "map.yaml").write_text(text)
    reply = diagnose("--columns", "map.yaml")
    assert reply.exit_code == 2, reply.output
    assert len(reply.stderr.splitlines()) == 1
    assert part in reply.stderr
    assert not (folder / "out.csv").exists()


def test_a_yaml_file_that_is_not_there_or_not_text(folder: Path) -> None:
    assert "none.yaml: no such file" in diagnose("--columns", "none.yaml").stderr
    (folder / "map.yaml").write_bytes(b"question: \xff\n")
    assert "map.yaml: not a YAML file" in diagnose("--columns", "map.yaml").stderr


# Spreadsheets of many countries separate the cells of a CSV file by semicolons.


@pytest.mark.parametrize("delimiter", [";", "\t"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_semicolons_and_tabs_are_seen(folder: Path, delimiter: str, quote: str) -> None:
    rows = [("question", "passage"), ("Who, then?", "Eve, and Adam"), ("When?", "1,5")]
    lines = [delimiter.join(f"{quote}{cell}{quote}" for cell in row) for row in rows]
    (folder / "s.csv").write_text("\n".join(lines) + "\n")
    assert read_table("s.csv").to_dict("records") == [
        {"question": "Who, then?", "passage": "Eve, and Adam"},
        {"question": "When?", "passage": "1,5"},
    ]
    (folder / "s.csv").write_text("\n".join([*lines, f"a{delimiter}b{delimiter}c"]) + "\n")
    with pytest.raises(
        TableError, match=rf"3 cells where the header has 2; .*{'semi' if delimiter == ';' else 'tabs'}"
    ):
        read_table("s.csv")


def test_commas_stay_commas(folder: Path) -> None:
    (folder / "c.csv").write_text("question;x,passage\nWho; then?,p\n")
    assert read_table("c.csv").columns.tolist() == ["question;x", "passage"]
    (folder / "c.csv").write_text('"question; one"\nWho?\n')
    assert read_table("c.csv").columns.tolist() == ["question; one"]
    (folder / "c.csv").write_text('question\n"Who; then?"\n')
    assert read_table("c.csv")["question"].tolist() == ["Who; then?"]
    (folder / "c.tsv").write_text("question;passage\tanswer\nWho?\tx\n")
    assert read_table("c.tsv").columns.tolist() == ["question;passage", "answer"]


@pytest.mark.parametrize("name", ["a;b", "a\tb", 'a";"b', "a;b,c"])
@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_a_single_column_with_such_a_name_comes_back(folder: Path, name: str, ending: str) -> None:
    frame = pd.DataFrame({name: ["x;y", "z"]}, dtype=object)
    write_table(frame, f"n{ending}")
    assert read_table(f"n{ending}").equals(frame)


def test_one_column_cannot_have_two_roles(folder: Path) -> None:
    (folder / "map.yaml").write_text("question: frage\npassage: frage\n")
    reply = diagnose("--columns", "map.yaml")
    assert reply.exit_code == 2
    assert "t.csv: column 'frage' cannot be question and passage at once; name one column each" in reply.output
    assert not (folder / "out.csv").exists()
