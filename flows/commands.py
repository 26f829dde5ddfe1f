"""``erreval run``, ``refine``, ``evaluate`` and ``up``. Prefect is imported inside, so that ``--help`` stays fast."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from erreval.errors import SettingsError
from flows.console import ECHO

if TYPE_CHECKING:
    from erreval.settings import Settings
    from flows.parameters import EvaluateParameters, RefineParameters

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130
_HAND_OVER_SECONDS = 3
PROFILES = ("offline", "sample", "paper")

REFINE_OPTIONS: Mapping[str, tuple[type, str]] = {
    "rounds": (int, "How many rounds, the first (r0) included."),
    "seed": (int, "Start of every random draw."),
    "epochs": (int, "Epochs of both models in the first round."),
    "later_epochs": (int, "Epochs of both models in the rounds after it."),
    "learning_rate": (float, "Of both models."),
    "reliable_uncertainty": (float, "A sample is reliable up to this uncertainty."),
    "reliable_inconsistency": (float, "A sample is reliable up to this inconsistency."),
    "unreliable_uncertainty": (float, "From this uncertainty on a sample goes to people."),
    "unreliable_inconsistency": (float, "From this inconsistency on a sample goes to people."),
    "queue_size": (int, "At most this many questions go to people in a round."),
    "annotator_error_rate": (float, "Share of wrong answers of the simulated annotator."),
}
"""Options of ``erreval refine``: the fields of ``RefineParameters`` (a test holds the two together)."""

_Command = Callable[..., None]


def _refine_options(command: _Command) -> _Command:
    for name, (kind, text) in reversed(list(REFINE_OPTIONS.items())):
        command = click.option(f"--{name.replace('_', '-')}", name, type=kind, help=text)(command)
    return command


_set_option = click.option(
    "--set", "changes", multiple=True, metavar="NAME=VALUE", help="Any parameter of params.yaml by its dotted name."
)


@click.command()
@click.option(
    "--profile",
    type=click.Choice(["auto", *PROFILES]),
    default="auto",
    show_default=True,
    help="auto: the one that params.yaml records; undecided, offline where the public data can be had, else sample.",
)
def run(profile: str) -> None:
    """Do the main job: refine, then evaluate, and show what came out.

    Stopped at any moment, it goes on from the last finished stage when started again.
    """
    from flows.places import project

    root = project()
    begun = time.monotonic()
    settings = _choose(root, profile)
    with _running_flows(root):
        from flows.evaluate import evaluate as evaluate_flow
        from flows.parameters import EvaluateParameters, RefineParameters
        from flows.refine import refine as refine_flow

        click.echo(f"refine: rounds {', '.join(settings.rounds)}", err=True)
        refine_flow(RefineParameters())
        click.echo("evaluate", err=True)
        evaluate_flow(EvaluateParameters())
    _show(root, settings.profile, evaluated=True)
    click.echo(f"Took {(time.monotonic() - begun) / 60:.1f} minutes.")


@click.command()
@click.option("--profile", type=click.Choice(PROFILES), help="Apply this profile first. [default: as recorded]")
@_refine_options
@_set_option
def refine(profile: str | None, changes: tuple[str, ...], **options: Any) -> None:
    """Train the Error Identifier and the Verifier in rounds.

    What the options change is written to params.yaml first; `dvc repro publish_refinement` rebuilds the same.
    """
    from flows.parameters import AS_RECORDED, RefineParameters

    asked = {"profile": profile or AS_RECORDED, **options, "others": _parsed(changes)}
    _carry_out("refine", _validated(RefineParameters, asked), evaluated=False)


@click.command()
@click.option("--benchmark", type=click.Choice(["qgeval", "sample"]), help="Whose questions. [default: as recorded]")
@click.option("--refine-first", is_flag=True, help="Where the refinement is not finished, run it first.")
@_set_option
def evaluate(benchmark: str | None, refine_first: bool, changes: tuple[str, ...]) -> None:
    """Diagnose the benchmark's questions and compare with people, beside the floor."""
    from flows.parameters import AS_RECORDED, EvaluateParameters

    asked = {
        "benchmark": benchmark or AS_RECORDED,
        "when_stale": "refine first" if refine_first else "stop",
        "others": _parsed(changes),
    }
    _carry_out("evaluate", _validated(EvaluateParameters, asked), evaluated=True)


def _carry_out(name: str, parameters: RefineParameters | EvaluateParameters, *, evaluated: bool) -> None:
    """Run the flow of this name with these parameters, and show what came out."""
    from erreval.settings import load_settings
    from flows.places import parameter_file, project

    root = project()
    _rehearse(parameter_file(root), parameters)
    with _running_flows(root):
        getattr(import_module(f"flows.{name}"), name)(parameters)
    _show(root, load_settings(parameter_file(root)).profile, evaluated=evaluated)


@click.command()
@click.option("--port", default=4200, show_default=True, help="For Prefect; the next free one where it is taken.")
@click.option("--mlflow-port", default=5000, show_default=True, help="For MLflow, likewise.")
def up(port: int, mlflow_port: int) -> None:
    """Start Prefect's server with both forms, and MLflow's, on loopback; Ctrl-C stops them together."""
    from flows.places import project
    from flows.up import up as start_all

    try:
        start_all(project(), prefect_port=port, mlflow_port=mlflow_port, say=click.echo)
    except KeyboardInterrupt:
        click.echo("stopped", err=True)


