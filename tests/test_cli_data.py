"""`erreval data …`: rounds listed, leaks that stop a judge, agreement; and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from erreval.cli import main
from erreval.data.readers import ANNOTATED, BENCHMARKS
from erreval.data.tables import read_table, write_table
from erreval.frames import labelled_frame
from erreval.layout import Layout
from erreval.records import Question, content_id
from erreval.settings import apply_profile
from erreval.taxonomy import ErrorType

MIRROR = Path(__file__).resolve().parents[2] / "shared" / "data" / "mirror"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ERREVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    if not MIRROR.is_dir():
        pytest.skip("no mirrored public files beside the repository")
    monkeypatch.setenv("ERREVAL_MIRROR", str(MIRROR))


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["data", *arguments])


def refused(*arguments: str) -> str:
    """The one line of a command that ends with 2."""
    reply = ask(*arguments)
    assert reply.exit_code == 2, reply.output
    lines = reply.stderr.splitlines()
    assert len(lines) == 1, reply.stderr
    assert lines[0].startswith("error: ")
    return lines[0]


# data log


@pytest.fixture
def project(root: Path, folder: Path) -> Layout:
    shutil.copy(root / "params.yaml", folder)
    shutil.copytree(root / "profiles", folder / "profiles")
    apply_profile(folder / "params.yaml", "sample")
    return Layout("sample")


def test_no_project_and_no_round_yet(root: Path, folder: Path) -> None:
    assert "params.yaml: no such file" in refused("log")
    shutil.copy(root / "params.yaml", folder)
    assert "no training set yet; run `make run` or `dvc repro prepare`" in refused("log")


def test_rounds_are_listed_with_what_each_added(project: Layout) -> None:
    def question(i: int) -> Question:
        return Question(question=f"Who is number {i}?", passage=f"passage {i // 2}", answer="a", source="s")

    sound, vague = frozenset({ErrorType.NO_ERROR}), frozenset({ErrorType.VAGUE})
    first = labelled_frame([question(i) for i in range(4)], [sound, vague, vague, sound], ["injected"] * 4, 0)
    more = labelled_frame(
        [question(i) for i in range(4, 7)], [vague, sound, sound], ["auto", "human", "adjudicated"], 1
    )
    for key, frame in (("r0", first), ("r1", pd.concat([first, more]))):
        path = project.training_set(key)
        path.parent.mkdir(parents=True)
        frame.to_parquet(path)
    reply = ask("log", "--labels")
    assert reply.exit_code == 0, reply.output
    lines = reply.output.splitlines()
    assert lines[0] == "profile sample"
    # 4 questions, two a passage; 7 questions on passages 0 to 3
    assert lines[1].startswith("r0  4 rows on 2 passages  added: 4 injected  sha256 ")
    second = next(line for line in lines if line.startswith("r1"))
    assert second.startswith("r1  7 rows on 4 passages  added: 1 adjudicated, 1 auto, 1 human  sha256 ")
    assert lines[1].split()[-1] != second.split()[-1]
    assert [line.strip() for line in lines if line.endswith("  Vague")] == ["2  Vague", "3  Vague"]


# data leaks


def squad_like(path: str, n: int = 1000) -> pd.DataFrame:
    """As SQuAD-1k: the answer is empty exactly where the question is unanswerable, 587 of 1,000."""
    possible = np.random.default_rng(3).permutation(n) >= round(0.587 * n)
    frame = pd.DataFrame(
        {
            "id": [f"{i:04}" for i in range(n)],
            "frage": [f"what is thing {i}?" for i in range(n)],
            "passage": [f"thing {i % 50} is here" for i in range(n)],
            "answer": ["here" if p else None for p in possible],
            "answerability": possible.astype(int),
        },
        dtype=object,
    )
    write_table(frame, path)
    return frame


def test_an_empty_answer_blocks_with_an_explanation_and_masking_it_helps(folder: Path) -> None:
    table = squad_like("squad.csv")
    given = ["leaks", "squad.csv", "--score", "answerability", "--question-column", "frage"]
    reply = ask(*given, "-o", "shown.jsonl", "--report", "gate.html")
    assert reply.exit_code == 2, reply.output
    # present exactly where the score is 1: r = 1
    assert "1.000  answer present with answerability" in reply.stdout
    told = "squad.csv, column 'answer': whether it is there decides 'answerability' (1.0); hide it with --mask answer"
    assert reply.stderr == f"error: {told}\n"
    assert len(reply.stderr.splitlines()) == 1
    assert not Path("shown.jsonl").exists()
    assert "answer present" in Path("gate.html").read_text(encoding="utf-8")
    reply = ask(*given, "--mask", "answer", "-o", "shown.jsonl")
    assert reply.exit_code == 0, reply.output
    assert "passed: nothing above 0.9, with answer masked" in reply.stdout
    shown = read_table("shown.jsonl")
    assert list(shown.columns) == ["question_id", "frage", "passage", "answer"]
    assert "shown.jsonl: 1000 rows; left out, as scores or not tested: id, answerability" in reply.stdout
    assert shown["answer"].tolist() == [None] * 1000
    assert shown["frage"].tolist() == table["frage"].tolist()
    whole = table.iloc[0]
    assert shown["question_id"][0] == content_id(whole["passage"], whole["answer"], whole["frage"])


def test_the_threshold_is_a_parameter(folder: Path) -> None:
    squad_like("t.csv", 200)
    frame = read_table("t.csv").rename(columns={"frage": "question"})
    frame.loc[:19, "answer"] = "here"  # some of the unanswerable questions have one now: no longer 1.0
    write_table(frame, "u.csv")
    arguments = ["leaks", "u.csv", "--score", "answerability"]
    strength = float(ask(*arguments, "--threshold", "1").output.splitlines()[1].split()[0])
    assert 0.5 < strength < 1
    assert ask(*arguments, "--threshold", str(strength + 0.01)).exit_code == 0
    assert ask(*arguments, "--threshold", str(strength - 0.01)).exit_code == 2


def test_rows_sorted_by_score_are_put_into_another_order(folder: Path) -> None:
    frame = squad_like("t.csv", 100).rename(columns={"frage": "question"}).assign(answer="here")
    write_table(frame.sort_values("answerability"), "sorted.csv")
    assert "--mask position" in refused("leaks", "sorted.csv", "--score", "answerability")
    reply = ask("leaks", "sorted.csv", "--score", "answerability", "--mask", "position", "-o", "mixed.csv")
    assert reply.exit_code == 0, reply.output
    mixed = read_table("mixed.csv")
    assert sorted(mixed["question"]) == sorted(frame["question"])
    assert mixed["question_id"].is_monotonic_increasing


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["t.csv"], ("t.csv: name the column that holds human scores with --score",)),
        (["t.csv", "--score", "x"], ("t.csv: no score column 'x'", "'note'")),
        (["t.csv", "--score", "note"], ("t.csv, row 2, column 'note': 'good' is no number",)),
        (["t.csv", "--score", "empty"], ("t.csv, column 'empty': there is no score in it",)),
        (["t.csv", "--score", "n", "--scale", "2", "3"], ("row 1, column 'n': '1' is not between 2 and 3",)),
        (["t.csv", "--score", "n", "--scale", "3", "1"], ("give the lowest score first",)),
        (["t.csv", "--score", "n", "--mask", "question"], ("--mask question: cannot be hidden; choose from passage",)),
        (["t.csv", "--score", "n", "-o", "no/o.csv"], ("the folder no does not exist",)),
        (["none.csv", "--score", "n"], ("none.csv: no such file",)),
        (["qgevall"], ("qgevall: neither a file nor a benchmark; these are qgeval, ",)),
        (["qgeval", "--score", "n"], ("qgeval has its own scores",)),
    ],
)
def test_leaks_refuses(folder: Path, arguments: list[str], parts: tuple[str, ...]) -> None:
    (folder / "t.csv").write_text("question,note,n,empty\nWho?,1,1,\nWhen?,good,2,\n")
    line = refused("leaks", *arguments)
    for part in parts:
        assert part in line


@pytest.mark.slow
def test_qgeval_is_not_blocked_by_its_questions_own_text(mirror: None) -> None:
    reply = ask("leaks", "qgeval", "-o", "shown.parquet")
    assert reply.exit_code == 0, reply.output
    assert "passed: nothing above 0.9" in reply.output
    shown = read_table("shown.parquet")
    assert len(shown) == 3000
    assert list(shown.columns) == ["question_id", "source", "passage", "answer", "question", "reference"]


# data agreement


def test_agreement_of_qgeval_as_a_table_and_as_votes(mirror: None) -> None:
    reply = ask("agreement", "--resamples", "50", "-o", "agreement.json", "--votes", "votes.csv")
    assert reply.exit_code == 0, reply.output
    assert reply.output.splitlines()[0] == "qgeval: annotators 1, 2, 3; 200 passages"
    figures = {(row["dimension"], row["statistic"]): row for row in json.loads(Path("agreement.json").read_text())}
    # design.md: one annotator against the mean of the other two
    published = {"fluency": 0.52, "clarity": 0.66, "conciseness": 0.81, "relevance": 0.54, "consistency": 0.54}
    published |= {"answerability": 0.73, "answer_consistency": 0.85}
    for dimension, value in published.items():
        found = figures[dimension, "one_annotator"]
        assert round(found["value"], 2) == value
        assert found["low"] < found["value"] < found["high"]
        assert {s for d, s in figures if d == dimension} >= {"alpha_nominal", "alpha_ordinal", "alpha_interval"}
    votes = read_table("votes.csv")
    retained = figures["answerability", "majority"]["value"]
    assert (votes["dimension"] == "answerability").sum() == round(3000 * retained)
    assert set(votes["vote"]) == {"1", "2", "3"}


@pytest.mark.parametrize("name", [name for name in BENCHMARKS if name not in ANNOTATED])
def test_benchmarks_without_annotators_say_so(name: str) -> None:
    reply = ask("agreement", name)
    assert reply.exit_code == 0
    assert reply.output == f"{name} publishes no single annotators' scores: agreement is unknown\n"


LONG = "question,annotator,dimension,score\n"
WIDE = "question,passage,anna,ben,cleo\nq1,p,1,1,1\nq2,p,1,2,1\nq3,r,2,2,2\nq4,r,3,1,2\nq5,s,2,2,\n"


def test_a_column_for_each_annotator(folder: Path) -> None:
    (folder / "t.csv").write_text(WIDE)
    names = [word for name in ("anna", "ben", "cleo") for word in ("--annotator", name)]
    reply = ask("agreement", "t.csv", *names, "-o", "a.csv", "--votes", "v.csv", "--resamples", "100")
    assert reply.exit_code == 0, reply.output
    figures = read_table("a.csv").set_index("statistic")["value"].astype(float)
    assert figures["perfect"] == pytest.approx(3 / 5)  # q1, q3, q5
    assert figures["majority"] == pytest.approx(4 / 5)  # all but q4
    assert read_table("v.csv").sort_values("vote")["vote"].tolist() == ["1", "1", "2", "2"]


def test_a_row_for_each_score(folder: Path) -> None:
    """The same ratings, one a row, give the same figures; a second dimension has its own."""
    (folder / "w.csv").write_text(WIDE)
    wide = pd.read_csv(folder / "w.csv")
    long = wide.melt(["question", "passage"], var_name="annotator", value_name="score").dropna()
    both = pd.concat([long.assign(dimension="clarity"), long.assign(dimension="fluency", score=3)])
    both.to_csv("long.csv", index=False)
    names = [word for name in ("anna", "ben", "cleo") for word in ("--annotator", name)]
    assert ask("agreement", "w.csv", *names, "-o", "w.json").exit_code == 0
    reply = ask("agreement", "long.csv", "-o", "long.json")
    assert reply.exit_code == 0, reply.output
    one = {row["statistic"]: row["value"] for row in json.loads(Path("w.json").read_text())}
    two = {
        row["statistic"]: row["value"]
        for row in json.loads(Path("long.json").read_text())
        if row["dimension"] == "clarity"
    }
    assert one == pytest.approx(two)
    # every fluency is 3: agreement beyond chance is undefined, and says so
    assert "undefined" in next(line for line in reply.output.splitlines() if line.startswith("fluency"))


@pytest.mark.parametrize(
    ("text", "arguments", "part"),
    [
        (WIDE, [], "no column 'annotator'; the other columns are: 'anna', 'ben', 'cleo'. Name the columns"),
        (WIDE, ["--annotator", "anna"], "only one annotator, 'anna'"),
        (WIDE, ["--annotator", "anna", "--annotator", "dora"], "no score column 'dora'"),
        (WIDE, ["--annotator", "anna", "--annotator", "ben", "--resamples", "19"], "--resamples 19: too few"),
        (f"{LONG}q,a,d,1\nq,a,d,2\nq,b,d,1\n", [], "row 2: this annotator has scored this question"),
        (f"{LONG}q,a,d,1\nr,a,d,2\n", [], "fewer than two names"),
        (f"{LONG}q,a,d,1\nq,b,d,bad\n", [], "t.csv, row 2, column 'score': 'bad' is no number"),
        (f"{LONG}q,a,d,1\nq,b,d,inf\n", [], "t.csv, row 2, column 'score': inf is no finite number; correct it"),
        (f"{LONG}q,a,d,1\nq,,d,1\n", [], "t.csv, row 2, column 'annotator': is empty"),
        (f"{LONG}q,a,d,1\nq,b, ,1\n", [], "t.csv, row 2, column 'dimension': is empty"),
        (f"{LONG}q,a,d,1\nq,b,d,\n", [], "t.csv, row 2, column 'score': is empty"),
        (
            "question,annotator,score,aspect\nq,a,1,x\nq,b,1,x\n",
            [],
            "t.csv: there is no column 'dimension'; there are: 'annotator', 'score', 'aspect'",
        ),
    ],
)
def test_agreement_refuses(folder: Path, text: str, arguments: list[str], part: str) -> None:
    (folder / "t.csv").write_text(text)
    assert part in refused("agreement", "t.csv", *arguments)
    assert "no such file" in refused("agreement", "none.csv")
    assert "qgeval has its own annotators" in refused("agreement", "qgeval", "--annotator", "a")


# what is written, and what is not


def test_no_input_is_overwritten_and_no_output_twice(folder: Path) -> None:
    (folder / "t.csv").write_text(WIDE)
    (folder / "link.csv").symlink_to("t.csv")
    annotators = ("--annotator", "anna", "--annotator", "ben")
    for output in ("t.csv", "./t.csv", "link.csv"):
        for option in ("-o", "--votes"):
            assert f"{Path(output)}: is the input itself" in refused("agreement", "t.csv", *annotators, option, output)
        for option in ("-o", "--report"):
            assert "is the input itself" in refused("leaks", "t.csv", "--score", "anna", option, output)
    (folder / "new.csv").symlink_to("later.csv")  # leads to nothing yet
    for other in ("later.csv", "./new.csv"):
        told = refused("agreement", "t.csv", *annotators, "-o", "new.csv", "--votes", other)
        assert "two outputs would be this one file" in told
    assert (folder / "t.csv").read_text() == WIDE
    assert sorted(path.name for path in folder.iterdir()) == ["link.csv", "new.csv", "t.csv"]


def scored(path: str, scores: list[str]) -> None:
    rows = [f"q{i},the passage,a{i % 3},{score}" for i, score in enumerate(scores)]
    Path(path).write_text("\n".join(["question,passage,answer,n", *rows, ""]))


def test_what_cannot_be_tested_has_not_passed(folder: Path) -> None:
    scored("same.csv", ["2"] * 12)
    reply = ask("leaks", "same.csv", "--score", "n")
    assert reply.exit_code == 0, reply.output
    assert "not tested, there are no scores that vary" in reply.output
    assert "passed" not in reply.output
    assert ask("leaks", "same.csv", "--score", "n", "-o", "o.csv").stderr.endswith("; not written: o.csv\n")
    scored("few.csv", [*map(str, range(9)), "", "", ""])
    assert "few.csv, column 'n': 9 scored rows, too few rows to judge" in refused("leaks", "few.csv", "--score", "n")
    scored("one.csv", ["1"])
    assert "1 scored row, too few" in refused("leaks", "one.csv", "--score", "n")
    scored("endless.csv", ["1"] * 11 + ["-inf"])
    told = refused("leaks", "endless.csv", "--score", "n")
    assert "endless.csv, row 12, column 'n': -inf is no finite number; correct it" in told


def test_agreement_of_nothing(folder: Path) -> None:
    (folder / "t.csv").write_text(f"{LONG}q,a,d,1\nr,b,d,2\n")
    reply = ask("agreement", "t.csv")
    assert reply.exit_code == 0, reply.output
    assert reply.output == "t.csv: nothing to compute, no question has scores of two annotators\n"
    assert "; not written: o.csv, v.csv" in refused("agreement", "t.csv", "-o", "o.csv", "--votes", "v.csv")
    assert "; not written: o.csv" in refused("agreement", "simqg", "-o", "o.csv")


def test_a_vote_of_one_is_no_majority(folder: Path) -> None:
    """q1 has two of three, q2 one of one, q3 one against one; of the two with two scores, one has a majority."""
    (folder / "t.csv").write_text(f"{LONG}q1,a,d,1\nq1,b,d,1\nq1,c,d,2\nq2,a,d,2\nq3,a,d,1\nq3,b,d,2\n")
    reply = ask("agreement", "t.csv", "--votes", "v.csv", "-o", "o.json", "--resamples", "0")
    assert reply.exit_code == 0, reply.output
    assert "v.csv: 1 vote\n" in reply.output
    assert read_table("v.csv")["vote"].tolist() == ["1"]
    majority = next(row for row in json.loads(Path("o.json").read_text()) if row["statistic"] == "majority")
    assert (majority["value"], majority["n_items"]) == (0.5, 2)
