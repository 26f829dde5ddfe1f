"""The command line: six formats in and out, and every mistake one clear line, exit code 2 and nothing half-written."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from click.testing import CliRunner

from erreval.cli import main
from erreval.data.tables import ENDINGS, read_table, write_table
from erreval.taxonomy import ErrorType

PASSAGE = "Eve ate the red apple in the garden of the palace."
GOOD = f"question,passage,answer\nWho ate the red apple?,{PASSAGE},Eve\n"
NOBODY = 65534

TABLE = pd.DataFrame(
    {
        "zebra": ["z1", None, "z3", "z4", "z5"],
        "question": ["Who ate the red apple?"] * 3 + ["When did she eat it?", "What is it called?"],
        "labels": ["my own", None, "column", "named", "labels"],
        "answer": ["Eve", None, "Eve", "1984", "None"],
        "passage": [PASSAGE] * 3 + ["It was 1984 when she ate the apple.", "The garden is called None."],
        "alpha": ["nan", "1", "2.50", "true", "=1+1"],
    },
    dtype=object,
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, which is no project."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ERREVAL_MODEL", raising=False)
    monkeypatch.setenv("ERREVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ERREVAL_MIRROR", raising=False)
    return tmp_path


def listing(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def erreval(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The real command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "erreval.cli", *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def assert_refused(code: int, stderr: str, *parts: str) -> None:
    """One line on stderr that starts with ``error:`` and names what it must, and exit code 2."""
    assert code == 2, stderr
    lines = stderr.splitlines()
    assert len(lines) == 1, stderr
    assert lines[0].startswith("error: ")
    for part in parts:
        assert part in lines[0]


def other_shape(path: Path) -> None:
    """A sheet with a title above its header, as offices make them."""
    book = openpyxl.Workbook()
    for row in (["Questions of spring", None], [None, None], ["question", "answer"], ["Who?", "Eve"]):
        book.active.append(row)
    book.save(path)


BAD_INPUT: dict[str, tuple[str, Callable[[Path], object], tuple[str, ...]]] = {
    "no question column": (
        "t.csv",
        lambda path: path.write_text("frage,passage\nWer?,da\n"),
        ("t.csv", "no column 'question'", "'frage', 'passage'", "--question-column"),
    ),
    "an empty file": ("t.csv", lambda path: path.touch(), ("t.csv", "is empty", "needs a header")),
    "a header only": ("t.csv", lambda path: path.write_text("question,passage\n"), ("t.csv", "no row under it")),
    "invalid UTF-8": (
        "t.csv",
        lambda path: path.write_bytes("question\nok?\ncafé?\n".encode("latin-1")),
        ("t.csv", "line 3", "--encoding"),
    ),
    "an XLSX of another shape": ("t.xlsx", other_shape, ("t.xlsx", "no column 'question'", "'Questions of spring'")),
    "text named .xlsx": ("t.xlsx", lambda path: path.write_text(GOOD), ("t.xlsx", "not an XLSX file")),
}


@pytest.mark.parametrize("kind", BAD_INPUT)
def test_bad_input(folder: Path, kind: str) -> None:
    name, make, parts = BAD_INPUT[kind]
    make(folder / name)
    (folder / "out.csv").write_text("what stood here before\n")
    before = listing(folder)
    ended = erreval("diagnose", name, "-o", "out.csv")
    assert_refused(ended.returncode, ended.stderr, *parts)
    assert ended.stdout == ""
    assert listing(folder) == before


BAD_CALLS: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "an unknown output format": (["t.csv", "-o", "out.ods"], ("out.ods", "unknown ending '.ods'", ".parquet")),
    "no output folder": (["t.csv", "-o", "no/out.csv"], ("no/out.csv", "the folder no does not exist", "create it")),
    "an unknown model": (["t.csv", "-o", "o.csv", "--model", "no"], ("no: there is no model", "'detectors'")),
    "a table and a question": (["t.csv", "--question", "Who?"], ("either a table", "--question")),
}


@pytest.mark.parametrize("kind", BAD_CALLS)
def test_bad_calls(folder: Path, kind: str) -> None:
    (folder / "t.csv").write_text(GOOD)
    before = listing(folder)
    arguments, parts = BAD_CALLS[kind]
    ended = erreval("diagnose", *arguments)
    assert_refused(ended.returncode, ended.stderr, *parts)
    assert listing(folder) == before


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ([], ("either a table",)),
        (["t.csv"], ("-o OUTPUT",)),
        (["--question", "Who?", "-o", "o.csv"], ("-o takes a table",)),
        (["--question", " "], ("the question is empty",)),
        (["--question", "caf\udce9?"], ("not valid Unicode",)),
        (["none.csv", "-o", "o.csv"], ("none.csv", "no such file", "check the name")),
        ([".", "-o", "o.csv"], ("is a folder",)),
        (["t.csv", "-o", "."], ("is a folder", "name a file")),
        (["t.txt", "-o", "o.csv"], ("t.txt", "unknown ending '.txt'")),
        (["t.csv", "-o", "o.csv", "--passage-column", "text"], ("no column 'text'", "--passage-column")),
        (["t.csv", "-o", "o.csv", "--encoding", "klingon"], ("unknown encoding",)),
        (["blank.csv", "-o", "o.csv"], ("blank.csv, row 2 (line 3), column 'question'", "blank", "remove the row")),
        (["torn.csv", "-o", "o.csv"], ("torn.csv", "line 2", "3 cells where the header has 2")),
        (["twice.csv", "-o", "o.csv"], ("'question' stands twice",)),
        (["list.jsonl", "-o", "o.csv"], ("list.jsonl, row 1 (line 1), column 'answer'", "write one text")),
        (["t.csv", "-o", "t.csv/o.csv"], ("does not exist",)),
    ],
)
def test_more_mistakes(folder: Path, arguments: list[str], parts: tuple[str, ...]) -> None:
    (folder / "t.csv").write_text(GOOD)
    (folder / "blank.csv").write_text("question,answer\nWho?,a\n ,b\n")
    (folder / "torn.csv").write_text("question,answer\nWho?,a,b\n")
    (folder / "twice.csv").write_text("question,question\nWho?,a\n")
    (folder / "list.jsonl").write_text('{"question": "Who?", "answer": ["a"]}\n')
    before = listing(folder)
    reply = CliRunner().invoke(main, ["diagnose", *arguments])
    assert_refused(reply.exit_code, reply.stderr, *parts)
    assert listing(folder) == before


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["diagnose", "--nonsense"], ["diagnose", "a.csv", "-o"], ["fetch", "-x"]]
)
def test_usage_errors_of_click_end_with_2_too(arguments: list[str]) -> None:
    reply = CliRunner().invoke(main, arguments)
    assert reply.exit_code == 2
    assert "Error: " in reply.stderr


# What only an operating system can refuse.

AS_NOBODY = """
import difflib, os, sys
import erreval.cli, erreval.data.columns, erreval.data.tables  # read before the rights are given away
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
sys.argv[0] = "erreval"
erreval.cli.main()
"""


@pytest.fixture
def ordinary_folder() -> Iterator[Path]:
    """A folder outside of root's own, so that an ordinary user gets there."""
    place = Path(tempfile.mkdtemp(prefix="erreval-ordinary-"))
    (place / "t.csv").write_text(GOOD)
    (place / "out").mkdir()
    if os.geteuid() == 0:
        for path in (place, place / "t.csv", place / "out"):
            os.chown(path, NOBODY, NOBODY)
    yield place
    (place / "out").chmod(0o700)
    shutil.rmtree(place)


