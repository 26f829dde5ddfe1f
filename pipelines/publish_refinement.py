"""Stage: publish the finished refinement to MLflow, once.

The output holds keys only, so that it is the same wherever and whenever it is written. DVC runs this stage when the
refinement has changed; a flow calls it each time, to link its run to the MLflow run.
"""

from __future__ import annotations

import argparse
import json
import logging
import os

from erreval.finished import read_refinement
from erreval.layout import Layout
from erreval.lockfile import Lock
from erreval.publishing import publish_refinement
from erreval.settings import load_settings
from erreval.tracking import FLOW_RUN_VARIABLE
from pipelines.supervision import project_root, run, stage


def main() -> None:
    """Publish the refinement of the profile in params.yaml."""
    parser = argparse.ArgumentParser(description="Publish the finished refinement to MLflow, once.")
    parser.add_argument("--flow-run-id", default=os.environ.get(FLOW_RUN_VARIABLE), help="Prefect flow run to link to")
    flow_run_id = parser.parse_args().flow_run_id
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    root = project_root()
    os.chdir(root)
    profile = load_settings(root / "params.yaml").profile
    output = Layout(profile).published("refinement")
    with stage("publish_refinement", outputs=[output], profile=profile) as work:
        found = publish_refinement(root, profile, flow_run_id=flow_run_id)
        keys = read_refinement(Lock.read(root), profile).keys()
        work.path(output).write_text(json.dumps(keys, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    print(f"refinement {found.run.key}: MLflow run {found.run.run_id} {'made' if found.run.made else 'reused'}")


if __name__ == "__main__":
    run(main)
