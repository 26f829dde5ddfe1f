"""`erreval compare-systems` as a user meets it, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from erreval.cli import main
from erreval.data.tables import read_table

HEADER = "question,passage,answer,source\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, which is no project."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ERREVAL_MODEL", raising=False)
    return tmp_path


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["compare-systems", *arguments])


def rows(system: str, question: str, passages: range) -> str:
    return "".join(f'"{question}",Eve number {i} ate the red apple in the garden.,Eve,{system}\n' for i in passages)


GOOD, BROKEN = "Who ate the red apple?", "Who aet the appel?"


def test_the_better_system_the_interval_and_the_type_that_makes_the_difference(folder: Path) -> None:
    (folder / "t.csv").write_text(HEADER + rows("clumsy", BROKEN, range(12)) + rows("careful", GOOD, range(12)))
    reply = ask("t.csv", "--model", "detectors", "-o", "ranking.csv", "--pairs", "pairs.csv")
    assert reply.exit_code == 0, reply.output
    lines = reply.output.splitlines()
    assert lines[0] == "24 questions, diagnosed by the detectors alone"
    assert [line.split()[:3] for line in lines[2:4]] == [["1", "careful", "12"], ["2", "clumsy", "12"]]
    assert lines[4].startswith("careful - clumsy: ")
    assert lines[4].endswith("on 12 passages")
    # all of one system's questions have the error and none of the other's: the rates differ by 1 on every passage
    assert "      Spell Error: -1.000 [-1.000, -1.000]" in lines
    ranking = read_table("ranking.csv")
    assert ranking["system"].tolist() == ["careful", "clumsy"]
    assert ranking["rate_spell_error"].tolist() == ["0", "1"]
    pairs = read_table("pairs.csv").set_index("statistic")
    assert pairs.loc["rate_spell_error", ["better", "other", "shared_passages", "difference", "is_clear"]].tolist() == [
        *("careful", "clumsy", "12", "-1", "true")
    ]


def test_systems_on_other_passages_are_another_group_and_compared_there(folder: Path) -> None:
    text = rows("a", GOOD, range(6)) + rows("b", BROKEN, range(6)) + rows("c", GOOD, range(10, 16))
    text += rows("a-very-long-name-that-must-not-be-cut-short", BROKEN, range(10, 16))
    (folder / "t.csv").write_text(HEADER + text)
    reply = ask("t.csv", "-o", "r.csv")
    assert reply.exit_code == 0, reply.output
    assert "2 groups of systems wrote on different passages" in reply.output
    assert "a - b: " in reply.output
    assert "c - a-very-long-name-that-must-not-be-cut-short: " in reply.output
    assert "share no passage" not in reply.output
    found = read_table("r.csv")
    assert dict(zip(found["system"], found["group"], strict=True))["a"] != found["group"][len(found) - 1]
    assert found["rank"].tolist() == ["1", "2", "1", "2"]


def test_one_passage_gives_no_interval(folder: Path) -> None:
    (folder / "t.csv").write_text(HEADER + rows("a", GOOD, range(1)) + rows("b", BROKEN, range(1)))
    reply = ask("t.csv")
    assert reply.exit_code == 0, reply.output
    assert "[unknown] on 1 passage  (not told apart)" in reply.output


def test_nothing_in_common(folder: Path) -> None:
    (folder / "t.csv").write_text(HEADER + rows("a", GOOD, range(2)) + rows("b", GOOD, range(5, 7)))
    assert "a and b share no passage: not compared" in ask("t.csv").output


def test_columns_from_a_yaml_file_and_an_option_over_it(folder: Path) -> None:
    table = (HEADER + rows("a", GOOD, range(3)) + rows("b", BROKEN, range(3))).replace(
        HEADER, "frage,text,antwort,wer\n"
    )
    (folder / "t.csv").write_text(table)
    (folder / "map.yaml").write_text("question: frage\npassage: text\nanswer: antwort\nsource: niemand\n")
    reply = ask("t.csv", "--columns", "map.yaml", "--source-column", "wer")
    assert reply.exit_code == 0, reply.output
    assert "a - b: " in reply.output


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["none.csv"], ("none.csv: no such file",)),
        (["nobody.csv"], ("nobody.csv, row 1, column 'source': no system is named", "--source-column")),
        (["gap.csv"], ("gap.csv, row 2, column 'source': no system is named",)),
        (["one.csv"], ("one.csv, column 'source': only one system, 'a'",)),
        (["one.csv", "--source-column", "system"], ("no column 'system'", "--source-column")),
        (["two.csv", "-o", "no/r.csv"], ("the folder no does not exist",)),
        (["two.csv", "--pairs", "p.ods"], ("p.ods", "unknown ending '.ods'")),
        (["two.csv", "--model", "no"], ("there is no model",)),
    ],
)
def test_what_is_refused(folder: Path, arguments: list[str], parts: tuple[str, ...]) -> None:
    (folder / "nobody.csv").write_text("question,passage\nWho?,p\n")
    (folder / "gap.csv").write_text("question,source\nWho?,a\nWhen?,\n")
    (folder / "one.csv").write_text("question,source\nWho?,a\nWhen?,a\n")
    (folder / "two.csv").write_text("question,source\nWho?,a\nWhen?,b\n")
    before = sorted(folder.iterdir())
    reply = ask(*arguments)
    assert reply.exit_code == 2, reply.output
    assert reply.stdout == ""
    assert len(reply.stderr.splitlines()) == 1
    for part in parts:
        assert part in reply.stderr
    assert sorted(folder.iterdir()) == before


def test_names_that_differ_only_in_white_space_or_case_are_told(folder: Path) -> None:
    (folder / "t.csv").write_text(HEADER + rows("GPT-4", GOOD, range(2)) + rows("gpt-4 ", GOOD, range(2)))
    reply = ask("t.csv", "--model", "detectors")
    assert reply.exit_code == 0, reply.output
    assert reply.stderr.startswith("warning: t.csv, column 'source': 'GPT-4' and 'gpt-4 ' differ only in white space")
    assert reply.stderr.count("warning:") == 1


def test_the_input_and_the_other_output_are_kept(folder: Path) -> None:
    text = HEADER + rows("a", GOOD, range(2)) + rows("b", GOOD, range(2))
    (folder / "t.csv").write_text(text)
    for option in ("-o", "--pairs"):
        reply = ask("t.csv", option, "t.csv")
        assert reply.exit_code == 2
        assert "t.csv: is the input itself" in reply.stderr
    reply = ask("t.csv", "-o", "r.csv", "--pairs", "./r.csv")
    assert reply.exit_code == 2
    assert "r.csv: two outputs would be this one file" in reply.stderr
    assert (folder / "t.csv").read_text() == text
