"""What is installed, reachable and writable, and what to do about what is not."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from erreval.errors import ErrevalError
from erreval.layout import Layout, read_champion
from erreval.settings import load_settings

GIVEN = ("prefect", "mlflow", "dvc", "transformers", "torch", "accelerate", "openai", "pandas", "great-expectations")
_ROOM_NEEDED = 3e9
State = Literal["ok", "note", "problem"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    state: State
    found: str
    remedy: str = ""


def examine(project: Path) -> list[Finding]:
    """Look at everything that the product needs or can use.

    Args:
        project: The project's root folder, or a folder where `erreval diagnose` is used.
    """
    return [*_installed(), *_machine(project), *_cache(), *_mirror(), *_project(project), *_chat_endpoint()]


def _installed() -> Iterator[Finding]:
    yield Finding("python", "ok", sys.version.split()[0])
    for package in GIVEN:
        try:
            yield Finding(package, "ok", version(package))
        except PackageNotFoundError:
            yield Finding(package, "problem", "not installed", "run `make install` (or pip install erreval) again")
    for program, purpose in (("git", "to version what DVC tracks"), ("dvc", "to rebuild"), ("accelerate", "to train")):
        place = shutil.which(program) or shutil.which(program, path=str(Path(sys.executable).parent))
        remedy = "" if place else f"install it, or activate the virtual environment; it is needed {purpose}"
        yield Finding(program, "ok" if place else "problem", place or "not found", remedy)


def _machine(project: Path) -> Iterator[Finding]:
    from erreval.diagnosis.inference import best_device

    yield Finding("device", "ok", f"{best_device()}, {os.cpu_count()} CPU threads")
    free = shutil.disk_usage(project).free
    enough = free > _ROOM_NEEDED
    yield Finding(
        "disk", "ok" if enough else "problem", f"{free / 1e9:.1f} GB free", "" if enough else "free at least 3 GB"
    )
    try:
        with tempfile.TemporaryFile(dir=project):
            pass
        yield Finding("project folder", "ok", f"{project.resolve()} is writable")
    except OSError as error:
        yield Finding(
            "project folder", "problem", f"{project.resolve()}: {error.strerror}", "work in a folder that is your own"
        )


def _cache() -> Iterator[Finding]:
    from erreval.data.sources import cache_folder

    folder = cache_folder()
    place = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if place.is_dir() and os.access(place, os.W_OK):
        yield Finding("cache", "ok", f"{folder} is writable")
    else:
        yield Finding("cache", "problem", f"{folder} may not be written", "set ERREVAL_CACHE to a folder of your own")


def _mirror() -> Iterator[Finding]:
    from erreval.data.sources import mirror_folder

    try:
        folder = mirror_folder()
    except ErrevalError as error:
        yield Finding("ERREVAL_MIRROR", "problem", str(error), "name a folder laid out OWNER/REPO/COMMIT/PATH")
        return
    if folder is not None:
        yield Finding("ERREVAL_MIRROR", "ok", str(folder))


def _project(project: Path) -> Iterator[Finding]:
    from erreval.data.sources import can_reach

    if not (project / "params.yaml").exists():
        yield Finding("project", "note", "no params.yaml here", "for flows and `dvc repro`, work in a clone of erreval")
        return
    try:
        settings = load_settings(project / "params.yaml")
    except ErrevalError as error:
        yield Finding("params.yaml", "problem", str(error), "mend the named entries")
        return
    decided = "chosen" if settings.profile_decided else "not chosen yet: `erreval run` decides"
    yield Finding("profile", "ok", f"{settings.profile} ({decided})")
    if settings.data.sources:
        reach = can_reach(settings.data.sources)
        remedy = "" if reach.ok else "set ERREVAL_MIRROR to a local copy, or use `erreval run --profile sample`"
        yield Finding("public data", "ok" if reach.ok else "problem", reach.why, remedy)
    named = os.environ.get("ERREVAL_MODEL")
    if named:
        yield Finding("Error Identifier", *_named_model(named))
        return
    layout = Layout(settings.profile, project)
    try:
        yield Finding("Error Identifier", "ok", str(read_champion(layout)))
    except ErrevalError:
        yield Finding("Error Identifier", "note", "none trained yet; the detectors diagnose alone", "run `make run`")


def _named_model(name: str) -> tuple[State, str, str]:
    """What ERREVAL_MODEL names."""
    from erreval.diagnosis.diagnose import DETECTORS
    from erreval.models.catalogue import locate
    from erreval.models.contents import is_model

    if name == DETECTORS:
        return "note", "none; the detectors diagnose alone", "ERREVAL_MODEL says so; unset it to use the champion"
    remedy = "name a model that `erreval models list` shows, or unset it"
    try:
        folder = locate(name).folder
    except ErrevalError as error:
        return "problem", f"ERREVAL_MODEL: {error}", remedy
    if not is_model(folder):
        return "problem", f"ERREVAL_MODEL: {folder} holds no model", remedy
    return "ok", f"{folder} (ERREVAL_MODEL)", ""


def _chat_endpoint() -> Iterator[Finding]:
    from erreval.chat.endpoint import endpoint_from_environment, list_models

    endpoint = endpoint_from_environment()
    if endpoint is None:
        yield Finding("chat endpoint", "note", "none named", "LLM judges need OPENAI_BASE_URL and OPENAI_API_KEY")
        return
    try:
        names = list_models(endpoint)
    except ErrevalError as error:
        yield Finding("chat endpoint", "problem", str(error), "check OPENAI_BASE_URL and OPENAI_API_KEY")
        return
    yield Finding("chat endpoint", "ok", f"{endpoint.address} offers {len(names)} models")
