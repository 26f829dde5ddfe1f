"""``erreval explain``: for a person, as JSON and as a page, by id and by text."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from erreval.cli import main
from erreval.layout import Layout
from erreval.records import Question
from erreval.settings import load_settings

ASKED = Question(question="What is the captial of France?", passage="Paris is the capital of France.", answer="Paris")
TEXT = ["--question", ASKED.question, "--passage", ASKED.passage, "--answer", "Paris"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def explain(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments])


def test_a_person_reads_it_without_colour() -> None:
    told = explain(*TEXT)
    assert told.exit_code == 0
    assert "\x1b" not in told.output
    assert "What is the [[captial]]{1" in told.output
    assert "[[Paris]]{A} is the capital" in told.output
    assert told.output.startswith("Spell Error  (by detectors)")
    assert f"question_id  {ASKED.question_id}" in told.output
    assert any(line.startswith("* Spell Error") and line.endswith("named") for line in told.output.splitlines())


def test_on_a_terminal_colour_is_added_and_nothing_else() -> None:
    coloured = CliRunner().invoke(main, ["explain", *TEXT], color=True).output
    assert "\x1b[" in coloured
    import click

    assert click.unstyle(coloured) == explain(*TEXT).output


def test_a_passage_cannot_steer_the_terminal() -> None:
    told = explain("--question", "Who?", "--passage", "Ann \x1b]0;evil\x07 wrote.", "--answer", "Ann")
    assert "\x1b" not in told.output and "\x07" not in told.output
    assert "\\x1b]0;evil\\x07" in told.output


def test_json_and_a_page(folder: Path) -> None:
    told = explain(*TEXT, "--json", "--html", "card.html")
    assert json.loads(told.output)["labels"] == ["Spell Error"]
    assert "<mark>captial</mark>" in (folder / "card.html").read_text(encoding="utf-8")
    assert explain(*TEXT, "--html", "card.html").output == "card.html: written\n"


def test_an_id_in_a_table_that_was_diagnosed(folder: Path) -> None:
    pd.DataFrame([{"prediction": ASKED.question, "passage": ASKED.passage, "answer": "Paris"}]).to_csv("mine.csv")
    diagnosed = CliRunner().invoke(
        main, ["diagnose", "mine.csv", "-o", "out.csv", "--question-column", "prediction", "--model", "detectors"]
    )
    assert diagnosed.exit_code == 0, diagnosed.output
    (own_id,) = pd.read_csv("out.csv", dtype=str)["question_id"]
    assert own_id == ASKED.question_id
    told = explain(own_id[:6], "--table", "out.csv", "--question-column", "prediction")
    assert "found in     out.csv" in told.output and "[[captial]]" in told.output


def test_an_id_of_the_project(folder: Path, root: Path) -> None:
    shutil.copy(root / "params.yaml", folder)
    prepared = Layout(load_settings(folder / "params.yaml").profile).prepared
    prepared.mkdir(parents=True)
    row = {"question_id": ASKED.question_id, "source": "gpt", **ASKED.model_dump(include={"question", "passage"})}
    pd.DataFrame([{**row, "answer": None}, {**row, "question_id": "f" * 16}]).to_parquet(prepared / "benchmark.parquet")
    told = explain(ASKED.question_id[:8])
    assert told.exit_code == 0, told.output
    assert "benchmark.parquet (source gpt)" in told.output
    assert "not judged: there is no answer" in told.output


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "give either a QUESTION_ID or --question"),
        (["ab", *TEXT], "give either a QUESTION_ID or --question"),
        (["ab", "--answer", "x"], "go with --question"),
        (["ab"], "there is no project in"),
        (["--question", " "], "the question is empty"),
        ([*TEXT, "--html", "no/card.html"], "the folder no does not exist"),
        ([*TEXT, "--table", "t.csv"], "--table is where a QUESTION_ID"),
        ([*TEXT, "--model", "nobody"], "nobody: there is no model"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], why: str) -> None:
    told = explain(*arguments)
    assert told.exit_code == 2
    assert told.output.startswith("error: ") and told.output.count("\n") == 1
    assert why in told.output
