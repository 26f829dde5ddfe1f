"""Versions of Error Identifiers in MLflow's registry: listing them, and copying one out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from erreval.tracking import Store, TrackingError, open_store, store_exists

_NOTED = ("profile", "round", "dev_metric")


@dataclass(frozen=True)
class RegisteredVersion:
    """One version of a registered model."""

    model: str
    version: str
    aliases: tuple[str, ...]
    about: Mapping[str, str]
    """What was noted of it when it was published: profile, round, metric on dev."""

    @property
    def uri(self) -> str:
        """What names it for good; an alias moves."""
        return f"models:/{self.model}/{self.version}"


def registered_versions(model: str) -> list[RegisteredVersion]:
    """The versions of a registered model, oldest first; none where it is not registered, or there is no store yet.

    Raises:
        TrackingError: The store cannot be reached.
    """
    if not store_exists():
        return []
    with open_store() as store:
        return _versions(store, model)


def download_version(uri: str, target: Path) -> RegisteredVersion:
    """Copy the Error Identifier that ``models:/NAME/VERSION`` or ``models:/NAME@ALIAS`` names.

    Args:
        uri: The version, or an alias.
        target: The folder to make; what else was logged with the model lies beside it afterwards.

    Raises:
        TrackingError: There is no such version, or it holds no Error Identifier as ``publishing`` logs it.
    """
    named = re.fullmatch(r"models:/([^/@'\"]+)(?:/(\d+)|@(.+))", uri)
    if named is None:
        raise TrackingError(f"{uri}: not of the form models:/NAME/VERSION or models:/NAME@ALIAS")
    model, number, alias = named.groups()
    if not store_exists():
        raise TrackingError(f"{uri}: there is no MLflow store here; go to the project, or set MLFLOW_TRACKING_URI")
    with open_store() as store:
        known = _versions(store, model)
        found = next((v for v in known if v.version == number or alias in v.aliases), None)
        if found is None:
            there = ", ".join(" ".join([v.uri, *(f"@{a}" for a in v.aliases)]) for v in known)
            raise TrackingError(f"{uri}: the registry has no such version; it has: {there or f'no model {model}'}")
        copied = store.download(found.uri, target.with_name("logged"))
    (copied / _identifier_in(copied, found.uri)).rename(target)
    return found


def _versions(store: Store, model: str) -> list[RegisteredVersion]:
    if not store.client.search_registered_models(f"name = '{model}'"):
        return []
    aliases = store.client.get_registered_model(model).aliases
    found = store.client.search_model_versions(f"name = '{model}'")
    return [
        RegisteredVersion(
            model,
            str(v.version),
            tuple(sorted(alias for alias, number in aliases.items() if str(number) == str(v.version))),
            {name: str(v.tags[name]) for name in _NOTED if name in v.tags},
        )
        for v in sorted(found, key=lambda version: int(version.version))
    ]


def _identifier_in(logged: Path, uri: str) -> str:
    """Where the folder of the identifier lies in what was logged: the file MLmodel says."""
    try:
        noted: Any = YAML(typ="safe", pure=True).load((logged / "MLmodel").read_text(encoding="utf-8"))
        place = str(noted["flavors"]["python_function"]["artifacts"]["identifier"]["path"])
    except (OSError, YAMLError, KeyError, TypeError) as error:
        raise TrackingError(f"{uri}: holds no Error Identifier; name a version of one") from error
    if Path(place).is_absolute() or ".." in Path(place).parts:
        raise TrackingError(f"{uri}: its MLmodel names a place outside the model, {place!r}; nothing was kept")
    return place
