"""``dvc repro`` of one stage, supervised: it ends with whoever started it, and nothing it started outlives it.

Run as ``python -m pipelines.repro STAGE``. The last line on stdout tells what happened, for whoever reads along.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from erreval.errors import StageError
from pipelines.supervision import (
    SUPERVISOR,
    adopt_orphans,
    end_descendants,
    identity,
    run,
    silence_telemetry,
    watch_ancestors,
)

OUTCOME = "::outcome "
"""Starts the line that tells whether the stage ran, was restored or was unchanged."""

RAN, RESTORED, UNCHANGED = "ran", "restored", "unchanged"


class _Outcome(logging.Filter):
    """Reads in DVC's own messages whether a stage ran; lets every message through."""

    def __init__(self) -> None:
        super().__init__()
        self.outcome = UNCHANGED

    def filter(self, record: logging.LogRecord) -> bool:
        message = str(record.msg)
        if message.startswith("Running stage"):
            self.outcome = RAN
        elif "is cached - skipping run" in message and self.outcome == UNCHANGED:
            self.outcome = RESTORED
        return True


def reproduce(stage: str, *, single: bool = False, force: bool = False) -> tuple[int, str]:
    """Let DVC bring one stage up to date in this process.

    Args:
        stage: The stage's name in dvc.yaml, ``train_identifier@r0`` for one of a ``foreach``.
        single: Only this stage, not the ones before it.
        force: Even if nothing changed.

    Returns:
        DVC's exit code, and one of ``RAN``, ``RESTORED`` (from DVC's cache) and ``UNCHANGED``.
    """
    from dvc.cli import main as dvc

    listener = _Outcome()
    loggers = [logging.getLogger(name) for name in ("dvc.stage.run", "dvc.stage.cache")]
    for logger in loggers:
        logger.addFilter(listener)
    try:
        options = [*(["--single-item"] if single else []), *(["--force"] if force else [])]
        return int(dvc(["repro", *options, stage])), listener.outcome
    finally:
        for logger in loggers:
            logger.removeFilter(listener)


def changed_stages() -> list[str]:
    """The stages of dvc.yaml that ``dvc repro`` would look at again, in no order.

    Raises:
        StageError: DVC cannot read the pipeline.
    """
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    try:
        with Repo() as repo:
            return sorted(str(name) for name in repo.status())
    except DvcException as error:
        raise StageError(f"dvc cannot read this pipeline: {error}") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; see ``--help``."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.repro", description=__doc__)
    parser.add_argument("stage", nargs="?", help="name of the stage in dvc.yaml")
    parser.add_argument("--single", action="store_true", help="only this stage, not the ones before it")
    parser.add_argument("--force", action="store_true", help="run it even if nothing changed")
    parser.add_argument("--status", action="store_true", help="run nothing; print the changed stages as JSON")
    asked = parser.parse_args(arguments)
    if asked.status == bool(asked.stage):
        parser.error("name a stage, or ask for --status")
    silence_telemetry()
    watch_ancestors()
    os.environ[SUPERVISOR] = identity()
    # The commands in dvc.yaml say `python` and `accelerate`: those of this environment, activated or not.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    if asked.status:
        print(f"{OUTCOME}{json.dumps(changed_stages())}", flush=True)
        return 0
    adopt_orphans()
    try:
        code, outcome = reproduce(asked.stage, single=asked.single, force=asked.force)
    finally:
        end_descendants()
    if code == 0:
        print(f"{OUTCOME}{outcome}", flush=True)
    return code


if __name__ == "__main__":
    run(main)
