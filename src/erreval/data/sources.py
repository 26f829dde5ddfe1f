"""Public files, pinned by commit and SHA-256: what there is, fetching, and laying them out for the readers."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache as remember
from importlib.resources import files as package_files
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import quote

import platformdirs
from pydantic import BaseModel, ConfigDict

from erreval.data.files import is_folder, replacing
from erreval.errors import ErrevalError, SourceError

BASE_URL = "https://raw.githubusercontent.com"
REACH_SECONDS = 5.0
_DOWNLOADS_AT_ONCE = 8
_RETRIES = 2


class SourceFile(BaseModel):
    """One public file at one commit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """Where it lies in the folder of its source."""
    repo: str
    commit: str
    path: str
    bytes: int
    sha256: str

    @property
    def key(self) -> str:
        """Where it lies in a mirror and in the cache: ``<owner>/<repo>/<commit>/<path>``."""
        return f"{self.repo}/{self.commit}/{self.path}"

    @property
    def url(self) -> str:
        """Where it is downloaded from."""
        return f"{BASE_URL}/{quote(self.key)}"

    def is_at(self, path: Path) -> bool:
        """Whether ``path`` is this file, byte for byte."""
        try:
            if path.stat().st_size != self.bytes:
                return False
            return hashlib.sha256(path.read_bytes()).hexdigest() == self.sha256
        except OSError:
            return False


class Source(BaseModel):
    """One data set, by the name that its reader and the commands use."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    licence: str
    citation: str
    homepage: str
    files: tuple[SourceFile, ...]

    @property
    def bytes(self) -> int:
        """The size of all its files."""
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True)
class Reach:
    """Whether sources can be had, and how or why not, in one sentence."""

    ok: bool
    why: str


class _Manifest(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    sources: tuple[Source, ...]


@remember
def load_sources() -> Mapping[str, Source]:
    """All sources by name, in the order in which they are listed."""
    text = package_files("erreval.data").joinpath("manifest.json").read_text(encoding="utf-8")
    return MappingProxyType({source.name: source for source in _Manifest.model_validate_json(text).sources})


def cache_folder(cache: Path | None = None) -> Path:
    """Where downloads are kept: ``cache``, else ERREVAL_CACHE, else the user's cache folder."""
    named = os.environ.get("ERREVAL_CACHE")
    return cache or (Path(named) if named else Path(platformdirs.user_cache_dir("erreval")))


def mirror_folder(mirror: Path | None = None) -> Path | None:
    """The folder used instead of the network: ``mirror``, else ERREVAL_MIRROR, else none.

    Raises:
        SourceError: A mirror is named, but there is no such folder.
    """
    named = os.environ.get("ERREVAL_MIRROR")
    folder = mirror or (Path(named) if named else None)
    if folder is not None and not is_folder(folder):
        raise SourceError(f"the mirror {folder} is no folder; set ERREVAL_MIRROR to one, or unset it to download")
    return folder


def select(names: Iterable[str]) -> list[Source]:
    """The sources with these names, each once.

    Raises:
        SourceError: A name is unknown.
    """
    known = load_sources()
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        if name not in known:
            raise SourceError(f"no source {name!r}; there are: {', '.join(known)}")
    return [known[name] for name in wanted]


def state_of(source: Source, *, cache: Path | None = None) -> Literal["cached", "partly cached", "not fetched"]:
    """How much of a source lies in the cache, unharmed."""
    folder = cache_folder(cache)
    there = sum(file.is_at(folder / file.key) for file in source.files)
    if there == len(source.files):
        return "cached"
    return "partly cached" if there else "not fetched"


def can_reach(names: Iterable[str], *, cache: Path | None = None, mirror: Path | None = None) -> Reach:
    """Tell within about five seconds whether ``fetch`` could succeed, without fetching anything."""
    wanted = [file for source in select(names) for file in source.files]
    folder = cache_folder(cache)
    missing = [file for file in wanted if not file.is_at(folder / file.key)]
    if not missing:
        return Reach(True, f"all {len(wanted)} files are in the cache {folder}")
    try:
        place = mirror_folder(mirror)
    except SourceError as error:
        return Reach(False, str(error))
    if place is not None:
        lacking = [file for file in missing if not file.is_at(place / file.key)]
        if not lacking:
            return Reach(True, f"the mirror {place} holds all {len(wanted)} files")
        return Reach(False, f"the mirror {place} lacks {len(lacking)} of {len(wanted)} files, such as {lacking[0].key}")
    problem = _head(missing[0].url)
    host = BASE_URL.split("/")[2]
    if problem:
        return Reach(False, f"{len(missing)} of {len(wanted)} files are not in the cache, and {host} {problem}")
    return Reach(True, f"{host} answers ({len(missing)} of {len(wanted)} files to download)")


def _head(url: str) -> str:
    """Ask for a file's header; what is wrong, or nothing. In a thread, as looking up a name knows no timeout."""
    import requests

    outcome = [f"does not answer within {REACH_SECONDS:.0f} seconds"]

    def ask() -> None:
        try:
            reply = requests.head(url, timeout=REACH_SECONDS, allow_redirects=True)
            outcome[0] = "" if reply.ok else f"answers with HTTP {reply.status_code}"
        except requests.RequestException as error:
            outcome[0] = f"cannot be reached ({type(error).__name__})"

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(REACH_SECONDS)
    return outcome[0]