def _choose(root: Path, profile: str) -> Settings:
    """Decide the profile where nobody has, record it, and say which it is, why, and how to change it."""
    from erreval.settings import apply_profile, load_settings
    from flows.places import parameter_file

    path = parameter_file(root)
    settings = load_settings(path)
    if profile != "auto":
        why = "you asked for it"
        settings = apply_profile(path, profile)
    elif settings.profile_decided:
        why = "params.yaml records it"
    else:
        from ruamel.yaml import YAML

        from erreval.data.sources import can_reach

        overlay = YAML(typ="safe").load((root / "profiles" / "offline.yaml").read_text(encoding="utf-8"))
        reach = can_reach(overlay["data"]["sources"])
        why = reach.why
        settings = apply_profile(path, "offline" if reach.ok else "sample")
    click.echo(f"profile {settings.profile}: {why}", err=True)
    others = ", ".join(name for name in PROFILES if name != settings.profile)
    click.echo(f"        recorded in params.yaml; `erreval run --profile NAME` changes it ({others})", err=True)
    return settings


@contextmanager
def _running_flows(root: Path) -> Iterator[None]:
    """A Prefect API for flows that run in this process, and what their ends mean for the terminal."""
    from flows.places import running_servers
    from flows.up import private_prefect
    from flows.workspace import refuse_if_in_use
    from pipelines.supervision import adopt_orphans, end_descendants

    refuse_if_in_use(root)
    os.environ[ECHO] = "1"
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")  # our own lines are shorter
    adopt_orphans()
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        servers = running_servers(root)
        if "PREFECT_API_URL" in os.environ:
            yield
        elif servers:
            os.environ["PREFECT_API_URL"] = servers.prefect_api
            click.echo(f"watch it at {servers.prefect}/runs", err=True)
            yield
        else:
            click.echo("starting a Prefect server for this run …", err=True)
            with private_prefect(root) as address:
                os.environ["PREFECT_API_URL"] = f"{address}/api"
                click.echo(f"watch it at {address}/runs", err=True)
                try:
                    yield
                finally:
                    _hand_over()
    except BaseException as end:
        code = _told(end)
        if code is None:
            raise
        sys.exit(code)
    finally:
        signal.signal(signal.SIGTERM, before)
        end_descendants()


def _hand_over() -> None:
    """Give Prefect's server what is still to be reported, before it goes: afterwards that would wait for it in vain."""
    from prefect.events.worker import EventsWorker
    from prefect.logging.handlers import APILogWorker

    for worker in (APILogWorker, EventsWorker):
        worker.drain_all(timeout=_HAND_OVER_SECONDS)


def _told(end: BaseException) -> int | None:
    """Tell how a run ended, and the exit code for it; None where it is not ours to tell."""
    from prefect.exceptions import TerminationSignal

    from flows.running import StageCrashError

    if isinstance(end, KeyboardInterrupt | TerminationSignal):
        click.echo("stopped; started again, it goes on from the last finished stage", err=True)
        return EXIT_INTERRUPTED
    if isinstance(end, StageCrashError):
        click.echo(f"failed: {end}", err=True)
        return EXIT_FAILED
    return None


def _interrupt(_signal: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def _parsed(changes: tuple[str, ...]) -> dict[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    found = {}
    for change in changes:
        name, sign, value = change.partition("=")
        if not sign or not name:
            raise SettingsError(f"--set {change}: write it as NAME=VALUE, such as --set queue.size=20")
        try:
            found[name.strip()] = YAML(typ="safe").load(value)
        except YAMLError as error:
            raise SettingsError(f"--set {change}: {' '.join(str(error).split())}") from error
    return found


def _validated(
    kind: type[RefineParameters] | type[EvaluateParameters], asked: dict[str, Any]
) -> Any:  # the kind that was given
    from pydantic import ValidationError

    try:
        return kind(**asked)
    except ValidationError as error:
        told = [f"--{str(each['loc'][0]).replace('_', '-')}: {each['msg']}" for each in error.errors()]
        raise SettingsError("; ".join(told)) from error


def _rehearse(path: Path, parameters: RefineParameters | EvaluateParameters) -> None:
    """Write the changes into a copy of params.yaml: a mistake in them is told before a server starts."""
    from flows.parameters import record

    with TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        shutil.copy(path, copy)
        shutil.copytree(path.parent / "profiles", copy.parent / "profiles")
        try:
            record(copy, parameters)
        except SettingsError as mistake:
            raise SettingsError(str(mistake).replace(str(copy), str(path))) from None


def _show(root: Path, profile: str, *, evaluated: bool) -> None:
    """The tables, and where to look next."""
    from erreval.layout import Layout
    from flows import report

    layout = Layout(profile, root)
    click.echo()
    click.echo(report.identifier_table(layout).as_text())
    if evaluated:
        click.echo()
        click.echo(report.evaluation_text(layout))
    click.echo()
    click.echo(report.box(report.where_next(layout, evaluated=evaluated)))
