"""A judge's scores joined with a diagnosed table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from erreval.cli import main
from erreval.data.tables import read_table

TABLE = pd.DataFrame({"question": list("abcd"), "judge": [1, 3, 3, None], "score_fluency": [0.2, 0.4, 0.9, 0.5]})
TABLE["none"] = None


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("t.csv", index=False)
    return Path("t.csv")


def test_both_are_standardised_and_weighted(table: Path) -> None:
    reply = CliRunner().invoke(
        main, ["with-judge", str(table), "-o", "o.csv", "--judge", "fluency=judge", "--weight", "0.25"]
    )
    assert reply.exit_code == 0, reply.output
    assert "3 of 4 questions have both scores; weight of the diagnosis 0.25" in reply.output
    # judge 1, 3, 3: mean 7/3, deviation .942809 -> -1.414214, .707107, .707107
    # diagnosis .2, .4, .9: mean .5, deviation .294392 -> -1.019049, -.339683, 1.358732; .75 and .25 of the two
    joined = read_table("o.csv")
    found = joined["with_judge_fluency"].tolist()
    assert [float(value) for value in found[:3]] == pytest.approx([-1.315423, 0.445409, 0.870013], abs=2e-6)
    assert found[3] is None
    again = CliRunner().invoke(main, ["with-judge", "o.csv", "-o", "p.csv", "--judge", "fluency=judge"])
    assert again.exit_code == 2
    assert "already; join with the diagnosed table as it was" in again.output
    assert list(joined.columns) == [*TABLE.columns, "with_judge_fluency", "level_fluency"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--judge", "fluency=judge", "--judge", "fluency=score_fluency"], "--judge names fluency twice"),
        (["--judge", "fluency=none"], "t.csv: 0 of 4 questions have both scores of fluency; at least 3"),
        (["--judge", "fluency"], "--judge fluency: write it as DIMENSION=COLUMN"),
        (["--judge", "beauty=judge"], "no such dimension; there are: fluency"),
        (["--judge", "fluency=other"], "t.csv: there is no column 'other'; there are: question, judge"),
        (["--judge", "clarity=judge"], "no column 'score_clarity'"),
        (["--judge", "fluency=question"], "t.csv, row 1, column 'question': 'a' is no number; correct it"),
    ],
)
def test_mistakes_are_one_line(table: Path, arguments: list[str], told: str) -> None:
    reply = CliRunner().invoke(main, ["with-judge", str(table), "-o", "o.csv", *arguments])
    assert reply.exit_code == 2
    assert told in reply.output
    assert not Path("o.csv").exists()


def test_infinite_scores_and_the_input_as_output(table: Path) -> None:
    TABLE.assign(judge=[1, float("inf"), 3, 2]).to_csv("i.csv", index=False)
    reply = CliRunner().invoke(main, ["with-judge", "i.csv", "-o", "o.csv", "--judge", "fluency=judge"])
    assert reply.exit_code == 2
    assert reply.stderr == "error: i.csv, row 2, column 'judge': inf is no finite number; correct it\n"
    before = table.read_bytes()
    Path("link.csv").symlink_to(table)
    reply = CliRunner().invoke(main, ["with-judge", str(table), "-o", "link.csv", "--judge", "fluency=judge"])
    assert reply.exit_code == 2
    assert "link.csv: is the input itself" in reply.stderr
    assert table.read_bytes() == before
