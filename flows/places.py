"""Where a project's files lie and where its servers listen."""

from __future__ import annotations

import json
import os
import socket
import urllib.error
import urllib.request
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from erreval.errors import StageError
from flows.environment import PROJECT
from pipelines.supervision import find_process, project_root, state_folder

LOOPBACK = "127.0.0.1"
SERVED_AS = "local"
"""Name of both deployments: ``refine/local`` and ``evaluate/local``."""

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Our servers listen on loopback, which is never behind a proxy."""


def project() -> Path:
    """The project's root folder.

    Raises:
        StageError: There is no dvc.yaml here or above.
    """
    root = Path(os.environ[PROJECT]) if PROJECT in os.environ else project_root()
    if not (root / "dvc.yaml").is_file():
        raise StageError(f"no dvc.yaml in {root} or above it; run this in a clone of the project")
    return root


def parameter_file(root: Path) -> Path:
    """The parameters that run."""
    return root / "params.yaml"


def default_tracking_uri(root: Path) -> str:
    """MLflow's database where the user names none."""
    return f"sqlite:///{state_folder(root) / 'mlflow.db'}"


@dataclass(frozen=True)
class Servers:
    """What ``erreval up`` has started."""

    process: str
    """Identity of the ``erreval up`` that owns the servers."""
    prefect: str
    """Address of Prefect's UI; its API lies below it at /api."""
    mlflow: str
    """Address of the MLflow UI, or the user's own MLFLOW_TRACKING_URI."""

    @property
    def prefect_api(self) -> str:
        """Address of Prefect's API."""
        return f"{self.prefect}/api"

    def record(self, root: Path) -> None:
        """Let other commands find these servers."""
        place = _record(root)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")


def mlflow_address(root: Path) -> str:
    """Where the results can be looked at: a server where one runs, else the store."""
    servers = running_servers(root)
    return servers.mlflow if servers else os.environ.get("MLFLOW_TRACKING_URI") or default_tracking_uri(root)


def running_servers(root: Path) -> Servers | None:
    """The servers of a living ``erreval up`` in this project, or None."""
    with suppress(OSError, ValueError, TypeError):
        servers = Servers(**json.loads(_record(root).read_text(encoding="utf-8")))
        if find_process(servers.process) is not None and answers(f"{servers.prefect_api}/health"):
            return servers
    return None


def forget_servers(root: Path) -> None:
    """Undo ``Servers.record``."""
    _record(root).unlink(missing_ok=True)


def answers(address: str, seconds: float = 2) -> bool:
    """Whether a server of ours says that it is well."""
    try:
        with _OPENER.open(address, timeout=seconds) as reply:
            return bool(reply.status == 200)
    except (OSError, urllib.error.URLError, ValueError):
        return False


def read_json(address: str, seconds: float = 5) -> dict[str, Any]:
    """What a server of ours answers.

    Raises:
        OSError: It does not answer, or not with success.
        ValueError: The answer is not JSON.
    """
    with _OPENER.open(address, timeout=seconds) as reply:
        return dict(json.load(reply))


def free_port(wanted: int, *, tries: int = 50) -> int:
    """The first port from ``wanted`` on that nobody listens at; 0 lets the system choose.

    Raises:
        StageError: None of the ports tried is free.
    """
    for port in [0] if wanted == 0 else range(wanted, wanted + tries):
        with closing(socket.socket()) as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((LOOPBACK, port))
            return int(probe.getsockname()[1])
    raise StageError(f"no free port between {wanted} and {wanted + tries - 1}; choose another with the --port options")


def _record(root: Path) -> Path:
    return state_folder(root) / "up.json"
