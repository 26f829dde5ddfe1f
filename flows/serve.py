"""Serve both deployments from one process: ``python -m flows.serve``; ``erreval up`` does it for you."""

from __future__ import annotations

import os

from flows.environment import PROJECT
from flows.places import SERVED_AS, project
from flows.running import supervised
from pipelines.supervision import SUPERVISOR, adopt_orphans, end_descendants, identity, run


def main() -> None:
    """Serve until told to end; runs that are in progress end too."""
    supervised()
    adopt_orphans()
    root = project()
    os.environ[PROJECT] = str(root)
    os.environ[SUPERVISOR] = identity()  # a run that nobody could cancel any more must not go on

    from prefect import serve
    from prefect.deployments.runner import RunnerDeployment
    from prefect.types.entrypoint import EntrypointType

    from flows.evaluate import evaluate
    from flows.refine import refine

    deployments = [
        RunnerDeployment.from_flow(
            flow, SERVED_AS, tags=["erreval"], entrypoint_type=EntrypointType.MODULE_PATH, description=flow.description
        )
        for flow in (refine, evaluate)
    ]
    try:
        serve(*deployments, print_starting_message=False)
    finally:
        end_descendants()


if __name__ == "__main__":
    run(main)
