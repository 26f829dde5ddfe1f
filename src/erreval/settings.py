"""params.yaml as typed, frozen sections; profiles and changes are written into it, validated as a whole.

params.yaml is what runs: DVC reads it, and so does everything else. A profile is an overlay that is *applied* to the
file, and what a form or an option changes is written there too, so that `dvc repro` alone can rebuild any run.
"""

from __future__ import annotations

import copy
import io
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from erreval.errors import SettingsError
from erreval.sections import (
    AccelerateSettings,
    AnnotatorSettings,
    DataSettings,
    EncoderSettings,
    ExtensionPlan,
    FusionSettings,
    GateSettings,
    InjectionSettings,
    LabelNoiseSettings,
    QueueSettings,
    RoundPlan,
    Section,
    SelectionSettings,
    TrainingSettings,
    VerifierSettings,
)

ProfileName = Literal["offline", "sample", "paper"]
PROFILES: tuple[ProfileName, ...] = ("offline", "sample", "paper")
MAX_ROUNDS = 9


class Settings(Section):
    """Everything in params.yaml."""

    profile: ProfileName
    profile_decided: bool
    seed: int = Field(ge=0, lt=2**31)
    data: DataSettings
    injection: InjectionSettings
    gates: GateSettings
    label_noise: LabelNoiseSettings
    encoder: EncoderSettings
    accelerate: AccelerateSettings
    identifier: TrainingSettings
    verifier: VerifierSettings
    fusion: FusionSettings
    warm_start: bool
    selection: SelectionSettings
    queue: QueueSettings
    annotator: AnnotatorSettings
    rounds: dict[str, RoundPlan]
    extensions: dict[str, ExtensionPlan]

    @model_validator(mode="after")
    def _rounds_follow(self) -> Settings:
        expected = round_plan(len(self.rounds), warm_start=self.warm_start)
        found = {
            "rounds": {k: v.model_dump() for k, v in self.rounds.items()},
            "extensions": {k: v.model_dump() for k, v in self.extensions.items()},
        }
        if found != expected:
            raise ValueError(
                "rounds and extensions do not follow one another from r0 on; let `erreval refine --rounds N` write them"
            )
        return self


def round_plan(count: int, *, warm_start: bool) -> dict[str, dict[str, dict[str, str]]]:
    """The ``rounds`` and ``extensions`` of params.yaml for a number of rounds.

    DVC's templating has no arithmetic, so what a round starts from is written out.

    Raises:
        ValueError: The count is not between 1 and ``MAX_ROUNDS``.
    """
    if not 1 <= count <= MAX_ROUNDS:
        raise ValueError(f"the number of rounds must lie between 1 and {MAX_ROUNDS}, not {count}")

    def start(kind: str, k: int) -> str:
        return f"models/{kind}/r{k - 1}" if k and warm_start else "backbone"

    rounds = {f"r{k}": {"identifier": start("identifier", k), "verifier": start("verifier", k)} for k in range(count)}
    return {"rounds": rounds, "extensions": {f"r{k}": {"into": f"r{k + 1}"} for k in range(count - 1)}}


def load_settings(path: Path) -> Settings:
    """Read and validate params.yaml.

    Raises:
        SettingsError: The file is missing, is not YAML, or has mistakes; all of them are told.
    """
    return _validated(_read(path), path)


def apply_profile(path: Path, name: str, *, decided: bool = True) -> Settings:
    """Write a profile's overlay into params.yaml and record the choice.

    Args:
        path: params.yaml; the overlays lie beside it in ``profiles/``.
        name: One of ``PROFILES``.
        decided: Whether the choice counts as made, so that `erreval run` keeps it.

    Raises:
        SettingsError: No such profile, or the result has mistakes; the file is then unchanged.
    """
    if name not in PROFILES:
        raise SettingsError(f"there is no profile {name!r}; choose one of {', '.join(PROFILES)}")
    overlay = _read(path.parent / "profiles" / f"{name}.yaml")
    changes = {**_flattened(overlay), "profile": name, "profile_decided": decided}
    return apply_changes(path, changes)


def apply_changes(path: Path, changes: Mapping[str, Any]) -> Settings:
    """Write changes into params.yaml, keeping its comments.

    Args:
        path: params.yaml.
        changes: Dotted names to values; ``rounds`` takes a number and writes both round tables.

    Returns:
        The settings as they now stand in the file.

    Raises:
        SettingsError: A name is unknown or a value is out of bounds; the file is then unchanged.
    """
    document = _read(path)
    before = copy.deepcopy(document)
    problems: list[str] = []
    rounds = changes.get("rounds")
    for name, value in changes.items():
        if name != "rounds":
            _set(document, name, value, problems)
    if problems:
        raise SettingsError(f"{path}: {'; '.join(problems)}")
    if rounds is not None or "warm_start" in changes:
        count = len(document["rounds"]) if rounds is None else rounds
        try:
            plan = round_plan(int(count), warm_start=bool(document["warm_start"]))
        except (TypeError, ValueError) as error:
            raise SettingsError(f"{path}: rounds: {error}") from error
        document.update(plan)
    settings = _validated(document, path)
    if document != before:
        _write(document, path)
    return settings


def _yaml() -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 120
    return yaml


def _read(path: Path) -> Any:
    try:
        document = _yaml().load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"{path}: no such file; run this in the project's root folder") from None
    except (YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(document, dict):
        raise SettingsError(f"{path}: expected a mapping of sections at the top")
    return document


def _validated(document: Mapping[str, Any], path: Path) -> Settings:
    try:
        return Settings.model_validate(document)
    except ValidationError as error:
        told = [
            f"{'.'.join(str(part) for part in item['loc']) or 'the file'}: {item['msg'].removeprefix('Value error, ')}"
            for item in error.errors()
        ]
        raise SettingsError(f"{path}: {'; '.join(told)}") from error


def _flattened(overlay: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in overlay.items():
        if isinstance(value, Mapping):
            flat.update(_flattened(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _set(document: Any, name: str, value: Any, problems: list[str]) -> None:
    *parents, leaf = name.split(".")
    section = document
    for parent in parents:
        section = section.get(parent) if isinstance(section, dict) else None
    if not isinstance(section, dict) or leaf not in section:
        problems.append(f"{name}: there is no such parameter")
    else:
        section[leaf] = value


def _write(document: Any, path: Path) -> None:
    text = io.StringIO()
    _yaml().dump(document, text)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text.getvalue())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
