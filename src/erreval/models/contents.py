"""What the folder of an Error Identifier may hold, checked without running anything of it, and its hash."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from erreval.errors import ErrevalError
from erreval.taxonomy import ALL_TYPES

CONFIG = "config.json"
FUSION = "fusion.json"
"""Present where an encoder is joined with the detectors; the encoder then has a folder of its own."""

ENDINGS = (".json", ".safetensors", ".txt", ".md", ".model", ".jinja")
"""Weights as safetensors, and plain text. All else is refused: a pickle runs code when it is opened."""

PLAIN_NAMES = ("LICENSE", "NOTICE", ".gitattributes")


def is_model(folder: Path) -> bool:
    """Whether a folder looks like a saved model."""
    return any((folder / name).is_file() for name in (CONFIG, FUSION))


def model_files(folder: Path) -> dict[str, Path]:
    """Every file of a model by its path in the folder, with forward slashes, sorted.

    Raises:
        ErrevalError: There is no model, or the folder holds a link or a file of a kind that is not allowed.
    """
    if not is_model(folder):
        raise ErrevalError(f"{folder}: there is no model in this folder: it holds neither {CONFIG} nor {FUSION}")
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            raise ErrevalError(f"{path}: is a link, which a model folder may not hold; put the file itself there")
        if path.is_file():
            if path.suffix not in ENDINGS and path.name not in PLAIN_NAMES:
                raise ErrevalError(
                    f"{path}: refused: only safetensors, JSON and text may lie in a model folder, since pickles and "
                    "the like run code when they are opened; save the weights with save_pretrained() and remove it"
                )
            found[name] = path
    return found


def check_contents(folder: Path) -> dict[str, Path]:
    """Make sure that a folder can be an Error Identifier.

    Returns:
        Its files, as ``model_files``.

    Raises:
        ErrevalError: As ``model_files``; or weights are missing, or the classes are not the eleven types in order.
    """
    files = model_files(folder)
    if not any(name.endswith(".safetensors") for name in files):
        raise ErrevalError(f"{folder}: no weights: a model needs a file that ends in .safetensors")
    named = [names for name, path in files.items() if Path(name).name == CONFIG and (names := _class_names(path))]
    if [t.value for t in ALL_TYPES] not in named:
        raise ErrevalError(
            f"{folder}: not an Error Identifier: id2label in {CONFIG} must name the eleven types in order, "
            f"not {named[0] if named else 'nothing'}"
        )
    return files


def _class_names(path: Path) -> list[str]:
    try:
        config: Any = json.loads(path.read_text(encoding="utf-8"))
        id2label = config.get("id2label") or {}
        return [str(id2label[key]) for key in sorted(id2label, key=int)]
    except (ValueError, AttributeError, TypeError) as error:
        raise ErrevalError(f"{path}: cannot be read as a model's configuration ({error})") from error


def content_hash(files: dict[str, Path]) -> str:
    """SHA-256 over the names and the contents of a model's files: the same model, the same hash, wherever it lies."""
    whole = hashlib.sha256()
    for name in sorted(files):
        with files[name].open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        whole.update(f"{digest}  {name}\n".encode())
    return whole.hexdigest()
