"""What the two publish stages share.

The output holds keys only, so that it is the same wherever and whenever it is written. DVC runs a publish stage when
what it publishes has changed; a flow calls it each time, to link its run to the MLflow run.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
from collections.abc import Callable, Mapping
from typing import Any

from erreval.layout import Layout
from erreval.lockfile import Lock
from erreval.publishing import Published
from erreval.settings import load_settings
from erreval.tracking import FLOW_RUN_VARIABLE
from pipelines.supervision import project_root, stage


def publish(what: str, write: Callable[..., Published], keys: Callable[[Lock, str], Mapping[str, Any]]) -> None:
    """Publish what the profile in params.yaml has finished, once.

    Args:
        what: ``refinement`` or ``evaluation``.
        write: Writes it to MLflow.
        keys: The keys of what was written, from dvc.lock.
    """
    parser = argparse.ArgumentParser(description=f"Publish the finished {what} to MLflow, once.")
    parser.add_argument("--flow-run-id", default=os.environ.get(FLOW_RUN_VARIABLE), help="Prefect flow run to link to")
    flow_run_id = parser.parse_args().flow_run_id
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    root = project_root()
    os.chdir(root)
    profile = load_settings(root / "params.yaml").profile
    output = Layout(profile).published(what)
    with stage(f"publish_{what}", outputs=[output], profile=profile) as work:
        found = write(root, profile, flow_run_id=flow_run_id)
        text = json.dumps(keys(Lock.read(root), profile), indent=2, sort_keys=True)
        work.path(output).write_text(text + "\n", encoding="utf-8")
    print(f"{what} {found.run.key}: MLflow run {found.run.run_id} {'made' if found.run.made else 'reused'}")
