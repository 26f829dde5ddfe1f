"""`dvc repro` alone builds everything, does nothing the second time, and gives the same bytes from scratch."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from servers import clean_environment, copy_project
from servers import run_dvc as repro

from erreval.errors import GateError
from erreval.settings import apply_changes, apply_profile

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

SMALL = {
    "injection.train_size": 240,
    "injection.pool_size": 60,
    "injection.heldout_size": 90,
    "encoder.max_tokens": 64,
    "encoder.frozen_layers": 5,
    "queue.size": 10,
}


def new_project(folder: Path) -> Path:
    project = copy_project(folder)
    apply_profile(project / "params.yaml", "sample")
    apply_changes(project / "params.yaml", SMALL)
    return project


def digests(project: Path) -> dict[str, str]:
    """Every table and result, and the weights, by path."""
    places = [*(project / "data" / "work").rglob("*"), *(project / "results").rglob("*.json")]
    return {
        str(path.relative_to(project)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(places)
        if path.is_file() and "published" not in path.parts
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    project = new_project(tmp_path_factory.mktemp("first") / "project")
    done = repro(project, "repro")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return project


def test_results_are_there_with_their_floors(built):
    identifier = json.loads((built / "results/sample/identifier.json").read_text())
    assert [found["round"] for found in identifier["rounds"]] == ["r0", "r1"]
    best = next(found for found in identifier["rounds"] if found["round"] == identifier["champion"])
    assert identifier["test"] == {"micro_f1": best["test"]["micro_f1"], "floor": best["test"]["floor"]["micro_f1"]}
    for found in identifier["rounds"]:
        assert set(found) == {"round", "dev", "cross_fitted", "test", "injected"}
        assert found["dev"]["floor"]["micro_f1"] is not None
    verifier = json.loads((built / "results/sample/verifier.json").read_text())
    assert {"accuracy", "precision", "recall", "f1", "floor"} <= set(verifier["rounds"][1]["dev"]["perturbed"])
    evaluation = json.loads((built / "results/sample/evaluate.json").read_text())
    assert evaluation["scored"] is False
    assert evaluation["rows"] == 198


def test_labels_of_the_simulated_annotator_say_so(built):
    import pandas as pd

    extended = pd.read_parquet(built / "data/work/sample/sets/r1/train.parquet")
    queued = json.loads((built / "data/work/sample/queue/r0/summary.json").read_text())["queued"]
    assert (extended["origin"] == "simulated").sum() == queued
    assert set(extended["origin"]) <= {"injected", "untouched", "auto", "simulated"}


def test_a_second_repro_runs_no_stage(built):
    done = repro(built, "repro")
    assert done.returncode == 0
    assert "Running stage" not in done.stdout
    assert "Data and pipelines are up to date" in done.stdout


def test_a_rebuild_from_scratch_gives_the_same_bytes(built, tmp_path):
    again = new_project(tmp_path / "project")
    done = repro(again, "repro", "evaluate", "label_noise")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert digests(again) == digests(built)


def test_dvc_shows_parameters_metrics_and_the_graph(built, tmp_path):
    assert "micro_f1" in repro(built, "metrics", "show", "--json").stdout
    assert "train_identifier@r0" in repro(built, "dag").stdout
    for name in ("dvc.yaml", "dvc.lock", "params.yaml"):
        shutil.copy(built / name, tmp_path / name)
    identity = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    for command in (
        ("git", "init", "-q"),
        (sys.executable, "-m", "dvc", "init", "-q"),
        ("git", "add", "-A"),
        ("git", *identity, "commit", "-q", "-m", "before"),
    ):
        subprocess.run(command, cwd=tmp_path, check=True, env=clean_environment(tmp_path))
    apply_changes(tmp_path / "params.yaml", {"seed": 7})
    changed = repro(tmp_path, "params", "diff").stdout
    assert "seed" in changed
    assert "20240" in changed


def test_a_contaminated_training_set_stops_the_run(built, tmp_path, monkeypatch):
    import pandas as pd

    from erreval.data.gate_report import GateSummary
    from erreval.data.gates import check_training_set
    from pipelines.gates import keep_and_require

    monkeypatch.setenv("ERREVAL_STATE", str(tmp_path / "state"))
    frame = pd.read_parquet(built / "data/work/sample/sets/r0/train.parquet")
    protected = frame[["passage_id", "passage"]].head(1).assign(benchmark="qgeval")
    found = GateSummary("prepare", (check_training_set(frame, protected, name="training set"),))
    with pytest.raises(GateError, match="passage"):
        keep_and_require(found, tmp_path / "report")
    assert not (tmp_path / "report").exists()
    assert (tmp_path / "state/stopped/prepare/report.html").exists()


def test_a_collapsed_model_fails_its_stage(built, tmp_path):
    """A learning rate of nothing and no examples to speak of: the Verifier cannot tell right from wrong."""
    project = tmp_path / "project"
    shutil.copytree(built, project, symlinks=True)
    model = project / "data/work/sample/models/verifier/r0"
    apply_changes(project / "params.yaml", {"verifier.learning_rate": 0.9})
    done = repro(project, "repro", "-s", "train_verifier@r0")
    assert done.returncode != 0
    assert "has collapsed" in done.stderr + done.stdout
    assert not model.exists()
