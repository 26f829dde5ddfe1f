"""The MLflow store: runs that are found by a key before they are made, models that are registered once.

A run carries the tag ``erreval.key``, a digest of what dvc.lock says about the stages it stands for, so writing it
again finds it. A run without the tag ``erreval.complete`` was being written when something died; writing it again
completes it. This is the only module that imports mlflow, besides ``served_model``, the script that it logs with
each model; what is written about finished stages stands in ``publishing``.
"""

from __future__ import annotations

import json
import logging
import os
import re
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from erreval.errors import ErrevalError
from erreval.taxonomy import ALL_TYPES

EXPERIMENT = "erreval"
CHAMPION = "champion"

KEY = "erreval.key"
KIND = "erreval.kind"
COMPLETE = "erreval.complete"
REFINEMENT = "erreval.refinement"
ROUNDS = "erreval.rounds"
WHY_CHAMPION = "erreval.why_champion"
FLOW_RUN = "prefect.flow_run_id"
FLOW_RUNS = "prefect.flow_run_ids"
FLOW_RUN_VARIABLE = "ERREVAL_FLOW_RUN_ID"
PARENT = "mlflow.parentRunId"
NOTE = "mlflow.note.content"

_SWITCHES = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
_FLOW_RUNS_KEPT = 50
_SERVER_TIMEOUT_S = 10
_INPUTS = {"identifier": ("answer", "passage"), "verifier": ("labels", "answer", "passage")}


class TrackingError(ErrevalError):
    """The MLflow store cannot be reached, or refuses what it is given."""


@dataclass(frozen=True)
class PublishedRun:
    """An MLflow run that stands for finished stages."""

    name: str
    key: str
    run_id: str
    made: bool
    """Made or completed now; False where it was there already and was reused."""


@dataclass(frozen=True)
class Published:
    """What publishing led to."""

    run: PublishedRun
    rounds: tuple[PublishedRun, ...] = ()
    champions: Mapping[str, str] | None = None
    """Registered model to the version that carries the alias ``champion`` afterwards."""


def project_root() -> Path:
    """The nearest folder upwards that holds dvc.yaml; the working directory where none does."""
    here = Path.cwd().resolve()
    return next((folder for folder in (here, *here.parents) if (folder / "dvc.yaml").is_file()), here)


def state_folder() -> Path:
    """Where the state that is no output lives: ``ERREVAL_STATE``, or ``.erreval`` in the project."""
    named = os.environ.get("ERREVAL_STATE")
    return Path(named).resolve() if named else project_root() / ".erreval"


