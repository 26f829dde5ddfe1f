"""Whole files or none: write beside the target, then rename."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from erreval.errors import TableError


def read_bytes(path: Path) -> bytes:
    """The content of a file.

    Raises:
        TableError: The file is missing, is a folder, is empty, or may not be read.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise TableError(f"{path}: no such file; check the name and the folder you are in ({Path.cwd()})") from None
    except IsADirectoryError:
        raise TableError(f"{path}: is a folder; name one file in it") from None
    except PermissionError:
        raise TableError(f"{path}: may not be read; check its permissions") from None
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror or error}); check the name and the disk") from None
    if not content:
        raise TableError(f"{path}: the file is empty; it needs a header and at least one row")
    return content


def is_folder(path: Path) -> bool:
    """Whether ``path`` is a folder; what may not be looked at is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


@contextmanager
def replacing(path: Path | str) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes the place of ``path`` once all of it is on the disk.

    Where anything fails, what was at ``path`` before is still there, and nothing is left beside it.

    Raises:
        TableError: The folder is missing or may not be written, ``path`` is a folder, or the disk is full.
    """
    target = Path(path)
    if target.is_symlink():
        target = target.resolve()
    if is_folder(target):
        raise TableError(f"{target}: is a folder; name a file in it")
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=".writing-", suffix=".part", dir=target.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(_mode(target))
        os.replace(temporary, target)  # noqa: PTH105 - what the tests of a full disk take hold of
    except OSError as error:
        raise TableError(_why_not_written(target, error)) from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def _mode(target: Path) -> int:
    """The permissions the new file gets: those of the old one, or what the umask leaves."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _why_not_written(target: Path, error: OSError) -> str:
    folder = target.parent
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return f"{target}: the disk is full; make room or choose another folder (nothing was written)"
    if error.errno in {errno.ENOENT, errno.ENOTDIR} and not folder.is_dir():
        return f"{target}: the folder {folder} does not exist; create it or choose another"
    if error.errno in {errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS}:
        return f"{target}: the folder {folder} may not be written; choose another output folder (nothing was written)"
    return (
        f"{target}: cannot be written ({error.strerror or error}; nothing was written); check the folder and the disk"
    )


def replaceable(path: Path | str) -> None:
    """Make sure that ``replacing`` could start; leaves nothing behind.

    Raises:
        TableError: As ``replacing``.
    """
    target = Path(path)
    if is_folder(target):
        raise TableError(f"{target}: is a folder; name a file in it")
    try:
        with tempfile.NamedTemporaryFile(prefix=".writing-", dir=target.parent):
            pass
    except OSError as error:
        raise TableError(_why_not_written(target, error)) from error