def fetch(
    names: Iterable[str], *, cache: Path | None = None, mirror: Path | None = None, progress: bool = False
) -> dict[str, list[Path]]:
    """Bring the files of sources into the cache: what is there and right is left alone, the rest downloaded.

    A file appears in the cache whole and with the right hash, or not at all.

    Args:
        names: Sources; see ``load_sources``.
        cache: See ``cache_folder``.
        mirror: See ``mirror_folder``; where there is one the network is not used.
        progress: Show a bar on standard error.

    Returns:
        For each source the paths of its files, in the order of the manifest.

    Raises:
        SourceError: A name is unknown; or a file cannot be had or has another hash: says which, and how to go on.
    """
    sources = select(names)
    folder = cache_folder(cache)
    wanted = {file.key: file for source in sources for file in source.files}
    missing = {key: file for key, file in wanted.items() if not file.is_at(folder / key)}
    if missing:
        _fetch_all(missing, folder, mirror_folder(mirror), progress)
    return {source.name: [folder / file.key for file in source.files] for source in sources}


def _fetch_all(wanted: Mapping[str, SourceFile], folder: Path, place: Path | None, progress: bool) -> None:
    import pooch
    from tqdm import tqdm

    pooch.get_logger().setLevel("WARNING")
    keeper = pooch.create(
        path=folder,
        base_url=f"{BASE_URL}/",
        registry={key: f"sha256:{file.sha256}" for key, file in wanted.items()},
        urls={key: file.url for key, file in wanted.items()},
        retry_if_failed=0 if place else _RETRIES,
    )
    _make_folders({(folder / key).parent for key in wanted}, folder)
    downloader = _copier(wanted, place) if place else pooch.HTTPDownloader(timeout=30)
    total = sum(file.bytes for file in wanted.values())
    with (
        tqdm(total=total, unit="B", unit_scale=True, desc="fetching", disable=not progress) as bar,
        ThreadPoolExecutor(_DOWNLOADS_AT_ONCE) as pool,
    ):
        jobs = [pool.submit(_fetch_one, keeper, file, downloader, place) for file in wanted.values()]
        try:
            for job, file in zip(jobs, wanted.values(), strict=True):
                job.result()
                bar.update(file.bytes)
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _make_folders(folders: Iterable[Path], cache: Path) -> None:
    """Make them beforehand: pooch makes missing ones itself, but not from several threads at once."""
    try:
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SourceError(_cannot_store(cache, error)) from None


def _cannot_store(cache: Path, error: OSError) -> str:
    return (
        f"nothing can be stored in the cache {cache} ({error.strerror or error}); "
        "make room or permit writing there, or set ERREVAL_CACHE to another folder"
    )


def _copier(wanted: Mapping[str, SourceFile], place: Path) -> Callable[[str, str, Any], None]:
    """A pooch downloader that copies from the mirror."""
    keys = {file.url: key for key, file in wanted.items()}

    def copy(url: str, output_file: str, _pooch: Any) -> None:
        shutil.copyfile(place / keys[url], output_file)

    return copy


def _fetch_one(keeper: Any, file: SourceFile, downloader: Any, place: Path | None) -> None:
    import requests

    origin = str(place / file.key) if place else file.url
    try:
        keeper.fetch(file.key, downloader=downloader)
    except (FileNotFoundError, IsADirectoryError):
        raise SourceError(
            f"{file.key}: not in the mirror {place}; put it there, or unset ERREVAL_MIRROR to download it"
        ) from None
    except ValueError:
        remedy = "copy it into the mirror again" if place else "try again; if it stays so, the file has changed there"
        raise SourceError(
            f"{origin}: not the pinned file (its SHA-256 is not {file.sha256[:12]}…: damaged, cut off or changed); "
            f"nothing was kept; {remedy}"
        ) from None
    except requests.RequestException as error:
        raise SourceError(
            f"{origin}: cannot be downloaded ({_reason(error)}); check the network and try again (what is there is "
            "kept), or set ERREVAL_MIRROR to a folder that holds <owner>/<repo>/<commit>/<path>"
        ) from None
    except OSError as error:
        raise SourceError(f"{file.key}: {_cannot_store(keeper.abspath, error)}") from None


def _reason(error: Any) -> str:
    return f"HTTP {error.response.status_code}" if error.response is not None else type(error).__name__


def materialise(
    names: Iterable[str],
    folder: Path,
    *,
    cache: Path | None = None,
    mirror: Path | None = None,
    progress: bool = False,
) -> dict[str, Path]:
    """Fetch sources and lay copies out as the readers take them: ``<folder>/<source>/<name>``.

    Returns:
        The folder of each source.

    Raises:
        SourceError: As for ``fetch``; or the folder cannot be written.
    """
    names = list(names)
    paths = fetch(names, cache=cache, mirror=mirror, progress=progress)
    laid: dict[str, Path] = {}
    for source in select(names):
        laid[source.name] = folder / source.name
        for file, cached in zip(source.files, paths[source.name], strict=True):
            target = folder / source.name / file.name
            if file.is_at(target):
                continue
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                with replacing(target) as stream:
                    stream.write(cached.read_bytes())
            except (ErrevalError, OSError) as error:
                raise SourceError(f"{target}: cannot be laid out: {error}") from None
    return laid
