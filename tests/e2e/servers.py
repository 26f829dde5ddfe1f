"""Real servers for end-to-end tests: a copy of the project, `erreval up` in it, and a browser where one is found."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER_OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
_KEPT = ("dvc.yaml", "params.yaml", ".dvcignore")
_FOLDERS = ("profiles", "data/sample", "src", "pipelines", "flows")


def find_browser() -> str | None:
    """Path of a Chromium, or None."""
    return next((place for name in BROWSERS if (place := shutil.which(name))), None)


def copy_project(target: Path) -> Path:
    """The project as it is now, without outputs: what a DVC run needs, no more."""
    target.mkdir(parents=True, exist_ok=True)
    for name in _KEPT:
        if (REPOSITORY / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, target / name)
    for name in _FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(REPOSITORY / name, target / name, ignore=ignored, symlinks=True)
    subprocess.run([sys.executable, "-m", "dvc", "init", "--no-scm", "-q", "-f"], cwd=target, check=True)
    return target


def clean_environment(root: Path) -> dict[str, str]:
    """The environment of a user who has set nothing."""
    ours = ("PREFECT_", "ERREVAL_", "MLFLOW_", "DVC_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    mirror = {name: value for name, value in os.environ.items() if name == "ERREVAL_MIRROR"}
    return kept | mirror | {"DVC_SITE_CACHE_DIR": str(root / ".site"), "PYTHONPATH": str(root)}


def run_dvc(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """DVC in a copied project, as somebody with the environment activated runs it."""
    environment = clean_environment(project)
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    command = [sys.executable, "-m", "dvc", *arguments]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)


@contextmanager
def running_up(root: Path, seconds: float = 240) -> Iterator[dict[str, str]]:
    """`erreval up` on free ports; yields its record and ends it as Ctrl-C does."""
    log = root / "up.log"
    command = [sys.executable, "-m", "erreval.cli", "up", "--port", "0", "--mlflow-port", "0"]
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=root, env=clean_environment(root), stdout=out, stderr=out)
    record = root / ".erreval" / "up.json"
    end = time.monotonic() + seconds
    try:
        while not record.exists():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.5)
        yield json.loads(record.read_text())
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        finally:
            process.kill()
