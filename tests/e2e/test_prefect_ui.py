"""A run that a person starts in the real Prefect UI finishes, and MLflow knows it by its flow-run id."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from servers import BROWSER_OPTIONS, REPOSITORY, clean_environment, copy_project, find_browser, running_up

from erreval.settings import load_settings
from flows.places import read_json

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(find_browser() is None, reason="no Chromium found (chromium, google-chrome): see .ci/run"),
]
_RUN_SECONDS = 1200


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_project(tmp_path_factory.mktemp("ui") / "project")
    sample = folder / "profiles" / "sample.yaml"
    sizes = "injection: {train_size: 240, pool_size: 60, heldout_size: 90}"
    small, replaced = re.subn(r"injection: \{.*\}", sizes, sample.read_text())
    assert replaced == 1
    sample.write_text(small)
    return folder


@pytest.fixture(scope="module")
def servers(project: Path) -> Iterator[dict[str, str]]:
    with running_up(project) as record:
        yield record
    left = [p for p in psutil.process_iter(["cwd"]) if p.info["cwd"] == str(project)]
    assert not left, [p.cmdline() for p in left]
    assert not (project / ".erreval" / "up.json").exists()


@pytest.fixture
def page() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=list(BROWSER_OPTIONS))
        try:
            yield browser.new_page(viewport={"width": 1280, "height": 1000})
        finally:
            browser.close()


def picture(page: Any, name: str) -> None:
    """Keep a picture for the documentation, where asked to."""
    if os.environ.get("ERREVAL_PICTURES") == "1":
        place = REPOSITORY / "docs" / "pictures" / f"{name}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(place))


def field(page: Any, title: str) -> Any:
    """The part of the form under a title."""
    return page.locator(".schema-form-property", has=page.get_by_text(f"{title} (Optional)", exact=True)).last


def submit_form(page: Any, prefect: str) -> str:
    """Fill in and submit the form of the deployment refine/local; the flow run's id."""
    page.goto(f"{prefect}/deployments")
    page.get_by_text("refine").first.wait_for()
    picture(page, "prefect-deployments")
    deployment = read_json(f"{prefect}/api/deployments/name/refine/local")
    page.goto(f"{prefect}/deployments/deployment/{deployment['id']}/run")
    field(page, "Annotator error rate").wait_for()
    assert field(page, "Rounds").locator("input[type=number]").count() == 1
    assert field(page, "Uncertainty, reliable").get_by_text("counts as reliable").is_visible()
    field(page, "Profile").locator("button.p-select-button__control").press("ArrowDown")
    page.locator(".p-select-option__text", has_text="sample").click()
    field(page, "Rounds").locator("input").fill("1")
    field(page, "Seed").locator("input").fill("11")
    picture(page, "prefect-form")
    before = latest_runs(prefect)
    page.get_by_role("button", name="Submit").click()
    end = time.monotonic() + 60
    while not (new := latest_runs(prefect) - before):
        assert time.monotonic() < end, page.inner_text("body")
        time.sleep(0.5)
    return new.pop()


def latest_runs(prefect: str) -> set[str]:
    request = urllib.request.Request(
        f"{prefect}/api/flow_runs/filter", data=b"{}", headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as reply:
        return {run["id"] for run in json.load(reply)}


def wait_until_final(prefect: str, run: str) -> dict[str, Any]:
    end = time.monotonic() + _RUN_SECONDS
    while True:
        state = read_json(f"{prefect}/api/flow_runs/{run}")["state"]
        if state["type"] in {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}:
            return dict(state)
        assert time.monotonic() < end, state
        time.sleep(2)


def test_a_run_from_the_form_finishes_and_mlflow_knows_it(
    project: Path, servers: dict[str, str], page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefect = servers["prefect"]
    run = submit_form(page, prefect)
    page.goto("about:blank")  # the run's page is animated, and would take a core from the run
    state = wait_until_final(prefect, run)
    log = (project / ".erreval" / "logs" / "deployments.log").read_text()
    told = "\n".join([line for line in log.splitlines() if "Task run" in line][-25:])
    assert state["type"] == "COMPLETED", f"{state['message']}\n{told}"
    page.goto(f"{prefect}/runs/flow-run/{run}")
    page.get_by_text("train_identifier@r0").first.wait_for()
    picture(page, "prefect-flow-run")

    settings = load_settings(project / "params.yaml")
    assert (settings.profile, list(settings.rounds), settings.seed) == ("sample", ["r0"], 11)

    import mlflow

    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    client = mlflow.MlflowClient(tracking_uri=servers["mlflow"])
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    found = client.search_runs(experiments, filter_string=f"tags.`prefect.flow_run_id` = '{run}'")
    assert len(found) == 1
    page.goto(f"{servers['mlflow']}/#/experiments/{found[0].info.experiment_id}/runs/{found[0].info.run_id}")
    page.get_by_text("Finished", exact=True).first.wait_for(timeout=60_000)
    picture(page, "mlflow-run")


def test_what_the_form_changed_is_rebuilt_by_plain_dvc(project: Path, servers: dict[str, str]) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    status = subprocess.run(
        [sys.executable, "-m", "dvc", "status", "publish_refinement"],
        cwd=project,
        env=clean_environment(project) | {"PATH": path},
        capture_output=True,
        text=True,
    )
    assert "up to date" in status.stdout, status.stdout + status.stderr
