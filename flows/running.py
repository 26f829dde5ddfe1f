"""The tasks of every flow: each runs one DVC stage, streams what it prints, and never does the work itself."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from prefect import State, get_run_logger, tags, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.exceptions import ObjectNotFound
from prefect.runtime import flow_run
from prefect.states import Completed, Crashed

from erreval.errors import StageError
from flows import console
from flows.streaming import run_module
from flows.workspace import Holder, Workspace
from pipelines.repro import OUTCOME, RAN, RESTORED, UNCHANGED
from pipelines.supervision import SUPERVISOR, watch_ancestors

_ASIDES = (
    OUTCOME,
    "Use `dvc push`",
    "Updating lock file",
    "Generating lock file",
    "Data and pipelines are up to date",
    "To track the changes with git",
    "git add",
    "To enable auto staging",
    "dvc config core.autostage",
)
"""Starts of lines that tell a reader nothing: there is no remote, and the state of the run says the rest."""


class StageCrashError(RuntimeError):
    """A stage ended for a reason that it did not tell in one line; its output, in the log, says more."""


def supervised() -> None:
    """End with the server that started this flow's process, where one did."""
    if SUPERVISOR in os.environ:
        watch_ancestors()


def current_run() -> tuple[str, str]:
    """Id and name of the flow run that this is called in."""
    return str(flow_run.id), str(flow_run.name)


def close_killed_run(left: Holder | None) -> None:
    """Mark the run that was killed in this workspace as crashed, where Prefect still believes that it runs."""
    if left is None or not left.flow_run_id:
        return
    with get_client(sync_client=True) as client:
        try:
            run = client.read_flow_run(UUID(left.flow_run_id))
        except (ObjectNotFound, ValueError):
            return  # it belonged to another server
        if run.state is None or not run.state.is_final():
            message = "Its process was killed; a later run goes on from the last finished stage."
            client.set_flow_run_state(run.id, Crashed(message=message), force=True)


def run_stages(
    stages: Sequence[str], root: Path, held: Workspace, *, label: str, changed: frozenset[str] | None = None
) -> dict[str, str]:
    """Run stages one after the other, each as one task.

    Stages before the first one that DVC finds changed are shown as finished without starting anything: nothing they
    read can have changed meanwhile.

    Args:
        stages: Names in dvc.yaml, in the order of the pipeline.
        root: The project's root.
        held: The workspace, held by this run.
        label: Tag of the task runs, the profile's name.
        changed: The stages that DVC has just found changed; asked for where not given.

    Returns:
        For each stage, whether it ran, was restored from DVC's cache or was unchanged.

    Raises:
        StageError: A stage failed and told the mistake.
        StageCrashError: A stage failed for any other reason.
    """
    changed = changed_stages(root, held) if changed is None else changed
    leading, outcomes = True, {}
    with tags(label, "stage"):
        for position, name in enumerate(stages, start=1):
            leading = leading and name not in changed
            console.heading(position, len(stages), name)
            found = run_stage(name, root, held, skip=leading)
            outcomes[name] = str(found.result() if isinstance(found, State) else found)
            console.ended(name, outcomes[name])
    return outcomes


def changed_stages(root: Path, held: Workspace) -> frozenset[str]:
    """The stages that DVC would run again, as things are now.

    Raises:
        StageError: DVC cannot read the pipeline.
    """
    found: list[str] = []

    def read(line: str) -> None:
        if line.startswith(OUTCOME):
            found.extend(json.loads(line.removeprefix(OUTCOME)))

    ended = run_module(["pipelines.repro", "--status"], root, read, held.started)
    if ended.code != 0:
        raise StageError(f"dvc cannot tell what has changed: {ended.reason()}")
    return frozenset(found)


# DVC decides what is stale, and a stage that failed fails again: no caching and no retries of Prefect's.
@task(name="stage", task_run_name="{name}", cache_policy=NO_CACHE, persist_result=False, retries=0)
def run_stage(name: str, root: Path, held: Workspace, *, skip: bool) -> State[Any] | str:
    """Bring one stage up to date with DVC.

    Args:
        name: The stage's name in dvc.yaml.
        root: The project's root.
        held: The workspace, held by this run.
        skip: DVC was asked already and found it unchanged.

    Returns:
        ``ran``, or a state named Cached whose result is ``restored`` or ``unchanged``.

    Raises:
        StageError: The stage failed and told the mistake.
        StageCrashError: It failed for any other reason.
    """
    logger = get_run_logger()
    outcome = UNCHANGED

    def read(line: str) -> None:
        nonlocal outcome
        if line.startswith(OUTCOME):
            outcome = line.removeprefix(OUTCOME)
        if line.strip().startswith(_ASIDES):
            return
        console.line(line)
        logger.info(line)

    if not skip:
        ended = run_module(["pipelines.repro", name, "--single"], root, read, held.started)
        if ended.code != 0:
            kind = StageError if ended.told_mistake else StageCrashError
            raise kind(f"stage {name} failed: {ended.reason()}")
    if outcome == RAN:
        return outcome
    told = "Restored from DVC's cache" if outcome == RESTORED else "Unchanged since it was last run"
    logger.info("%s: %s", name, told.lower())
    return Completed(name="Cached", message=told, data=outcome)


@task(name="link", task_run_name="link to MLflow", cache_policy=NO_CACHE, persist_result=False, retries=0)
def link(module: str, root: Path, held: Workspace) -> None:
    """Let the MLflow runs that this flow run made or reused carry its id.

    Args:
        module: The publish step, which is idempotent.
        root: The project's root.
        held: The workspace, held by this run.

    Raises:
        StageError: The publish step failed.
    """
    logger = get_run_logger()
    ended = run_module([module, "--flow-run-id", str(flow_run.id)], root, logger.info, held.started)
    if ended.code != 0:
        raise StageError(f"linking to MLflow failed (exit code {ended.code}): {ended.reason()}")
