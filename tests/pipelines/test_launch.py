"""How a training stage comes to run in as many processes as params.yaml says."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from erreval.data.splits import dev_fold
from erreval.frames import labelled_frame
from erreval.records import Question, passage_id
from erreval.settings import apply_changes
from erreval.taxonomy import ErrorType
from pipelines import launch
from pipelines.training import _choosing_examples


@pytest.fixture
def project(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with params.yaml, in which the test stands; what becomes another process is only noted."""
    shutil.copy(root / "params.yaml", tmp_path / "params.yaml")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setattr(sys, "argv", ["train_identifier.py", "r0"])
    return tmp_path


def test_one_process_is_this_one(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch.os, "execv", lambda *_: pytest.fail("no other process is needed"))
    threads: list[str] = []
    apply_changes(project / "params.yaml", {"accelerate.threads": 3})
    launch.launch("pipelines.train_identifier", lambda: threads.append(os.environ["OMP_NUM_THREADS"]))
    assert threads == ["3"]


def test_several_processes_are_launched_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class BecomesAnother(Exception):
        pass

    def note(path: str, command: list[str]) -> None:
        raise BecomesAnother(path, command)

    monkeypatch.setattr(launch.os, "execv", note)
    apply_changes(project / "params.yaml", {"accelerate.processes": 2})
    with pytest.raises(BecomesAnother) as caught:
        launch.launch("pipelines.train_identifier", lambda: pytest.fail("the launcher does not train"))
    path, command = caught.value.args
    assert path == command[0] == sys.executable
    assert command[command.index("--num_processes") + 1] == "2"
    assert command[-3:] == ["-m", "pipelines.train_identifier", "r0"]
    ran: list[bool] = []
    monkeypatch.setenv("LOCAL_RANK", "0")  # this is now one of the two
    launch.launch("pipelines.train_identifier", lambda: ran.append(True))
    assert ran == [True]


def test_only_dev_passages_of_their_fold_choose_a_checkpoint(tmp_path: Path) -> None:
    questions = [
        Question(question=f"Who is {k}?", passage=f"Passage {k}.", answer="Ann", source="pilot") for k in range(60)
    ]
    sides = ["dev" if k % 2 else "test" for k in range(60)]
    labels = [frozenset({ErrorType.NO_ERROR})] * 60
    frame = labelled_frame(questions, labels, ["person"] * 60, 0).assign(side=sides)
    frame.to_parquet(tmp_path / "development.parquet", index=False)
    chosen = _choosing_examples("identifier", tmp_path, np.random.default_rng(0))
    expected = [
        question
        for question, side in zip(questions, sides, strict=True)
        if side == "dev" and dev_fold(passage_id(question.passage)) == "checkpoint"
    ]
    assert [example.question for example in chosen] == expected
    assert 0 < len(expected) < 30
