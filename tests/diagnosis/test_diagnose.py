"""``erreval.diagnose``: who diagnoses, what is judged, and mistakes told in one line."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import erreval
from erreval.diagnosis.diagnose import diagnose_all, find_identifier
from erreval.diagnosis.identifier import Identifier
from erreval.errors import ErrevalError
from erreval.layout import Layout
from erreval.records import Question
from erreval.settings import load_settings
from erreval.taxonomy import ALL_TYPES, NEEDS_ANSWER, NEEDS_PASSAGE, ErrorType

ASKED = ("On which river lies the city of Paris?", "The city of Paris lies on the river Seine.", "Seine")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is no project, and no model named in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ERREVAL_MODEL", raising=False)


@pytest.fixture
def project(tmp_path: Path, tiny_identifier: Path, root: Path) -> Layout:
    """A project in the current folder whose champion is the tiny identifier of round r1."""
    shutil.copy(root / "params.yaml", tmp_path)
    profile = load_settings(tmp_path / "params.yaml").profile
    layout = Layout(profile)
    layout.model("fused", "r1").parent.mkdir(parents=True)
    layout.model("fused", "r1").symlink_to(tiny_identifier)
    layout.champion.write_text(json.dumps({"round": "r1"}))
    return layout


def test_with_no_model_the_detectors_diagnose_and_say_so() -> None:
    found = erreval.diagnose(*ASKED)
    assert found.model == "detectors"
    assert found.labels == {ErrorType.NO_ERROR}
    assert set(found.probabilities) == set(ALL_TYPES)
    assert not found.not_judged
    assert str(found).startswith(f"{ErrorType.NO_ERROR.value}  (by detectors)")


def test_a_given_model_diagnoses_and_is_named(tiny_identifier: Path) -> None:
    for model in (tiny_identifier, str(tiny_identifier), Identifier.load(tiny_identifier)):
        found = erreval.diagnose(*ASKED, model=model)
        assert found.model == str(tiny_identifier)
        assert found.labels == {ErrorType.NO_ERROR}
        assert found.probabilities[ErrorType.NO_ERROR] > 0.5  # type: ignore[operator]
    off_target = erreval.diagnose(ASKED[0], ASKED[1], "yesterday at noon", model=tiny_identifier)
    assert off_target.labels == {ErrorType.OFF_TARGET_ANSWER}


def test_the_environment_names_a_model(tiny_identifier: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERREVAL_MODEL", str(tiny_identifier))
    assert erreval.diagnose(*ASKED).model == str(tiny_identifier)
    assert erreval.diagnose(*ASKED, model="detectors").model == "detectors"
    monkeypatch.setenv("ERREVAL_MODEL", "detectors")
    assert erreval.diagnose(*ASKED).model == "detectors"
    assert erreval.diagnose(*ASKED, model=tiny_identifier).model == str(tiny_identifier)


def test_the_champion_of_the_project_in_the_current_folder(project: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    assert erreval.diagnose(*ASKED).model == str(project.model("fused", "r1"))
    monkeypatch.setenv("ERREVAL_MODEL", "detectors")
    assert erreval.diagnose(*ASKED).model == "detectors"


def test_a_project_before_its_first_round(project: Layout) -> None:
    project.champion.unlink()
    assert erreval.diagnose(*ASKED).model == "detectors"


def test_a_champion_whose_model_is_gone_is_no_reason_to_fall_back(project: Layout) -> None:
    project.model("fused", "r1").unlink()
    with pytest.raises(ErrevalError, match=r"models/fused/r1: there is no model in this folder"):
        erreval.diagnose(*ASKED)


def test_a_model_is_loaded_once_until_it_changes(tiny_identifier: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_identifier, folder)
    first = find_identifier(folder)
    assert find_identifier(str(folder)) is first
    os.utime(folder / "model.safetensors", (1, 1))
    assert find_identifier(folder) is not first


@pytest.mark.parametrize("model", ["detectors", "tiny"])
def test_what_needs_an_answer_or_a_passage_is_not_judged_without(model: str, tiny_identifier: Path) -> None:
    who: Any = tiny_identifier if model == "tiny" else model
    found = erreval.diagnose(ASKED[0], ASKED[1], model=who)
    assert set(found.not_judged) == NEEDS_ANSWER
    alone = erreval.diagnose(ASKED[0], model=who)
    assert set(alone.not_judged) == NEEDS_PASSAGE | NEEDS_ANSWER
    for diagnosis in (found, alone):
        assert not diagnosis.labels & diagnosis.not_judged.keys()
        assert {t for t, p in diagnosis.probabilities.items() if p is None} == set(diagnosis.not_judged)
        assert "not judged, there is no" in str(diagnosis)


@pytest.mark.parametrize("answer", ["None", "1984", "nan", "null", "0"])
def test_any_text_is_an_answer(answer: str) -> None:
    assert not erreval.diagnose("What is it called?", f"It is called {answer}.", answer).not_judged


@pytest.mark.parametrize("answer", [None, "", "  \n"])
def test_blank_is_no_answer(answer: str | None) -> None:
    assert set(erreval.diagnose(ASKED[0], ASKED[1], answer).not_judged) == NEEDS_ANSWER


def test_mistakes_are_told_in_one_line(tmp_path: Path, tiny_verifier: Path) -> None:
    for question, options, why in (
        ("  ", {}, "the question is empty"),
        ("caf\udce9?", {}, "the question is not valid Unicode at character 4"),
        ("Who?", {"passage": "é\ud83d"}, "the passage is not valid Unicode at character 2"),
        ("Who?", {"model": tmp_path / "none"}, "there is no model in this folder"),
        ("Who?", {"model": tiny_verifier}, "not an Error Identifier"),
    ):
        with pytest.raises(ErrevalError, match=why) as caught:
            erreval.diagnose(question, **options)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("with_model", [False, True])
def test_each_distinct_question_once_in_the_given_order(with_model: bool, tiny_identifier: Path) -> None:
    asked = [Question(question=f"Who lives in town {k % 3}?", passage="Ann lives in town 1.") for k in range(9)]
    told: list[tuple[int, int]] = []
    identifier = Identifier.load(tiny_identifier) if with_model else None
    found = diagnose_all(asked, identifier, lambda done, total: told.append((done, total)))
    assert [d.question_id for d in found] == [q.question_id for q in asked]
    assert found[0] is found[3] is found[6]
    assert told[-1] == (3, 3)


@pytest.mark.parametrize("model", ["detectors", "tiny"])
def test_a_passage_of_200_000_characters(model: str, tiny_identifier: Path) -> None:
    passage = ("The city of Paris lies on the river Seine. " * 5000)[:200_000]
    found = erreval.diagnose(ASKED[0], passage, "Seine", model=tiny_identifier if model == "tiny" else model)
    assert ("rest of the text was left out" in found.note) == (model == "tiny")
