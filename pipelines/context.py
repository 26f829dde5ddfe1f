"""What a stage may know: the parameters it declares, where things lie, and randomness of its own."""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from erreval.layout import Layout
from erreval.settings import Settings, load_settings


@dataclass(frozen=True)
class Context:
    """The surroundings of one stage."""

    name: str
    settings: Settings
    layout: Layout

    def rng(self) -> np.random.Generator:
        """Randomness that follows from the seed and the stage's name alone."""
        return np.random.default_rng([self.settings.seed, zlib.crc32(self.name.encode())])


def open_context(name: str, params: Sequence[str]) -> Context:
    """Read the declared sections of params.yaml; a section that is not declared cannot be read.

    Args:
        name: The stage, with its round.
        params: The top-level keys of params.yaml that dvc.yaml declares for the stage.
    """
    everything = load_settings(Path("params.yaml"))
    declared = Settings.model_construct(**{key: getattr(everything, key) for key in ("profile", "seed", *params)})
    return Context(name, declared, Layout(everything.profile))


def round_argument() -> str:
    """The round that the stage was asked for, its only argument."""
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: python -m {Path(sys.argv[0]).stem} ROUND, e.g. r0")
    return sys.argv[1]


def write_json(value: Any, path: Path) -> None:
    """JSON that is the same for the same value: sorted nowhere, rounded to nine digits, one final newline."""
    text = json.dumps(_rounded(value), ensure_ascii=False, indent=2, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 9)
    if isinstance(value, dict):
        return {str(key): _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value
