"""A remote is one command: what one clone has built and pushed another gets, byte for byte, without building it."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest
from servers import copy_project
from servers import run_dvc as dvc

from erreval.settings import apply_changes, apply_profile

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def digests(project: Path) -> dict[str, str]:
    places = sorted((project / "data" / "work").rglob("*"))
    return {
        str(path.relative_to(project)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in places
        if path.is_file()
    }


def small_project(folder: Path) -> Path:
    project = copy_project(folder)
    apply_profile(project / "params.yaml", "sample")
    apply_changes(
        project / "params.yaml",
        {"injection.train_size": 60, "injection.pool_size": 30, "injection.heldout_size": 30},
    )
    return project


def test_push_to_a_shared_folder_and_pull_from_it(tmp_path: Path) -> None:
    mine, shared = small_project(tmp_path / "mine"), tmp_path / "shared folder"
    built = dvc(mine, "repro", "prepare")
    assert built.returncode == 0, built.stdout + built.stderr
    before = digests(mine)
    assert any(name.endswith("sets/r0/train.parquet") for name in before)
    assert any(name.endswith("report.html") for name in before)
    assert dvc(mine, "remote", "add", "-d", "store", str(shared)).returncode == 0
    pushed = dvc(mine, "push")
    assert pushed.returncode == 0, pushed.stderr
    assert "files pushed" in pushed.stdout

    theirs = tmp_path / "theirs"  # what a colleague gets by `git clone`: dvc.lock and .dvc/config are in git
    shutil.copytree(mine, theirs, ignore=shutil.ignore_patterns("work", "cache", "tmp", ".site"))
    assert digests(theirs) == {}
    pulled = dvc(theirs, "pull", "fetch", "prepare")
    assert pulled.returncode == 0, pulled.stdout + pulled.stderr
    assert digests(theirs) == before
    again = dvc(theirs, "repro", "prepare")
    assert again.returncode == 0, again.stderr
    assert "Running stage" not in again.stdout
    assert "up to date" in dvc(theirs, "status", "prepare").stdout

    lost = next(path for path in sorted(shared.rglob("*")) if path.is_file())
    lost.unlink()  # a file that the remote has lost is told, and the rest stays
    shutil.rmtree(theirs / "data" / "work")
    shutil.rmtree(theirs / ".dvc" / "cache", ignore_errors=True)
    incomplete = dvc(theirs, "pull", "fetch", "prepare")
    assert incomplete.returncode != 0
    assert "failed to transfer" in incomplete.stderr
    assert lost.name in incomplete.stderr
    # DVC does not push it again, since the folder's listing is still there: it is copied from a cache that has it
    shutil.copy(mine / ".dvc" / "cache" / lost.relative_to(shared), lost)
    assert dvc(theirs, "pull", "fetch", "prepare").returncode == 0
    assert digests(theirs) == before
