"""Pulling an Error Identifier into the cache: from a folder, MLflow's registry, the hub, or a release archive.

A model appears in the cache whole and checked, or not at all. Only safetensors and text are taken.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from erreval.data.files import is_folder
from erreval.data.sources import cache_folder
from erreval.errors import ErrevalError
from erreval.models.archive import ENDING, MAX_BYTES, check_hash, unpack
from erreval.models.contents import ENDINGS, PLAIN_NAMES, check_contents, content_hash, is_model

REGISTRY = "models:/"
HUB = "hub:"
_SOURCE = "source.json"
_MODEL = "model"
_RESERVED = "detectors"
"""``--model detectors`` stands for no model: one kept under this name could never be asked for."""
_TIMEOUT_S = 30
_CHUNK = 1 << 20


@dataclass(frozen=True)
class PulledModel:
    """A model in the cache."""

    name: str
    """What ``--model`` takes."""
    source: str
    """Where it was pulled from."""
    sha256: str
    """Of its contents, as ``content_hash``, when it was pulled."""
    folder: Path


def models_folder() -> Path:
    """Where pulled models are kept."""
    return cache_folder() / "models"


def pulled_models() -> list[PulledModel]:
    """The models in the cache, by name.

    Raises:
        ErrevalError: What was noted of one cannot be read.
    """
    return [_read(path.parent) for path in sorted(models_folder().glob(f"*/{_SOURCE}"))]


def find_pulled(name: str) -> PulledModel | None:
    """The model in the cache that has this name; None where there is none."""
    if not _is_name(name) or not (models_folder() / name / _SOURCE).is_file():
        return None
    return _read(models_folder() / name)


def _read(folder: Path) -> PulledModel:
    try:
        noted = json.loads((folder / _SOURCE).read_text(encoding="utf-8"))
        return PulledModel(folder.name, str(noted["source"]), str(noted["sha256"]), folder / _MODEL)
    except (ValueError, KeyError, TypeError) as error:
        raise ErrevalError(f"{folder / _SOURCE}: cannot be read ({error}); remove {folder} and pull it anew") from error


def pull(source: str, *, sha256: str | None = None, name: str | None = None, replace: bool = False) -> PulledModel:
    """Bring a model into the cache.

    Args:
        source: A folder, ``models:/NAME@ALIAS`` or ``models:/NAME/VERSION`` of MLflow's registry, a hub id
            ``OWNER/NAME`` or ``OWNER/NAME@REVISION`` (``hub:`` before it where there is such a folder), or a release
            archive by path or URL.
        sha256: Of a release archive; beside one on the disk the file ``ARCHIVE.sha256`` says it, too.
        name: To keep it under; by default it follows from the source.
        replace: Take the place of another model that has the name.

    Raises:
        ErrevalError: It cannot be had, is not what it should be, or its name is taken. Nothing was kept.
    """
    if sha256 is not None and not _is_archive(source):
        raise ErrevalError(f"{source}: --sha256 belongs to a release archive (a path or URL that ends in {ENDING})")
    if name is not None and not _is_name(name):
        raise ErrevalError(f"{name!r} is no name for a model; use letters, digits, '.', '_' and '-'")
    if name == _RESERVED:
        raise ErrevalError(_reserved())
    shelf = models_folder()
    try:
        shelf.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".pulling-", dir=shelf) as temporary:
            work = Path(temporary)
            own, origin = _bring(source, sha256, work / "brought")
            if (name or own) == _RESERVED:
                raise ErrevalError(_reserved())
            found = _as_folder(work / "brought", source)
            digest = content_hash(check_contents(found))
            new = PulledModel(name or own, origin, digest, shelf / (name or own) / _MODEL)
            return _keep(new, found, work, replace)
    except OSError as error:
        raise ErrevalError(
            f"{error.filename or shelf}: {error.strerror or error}; make the place readable and writable, make room, "
            "or set ERREVAL_CACHE to another folder"
        ) from error


def _reserved() -> str:
    return f"{_RESERVED!r} is reserved: it stands for the detectors alone; keep the model under another with --name"


def _keep(new: PulledModel, found: Path, work: Path, replace: bool) -> PulledModel:
    there = find_pulled(new.name)
    if there is not None:
        if there.sha256 == new.sha256 and content_hash(check_contents(there.folder)) == new.sha256:
            return there
        if not replace:
            raise ErrevalError(
                f"{new.name}: the cache holds another model of this name, from {there.source}; keep this one under "
                "another with --name, or give --replace"
            )
    made = work / "made"
    made.mkdir()
    found.rename(made / _MODEL)
    noted = {key: value for key, value in asdict(new).items() if key in ("source", "sha256")}
    (made / _SOURCE).write_text(json.dumps(noted, indent=1) + "\n", encoding="utf-8")
    place = models_folder() / new.name
    if place.exists():
        place.rename(work / "before")
    made.rename(place)
    return new


def _bring(source: str, sha256: str | None, target: Path) -> tuple[str, str]:
    """Bring what a source names to ``target``; the name it gets by itself, and the source as it is to be noted."""
    if source.startswith(REGISTRY):
        from erreval.registry import download_version

        version = download_version(source, target)
        return f"{version.model}-v{version.version}", version.uri
    if source.startswith(("http://", "https://")):
        return _from_url(source, sha256, target)
    if is_folder(Path(source)) and not source.startswith(HUB):
        return _from_folder(Path(source), target)
    if _is_archive(source):
        return _from_archive(Path(source), sha256, target)
    hub = re.fullmatch(rf"(?:{HUB})?([\w.-]+/[\w.-]+)(?:@([\w./-]+))?", source)
    if hub is None:
        raise ErrevalError(
            f"{source}: there is no such folder; a model comes from a folder, {REGISTRY}NAME@ALIAS, a hub id "
            f"OWNER/NAME, or a release archive (a path or URL that ends in {ENDING})"
        )
    return _from_hub(hub[1], hub[2], target)


def _from_folder(folder: Path, target: Path) -> tuple[str, str]:
    check_contents(folder)  # before anything is copied: links among it would be followed
    shutil.copytree(folder, target)
    return _name_of(folder.resolve().name), str(folder.resolve())


def _from_archive(archive: Path, sha256: str | None, target: Path) -> tuple[str, str]:
    beside = archive.with_name(f"{archive.name}.sha256")
    if not archive.is_file():
        raise ErrevalError(f"{archive}: no such file; check the name and the folder you are in ({Path.cwd()})")
    if sha256 is None and beside.is_file():
        sha256 = (beside.read_text(encoding="utf-8").split() or [""])[0]
    with archive.open("rb") as stream:
        _unpack_checked(stream, sha256, target, str(archive))
    return _name_of(archive.name.removesuffix(ENDING)), str(archive.resolve())


def _from_url(url: str, sha256: str | None, target: Path) -> tuple[str, str]:
    if not _is_archive(url):
        raise ErrevalError(f"{url}: a release archive's URL ends in {ENDING}; for the hub give OWNER/NAME")
    if sha256 is None:
        raise ErrevalError(_no_hash(url))
    with tempfile.TemporaryFile(dir=target.parent) as stream:
        _download(url, stream)
        _unpack_checked(stream, sha256, target, url)
    return _name_of(Path(urlsplit(url).path).name.removesuffix(ENDING)), url


def _unpack_checked(stream: IO[bytes], sha256: str | None, target: Path, what: str) -> None:
    if sha256 is None:
        raise ErrevalError(_no_hash(what))
    check_hash(stream, sha256, what)
    target.mkdir()
    unpack(stream, target, what)


def _no_hash(what: str) -> str:
    return f"{what}: give the archive's --sha256; whoever released it tells it (in the file {Path(what).name}.sha256)"


def _download(url: str, stream: IO[bytes]) -> None:
    import requests

    again = "check the address and the network, and try again; nothing was kept"
    taken = 0
    try:
        with requests.get(url, stream=True, timeout=_TIMEOUT_S) as reply:
            if not reply.ok:
                raise ErrevalError(f"{url}: answers with HTTP {reply.status_code}; {again}")
            for chunk in reply.iter_content(_CHUNK):
                taken += len(chunk)
                if taken > MAX_BYTES:
                    raise ErrevalError(f"{url}: larger than {MAX_BYTES} bytes, the most that is taken")
                stream.write(chunk)
    except requests.RequestException as error:
        raise ErrevalError(f"{url}: cannot be downloaded ({type(error).__name__}); {again}") from error


def _from_hub(repository: str, revision: str | None, target: Path) -> tuple[str, str]:
    from huggingface_hub import snapshot_download

    wanted = [*(f"*{ending}" for ending in ENDINGS), *(name for name in PLAIN_NAMES if not name.startswith("."))]
    try:
        snapshot_download(repository, revision=revision, allow_patterns=wanted, local_dir=target)
    except (OSError, ValueError) as error:
        why = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        raise ErrevalError(
            f"{repository}: cannot be had from the hub ({why}); check the id and the network "
            "(HF_HUB_OFFLINE forbids it), or pull a release archive or a folder"
        ) from error
    shutil.rmtree(target / ".cache", ignore_errors=True)  # the hub client's notes
    return _name_of(repository.replace("/", "--")), f"{HUB}{repository}" + (f"@{revision}" if revision else "")


def _as_folder(brought: Path, source: str) -> Path:
    """The model in what was brought: the folder itself, or the one folder in it."""
    if is_model(brought):
        return brought
    inner = [path for path in brought.iterdir() if path.is_dir() and is_model(path)]
    if len(inner) != 1:
        raise ErrevalError(f"{source}: holds no model (no config.json); nothing was kept")
    return inner[0]


def _is_archive(source: str) -> bool:
    return (urlsplit(source).path if "://" in source else source).endswith(ENDING)


def _is_name(name: str) -> bool:
    return re.fullmatch(r"\w[\w.-]*", name, re.ASCII) is not None


def _name_of(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text, flags=re.ASCII).strip("-.") or "model"
