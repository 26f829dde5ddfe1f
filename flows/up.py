"""Start Prefect's server, the served deployments and MLflow's server together, and stop them together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from erreval.errors import StageError
from flows.environment import PROJECT
from flows.places import (
    LOOPBACK,
    SERVED_AS,
    Servers,
    answers,
    default_tracking_uri,
    forget_servers,
    free_port,
    read_json,
)
from flows.report import box
from pipelines.supervision import SUPERVISOR, adopt_orphans, end_descendants, exclusive, identity, state_folder

PREFECT_PORT = 4200
MLFLOW_PORT = 5000

_START_SECONDS = 120
_STOP_SECONDS = 12


@dataclass
class Server:
    """A server that runs under a keeper."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def check(self) -> None:
        """Raise if it has ended.

        Raises:
            StageError: It has; the message gives its last words.
        """
        if self.process.poll() is not None:
            words = [line for line in self.log.read_text("utf-8", "replace").splitlines() if line.strip()]
            last = words[-1].strip() if words else "it printed nothing"
            raise StageError(f"{self.name} ended (exit code {self.process.returncode}): {last}; see {self.log}")

    def stop(self) -> None:
        """End it, gently first."""
        self.process.terminate()
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start(name: str, command: Sequence[str], root: Path, **extra: str) -> Server:
    """Start a server of Python's under a keeper; what it prints goes to a log file."""
    log = state_folder(root) / "logs" / f"{name.replace(' ', '-')}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {SUPERVISOR: identity(), PROJECT: str(root), "PYTHONUNBUFFERED": "1"} | extra
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "flows.keeper", sys.executable, "-m", *command],
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Server(name, process, log)


def start_prefect(root: Path, port: int) -> Server:
    """Start Prefect's server on loopback."""
    command = ["prefect", "server", "start", "--host", LOOPBACK, "--port", str(port)]
    api = f"http://{LOOPBACK}:{port}/api"
    return start("Prefect", command, root, PREFECT_API_URL=api, PREFECT_SERVER_ANALYTICS_ENABLED="false")


def start_mlflow(root: Path, port: int) -> Server:
    """Start MLflow's server on loopback, with one worker, on the project's own database."""
    artifacts = state_folder(root) / "mlartifacts"
    artifacts.mkdir(parents=True, exist_ok=True)
    store = ["--backend-store-uri", default_tracking_uri(root), "--default-artifact-root", str(artifacts)]
    command = ["mlflow", "server", "--host", LOOPBACK, "--port", str(port), "--workers", "1", *store]
    return start("MLflow", command, root, MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false")


def wait_until_well(server: Server, address: str) -> None:
    """Wait for a server's health page.

    Raises:
        StageError: It ended, or is not there in time.
    """
    end = time.monotonic() + _START_SECONDS
    while not answers(address):
        server.check()
        if time.monotonic() > end:
            raise StageError(f"{server.name} does not answer at {address}; see {server.log}")
        time.sleep(0.3)


@contextmanager
def private_prefect(root: Path) -> Iterator[str]:
    """A Prefect server for one command, on a port of its own; yields its address."""
    port = free_port(0)
    server = start_prefect(root, port)
    try:
        wait_until_well(server, f"http://{LOOPBACK}:{port}/api/health")
        yield f"http://{LOOPBACK}:{port}"
    finally:
        server.stop()


def up(
    root: Path, *, prefect_port: int = PREFECT_PORT, mlflow_port: int = MLFLOW_PORT, say: Callable[[str], None]
) -> None:
    """Start all servers, print where they are, and keep them until told to end or until one of them ends.

    Args:
        root: The project's root.
        prefect_port: The first port to try for Prefect; 0 lets the system choose.
        mlflow_port: The same for MLflow.
        say: Gets lines for a person.

    Raises:
        StageError: A server could not start or has ended, or `erreval up` runs already in this project.
    """
    adopt_orphans()
    running: list[Server] = []
    with ExitStack() as held:
        held.enter_context(exclusive(state_folder(root) / "serving.lock", "erreval up"))
        held.callback(end_descendants)
        held.callback(_stop_all, running)
        held.enter_context(_ending_on_sigterm())
        prefect = f"http://{LOOPBACK}:{free_port(prefect_port)}"
        say("starting Prefect and MLflow …")
        running.append(start_prefect(root, int(prefect.rpartition(":")[2])))
        mlflow = os.environ.get("MLFLOW_TRACKING_URI", "")
        if not mlflow:
            port = free_port(mlflow_port)
            mlflow = f"http://{LOOPBACK}:{port}"
            running.append(start_mlflow(root, port))
        wait_until_well(running[0], f"{prefect}/api/health")
        deployments = start("deployments", ["flows.serve"], root, PREFECT_API_URL=f"{prefect}/api")
        running.insert(0, deployments)  # stopped first
        wait_until_served(deployments, f"{prefect}/api")
        if len(running) == 3:
            wait_until_well(running[2], f"{mlflow}/health")
        Servers(identity(), prefect, mlflow).record(root)
        held.callback(forget_servers, root)
        own = "MLflow   " if len(running) == 3 else "MLflow (MLFLOW_TRACKING_URI, not started here)"
        say(
            box(
                [
                    f"Prefect   {prefect}",
                    f"  forms   {prefect}/deployments",
                    f"{own} {mlflow}",
                    "Ctrl-C stops everything.",
                ]
            )
        )
        while True:
            for server in running:
                server.check()
            time.sleep(0.5)


def wait_until_served(server: Server, api: str) -> None:
    """Wait until the process that serves the deployments has asked the server for runs.

    Raises:
        StageError: The process that serves them ended, or is not there in time.
    """
    since = datetime.now(UTC)
    end = time.monotonic() + _START_SECONDS
    for flow in ("refine", "evaluate"):
        while _last_asked(f"{api}/deployments/name/{flow}/{SERVED_AS}") < since:
            server.check()
            if time.monotonic() > end:
                raise StageError(f"the deployments were not served in time; see {server.log}")
            time.sleep(0.3)


def _last_asked(deployment: str) -> datetime:
    with suppress(OSError, ValueError):
        asked = read_json(deployment).get("last_polled")
        if asked:
            return datetime.fromisoformat(asked)
    return datetime.min.replace(tzinfo=UTC)


def _stop_all(running: Sequence[Server]) -> None:
    for server in running[:1]:  # the deployments, while their server can still take note
        server.stop()
    for server in running:
        server.process.terminate()
    for server in running:
        server.stop()


@contextmanager
def _ending_on_sigterm() -> Iterator[None]:
    def end(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
