"""Which Error Identifiers there are, and finding one by the name that the list shows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from erreval.data.files import is_folder
from erreval.layout import Layout, read_champion
from erreval.models.contents import is_model
from erreval.models.pulling import REGISTRY, find_pulled, pull, pulled_models


@dataclass(frozen=True)
class ListedModel:
    """One model, by the name that ``--model`` takes."""

    name: str
    kind: str
    """trained | registered | pulled"""
    about: str


@dataclass(frozen=True)
class LocatedModel:
    """A model's folder, and what the diagnosis calls it."""

    folder: Path
    name: str


def trained_models(layout: Layout) -> list[ListedModel]:
    """The project's own: one a round, the champion marked."""
    folders = sorted(path for path in layout.model("fused", "*").parent.glob("*") if is_model(path))
    champion = read_champion(layout) if layout.champion.exists() else None
    if champion is not None and champion not in folders and is_model(champion):
        folders.append(champion)
    return [
        ListedModel(
            str(path), "trained", f"round {path.name}" + (", champion (the default)" if path == champion else "")
        )
        for path in folders
    ]


def registered_models(model: str) -> list[ListedModel]:
    """The versions of a registered model, with their aliases; none where nothing was ever published.

    Raises:
        TrackingError: The registry cannot be reached.
    """
    from erreval.registry import registered_versions

    return [
        ListedModel(
            version.uri,
            "registered",
            ", ".join([*(f"@{alias}" for alias in version.aliases), *(f"{k} {v}" for k, v in version.about.items())]),
        )
        for version in registered_versions(model)
    ]


def listed_pulled() -> list[ListedModel]:
    """The models in the cache."""
    return [ListedModel(m.name, "pulled", f"from {m.source}, sha256 {m.sha256[:12]}") for m in pulled_models()]


def locate(named: str | Path) -> LocatedModel:
    """The folder of a model: a folder, the name of a pulled one, or ``models:/…``, which is pulled if need be.

    A folder counts before a pulled model of that name. What is none of them is taken for a folder, and loading will
    say what is missing there.

    Raises:
        ErrevalError: ``models:/…`` cannot be pulled.
    """
    text = str(named)
    if isinstance(named, str) and text.startswith(REGISTRY):
        found = pull(text, replace=True)
        return LocatedModel(found.folder, found.source)
    if isinstance(named, str) and not is_folder(Path(text)):
        pulled = find_pulled(text)
        if pulled is not None:
            return LocatedModel(pulled.folder, pulled.name)
    return LocatedModel(Path(named), text)
