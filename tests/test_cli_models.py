"""``erreval models``, and ``--model`` with what it lists: trained, registered and pulled."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from erreval.cli import main
from erreval.diagnosis.model_check import SMOKE, check_model
from erreval.errors import CollapsedModelError
from erreval.layout import Layout
from erreval.publishing import REGISTERED
from erreval.settings import load_settings
from erreval.tracking import KEY, open_store

ASKED = [
    "--question",
    "On which river lies the city of Paris?",
    "--passage",
    "The city of Paris lies on the river Seine.",
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ERREVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ERREVAL_STATE", str(tmp_path / "state"))
    for name in ("MLFLOW_TRACKING_URI", "ERREVAL_MODEL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def project(folder: Path, root: Path, tiny_identifier: Path) -> Layout:
    shutil.copy(root / "params.yaml", folder)
    layout = Layout(load_settings(folder / "params.yaml").profile)
    for name in ("r0", "r1"):
        shutil.copytree(tiny_identifier, layout.model("fused", name))
    layout.champion.write_text(json.dumps({"round": "r1"}))
    return layout


def erreval(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_with_nothing_at_all_the_detectors_are_named() -> None:
    told = erreval("models", "list").output
    assert "no model here; train one (make run), or pull one" in told
    assert "\ndetectors\n" in told
    assert not Path("state").exists()  # asking makes no store
    assert "(by detectors)" in erreval("diagnose", *ASKED).output


def test_a_project_lists_its_rounds_and_the_champion(project: Layout) -> None:
    lines = erreval("models", "list").output.splitlines()
    place = lines.index(str(project.model("fused", "r1")))
    assert lines[place + 1] == "    trained: round r1, champion (the default)"
    assert lines[lines.index(str(project.model("fused", "r0"))) + 1] == "    trained: round r0"
    for name in (line for line in lines if line and not line.startswith(" ")):
        told = erreval("diagnose", *ASKED, "--model", name)
        assert told.exit_code == 0 and f"(by {name})" in told.output


def test_a_pulled_model_is_listed_checked_and_used(tiny_identifier: Path) -> None:
    told = erreval("models", "pull", str(tiny_identifier), "--name", "tiny")
    assert told.exit_code == 0 and "erreval diagnose --model tiny" in told.output
    assert "\ntiny\n    pulled: from " in f"\n{erreval('models', 'list').output}"
    assert "(by tiny)" in erreval("diagnose", *ASKED, "--model", "tiny").output
    explained = json.loads(erreval("explain", *ASKED, "--model", "tiny", "--json").output)
    assert (explained["diagnosed_by"], explained["scale"]) == ("tiny", "probability")
    checked = erreval("models", "check", "tiny")
    assert checked.exit_code == 0, checked.output
    assert "unchanged since it was pulled" in checked.output
    assert all(question.question[:70] in checked.output for question in SMOKE)


def test_a_pulled_model_that_was_changed_is_found_out(folder: Path, tiny_identifier: Path) -> None:
    erreval("models", "pull", str(tiny_identifier), "--name", "tiny")
    (folder / "cache/models/tiny/model/notes.txt").write_text("changed")
    told = erreval("models", "check", "tiny")
    assert told.exit_code == 2 and "changed since it was pulled" in told.output


def test_a_check_refuses_pickles_and_other_models(tiny_identifier: Path, tiny_verifier: Path) -> None:
    shutil.copytree(tiny_identifier, "spoilt")
    Path("spoilt/training_args.bin").write_bytes(b"\x80\x04.")
    for name, why in (
        ("spoilt", "refused: only safetensors"),
        (str(tiny_verifier), "not an Error Identifier"),
        ("nowhere", "there is no model in this folder"),
    ):
        told = erreval("models", "check", name)
        assert told.exit_code == 2 and why in told.output
        assert told.output.startswith("error: ") and told.output.count("\n") == 1


def test_a_model_that_answers_alike_to_everything_has_collapsed(tiny_identifier: Path) -> None:
    from safetensors.numpy import load_file, save_file

    shutil.copytree(tiny_identifier, "collapsed")
    weights = load_file("collapsed/model.safetensors")
    flat = {name: value * 0 for name, value in weights.items()}
    save_file(flat, "collapsed/model.safetensors", metadata={"format": "pt"})
    with pytest.raises(CollapsedModelError, match="collapsed has collapsed"):
        check_model(Path("collapsed"))
    assert erreval("models", "check", "collapsed").exit_code == 2


@pytest.mark.slow
def test_the_registry(project: Layout) -> None:
    """A version that publishing logs, by number and by alias."""
    name = REGISTERED["identifier"]
    with open_store() as store:
        run = store.open("round", "k", "offline r1", {})
        tags = {KEY: "k", "profile": "offline", "round": "r1", "dev_metric": "0.5"}
        version = store.register(run.run_id, "identifier", name, project.model("fused", "r1"), tags)
        store.crown(name, version.version, "the only one")
        verifier = store.register(run.run_id, "verifier", "erreval-verifier", project.model("fused", "r1"), tags)
    listed = erreval("models", "list").output.splitlines()
    place = listed.index(f"models:/{name}/1")
    assert listed[place + 1] == "    registered: @champion, profile offline, round r1, dev_metric 0.5"
    by_alias = erreval("diagnose", *ASKED, "--model", f"models:/{name}@champion")
    assert f"(by models:/{name}/1)" in by_alias.output
    pulled = erreval("models", "pull", f"models:/{name}/1")
    assert pulled.output.startswith(f"{name}-v1: from models:/{name}/1, sha256 ")
    assert f"(by {name}-v1)" in erreval("diagnose", *ASKED, "--model", f"{name}-v1").output
    for uri, why in (
        (f"models:/{name}@nobody", f"has no such version; it has: models:/{name}/1 @champion"),
        (f"models:/{name}/7", "has no such version"),
        ("models:/other/1", "it has: no model other"),
        (f"models:/erreval-verifier/{verifier.version}", "holds no Error Identifier"),
    ):
        told = erreval("diagnose", *ASKED, "--model", uri)
        assert told.exit_code == 2 and why in told.output


def test_a_registry_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tiny_identifier: Path) -> None:
    told = erreval("diagnose", *ASKED, "--model", "models:/erreval-identifier@champion")
    assert told.exit_code == 2 and "there is no MLflow store here" in told.output
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    told = erreval("models", "pull", "models:/erreval-identifier@champion")
    assert told.exit_code == 2 and "cannot be reached" in told.output
    erreval("models", "pull", str(tiny_identifier), "--name", "tiny")
    listed = CliRunner().invoke(main, ["models", "list"])
    assert listed.exit_code == 0 and "tiny" in listed.stdout and "cannot be reached" in listed.stderr
