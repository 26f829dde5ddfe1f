"""A release of the project's champion: an archive that anybody can pull, with a model card, and its SHA-256."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from erreval.data.files import replacing
from erreval.errors import StageError
from erreval.finished import read_evaluation, read_refinement
from erreval.layout import Layout, read_champion
from erreval.lockfile import Lock
from erreval.model_card import model_card
from erreval.models.archive import ENDING, pack, sha256_of
from erreval.models.contents import check_contents
from erreval.settings import load_settings

CARD = "README.md"


@dataclass(frozen=True)
class Released:
    """An archive, with ``<archive>.sha256`` beside it as sha256sum writes it."""

    archive: Path
    sha256: str
    bytes: int


def release_model(root: Path, output: Path) -> Released:
    """Write the champion of a project's profile as a release archive.

    The figures of the card are those of the results files, which must belong to the model: dvc.lock says so. The same
    model and results give the same bytes.

    Args:
        root: The project.
        output: Folder for the archive, made where it is not there.

    Raises:
        StageError: A result is missing, changed or stale, or is another round's; names the command that makes it.
        ErrevalError: There is no champion yet, or its folder holds what a model may not.
    """
    settings = load_settings(root / "params.yaml")
    layout = Layout(settings.profile, root)
    lock = Lock.read(root)
    refinement, evaluation = read_refinement(lock, settings.profile), read_evaluation(lock, settings.profile)
    folder = read_champion(layout)
    if folder.name != refinement.champion:
        raise StageError(
            f"{layout.champion}: names round {folder.name}, but the results are those of {refinement.champion}; "
            "run: dvc repro evaluate"
        )
    card = model_card(root, settings, refinement, evaluation)
    files: dict[str, Path | bytes] = {**check_contents(folder), CARD: card.encode("utf-8")}
    name = f"erreval-identifier-{settings.profile}-{refinement.champion}"
    output.mkdir(parents=True, exist_ok=True)
    archive = output / f"{name}{ENDING}"
    with replacing(archive) as target:
        pack(files, name, target)
    with archive.open("rb") as written:
        digest = sha256_of(written)
    with replacing(output / f"{archive.name}.sha256") as target:
        target.write(f"{digest}  {archive.name}\n".encode())
    return Released(archive, digest, archive.stat().st_size)
