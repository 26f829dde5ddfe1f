"""A project with the real parameters and stage names whose stages only count how often they ran."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil

from erreval.settings import apply_changes
from flows.plan import STEPS
from pipelines import supervision

REPOSITORY = Path(__file__).parents[2]

STAGE = """
import json, subprocess, sys, time
from pathlib import Path
from pipelines.supervision import run, stage

RESULT = {"champion": "r1", "rounds": [
    {"round": key, "dev": {"n": 10, "micro_f1": 0.5, "macro_f1": 0.25, "exact_match": 0.5,
                           "over_prediction_rate": 0.125,
                           "floor": {"micro_f1": 0.25, "macro_f1": 0.125, "exact_match": None}}}
    for key in ("r0", "r1")]}

def main():
    name, out = sys.argv[1], Path(sys.argv[2])
    with stage(name, [out], profile="toy") as work:
        with open(f"{name}.ran", "a") as count:
            count.write("x")
        print(f"{name} at work")
        if Path(f"{name}.fails").exists():
            sys.exit(f"error: {name} has nothing to work on")
        if Path(f"{name}.sleeps").exists():
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            Path(f"{name}.started").touch()
            time.sleep(600)
        work.path(out).write_text(json.dumps(RESULT))

run(main)
"""

PIPELINE = """
stages:
  fetch: {cmd: PY stage.py fetch data/fetch, outs: [data/fetch]}
  backbone: {cmd: PY stage.py backbone data/backbone, outs: [data/backbone]}
  prepare:
    cmd: PY stage.py prepare data/prepare
    deps: [data/fetch]
    params: [seed]
    outs: [data/prepare]
  ROUNDS
  summarise:
    cmd: PY stage.py summarise results/${profile}/identifier.json
    deps: [data/assess-r0]
    outs: ["results/${profile}/identifier.json"]
  publish_refinement:
    cmd: PY stage.py publish_refinement data/published
    deps: ["results/${profile}/identifier.json"]
    outs: [data/published]
  diagnose:
    cmd: PY stage.py diagnose data/diagnosis
    deps: ["results/${profile}/identifier.json"]
    outs: [data/diagnosis]
  evaluate:
    cmd: PY stage.py evaluate results/${profile}/evaluate.json
    deps: [data/diagnosis]
    outs: ["results/${profile}/evaluate.json"]
  publish_evaluation:
    cmd: PY stage.py publish_evaluation data/published-evaluation
    deps: ["results/${profile}/evaluate.json"]
    outs: [data/published-evaluation]
"""

EACH = """
  STEP:
    foreach: ${KEYS}
    do:
      cmd: PY stage.py STEP@${key} data/STEP-${key}
      deps: ["data/BEFORE"]
      outs: ["data/STEP-${key}"]
"""

SHORT = ("fetch", "prepare", "train_identifier@r0", "fuse@r0", "assess@r0", "summarise")
"""Enough stages for most tests; each costs a second or two."""

RUN_FLOW = """
import os, sys
os.environ["ERREVAL_ECHO"] = "1"
import flows.{flow} as module
module.link = lambda *args: None
module.refine_stages = lambda settings: {stages}
try:
    print(module.{flow}(module.{kind}()))
except BaseException as error:
    print(type(error).__name__, error)
    sys.exit(1)
"""


def build(root: Path) -> Path:
    """Make the project, with one round, in an empty folder."""
    shutil.copy(REPOSITORY / "params.yaml", root)
    shutil.copytree(REPOSITORY / "profiles", root / "profiles")
    apply_changes(root / "params.yaml", {"rounds": 1})
    (root / "stage.py").write_text(STAGE)
    for flow in ("refine", "evaluate"):
        (root / f"run_{flow}.py").write_text(
            RUN_FLOW.format(flow=flow, stages=SHORT, kind=f"{flow.capitalize()}Parameters")
        )
    rounds = ""
    for step, before in {
        "label_noise": "prepare",
        "train_identifier": "prepare",
        "fuse": "train_identifier-${key}",
        "train_verifier": "prepare",
        "assess": "fuse-${key}",
        "predict": "assess-${key}",
        "select": "predict-${key}",
        "queue": "select-${key}",
        "annotate": "queue-${key}",
        "extend": "annotate-${key}",
    }.items():
        keys = "rounds" if step in STEPS else "extensions"
        rounds += EACH.replace("STEP", step).replace("BEFORE", before).replace("KEYS", keys)
    text = PIPELINE.replace("  ROUNDS\n", rounds).replace("PY ", f"{sys.executable} ")
    (root / "dvc.yaml").write_text(text)
    subprocess.run([sys.executable, "-m", "dvc", "init", "--no-scm", "-q"], check=True, cwd=root)
    return root


def ran(root: Path, stage: str) -> int:
    """How often a stage ran."""
    counter = root / f"{stage}.ran"
    return len(counter.read_text()) if counter.exists() else 0


def survivors(root: Path) -> list[psutil.Process]:
    """Processes that live in the project's folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cwd() == str(root) and process.pid != os.getpid() and supervision.is_alive(process):
                found.append(process)
        except psutil.Error:
            continue
    return found


def all_gone(root: Path, seconds: float = 3) -> bool:
    """Whether nothing lives in the project's folder after a while."""
    end = time.monotonic() + seconds
    while survivors(root):
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def wait_for(path: Path, seconds: float = 120) -> None:
    """Wait for a file."""
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.05)
