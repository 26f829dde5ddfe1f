"""The kinds of Error Identifier by name, as commands take them: ``KIND`` or ``KIND:WHICH``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from erreval.chat.journal import Journal
from erreval.diagnosis.interface import ErrorIdentifier
from erreval.errors import ErrevalError


@dataclass(frozen=True)
class Surroundings:
    """What opening an identifier may need beside its name."""

    models: Path = Path("models.yaml")
    """The chat models."""
    journal: Journal | None = None
    """Where calls to chat models are kept."""


def _detectors(which: str, around: Surroundings) -> ErrorIdentifier:
    from erreval.diagnosis.detectors_alone import DetectorsAlone

    return DetectorsAlone()


def _encoder(which: str, around: Surroundings) -> ErrorIdentifier:
    return _saved("encoder", which)


def _fusion(which: str, around: Surroundings) -> ErrorIdentifier:
    return _saved("fusion", which)


def _saved(kind: str, which: str) -> ErrorIdentifier:
    from erreval.diagnosis.fused import is_fused
    from erreval.diagnosis.loading import load_identifier
    from erreval.models.catalogue import locate
    from erreval.models.contents import is_model

    folder = locate(which).folder
    holds = "fusion" if is_fused(folder) else "encoder"
    if is_model(folder) and kind != holds:
        raise ErrevalError(f"{kind}:{which}: the folder holds no {kind}; write {holds}:{which}")
    return load_identifier(folder)


def _zero_shot(which: str, around: Surroundings) -> ErrorIdentifier:
    from erreval.chat.models import ready_models
    from erreval.diagnosis.zero_shot import ZeroShotIdentifier

    return ZeroShotIdentifier(ready_models([which], around.models)[0], around.journal)


def _lora(which: str, around: Surroundings) -> ErrorIdentifier:
    from erreval.diagnosis.lora import LoraIdentifier

    return LoraIdentifier.load(which)


KINDS: Mapping[str, Callable[[str, Surroundings], ErrorIdentifier]] = MappingProxyType(
    {"detectors": _detectors, "encoder": _encoder, "fusion": _fusion, "zero-shot": _zero_shot, "lora": _lora}
)
"""How each kind is opened."""


def check_spec(spec: str) -> str | None:
    """What is wrong with the name of an identifier, or None."""
    kind, _, which = spec.partition(":")
    if kind not in KINDS:
        return f"{spec!r}: no kind of identifier {kind!r}; write one of {', '.join(map(_usage, KINDS))}"
    if bool(which) == (kind == "detectors"):
        return f"{spec!r}: write {_usage(kind)}"
    return None


def _usage(kind: str) -> str:
    return {"detectors": "detectors", "zero-shot": "zero-shot:MODEL"}.get(kind, f"{kind}:FOLDER")


def open_identifier(spec: str, around: Surroundings | None = None) -> ErrorIdentifier:
    """Open an identifier by name.

    Args:
        spec: ``detectors``, ``encoder:FOLDER``, ``fusion:FOLDER``, ``zero-shot:MODEL`` or ``lora:FOLDER``.
        around: What else it may need.

    Raises:
        ErrevalError: There is no such kind, or it cannot be opened.
    """
    problem = check_spec(spec)
    if problem is not None:
        raise ErrevalError(problem)
    kind, _, which = spec.partition(":")
    return KINDS[kind](which, around or Surroundings())


def open_all(specs: list[str], around: Surroundings) -> list[ErrorIdentifier]:
    """Open several, or tell everything that stands against it at once.

    Raises:
        ErrevalError: A name is wrong or an identifier cannot be opened; all of them are told.
    """
    opened, problems = [], []
    for spec in specs:
        try:
            opened.append(open_identifier(spec, around))
        except ErrevalError as problem:
            problems.append(str(problem))
    if problems:
        raise ErrevalError("; ".join(problems))
    return opened
