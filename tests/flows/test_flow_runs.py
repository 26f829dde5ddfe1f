"""The flows on a toy project: order, caching, recorded parameters, refusals, failures and kills."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import toy
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

from erreval.errors import StageError
from erreval.settings import apply_changes, load_settings
from flows.parameters import EvaluateParameters, RefineParameters
from flows.plan import evaluate_stages, refine_stages
from flows.workspace import refuse_if_in_use

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _without_mlflow(monkeypatch: pytest.MonkeyPatch) -> None:
    import flows.evaluate
    import flows.refine

    for module in (flows.refine, flows.evaluate):
        monkeypatch.setattr(module, "link", lambda *args: None)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    import flows.evaluate
    import flows.refine

    for module in (flows.refine, flows.evaluate):
        monkeypatch.setattr(module, "refine_stages", lambda settings: toy.SHORT)


def start(flow: str, root: Path, environment: dict[str, str]) -> psutil.Popen:
    return psutil.Popen(
        [sys.executable, f"run_{flow}.py"], cwd=root, env=environment, stdout=subprocess.PIPE, text=True
    )


def finish(flow: str, root: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, f"run_{flow}.py"], cwd=root, env=environment, capture_output=True, text=True, timeout=300
    )


def test_a_refinement_runs_every_stage_once_and_then_none(toy_project: Path, prefect_server: str) -> None:
    from flows.refine import refine

    stages = refine_stages(apply_changes(toy_project / "params.yaml", {"rounds": 2}))
    assert refine(RefineParameters()) == dict.fromkeys(stages, "ran")
    assert refine(RefineParameters()) == dict.fromkeys(stages, "unchanged")
    assert [toy.ran(toy_project, name) for name in stages] == [1] * len(stages)
    with get_client(sync_client=True) as client:
        last = client.read_flow_runs(sort="START_TIME_DESC", limit=1)[0]
        mine = FlowRunFilter(id=FlowRunFilterId(any_=[last.id]))
        expected = {(name, "Cached") for name in stages}
        for _ in range(60):  # states of tasks reach the server as events, some time later
            runs = client.read_task_runs(flow_run_filter=mine)
            if (found := {(r.name, r.state.name if r.state else "none yet") for r in runs}) == expected:
                break
            time.sleep(0.5)
        assert found == expected
        (page,) = [a for a in client.read_artifacts(limit=50) if a.key == "refinement"][:1]
    assert "| r0 | dev | 10 | .500 (.250) |" in page.data


def test_what_a_form_changes_is_recorded(toy_project: Path, prefect_server: str, short: None) -> None:
    from flows.refine import refine

    refine(RefineParameters(profile="sample", rounds=2, seed=7, others={"queue.size": 5}))
    settings = load_settings(toy_project / "params.yaml")
    assert (settings.profile, settings.profile_decided, settings.seed, settings.queue.size) == ("sample", True, 7, 5)
    assert list(settings.rounds) == ["r0", "r1"]
    assert (toy_project / "results/sample/identifier.json").exists()
    plain = subprocess.run([sys.executable, "-m", "dvc", "status", "summarise"], capture_output=True, text=True)
    assert "up to date" in plain.stdout


def test_an_evaluation_does_not_train_unless_told_to(toy_project: Path, prefect_server: str, short: None) -> None:
    from flows.evaluate import evaluate

    with pytest.raises(Exception, match=r"not finished \(from stage fetch on\)"):
        evaluate(EvaluateParameters())
    assert toy.ran(toy_project, "fetch") == 0
    outcomes = evaluate(EvaluateParameters(when_stale="refine first"))
    assert list(outcomes)[-3:] == list(evaluate_stages(load_settings(toy_project / "params.yaml")))
    assert set(outcomes.values()) == {"ran"}
    assert set(evaluate(EvaluateParameters()).values()) == {"unchanged"}


def test_a_failed_stage_ends_the_run_with_its_reason(toy_project: Path, prefect_server: str, short: None) -> None:
    from flows.refine import refine

    (toy_project / "prepare.fails").touch()
    with pytest.raises(Exception, match=r"stage prepare failed: prepare has nothing to work on"):
        refine(RefineParameters())
    assert toy.ran(toy_project, "prepare") == 1  # no blind retry
    assert toy.ran(toy_project, "train_identifier@r0") == 0
    assert not (toy_project / ".erreval" / "workspace.json").exists()
    (toy_project / "prepare.fails").unlink()
    assert refine(RefineParameters())["prepare"] == "ran"
    assert toy.ran(toy_project, "fetch") == 1


def test_a_second_run_in_the_same_workspace_is_refused(toy_project: Path, child_environment: dict[str, str]) -> None:
    from flows.refine import refine

    (toy_project / "prepare.sleeps").touch()
    first = start("refine", toy_project, child_environment)
    toy.wait_for(toy_project / "prepare.started")
    told = rf"in use by flow run '[\w-]+' \(process {first.pid}\): wait for it"
    with pytest.raises(Exception, match=told):
        refine(RefineParameters())
    with pytest.raises(StageError, match=told):
        refuse_if_in_use(toy_project)  # what the command line asks before it starts a server
    assert (toy_project / ".erreval/workspace.json").exists()
    assert toy.ran(toy_project, "prepare") == 1
    first.send_signal(signal.SIGINT)
    first.wait(30)
    assert toy.all_gone(toy_project)


@pytest.mark.parametrize("victim", ["flow", "repro", "stage"])
def test_killed_anywhere_nothing_is_left_and_the_next_run_goes_on(
    toy_project: Path, child_environment: dict[str, str], victim: str
) -> None:
    (toy_project / "assess@r0.sleeps").touch()
    first = start("refine", toy_project, child_environment)
    toy.wait_for(toy_project / "assess@r0.started")
    held = json.loads((toy_project / ".erreval/workspace.json").read_text())
    marks = {"flow": "run_refine.py", "repro": "pipelines.repro", "stage": "stage.py"}
    (target,) = [
        p for p in toy.survivors(toy_project) if marks[victim] in p.cmdline()[1:3] and p.name().startswith("python")
    ]
    target.send_signal(signal.SIGKILL)
    if victim == "flow":
        first.wait(10)
    assert toy.all_gone(toy_project, 3 if victim == "flow" else 10), [p.cmdline() for p in toy.survivors(toy_project)]
    (toy_project / "assess@r0.sleeps").unlink()
    second = finish("refine", toy_project, child_environment)
    assert second.returncode == 0, second.stdout + second.stderr
    assert [toy.ran(toy_project, name) for name in ("fetch", "train_identifier@r0", "summarise")] == [1, 1, 1]
    assert toy.ran(toy_project, "assess@r0") == 2
    with get_client(sync_client=True) as client:
        state = client.read_flow_run(held["flow_run_id"]).state
    assert state.name == ("Crashed" if victim == "flow" else "Failed")


def test_started_again_at_once_it_waits_for_the_rest_to_end(
    toy_project: Path, child_environment: dict[str, str]
) -> None:
    (toy_project / "prepare.sleeps").touch()
    first = start("refine", toy_project, child_environment)
    toy.wait_for(toy_project / "prepare.started")
    (toy_project / "prepare.sleeps").unlink()
    first.send_signal(signal.SIGKILL)
    second = finish("refine", toy_project, child_environment)
    assert second.returncode == 0, second.stdout + second.stderr
