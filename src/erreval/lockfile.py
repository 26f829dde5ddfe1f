"""dvc.lock as a record of what was made from what: finished stages, their hashes, and keys made of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from erreval.errors import StageError

LOCK_NAME = "dvc.lock"


@dataclass(frozen=True)
class FinishedStage:
    """One entry of dvc.lock: what a stage was run with, and what it made."""

    name: str
    command: str
    deps: Mapping[str, str]
    """Path to hash, of everything the stage read."""
    outs: Mapping[str, str]
    """Path to hash, of everything the stage wrote."""
    params: Mapping[str, Any]
    """Dotted names to values, as far as the stage declares them."""


class Lock:
    """The finished stages of a workspace, found by what they made."""

    def __init__(self, root: Path, stages: Iterable[FinishedStage]) -> None:
        self.root = root
        self.stages: dict[str, FinishedStage] = {stage.name: stage for stage in stages}

    @classmethod
    def read(cls, root: Path) -> Lock:
        """Read the dvc.lock of a workspace.

        Raises:
            StageError: There is none, or it cannot be read.
        """
        path = root / LOCK_NAME
        try:
            document = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise StageError(f"{path}: no such file, so no stage has finished here; run: dvc repro") from None
        except (YAMLError, UnicodeDecodeError, OSError) as error:
            raise StageError(f"{path}: cannot be read: {' '.join(str(error).split())}") from error
        entries = document.get("stages") if isinstance(document, dict) else None
        if not isinstance(entries, dict):
            raise StageError(f"{path}: holds no stages; run: dvc repro")
        return cls(root, (_stage(name, entry) for name, entry in entries.items()))

    def find(self, path: str) -> FinishedStage | None:
        """The stage that made a file, or the folder it lies in; None where no finished stage did."""
        exact = [stage for stage in self.stages.values() if path in stage.outs]
        related = [stage for stage in self.stages.values() if any(_within(path, out) for out in stage.outs)]
        return next(iter(exact or related), None)

    def producer(self, path: str, *, made_by: str) -> FinishedStage:
        """The finished stage that made a path.

        Args:
            path: Relative to the workspace, with forward slashes.
            made_by: The stage to name where there is none; empty for the whole pipeline.

        Raises:
            StageError: No finished stage made it, or it is not there.
        """
        stage = self.find(path)
        if stage is None:
            raise StageError(f"{path}: no finished stage has made it; run: {_repro(made_by)}")
        if not (self.root / path).exists():
            raise StageError(f"{path}: missing, though stage {stage.name} has made it; run: dvc repro {stage.name}")
        return stage

    def read_json(self, path: str, *, made_by: str) -> dict[str, Any]:
        """Read a JSON file that a finished stage made, and nobody has changed since.

        Raises:
            StageError: It is missing, was changed, or holds no JSON object.
        """
        stage = self.producer(path, made_by=made_by)
        content = (self.root / path).read_bytes()
        expected = stage.outs.get(path)
        if expected and hashlib.md5(content, usedforsecurity=False).hexdigest() != expected:
            raise StageError(f"{path}: differs from what stage {stage.name} has made; run: dvc repro {stage.name}")
        try:
            document = json.loads(content)
        except ValueError as error:
            raise StageError(f"{path}: not valid JSON ({error}); run: dvc repro -f {stage.name}") from error
        if not isinstance(document, dict):
            raise StageError(f"{path}: expected a JSON object; run: dvc repro -f {stage.name}")
        return document

    def upstream(self, stages: Iterable[FinishedStage]) -> list[FinishedStage]:
        """The given stages and all that they were made from, sorted by name.

        A folder that several stages fill, each its part, is not followed: it may hold what is no longer asked for.

        Raises:
            StageError: A stage was made from something that was made anew since.
        """
        found: dict[str, FinishedStage] = {}
        waiting = list(stages)
        while waiting:
            stage = waiting.pop()
            if stage.name in found:
                continue
            found[stage.name] = stage
            waiting += [source for path, digest in stage.deps.items() for source in self._sources(stage, path, digest)]
        return [found[name] for name in sorted(found)]

    def _sources(self, stage: FinishedStage, path: str, digest: str) -> list[FinishedStage]:
        sources = []
        for source in self.stages.values():
            if path in source.outs and digest and source.outs[path] not in ("", digest):
                raise StageError(
                    f"{path}: stage {source.name} has made it anew since {stage.name} read it; "
                    f"run: dvc repro {stage.name}"
                )
            if source.name != stage.name and any(_within(path, out) for out in source.outs):
                sources.append(source)
        return sources


def key_of(stages: Iterable[FinishedStage], *words: str) -> str:
    """A key for what stages made: the same commands, inputs, parameters and outputs give the same key.

    Args:
        stages: In any order.
        words: What else tells this thing from others.

    Returns:
        32 hexadecimal digits of a SHA-256.
    """
    entries = [
        [s.name, s.command, sorted(s.deps.items()), sorted(s.outs.items()), sorted(s.params.items())]
        for s in sorted(stages, key=lambda stage: stage.name)
    ]
    text = json.dumps([list(words), entries], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:32]


def flattened(section: Mapping[str, Any], prefix: str = "", *, separator: str = ".") -> dict[str, Any]:
    """Nested mappings as one, their keys joined; lists stay as they are."""
    flat: dict[str, Any] = {}
    for name, value in section.items():
        if isinstance(value, Mapping):
            flat.update(flattened(value, f"{prefix}{name}{separator}", separator=separator))
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _repro(stage: str) -> str:
    return f"dvc repro {stage}".rstrip()


def _within(path: str, folder: str) -> bool:
    return PurePosixPath(path).is_relative_to(folder)


def _stage(name: str, entry: Mapping[str, Any]) -> FinishedStage:
    params: dict[str, Any] = {}
    for values in (entry.get("params") or {}).values():
        params.update(flattened(values))
    return FinishedStage(
        name=name,
        command=str(entry.get("cmd", "")),
        deps=_hashes(entry.get("deps") or []),
        outs=_hashes(entry.get("outs") or []),
        params=params,
    )


def _hashes(items: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    return {str(i["path"]): str(i.get("md5") or i.get("etag") or i.get("checksum") or "") for i in items}
