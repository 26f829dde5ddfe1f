"""The environment that Prefect, and everything a flow starts, runs in. Imports nothing heavy."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from contextlib import suppress
from pathlib import Path

from pipelines.supervision import project_root, silence_telemetry, state_folder

PROJECT = "ERREVAL_PROJECT"
"""Names the project for processes that a server starts somewhere else."""

_PREFECT = {
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "true",
    "PREFECT_RUNNER_POLL_FREQUENCY": "3",
    "PREFECT_CLI_PROMPT": "false",
    "PREFECT_RESULTS_DEFAULT_SERIALIZER": "json",  # nothing is pickled here
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",  # a busy machine takes more than the usual 20
}


def prepare(environment: MutableMapping[str, str] = os.environ) -> None:
    """Switch telemetry off and keep Prefect's files in the project; what the user has set stays as it is."""
    silence_telemetry(environment)
    for name, value in _PREFECT.items():
        environment.setdefault(name, value)
    root = Path(environment[PROJECT]) if PROJECT in environment else project_root()
    if (root / "dvc.yaml").is_file():
        home = state_folder(root) / "prefect"
        with suppress(OSError):
            home.mkdir(parents=True, exist_ok=True)  # Prefect makes the last folder only, and warns where it cannot
        environment.setdefault("PREFECT_HOME", str(home))
        environment.setdefault("PREFECT_LOCAL_STORAGE_PATH", str(home / "storage"))
