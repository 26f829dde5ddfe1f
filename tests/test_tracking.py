"""Publishing to a real MLflow store: once, whole, and found again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import pickletools
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ruamel.yaml import YAML

from erreval import publishing, tracking
from erreval.errors import ErrevalError, StageError, TableError
from erreval.finished import evaluation_numbers, read_evaluation, read_refinement, round_numbers
from erreval.lockfile import Lock, key_of
from erreval.publishing import publish_evaluation, publish_refinement
from erreval.taxonomy import ALL_TYPES, DIMENSION_ERRORS, ErrorType

LABELS = [t.value for t in ALL_TYPES]
FLOW = "0190a5de-aaaa-bbbb-cccc-1234567890ab"


# ---------------------------------------------------------------- a workspace with hand-made outputs


def block(micro_f1, *, n=77):
    numbers = {"n": n, "micro_f1": micro_f1, "macro_f1": 0.2, "weighted_f1": 0.4, "exact_match": None}
    rows = [{"type": name, "count": i, "predicted": 1, "precision": 0.5, "recall": 0.1, "f1": 0.17, "auroc": None}
            for i, name in enumerate(LABELS)]  # fmt: skip
    return {**numbers, "floor": {**numbers, "micro_f1": 0.503}, "types": rows}


def verdicts(f1):
    return {"n": 300, "accuracy": 0.7, "f1": f1, "floor": {"answer": "right", "accuracy": 0.5, "f1": 0.0}}


class Workspace:
    """Writes outputs and the dvc.lock that belongs to them, as DVC would."""

    def __init__(self, root, dev, *, profile="sample", pilot="pilot-1", seed=1, verifier=None):
        self.root, self.profile, self.seed = root, profile, seed
        self.entries = {}
        self.work = f"data/work/{profile}"
        (root / "dvc.yaml").parent.mkdir(parents=True, exist_ok=True)
        (root / "dvc.yaml").write_text("stages: {}\n")
        names = [f"r{k}" for k in range(len(dev))]
        self.put(f"{self.work}/prepared/development.parquet", pilot)
        self.put(f"{self.work}/prepared/heldout.parquet", f"heldout {seed}")
        for k, (value, f1) in enumerate(zip(dev, verifier or dev, strict=True)):
            self._round(k, value, f1)
        found = {name: json.loads((root / f"{self.work}/assess/{name}.json").read_text()) for name in names}
        for sides in (found[name]["identifier"] for name in names):
            for side in sides.values():
                side.pop("confusion")
        best = max(names, key=lambda name: dev[int(name[1:])] or 0)
        outs = {
            f"results/{profile}/{model}.json": {
                "champion": best,
                "rounds": [{"round": n, **found[n][model]} for n in names],
            }
            for model in ("identifier", "verifier")
        }
        self.stage("summarise", [f"{self.work}/assess"], {**outs, f"{self.work}/champion.json": {"round": best}})
        self.save()

    def _round(self, k, value, f1):
        name, before = f"r{k}", f"r{k - 1}"
        models = {m: f"{self.work}/models/{m}/{name}" for m in ("identifier", "verifier")}
        sets, rows = f"{self.work}/sets/{name}", 20 + 10 * k
        frame = pd.DataFrame({"question": ["q"] * rows, "labels": ["Vague; Spell Error", "No Error"] * (rows // 2)})
        frame["origin"] = ["injected"] * 20 + ["simulated"] * (10 * k)
        self.put(f"{sets}/train.parquet", frame)
        if k == 0:
            gate = f"{self.work}/gates/prepare"
            self.report(gate)
            self.stage("prepare", [], {sets: None, gate: None})
        else:
            queue, labels = f"{self.work}/queue/{before}", f"{self.work}/labels/{before}.parquet"
            self.put(f"{queue}/summary.json", {"round": before, "unreliable": 12, "queued": 10})
            self.stage(f"queue@{before}", [f"{self.work}/models/fused/{before}"], {queue: None})
            params = {"params.yaml": {"annotator": {"kind": "simulated", "error_rate": 0.05}}}
            self.stage(f"annotate@{before}", [queue], {labels: "answers"}, params)
            gate = f"{self.work}/gates/extend-{before}"
            self.report(gate)
            self.stage(f"extend@{before}", [labels, f"{self.work}/sets/{before}"], {sets: None, gate: None})
        noise, gate = f"{self.work}/label_noise/{name}.parquet", f"{self.work}/gates/label_noise-{name}"
        self.report(gate, warnings=2)
        self.stage(f"label_noise@{name}", [sets], {noise: "rows", gate: None})
        for model, folder in models.items():
            start = [f"{self.work}/models/{model}/{before}"] if k else []
            params = {"params.yaml": {"seed": self.seed, model: {"epochs": 2, "learning_rate": 3e-4}}}
            self.put(f"{folder}/config.json", {"name": f"{model}-{name}-{self.seed}"})
            self.stage(f"train_{model}@{name}", [sets, *start], {folder: None}, params)
        encoder, models = models["identifier"], {**models, "identifier": f"{self.work}/models/fused/{name}"}
        self.put(f"{models['identifier']}/config.json", {"name": f"fused-{name}-{self.seed}"})
        self.stage(f"fuse@{name}", [encoder], {models["identifier"]: None})
        matrix = [[int(i == j) for j in range(11)] for i in range(11)]
        confusion = {"confusion": {"labels": LABELS, "matrix": matrix}}
        assessed = {
            "round": name,
            "identifier": {"dev": block(value) | confusion, "test": block(0.4) | confusion},
            "verifier": {side: {"perturbed": verdicts(f1), "predicted": verdicts(0.4)} for side in ("dev", "test")},
        }
        deps = [*models.values(), f"{self.work}/prepared/development.parquet", f"{self.work}/prepared/heldout.parquet"]
        self.stage(f"assess@{name}", deps, {f"{self.work}/assess/{name}.json": assessed})

    def report(self, gate, *, warnings=0):
        self.put(f"{gate}/report.html", f"<p>{warnings} warnings</p>")
        self.put(f"{gate}/report.json", {"passed": True, "warnings": warnings, "gates": []})

    def put(self, path, content):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pd.DataFrame):
            content.to_parquet(file)
        else:
            file.write_text(content if isinstance(content, str) else json.dumps(content))

    def stage(self, name, deps, outs, params=None):
        for path, content in outs.items():
            if content is not None:  # a folder that is filled already
                self.put(path, content)
        entry = {"cmd": f"python -m pipelines.{name}", "outs": [self.item(path) for path in outs]}
        if deps:
            entry["deps"] = [self.item(path) for path in deps]
        if params:
            entry["params"] = params
        self.entries[name] = entry

    def item(self, path):
        file = self.root / path
        if file.is_file():
            return {"path": path, "hash": "md5", "md5": hashlib.md5(file.read_bytes()).hexdigest()}
        files = sorted(inner for inner in file.rglob("*") if inner.is_file())
        digest = hashlib.md5(b"".join(inner.name.encode() + inner.read_bytes() for inner in files)).hexdigest()
        return {"path": path, "hash": "md5", "md5": f"{digest}.dir", "nfiles": len(files)}

    def save(self):
        with (self.root / "dvc.lock").open("w") as file:
            YAML().dump({"schema": "2.0", "stages": self.entries}, file)

    def evaluate(self, result):
        self.put("data/raw/qgeval.json", "benchmark")
        diagnosed = f"{self.work}/diagnosis.parquet"
        deps = [f"{self.work}/champion.json", f"{self.work}/models/fused", "data/raw/qgeval.json"]
        self.stage("diagnose", deps, {diagnosed: "rows"})
        params = {"params.yaml": {"data.benchmark": "qgeval"}}
        self.stage("evaluate", [diagnosed], {f"results/{self.profile}/evaluate.json": result}, params)
        self.save()


ROWS = {d.value: {"pearson": 0.3, "floor": 0.4, "n": 3000} for d in DIMENSION_ERRORS}
SCORED = {"benchmark": "qgeval", "rows": 3000, "scored": True, "mean_pearson": 0.31, "mean_pearson_six": None}
SCORED |= {"dimensions": ROWS, "details": [{"dimension": "clarity", "floor_feature": "length", "one_annotator": 0.66}]}
SCORED |= {"with_judges": [{"judge": "llama3", "dimension": "answerability", "n": 3000, "pearson": 0.3}]}
SCORED |= {"outside_dev": {"mean_pearson": 0.29, "details": [{"dimension": "fluency", "pearson": 0.2}]}}


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory):
    """MLflow takes seconds to lay out a database, so that is done once."""
    folder = tmp_path_factory.mktemp("empty")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        import mlflow

        mlflow.MlflowClient(f"sqlite:///{folder / 'mlflow.db'}").search_experiments()
    return folder / "mlflow.db"


@pytest.fixture
def state(tmp_path, monkeypatch, empty_database):
    folder = tmp_path / "state of things"  # a space in the path
    folder.mkdir()
    shutil.copy(empty_database, folder / "mlflow.db")
    monkeypatch.setenv("ERREVAL_STATE", str(folder))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("ERREVAL_SUPERVISOR_PID", raising=False)
    return folder


@pytest.fixture(autouse=True)
def figures(request, monkeypatch):
    """Drawing is tested elsewhere and takes most of the time, so one test draws and the others log a blank."""
    if "with_a_child_for_each_round" not in request.node.name:
        from matplotlib.figure import Figure

        for name in ("per_type_f1", "confusion", "label_distribution", "rounds", "correlations"):
            monkeypatch.setattr(f"erreval.plots.{name}", lambda *_, **__: Figure(figsize=(1, 1)))


@pytest.fixture
def single(tmp_path, state):
    return Workspace(tmp_path / "work", [0.5])


@pytest.fixture
def workspace(tmp_path, state):
    return Workspace(tmp_path / "work", [0.5, 0.6])


@contextlib.contextmanager
def looking():
    with tracking.open_store() as store:
        yield store


def runs():
    with looking() as store:
        return list(store.client.search_runs([store.experiment]))


def versions(model):
    with looking() as store:
        found = store.client.search_model_versions(f"name = 'erreval-{model}'")
        return sorted(found, key=lambda version: int(version.version))


def champion(model="identifier"):
    with looking() as store:
        return store.champion(f"erreval-{model}")


def run_of(published_run):
    with looking() as store:
        return store.client.get_run(published_run.run_id)


def artifacts(run_id):
    with looking() as store:

        def walk(path=None):
            for item in store.client.list_artifacts(run_id, path):
                yield from walk(item.path) if item.is_dir else [item.path]

        return set(walk())  # fmt: skip


# ---------------------------------------------------------------- once, and whole


def test_a_refinement_is_a_parent_with_a_child_for_each_round(workspace, state):
    found = publish_refinement(workspace.root, "sample")
    assert found.run.made and [r.name for r in found.rounds] == ["r0", "r1"]
    parent = run_of(found.run)
    assert parent.info.status == "FINISHED"
    assert parent.data.tags["erreval.key"] == found.run.key and parent.data.tags["best_round"] == "r1"
    assert parent.data.metrics["identifier/dev/micro_f1"] == 0.6
    assert parent.data.metrics["best/verifier/dev/perturbed/f1"] == 0.6
    with looking() as store:
        steps = store.client.get_metric_history(found.run.run_id, "identifier/dev/micro_f1")
    assert [(m.step, m.value) for m in steps] == [(0, 0.5), (1, 0.6)]
    assert "plots/rounds.png" in artifacts(found.run.run_id)

    first, second = (run_of(r) for r in found.rounds)
    for child in (first, second):
        assert child.data.tags["mlflow.parentRunId"] == found.run.run_id
        assert child.info.status == "FINISHED" and child.data.tags["erreval.complete"] == "true"
        assert child.data.params["seed"] == "1" and child.data.params["identifier.epochs"] == "2"
    assert first.data.metrics["identifier/floor/dev/micro_f1"] == 0.503
    assert first.data.metrics["identifier/dev/types/off_target_answer/count"] == 9
    assert "identifier/dev/exact_match" not in first.data.metrics
    assert first.data.tags["erreval.unknown_metrics"] == "4"  # own and floor's, on dev and test
    assert second.data.tags["annotator"] == parent.data.tags["annotator"] == "simulated"
    assert second.data.metrics["queue/unreliable"] == 12 and second.data.params["annotator.error_rate"] == "0.05"
    assert "annotator" not in first.data.tags

    (dataset,) = second.inputs.dataset_inputs
    training = workspace.root / workspace.work / "sets/r1/train.parquet"
    assert dataset.dataset.name == "training-r1"
    assert dataset.dataset.digest == hashlib.md5(training.read_bytes()).hexdigest()
    tags = {tag.key: tag.value for tag in dataset.tags}
    assert tags == {"mlflow.data.context": "training", "size": "30", "origin.injected": "20", "origin.simulated": "10"}
    logged = artifacts(second.info.run_id)
    assert {"plots/f1_dev.png", "plots/confusion_test.png", "plots/labels.png"} <= logged
    assert {"gates/extend-r0/report.html", "queue.json", "assessment.json"} <= logged
    assert {"gates/prepare/report.html", "gates/extend-r0/report.html"} <= artifacts(found.run.run_id)
    assert (state / "mlartifacts").is_dir()


def test_gate_reports_are_artifacts_that_tag_and_note_name(workspace):
    found = publish_refinement(workspace.root, "sample")
    stages = {"r0": ["label_noise-r0", "prepare"], "r1": ["extend-r0", "label_noise-r1"]}
    for run in (found.run, *found.rounds):
        names = stages.get(run.name, sorted(stages["r0"] + stages["r1"]))
        published = run_of(run)
        told = json.loads(published.data.tags["erreval.gates"])
        assert sorted(told) == names
        assert told[names[-1]]["passed"] is True
        assert {n: gate["warnings"] for n, gate in told.items()} == {n: 2 * n.startswith("label") for n in names}
        logged = {path for path in artifacts(run.run_id) if path.startswith("gates/")}
        assert logged == {f"gates/{name}/report.{ending}" for name in names for ending in ("html", "json")}
        note = published.data.tags["mlflow.note.content"]
        experiment = published.info.experiment_id
        for name in names:
            assert f"[{name}](#/experiments/{experiment}/runs/{run.run_id}/artifacts/gates/{name}/report.html)" in note
        assert ("passed, 2 warnings" in note) and ("0 warnings" in note)


def test_doubtful_labels_found_anew_are_attached_to_the_runs_that_are_there(workspace, tmp_path):
    first = publish_refinement(workspace.root, "sample")
    gate = f"{workspace.work}/gates/label_noise-r1"
    workspace.report(gate, warnings=1)
    sets, noise = f"{workspace.work}/sets/r1", f"{workspace.work}/label_noise/r1.parquet"
    workspace.stage("label_noise@r1", [sets], {noise: "other rows", gate: None})
    workspace.save()
    second = publish_refinement(workspace.root, "sample")
    assert [r.run_id for r in second.rounds] == [r.run_id for r in first.rounds] and not second.run.made
    assert len(runs()) == 3 and len(versions("identifier")) == 2
    for run in (second.run, second.rounds[1]):
        assert json.loads(run_of(run).data.tags["erreval.gates"])["label_noise-r1"]["warnings"] == 1
        assert "passed, 1 warning" in run_of(run).data.tags["mlflow.note.content"]
        with looking() as store:
            page = store.client.download_artifacts(run.run_id, "gates/label_noise-r1/report.html", str(tmp_path))
        assert Path(page).read_text() == "<p>1 warnings</p>"


def test_published_twice_nothing_appears_twice(workspace):
    first = publish_refinement(workspace.root, "sample")
    before = {run.info.run_id: dict(run.data.metrics) for run in runs()}
    second = publish_refinement(workspace.root, "sample")
    assert second.run.run_id == first.run.run_id and not second.run.made
    assert [r.run_id for r in second.rounds] == [r.run_id for r in first.rounds]
    assert not any(r.made for r in second.rounds)
    assert {run.info.run_id: dict(run.data.metrics) for run in runs()} == before and len(before) == 3
    assert len(versions("identifier")) == len(versions("verifier")) == 2
    assert second.champions == first.champions == {"erreval-identifier": "2", "erreval-verifier": "2"}
    assert tracking.published(first.run.key).rounds == second.rounds


@pytest.mark.parametrize(("where", "call"), [
    ("write", 1), ("write", 2), ("log_dataset", 1), ("_log_model", 2), ("register", 2), ("finish", 2), ("crown", 2),
])  # fmt: skip
def test_what_died_in_the_middle_is_completed_once(single, monkeypatch, where, call):
    calls = []
    original = getattr(tracking.Store, where)

    def dies(self, *args, **kwargs):
        calls.append(where)
        result = original(self, *args, **kwargs)
        if len(calls) == call:
            raise KeyboardInterrupt
        return result

    with monkeypatch.context() as patch:
        patch.setattr(tracking.Store, where, dies)
        with pytest.raises(KeyboardInterrupt):
            publish_refinement(single.root, "sample")
    again = publish_refinement(single.root, "sample")
    found = runs()
    assert len(found) == 2 and {run.info.status for run in found} == {"FINISHED"}
    assert all(run.data.tags["erreval.complete"] == "true" for run in found)
    assert len(versions("identifier")) == len(versions("verifier")) == 1
    assert again.champions == {"erreval-identifier": "1", "erreval-verifier": "1"}
    with looking() as store:
        for run in (again.run, *again.rounds):
            assert len(store.client.get_metric_history(run.run_id, "identifier/dev/micro_f1")) == 1
        assert len(store.client.search_logged_models([store.experiment])) == 2


def test_a_model_that_was_half_copied_is_replaced(single, monkeypatch):
    def dies(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mlflow.pyfunc.model._save_model_with_class_artifacts_params", dies)
        with pytest.raises(KeyboardInterrupt):
            publish_refinement(single.root, "sample")
    publish_refinement(single.root, "sample")
    with looking() as store:
        models = store.client.search_logged_models([store.experiment])
    assert len(models) == 2 and {str(m.status) for m in models} == {"READY"}


def test_a_round_that_two_refinements_share_stands_there_once(tmp_path, state):
    shorter = publish_refinement(Workspace(tmp_path / "a", [0.5]).root, "sample")
    longer = publish_refinement(Workspace(tmp_path / "b", [0.5, 0.6]).root, "sample")
    assert longer.run.run_id != shorter.run.run_id
    assert longer.rounds[0].run_id == shorter.rounds[0].run_id and not longer.rounds[0].made
    assert len(runs()) == 4
    assert longer.rounds[0].run_id in run_of(longer.run).data.tags["mlflow.note.content"]


def test_two_refinements_can_be_compared(tmp_path, state):
    one = run_of(publish_refinement(Workspace(tmp_path / "a", [0.6], seed=1).root, "sample").run)
    two = run_of(publish_refinement(Workspace(tmp_path / "b", [0.7], seed=2).root, "sample").run)
    assert set(one.data.metrics) == set(two.data.metrics) and set(one.data.params) == set(two.data.params)
    assert {k for k in one.data.params if one.data.params[k] != two.data.params[k]} == {"seed"}


# ---------------------------------------------------------------- champions


def test_a_better_round_on_the_same_dev_set_takes_over_and_a_worse_one_does_not(tmp_path, state):
    publish_refinement(Workspace(tmp_path / "a", [0.6, 0.5], seed=1).root, "sample")
    assert champion().tags["round"] == "r0"
    assert "there was no champion" in champion().tags["erreval.why_champion"]
    publish_refinement(Workspace(tmp_path / "b", [0.6], seed=2).root, "sample")
    assert champion().version == 1
    publish_refinement(Workspace(tmp_path / "c", [0.61], seed=3).root, "sample")
    assert champion().version == 4 and "better than 0.6 of version 1" in champion().tags["erreval.why_champion"]


def test_each_model_has_its_own_best_round(tmp_path, state):
    publish_refinement(Workspace(tmp_path / "a", [0.6, 0.5], verifier=[0.3, 0.4]).root, "sample")
    assert champion("identifier").tags["round"] == "r0" and champion("verifier").tags["round"] == "r1"
    assert champion("verifier").tags["dev_metric"] == "0.4"


def test_another_dev_set_moves_the_champion_and_says_why(tmp_path, state):
    publish_refinement(Workspace(tmp_path / "a", [0.9]).root, "sample")
    publish_refinement(Workspace(tmp_path / "b", [0.4], profile="offline", pilot="pilot-2").root, "offline")
    assert champion().tags["dev_metric"] == "0.4" and champion().tags["profile"] == "offline"
    assert "version 1, the champion before, was measured on another dev set" in champion().tags["erreval.why_champion"]


def test_an_unknown_dev_metric_never_makes_a_champion(tmp_path, state):
    found = publish_refinement(Workspace(tmp_path / "a", [None], verifier=[0.5]).root, "sample")
    assert champion() is None and found.champions == {"erreval-verifier": "1"}
    assert "dev_metric" not in versions("identifier")[0].tags


# ---------------------------------------------------------------- evaluations and flows


def test_an_evaluation_stands_under_its_refinement(single):
    single.evaluate(SCORED)
    parent = publish_refinement(single.root, "sample")
    found = publish_evaluation(single.root, "sample")
    run = run_of(found.run)
    assert run.data.tags["mlflow.parentRunId"] == parent.run.run_id
    assert run.data.metrics["study/qgeval/diagnosis/answer_consistency/pearson"] == 0.3
    assert run.data.metrics["study/qgeval/diagnosis/fluency/floor"] == 0.4
    assert run.data.metrics["study/qgeval/diagnosis/fluency/n"] == 3000
    assert run.data.metrics["mean_pearson"] == 0.31 and "mean_pearson_six" not in run.data.metrics
    assert run.data.metrics["mean_pearson_outside_dev"] == 0.29
    assert run.data.metrics["study/qgeval/diagnosis/fluency/pearson_outside_dev"] == 0.2
    assert run.data.metrics["study/qgeval/diagnosis/clarity/one_annotator"] == 0.66
    assert run.data.metrics["study/qgeval/diagnosis-with-llama3/answerability/pearson"] == 0.3
    assert run.data.tags["erreval.unknown_metrics"] == "1" and run.data.params["data.benchmark"] == "qgeval"
    assert artifacts(found.run.run_id) == {"plots/pearson.png", "results/evaluate.json"}
    again = publish_evaluation(single.root, "sample")
    assert again.run.run_id == found.run.run_id and not again.run.made
    assert publish_refinement(single.root, "sample").run.run_id == parent.run.run_id


def test_an_unscored_evaluation_says_so(single):
    single.evaluate({"benchmark": "sample", "scored": False, "reason": "nobody scored the sample"})
    run = run_of(publish_evaluation(single.root, "sample").run)
    assert run.data.tags["scored"] == "false" and run.data.metrics == {}
    assert run.data.tags["mlflow.note.content"] == "nobody scored the sample"


def test_a_flow_finds_the_run_it_made_or_reused(single):
    assert tracking.find_run_by_flow(FLOW) is None
    made = publish_refinement(single.root, "sample", flow_run_id=FLOW)
    assert tracking.find_run_by_flow(FLOW) == made.run.run_id
    for i in range(60):
        with looking() as store:
            store.link_flow(made.run.run_id, f"flow-{i}")
    tags = run_of(made.run).data.tags
    assert tags["prefect.flow_run_id"] == "flow-59" and len(tags["prefect.flow_run_ids"].split(",")) == 50
    assert tracking.find_run_by_flow("flow-30") == made.run.run_id
    assert tracking.find_run_by_flow(FLOW) is None
    reused = publish_refinement(single.root, "sample", flow_run_id=FLOW)
    assert not reused.run.made and tracking.find_run_by_flow(FLOW) == made.run.run_id


def test_a_flow_id_is_checked(state):
    with pytest.raises(tracking.TrackingError, match="not a Prefect flow run id"):
        tracking.find_run_by_flow("x' OR '1'='1")


# ---------------------------------------------------------------- keys and dvc.lock


def test_keys_change_with_what_was_made_and_with_nothing_else(tmp_path):
    def keys(name, **changes):
        return read_refinement(Lock.read(Workspace(tmp_path / name, [0.5, 0.6], **changes).root), "sample").keys()

    one, same, other = keys("a"), keys("b"), keys("c", seed=2)
    assert one == same
    assert one["refinement"] != other["refinement"] and one["rounds"]["r0"]["key"] != other["rounds"]["r0"]["key"]
    assert one["rounds"]["r0"]["dev_set"] == one["rounds"]["r1"]["dev_set"] == other["rounds"]["r0"]["dev_set"]


def test_an_evaluation_or_a_later_queue_does_not_change_the_refinement(workspace):
    before = read_refinement(Lock.read(workspace.root), "sample").key
    workspace.evaluate(SCORED)
    assert read_refinement(Lock.read(workspace.root), "sample").key == before
    assert read_evaluation(Lock.read(workspace.root), "sample").refinement == before


def test_the_order_of_stages_does_not_matter():
    assert key_of([]) != key_of([], "round")


@pytest.mark.parametrize(("path", "message"), [
    ("dvc.lock", "no stage has finished here; run: dvc repro"),
    ("results/sample/verifier.json", "json: missing, though stage summarise has made it; run: dvc repro summarise"),
    ("data/work/sample/models/verifier/r1", "run: dvc repro train_verifier@r1"),
    ("data/work/sample/assess/r0.json", "run: dvc repro assess@r0"),
])  # fmt: skip
def test_a_missing_result_names_the_command_that_makes_it(workspace, path, message):
    gone = workspace.root / path
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    with pytest.raises(StageError, match=message.replace(".", r"\.")):
        publish_refinement(workspace.root, "sample")


def test_a_profile_that_never_ran_is_told(workspace):
    with pytest.raises(StageError, match=r"results/paper/identifier.json: no finished stage has made it"):
        publish_refinement(workspace.root, "paper")


def test_a_result_changed_by_hand_is_refused(workspace):
    path = workspace.root / "results/sample/identifier.json"
    path.write_text(path.read_text().replace("0.6", "0.9"))
    with pytest.raises(StageError, match="differs from what stage summarise has made"):
        publish_refinement(workspace.root, "sample")


def test_results_older_than_their_assessment_are_refused(workspace):
    path = "data/work/sample/assess/r1.json"
    assessed = json.loads((workspace.root / path).read_text())
    assessed["identifier"]["dev"]["micro_f1"] = 0.99
    workspace.stage("assess@r1", [], {path: assessed})
    workspace.save()
    with pytest.raises(StageError, match=r"round r1 is not what .*r1\.json says; run: dvc repro -f summarise"):
        publish_refinement(workspace.root, "sample")


def test_outputs_older_than_their_inputs_are_refused(workspace):
    folder = "data/work/sample/models/fused/r1"
    workspace.put(f"{folder}/config.json", "another model")
    workspace.stage("fuse@r1", [], {folder: None})
    workspace.save()
    with pytest.raises(StageError, match="has made it anew since assess@r1 read it; run: dvc repro assess@r1"):
        publish_refinement(workspace.root, "sample")


def test_a_round_that_is_no_longer_asked_for_does_not_count(tmp_path):
    fresh = Workspace(tmp_path / "a", [0.5])
    left = Workspace(tmp_path / "b", [0.5, 0.6])
    for path in ("results/sample/identifier.json", "results/sample/verifier.json", "data/work/sample/champion.json"):
        shutil.copy(fresh.root / path, left.root / path)
    outs = [item["path"] for item in left.entries["summarise"]["outs"]]
    left.stage("summarise", ["data/work/sample/assess"], dict.fromkeys(outs))
    left.save()
    one, other = (read_refinement(Lock.read(w.root), "sample").keys() for w in (fresh, left))
    assert one == other


def test_metric_keys():
    numbers = round_numbers({"dev": block(0.5)}, {"dev": {"perturbed": verdicts(float("nan"))}})
    assert numbers.known["identifier/dev/types/vague/f1"] == 0.17
    assert numbers.known["verifier/floor/dev/perturbed/accuracy"] == 0.5
    assert set(numbers.unknown) == {
        "identifier/dev/exact_match", "identifier/floor/dev/exact_match", "verifier/dev/perturbed/f1"
    }  # fmt: skip
    assert set(evaluation_numbers({"scored": False, "reason": "x"}).known) == set()


# ---------------------------------------------------------------- the store


def test_a_server_that_is_not_there_is_told_at_once(single, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://user:secret@127.0.0.1:{port}")
        with pytest.raises(tracking.TrackingError, match="cannot be reached") as told:
            publish_refinement(single.root, "sample")
    assert "secret" not in str(told.value) and "\n" not in str(told.value)


def test_a_deleted_experiment_is_told(state):
    with looking() as store:
        store.client.delete_experiment(store.experiment)
    with pytest.raises(tracking.TrackingError, match="mlflow experiments restore --experiment-id"), looking():
        pass


def test_the_environment_is_left_as_it_was(state, monkeypatch):
    import os

    with looking():
        pass
    assert "MLFLOW_TRACKING_URI" not in os.environ
    uri = f"sqlite:///{state / 'mlflow.db'}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    with looking():
        pass
    assert os.environ["MLFLOW_TRACKING_URI"] == uri == tracking.default_tracking_uri()


def test_the_library_does_not_import_mlflow_before_it_is_needed():
    code = "import sys, erreval.publishing; sys.exit('mlflow' in sys.modules or 'matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---------------------------------------------------------------- the served models


class StubIdentifier:
    seen: list = []  # noqa: RUF012

    @classmethod
    def load(cls, folder):
        assert (Path(folder) / "config.json").is_file()
        return cls()

    def predict_probabilities(self, questions):
        self.seen.extend(questions)
        p_e = np.full((len(questions), 11), 0.1)
        p_e[:, ALL_TYPES.index(ErrorType.VAGUE)] = 0.9
        return p_e

    def decide(self, probabilities):
        return [frozenset({ErrorType.VAGUE})] * len(probabilities)


class StubVerifier(StubIdentifier):
    def predict(self, questions, label_sets):
        assert all(isinstance(labels, frozenset) for labels in label_sets)
        return np.array([len(labels) / 10 for labels in label_sets])


TEXTS = ["123", "None", "[1, 2]", "{'a': 1}", "nan", "Wer fragt? 🤔"]


@pytest.fixture
def served(single, monkeypatch):
    publish_refinement(single.root, "sample")
    monkeypatch.setattr("erreval.diagnosis.loading.load_identifier", StubIdentifier.load)
    monkeypatch.setattr("erreval.diagnosis.verifier.Verifier", StubVerifier)
    StubIdentifier.seen = []

    def load(model):
        with looking() as store:
            return store._mlflow.pyfunc.load_model(f"models:/erreval-{model}@champion")

    return load


def test_the_served_identifier_takes_every_text_as_text(served):
    model = served("identifier")
    answers = ["7", "None", None, "", "[]", "x"]
    frame = pd.DataFrame({"question": TEXTS, "answer": answers, "passage": TEXTS}, index=range(5, 11))
    table = model.predict(frame)
    assert list(table.columns) == [*LABELS, "labels"] and list(table.index) == list(frame.index)
    assert set(table["labels"]) == {"Vague"} and table["Vague"].dtype == "float64"
    assert [q.question for q in StubIdentifier.seen] == TEXTS == [q.passage for q in StubIdentifier.seen]
    assert [q.answer for q in StubIdentifier.seen] == ["7", "None", None, None, "[]", "x"]
    assert len(model.predict(pd.DataFrame({"question": ["Only a question?"]}))) == 1
    assert [c.name for c in model.metadata.signature.outputs.inputs] == [*LABELS, "labels"]


def test_the_served_identifier_takes_what_a_client_sends(served):
    from mlflow.pyfunc.scoring_server import infer_and_parse_data

    model = served("identifier")
    sent = json.dumps({"dataframe_records": [{"question": text, "answer": None, "passage": text} for text in TEXTS]})
    frame = infer_and_parse_data(json.loads(sent), model.metadata.get_input_schema())
    assert len(model.predict(frame)) == len(TEXTS)
    assert [q.question for q in StubIdentifier.seen] == TEXTS


def test_the_served_verifier_judges_label_sets(served):
    frame = pd.DataFrame({"question": TEXTS, "answer": TEXTS, "passage": TEXTS, "labels": ["Vague;Spell Error"] * 6})
    assert served("verifier").predict(frame)["p_v"].tolist() == [0.2] * 6


@pytest.mark.parametrize(("column", "cell", "message"), [
    ("question", "  ", "row 1, column question: empty"),
    ("labels", "Vague; No Error", "row 1, column labels: 'No Error' excludes"),
    ("labels", None, "row 1, column labels"),
])  # fmt: skip
def test_a_bad_row_is_named(column, cell, message):
    from erreval.served_model import read_label_sets, read_questions

    frame = pd.DataFrame({"question": ["a?", "b?"], "labels": ["Vague", "Vague"]})
    frame.loc[1, column] = cell
    with pytest.raises(TableError, match=message):
        (read_questions if column == "question" else read_label_sets)(frame)


def test_nothing_that_is_logged_is_a_pickle(single, state):
    publish_refinement(single.root, "sample")
    files = [file for file in (state / "mlartifacts").rglob("*") if file.is_file()]
    assert len([file for file in files if file.name == "MLmodel"]) == 2
    for file in files:
        assert file.suffix not in {".pkl", ".pickle", ".bin", ".pt", ".pth", ".joblib"}, file
        assert not is_pickle(file.read_bytes()), file


def is_pickle(content):
    if not content.startswith(b"\x80"):
        return False
    with contextlib.suppress(Exception):
        return any(op.name == "STOP" for op, _, _ in pickletools.genops(content))
    return False


# ---------------------------------------------------------------- the stages


@pytest.fixture
def project(single):
    repository = Path(__file__).parents[1]
    text = (repository / "params.yaml").read_text().replace("profile: offline", "profile: sample")
    (single.root / "params.yaml").write_text(text)
    return single


def test_the_stages_write_the_same_whatever_was_there(project, monkeypatch):
    from pipelines import publish_evaluation as evaluation
    from pipelines import publish_refinement as refinement

    monkeypatch.chdir(project.root)
    monkeypatch.setattr("pipelines.supervision.watch_ancestors", lambda: None)
    monkeypatch.setattr("sys.argv", ["stage"])
    monkeypatch.setenv("ERREVAL_FLOW_RUN_ID", FLOW)
    project.evaluate(SCORED)
    written = []
    for _ in range(2):
        refinement.main()
        evaluation.main()
        folder = project.root / project.work / "published"
        written.append([(folder / f"{name}.json").read_bytes() for name in ("refinement", "evaluation")])
    assert written[0] == written[1]
    keys = [json.loads(text) for text in written[0]]
    assert tracking.published(keys[0]["refinement"]).run.key == keys[1]["refinement"]
    assert tracking.find_run_by_flow(FLOW) == tracking.published(keys[1]["evaluation"]).run.run_id
    assert len(runs()) == 3


def test_a_stage_ends_with_one_line_and_exit_code_2(project):
    (project.root / "results/sample/identifier.json").unlink()
    command = [sys.executable, "-m", "pipelines.publish_refinement"]
    done = subprocess.run(command, cwd=project.root, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert "results/sample/identifier.json: missing" in line and "dvc repro summarise" in line
    assert not (project.root / project.work / "published").exists()


def test_every_mistake_is_one_that_a_user_can_mend():
    assert issubclass(tracking.TrackingError, ErrevalError) and issubclass(StageError, ErrevalError)
    assert publishing.REGISTERED == {"identifier": "erreval-identifier", "verifier": "erreval-verifier"}
