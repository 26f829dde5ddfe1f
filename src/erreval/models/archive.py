"""Release archives: the same files give the same bytes, and nothing is unpacked that was not asked for.

A ZIP without compression, names sorted, dates fixed: its bytes do not depend on the machine's compression library,
and weights would hardly get smaller.
"""

from __future__ import annotations

import hashlib
import re
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import IO

from erreval.errors import ErrevalError

ENDING = ".zip"
MAX_BYTES = 8 * 1024**3
"""The most that an archive may unpack to."""
MAX_FILES = 1_000
_EPOCH = (1980, 1, 1, 0, 0, 0)
_CHUNK = 1 << 20


def pack(files: Mapping[str, Path | bytes], top: str, stream: IO[bytes]) -> None:
    """Write an archive whose bytes follow from the files' names and contents alone.

    Args:
        files: By path in the archive, below ``top``: a file, or its content.
        top: The one folder that the archive holds.
        stream: Where to write.
    """
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{top}/{name}", date_time=_EPOCH)
            entry.create_system = 3  # Unix, whatever this machine is
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            content = files[name]
            if isinstance(content, bytes):
                archive.writestr(entry, content)
                continue
            entry.file_size = content.stat().st_size
            with content.open("rb") as source, archive.open(entry, "w") as target:
                while chunk := source.read(_CHUNK):
                    target.write(chunk)


def sha256_of(stream: IO[bytes]) -> str:
    """The hash of what is left in a stream, which is then at its end."""
    return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]  # any binary file will do


def check_hash(stream: IO[bytes], expected: str, what: str) -> None:
    """Make sure that a stream is what it should be; afterwards it is at its beginning again.

    Raises:
        ErrevalError: It has another hash, or ``expected`` is none.
    """
    wanted = expected.strip().lower()
    if not re.fullmatch(r"[0-9a-f]{64}", wanted):
        raise ErrevalError(f"{expected!r} is no SHA-256; give its 64 hexadecimal digits")
    stream.seek(0)
    found = sha256_of(stream)
    if found != wanted:
        raise ErrevalError(
            f"{what}: its SHA-256 is {found}, not {wanted}: damaged, cut off or another file; nothing was unpacked"
        )
    stream.seek(0)


def unpack(stream: IO[bytes], target: Path, what: str, *, max_bytes: int = MAX_BYTES) -> None:
    """Unpack an archive into an empty folder. Check its hash first.

    Args:
        stream: The archive.
        target: The folder; it is there and empty.
        what: The archive's name for messages.
        max_bytes: Of all files together.

    Raises:
        ErrevalError: It is no such archive, is damaged, is too large, or names a place outside the folder, a link, or
            one place twice. The folder may then hold part of it.
    """
    try:
        with zipfile.ZipFile(stream) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            _refuse_bombs(entries, what, max_bytes)
            for entry, place in zip(entries, [_place(entry, target, what) for entry in entries], strict=True):
                if place.exists():
                    raise ErrevalError(f"{what}: holds {entry.filename!r} twice; nothing of it is used")
                place.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as source, place.open("wb") as sink:
                    while chunk := source.read(_CHUNK):  # never more than the entry's size: zipfile stops there
                        sink.write(chunk)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise ErrevalError(
            f"{what}: cannot be unpacked ({error}); a release archive is a ZIP without password"
        ) from error


def _refuse_bombs(entries: list[zipfile.ZipInfo], what: str, max_bytes: int) -> None:
    size = sum(entry.file_size for entry in entries)
    if len(entries) > MAX_FILES or size > max_bytes:
        raise ErrevalError(
            f"{what}: would unpack to {len(entries)} files and {size} bytes; at most {MAX_FILES} files and "
            f"{max_bytes} bytes are taken"
        )


def _place(entry: zipfile.ZipInfo, target: Path, what: str) -> Path:
    name = entry.filename
    parts = PurePosixPath(name).parts
    if name.startswith("/") or "\\" in name or ":" in name or "\0" in name or ".." in parts or not parts:
        raise ErrevalError(f"{what}: names a place outside its folder, {name!r}; nothing of it is used")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise ErrevalError(f"{what}: {name!r} is a link or no plain file; nothing of it is used")
    return target.joinpath(*parts)