def default_tracking_uri() -> str:
    """``MLFLOW_TRACKING_URI`` where it is set, else an SQLite file in the state folder."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{state_folder() / 'mlflow.db'}"


def published(key: str) -> Published | None:
    """What the store holds under the key of a refinement or an evaluation; None where nothing is complete."""
    with open_store() as store:
        run = store.find(key)
        if run is None or COMPLETE not in run.data.tags:
            return None
        named = json.loads(run.data.tags.get(ROUNDS, "{}"))
        rounds = tuple(PublishedRun(name, its_key, run_id, made=False) for name, (its_key, run_id) in named.items())
        return Published(PublishedRun(str(run.info.run_name), key, str(run.info.run_id), made=False), rounds)


def find_run_by_flow(flow_run_id: str) -> str | None:
    """The id of the MLflow run that a Prefect flow run made or reused; the newest, should there be several."""
    flow = _checked_flow(flow_run_id)
    with open_store() as store:
        for condition in (f"tags.`{FLOW_RUN}` = '{flow}'", f"tags.`{FLOW_RUNS}` LIKE '%{flow}%'"):
            runs = store.client.search_runs([store.experiment], condition, order_by=["attributes.start_time DESC"])
            if runs:
                return str(runs[0].info.run_id)
    return None


def store_exists() -> bool:
    """Whether there is a store to ask: a server, or a database that was made. ``open_store`` would make one."""
    database = _database(default_tracking_uri())
    return database is None or database.is_file()


@contextmanager
def open_store() -> Iterator[Store]:
    """The experiment in the store that ``default_tracking_uri`` names, both made where they are not there.

    Raises:
        TrackingError: The store cannot be reached or written, or refuses what it is given.
    """
    uri = default_tracking_uri()
    before = os.environ.get("MLFLOW_TRACKING_URI")
    _check_reachable(uri)
    mlflow = _mlflow()
    from sqlalchemy.exc import SQLAlchemyError

    try:
        mlflow.set_tracking_uri(uri)
        yield Store(mlflow, _experiment(mlflow.MlflowClient(), uri))
    except (mlflow.exceptions.MlflowException, SQLAlchemyError) as error:
        raise TrackingError(f"MLflow store {_shown(uri)}: {_first_line(error)}") from error
    finally:
        mlflow.set_tracking_uri(None)  # it writes the environment too, which is not ours to change
        if before is not None:
            os.environ["MLFLOW_TRACKING_URI"] = before


class Store:
    """The experiment, with the few operations that publishing needs."""

    def __init__(self, mlflow: Any, experiment: str) -> None:
        self.client = mlflow.MlflowClient()
        self.entities = mlflow.entities
        self.experiment = experiment
        self._mlflow = mlflow

    def find(self, key: str) -> Any:
        """The run with this key, a complete one first; None where there is none."""
        condition = f"tags.`{KEY}` = '{key}'"
        found = self.client.search_runs([self.experiment], condition, order_by=["attributes.start_time ASC"])
        whole = [run for run in found if COMPLETE in run.data.tags]
        return next(iter(whole or found), None)

    def open(self, kind: str, key: str, name: str, tags: Mapping[str, str]) -> PublishedRun:
        """The run with this key, made if there is none; where ``made`` says so, it is to be written and finished."""
        run = self.find(key)
        if run is None:
            own = {"mlflow.source.name": "dvc.lock", "mlflow.source.type": "JOB", KEY: key, KIND: kind}
            run = self.client.create_run(self.experiment, tags={**own, **tags}, run_name=name)
        return PublishedRun(name, key, str(run.info.run_id), made=COMPLETE not in run.data.tags)

    def write(self, run_id: str, params: Mapping[str, Any], metrics: Sequence[tuple[str, float, int]]) -> None:
        """Log params and metrics (key, value, step), as far as the run does not hold them.

        The time of every metric is the run's start, so that a run that is completed holds no value twice.
        """
        run = self.client.get_run(run_id)
        named = {_mlflow_key(name): str(value)[:6000] for name, value in params.items()}
        new = [self.entities.Param(k, v) for k, v in named.items() if k not in run.data.params]
        for at in range(0, len(new), 100):
            self.client.log_batch(run_id, params=new[at : at + 100])
        values = [self.entities.Metric(_mlflow_key(k), v, run.info.start_time, step) for k, v, step in metrics]
        for at in range(0, len(values), 1000):
            self.client.log_batch(run_id, metrics=values[at : at + 1000])

    def tag(self, run_id: str, tags: Mapping[str, Any]) -> None:
        """Set tags of a run."""
        self.client.log_batch(run_id, tags=[self.entities.RunTag(name, str(value)) for name, value in tags.items()])

    def finish(self, run_id: str) -> None:
        """Mark a run as wholly written."""
        self.client.set_terminated(run_id, "FINISHED")
        self.tag(run_id, {COMPLETE: "true"})

    def link_flow(self, run_id: str, flow_run_id: str | None) -> None:
        """Let a run be found by the Prefect flow run that made or reused it."""
        if flow_run_id:
            flow = _checked_flow(flow_run_id)
            before = str(self.client.get_run(run_id).data.tags.get(FLOW_RUNS, ""))
            ids = [*(known for known in before.split(",") if known not in ("", flow)), flow]
            self.tag(run_id, {FLOW_RUN: flow, FLOW_RUNS: ",".join(ids[-_FLOW_RUNS_KEPT:])})

    def log_dataset(self, run_id: str, name: str, digest: str, source: str, counts: Mapping[str, int]) -> None:
        """Note what a run was trained on: the file, its digest, and how many rows are of which kind."""
        profile = json.dumps(dict(counts))
        dataset = self.entities.Dataset(name, digest, "local", json.dumps({"uri": source}), profile=profile)
        tags = {"mlflow.data.context": "training", **counts}
        given = [self.entities.InputTag(key, str(value)) for key, value in tags.items()]
        self.client.log_inputs(run_id, datasets=[self.entities.DatasetInput(dataset, given)])

    def version(self, model: str, key: str) -> Any:
        """The version of a registered model with this key; None where there is none."""
        found = self.client.search_model_versions(f"name = '{model}' and tags.`{KEY}` = '{key}'")
        return min(found, key=lambda version: int(version.version), default=None)

    def register(self, run_id: str, kind: str, model: str, folder: Path, tags: Mapping[str, str]) -> Any:
        """The version of a registered model that these tags' key names, logged and registered if there is none.

        Args:
            run_id: The run the model belongs to.
            kind: "identifier" or "verifier".
            model: Name in the registry.
            folder: The model as it was saved: configuration, tokenizer, safetensors.
            tags: Tags of the version, ``KEY`` among them.
        """
        version = self.version(model, tags[KEY])
        if version is None:
            model_id = self._logged_model(run_id, kind) or self._log_model(run_id, kind, folder)
            if not self.client.search_registered_models(f"name = '{model}'"):
                self.client.create_registered_model(model)
            version = self.client.create_model_version(
                model, source=f"models:/{model_id}", run_id=run_id, tags=dict(tags), model_id=model_id
            )
        return version

    def download(self, uri: str, folder: Path) -> Path:
        """Copy all that was logged with a model (``models:/NAME/VERSION``) into a folder; gives where it lies."""
        return Path(self._mlflow.artifacts.download_artifacts(artifact_uri=uri, dst_path=str(folder)))

    def champion(self, model: str) -> Any:
        """The version with the alias ``champion``; None where no version carries it."""
        for registered in self.client.search_registered_models(f"name = '{model}'"):
            version = self.client.get_registered_model(registered.name).aliases.get(CHAMPION)
            if version is not None:
                return self.client.get_model_version(model, str(version))
        return None

    def crown(self, model: str, version: str, why: str) -> None:
        """Give a version the alias ``champion``, and note why."""
        self.client.set_model_version_tag(model, version, WHY_CHAMPION, why)
        self.client.set_registered_model_alias(model, CHAMPION, version)

    def _logged_model(self, run_id: str, kind: str) -> str | None:
        condition = f"source_run_id = '{run_id}' AND name = '{kind}'"
        found = self.client.search_logged_models([self.experiment], condition)
        for model in found:
            if str(model.status) == "READY":
                return str(model.model_id)
            self.client.delete_logged_model(model.model_id)  # something died while it was being copied
        return None

    def _log_model(self, run_id: str, kind: str, folder: Path) -> str:
        from importlib.metadata import version

        with self._mlflow.start_run(run_id=run_id), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*input example was not provided", category=UserWarning)
            info = self._mlflow.pyfunc.log_model(
                name=kind,
                python_model=str(Path(__file__).with_name("served_model.py")),
                artifacts={kind: str(folder)},  # its name tells the script which of the two it serves
                signature=self._signature(kind),
                pip_requirements=[
                    f"{name}=={version(name)}" for name in ("erreval", "mlflow", "torch", "transformers")
                ],
            )
        return str(info.model_id)

    def _signature(self, kind: str) -> Any:
        from mlflow.models import ModelSignature
        from mlflow.types import ColSpec, Schema

        optional = [ColSpec("string", name, required=name == "labels") for name in _INPUTS[kind]]
        scores = ["p_v"] if kind == "verifier" else [t.value for t in ALL_TYPES]
        outputs = [ColSpec("double", name) for name in scores]
        if kind == "identifier":
            outputs.append(ColSpec("string", "labels"))
        return ModelSignature(inputs=Schema([ColSpec("string", "question"), *optional]), outputs=Schema(outputs))


def _mlflow() -> Any:
    for name, value in _SWITCHES.items():
        os.environ.setdefault(name, value)
    for noisy in ("alembic", "mlflow.store.db.utils", "mlflow.store.model_registry.abstract_store"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    import mlflow

    return mlflow


def _experiment(client: Any, uri: str) -> str:
    found = client.get_experiment_by_name(EXPERIMENT)
    if found is None:
        # A server decides for itself where artifacts go; a plain database would put them into the working directory.
        database = _database(uri)
        place = (database.parent / "mlartifacts").as_uri() if database else None
        return str(client.create_experiment(EXPERIMENT, artifact_location=place))
    if found.lifecycle_stage != "active":
        raise TrackingError(
            f"the MLflow experiment {EXPERIMENT!r} was deleted; "
            f"run: mlflow experiments restore --experiment-id {found.experiment_id}"
        )
    return str(found.experiment_id)


def _check_reachable(uri: str) -> None:
    """Fail at once where MLflow would retry for minutes."""
    database = _database(uri)
    if database is not None:
        try:
            database.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TrackingError(f"MLflow store {uri}: {error.strerror}; set ERREVAL_STATE to another folder") from error
    elif uri.startswith(("http://", "https://")):
        try:
            urllib.request.urlopen(uri, timeout=_SERVER_TIMEOUT_S).close()  # noqa: S310
        except urllib.error.HTTPError:
            return  # it answers; whether it lets us in is MLflow's to find out
        except (OSError, ValueError) as error:
            why = getattr(error, "reason", error)
            raise TrackingError(
                f"MLflow server {_shown(uri)} cannot be reached ({why}); start it (erreval up), or unset "
                "MLFLOW_TRACKING_URI to use the project's own store"
            ) from error


def _database(uri: str) -> Path | None:
    return Path(uri.removeprefix("sqlite:///")).absolute() if uri.startswith("sqlite:///") else None


def _checked_flow(flow_run_id: str) -> str:
    if not re.fullmatch(r"[0-9A-Za-z-]{1,64}", flow_run_id):
        raise TrackingError(f"not a Prefect flow run id: {flow_run_id!r}")
    return flow_run_id


def _mlflow_key(name: str) -> str:
    return re.sub(r"[^\w\-. /]", "_", name)


def _shown(uri: str) -> str:
    return re.sub(r"//[^/@]*@", "//", uri)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