def test_a_read_only_output_folder_as_an_ordinary_user(ordinary_folder: Path) -> None:
    (ordinary_folder / "out" / "old.csv").write_text("old")
    (ordinary_folder / "out").chmod(0o500)
    before = listing(ordinary_folder)
    ended = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, "diagnose", "t.csv", "-o", "out/new.csv"],
        cwd=ordinary_folder,
        env=os.environ | {"HOME": str(ordinary_folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert_refused(
        ended.returncode, ended.stderr, "out/new.csv", "the folder out may not be written", "another output folder"
    )
    assert listing(ordinary_folder) == before


@pytest.fixture
def small_disk(folder: Path) -> Iterator[Path]:
    """A real file system of 64 KiB."""
    place = folder / "disk"
    place.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if mount.returncode:
        pytest.skip(f"only root may mount a small disk ({mount.stderr.strip()}); the next test simulates one")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk(folder: Path, small_disk: Path) -> None:
    (folder / "t.csv").write_text("question\n" + "".join(f"Who lives in house number {k}?\n" for k in range(600)))
    (small_disk / "out.csv").write_text("what stood here before\n")
    before = listing(folder)
    ended = erreval("diagnose", "t.csv", "-o", "disk/out.csv")
    assert_refused(ended.returncode, ended.stderr, "disk/out.csv", "the disk is full", "nothing was written")
    assert listing(folder) == before


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_disk_that_fills_up_while_writing(folder: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (folder / "t.csv").write_text(GOOD)
    before = listing(folder)
    monkeypatch.setattr(os, step, full)
    reply = CliRunner().invoke(main, ["diagnose", "t.csv", "-o", "out.xlsx"])
    assert_refused(reply.exit_code, reply.stderr, "out.xlsx", "the disk is full")
    assert listing(folder) == before


def test_fetch_without_a_network_or_from_an_empty_mirror(folder: Path) -> None:
    unroutable = dict.fromkeys(("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"), "http://127.0.0.1:9")
    ended = erreval("fetch", "pilot", NO_PROXY="", no_proxy="", **unroutable)
    assert_refused(ended.returncode, ended.stderr, "cannot be downloaded", "check the network", "ERREVAL_MIRROR")
    (folder / "mirror").mkdir()
    ended = erreval("fetch", "pilot", ERREVAL_MIRROR=str(folder / "mirror"))
    assert_refused(ended.returncode, ended.stderr, "not in the mirror", "unset ERREVAL_MIRROR")
    assert listing(folder) == {}


@pytest.mark.parametrize(
    ("arguments", "mirror", "parts"),
    [
        (["no-such-source"], None, ("no source 'no-such-source'; there are: ",)),
        (["pilot"], "none", ("the mirror", "is no folder")),
        ([], None, ("params.yaml: no such file", "root folder")),
    ],
)
def test_fetch_of_what_is_not_there(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], mirror: str | None, parts: tuple[str, ...]
) -> None:
    if mirror:
        monkeypatch.setenv("ERREVAL_MIRROR", mirror)
    reply = CliRunner().invoke(main, ["fetch", *arguments])
    assert_refused(reply.exit_code, reply.stderr, *parts)


def test_sources_are_listed_without_a_network() -> None:
    reply = CliRunner().invoke(main, ["fetch", "--list"])
    assert reply.exit_code == 0
    assert "not fetched" in reply.output


# What works.


def test_a_passage_of_200_000_characters(folder: Path) -> None:
    passage = (PASSAGE + " ") * 4000
    pd.DataFrame({"question": ["Who ate the red apple?"], "passage": [passage[:200_000]], "answer": ["Eve"]}).to_csv(
        "t.csv", index=False
    )
    started = time.monotonic()
    ended = erreval("diagnose", "t.csv", "-o", "out.csv")
    assert ended.returncode == 0, ended.stderr
    assert time.monotonic() - started < 60
    assert ended.stderr == ""
    assert ended.stdout.splitlines() == [
        "1 question, diagnosed by the detectors alone",
        "out.csv: 1 row, 0 with errors",
    ]
    assert len(read_table("out.csv")["passage"][0]) == 200_000


def test_a_long_passage_is_noted_where_a_model_sees_part_of_it(folder: Path, tiny_identifier: Path) -> None:
    pd.DataFrame({"question": ["Who?"], "passage": [PASSAGE * 4000], "answer": ["Eve"]}).to_csv("t.csv", index=False)
    reply = CliRunner().invoke(main, ["diagnose", "t.csv", "-o", "out.csv", "--model", str(tiny_identifier)])
    assert reply.exit_code == 0, reply.output
    found = read_table("out.csv")
    assert found["diagnosed_by"].tolist() == [str(tiny_identifier)]
    assert "the rest of the text was left out" in found["note"][0]


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_in_and_out(folder: Path, ending: str) -> None:
    """Rows, columns, their order and every text come out as they went in; the diagnosis stands beside them."""
    write_table(TABLE, f"in{ending}")
    for other in ENDINGS if ending == ".csv" else (ending,):
        reply = CliRunner().invoke(main, ["diagnose", f"in{ending}", "-o", f"out{other}", "--model", "detectors"])
        assert reply.exit_code == 0, reply.output
        found = read_table(f"out{other}")
        kept = ["zebra", "question", "input_labels", "answer", "passage", "alpha"]
        assert list(found.columns[:7]) == [*kept, "question_id"]
        for before, after in zip(TABLE.columns, kept, strict=True):
            assert found[after].tolist() == TABLE[before].tolist()
        assert found["not_judged"].tolist() == [
            None, f"{ErrorType.OFF_TARGET_ANSWER}: there is no answer", None, None, None,
        ]  # fmt: skip
        added = found.columns[6:]
        assert found.loc[0, added].astype(str).tolist() == found.loc[2, added].astype(str).tolist()


def test_columns_are_mapped_by_option_and_mapped_ones_stay(folder: Path) -> None:
    (folder / "t.tsv").write_text(f"Frage\tText\tAntwort\tSystem\nWho ate it?\t{PASSAGE}\tEve\tgpt\n")
    columns = {"question": "Frage", "passage": "Text", "answer": "Antwort", "source": "System"}
    options = [word for name, column in columns.items() for word in (f"--{name}-column", column)]
    reply = CliRunner().invoke(main, ["diagnose", "t.tsv", "-o", "out.jsonl", *options])
    assert reply.exit_code == 0, reply.output
    found = read_table("out.jsonl")
    assert list(found.columns[:5]) == ["Frage", "Text", "Antwort", "System", "question_id"]
    assert found["not_judged"].tolist() == [None]


def test_another_encoding_is_read_and_utf8_written(folder: Path) -> None:
    (folder / "t.csv").write_bytes("question\nWhere is the café?\n".encode("cp1252"))
    reply = CliRunner().invoke(main, ["diagnose", "t.csv", "-o", "out.csv", "--encoding", "cp1252"])
    assert reply.exit_code == 0, reply.output
    assert "Where is the café?" in (folder / "out.csv").read_text(encoding="utf-8")


def test_a_diagnosed_table_can_be_diagnosed_again(folder: Path) -> None:
    (folder / "t0.csv").write_text(GOOD)
    for k in range(3):
        reply = CliRunner().invoke(main, ["diagnose", f"t{k}.csv", "-o", f"t{k + 1}.csv"])
        assert reply.exit_code == 0, reply.output
    assert {"labels", "input_labels", "input_input_labels"} <= set(read_table("t3.csv").columns)


def test_a_table_never_takes_the_place_of_its_input(folder: Path) -> None:
    (folder / "t.csv").write_text(GOOD)
    (folder / "link.csv").symlink_to("t.csv")
    for output in ("t.csv", "./t.csv", "link.csv"):
        reply = CliRunner().invoke(main, ["diagnose", "t.csv", "-o", output])
        assert reply.exit_code == 2
        assert "is the input itself; name another file to write" in reply.output
    assert (folder / "t.csv").read_text() == GOOD


def test_the_same_input_gives_the_same_bytes(folder: Path, tiny_identifier: Path) -> None:
    write_table(TABLE, "in.csv")
    for name in ("a.parquet", "b.parquet"):
        CliRunner().invoke(main, ["diagnose", "in.csv", "-o", name, "--model", str(tiny_identifier)])
    assert (folder / "a.parquet").read_bytes() == (folder / "b.parquet").read_bytes()


def test_one_question(folder: Path) -> None:
    reply = CliRunner().invoke(main, ["diagnose", "--question", "Who aet the appel?", "--passage", PASSAGE])
    assert reply.exit_code == 0, reply.output
    assert ErrorType.SPELL_ERROR.value in reply.output.splitlines()[0]
    assert reply.output.splitlines()[0].endswith("(by detectors)")
    assert f"{ErrorType.OFF_TARGET_ANSWER.value}: not judged, there is no answer" in reply.output


def test_an_interruption_ends_with_130(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    (folder / "t.csv").write_text(GOOD)
    before = listing(folder)
    monkeypatch.setattr("erreval.diagnosis.report.diagnosis_table", interrupted)
    reply = CliRunner().invoke(main, ["diagnose", "t.csv", "-o", "out.csv"])
    assert reply.exit_code == 130
    assert listing(folder) == before


def test_a_reader_that_has_seen_enough_is_no_mistake(folder: Path) -> None:
    (folder / "t.csv").write_text(GOOD)
    command = f"{sys.executable} -m erreval.cli fetch --list | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "error: " not in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_text_too_long_for_xlsx_is_told_before_the_diagnosis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import erreval.diagnosis.report as report

    monkeypatch.setattr(report, "diagnosis_table", lambda *_: pytest.fail("diagnosed first"))
    table = tmp_path / "in.jsonl"
    write_table(pd.DataFrame({"question": ["Who?"], "passage": ["word " * 10_000]}), table)
    done = CliRunner().invoke(main, ["diagnose", str(table), "-o", str(tmp_path / "out.xlsx"), "--model", "detectors"])
    assert done.exit_code == 2
    assert "out.xlsx" in done.output
    assert not (tmp_path / "out.xlsx").exists()
