"""The list of stages follows from the settings alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import toy

from erreval.settings import apply_changes, load_settings
from flows.plan import evaluate_stages, refine_stages


@pytest.fixture
def params(tmp_path: Path) -> Path:
    place = tmp_path / "params.yaml"
    place.write_bytes((toy.REPOSITORY / "params.yaml").read_bytes())
    return place


def test_two_rounds(params: Path) -> None:
    assert refine_stages(apply_changes(params, {"rounds": 2})) == (
        "fetch",
        "backbone",
        "prepare",
        "label_noise@r0",
        "train_identifier@r0",
        "fuse@r0",
        "train_verifier@r0",
        "assess@r0",
        "predict@r0",
        "select@r0",
        "queue@r0",
        "annotate@r0",
        "extend@r0",
        "label_noise@r1",
        "train_identifier@r1",
        "fuse@r1",
        "train_verifier@r1",
        "assess@r1",
        "summarise",
        "publish_refinement",
    )


def test_one_round_asks_nobody(params: Path) -> None:
    stages = refine_stages(apply_changes(params, {"rounds": 1}))
    assert stages[3:-2] == ("label_noise@r0", "train_identifier@r0", "fuse@r0", "train_verifier@r0", "assess@r0")


def test_evaluation(params: Path) -> None:
    assert evaluate_stages(load_settings(params)) == ("diagnose", "evaluate", "publish_evaluation")


@pytest.mark.skipif(not (toy.REPOSITORY / ".dvc" / "config").exists(), reason="not a DVC repository")
def test_every_stage_of_the_pipeline_is_run_by_a_flow_and_the_other_way_round() -> None:
    from dvc.repo import Repo

    with Repo(str(toy.REPOSITORY)) as repo:
        found = {stage.addressing for stage in repo.index.stages if not stage.path.endswith(".dvc")}
    settings = load_settings(toy.REPOSITORY / "params.yaml")
    assert found == {*refine_stages(settings), *evaluate_stages(settings)}
