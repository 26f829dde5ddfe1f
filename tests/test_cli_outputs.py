"""No command writes over what it reads, whatever the option is called."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from erreval.cli import main
from erreval.cli_outputs import counted

TABLE = "question,passage,answer,labels\nWho?,p,a,No Error\n"
INJECT = ["inject", "t.csv", "--writer", "w", "--judges", "a,b", "-n", "1", "--dry-run"]


@pytest.mark.parametrize("name", ["t.csv", "./t.csv", "link.csv"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["diagnose", "t.csv", "-o"],
        ["compare-systems", "t.csv", "--pairs"],
        ["with-judge", "t.csv", "--judge", "fluency=x", "-o"],
        ["data", "agreement", "t.csv", "--votes"],
        ["data", "leaks", "t.csv", "--score", "x", "--report"],
        ["compare-identifiers", "t.csv", "--model", "detectors", "-o"],
        ["compare-identifiers", "t.csv", "--model", "detectors", "--calls"],
        ["explain", "abc", "--table", "t.csv", "--html"],
        [*INJECT, "-o"],
        [*INJECT[:1], "other.csv", *INJECT[2:], "--seeds", "t.csv", "-o"],
    ],
)
def test_the_input_is_never_an_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(TABLE)
    Path("link.csv").symlink_to("t.csv")
    reply = CliRunner().invoke(main, [*arguments, name])
    assert reply.exit_code == 2, reply.output
    assert reply.stderr == f"error: {Path(name)}: is the input itself; name another file to write\n"
    assert Path("t.csv").read_text() == TABLE
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.csv", "t.csv"]


def test_numbers_with_their_nouns() -> None:
    assert [counted(number, "row") for number in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
