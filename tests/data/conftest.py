"""Where the mirrored public files are, and small tables to try things on."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def find_mirror() -> Path | None:
    """The folder of mirrored files: ERREVAL_MIRROR, or shared/data/mirror beside the repository."""
    named = os.environ.get("ERREVAL_MIRROR")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "data" / "mirror"
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def mirror() -> Path:
    folder = find_mirror()
    if folder is None:
        pytest.skip("no mirrored public files: set ERREVAL_MIRROR to a folder <owner>/<repo>/<commit>/<path>")
    return folder


@pytest.fixture
def ordinary_user() -> Iterator[Path]:
    """A folder of their own for a user who is not root, as whom the test runs: root may write anywhere."""
    folder = Path(tempfile.mkdtemp(prefix="erreval-ordinary-"))
    nobody = 65534
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(folder, nobody, nobody)
        os.seteuid(nobody)
    try:
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
        folder.chmod(0o755)
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def laid(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every mirrored source, laid out for its reader."""
    from erreval.data.sources import load_sources, materialise

    folder = tmp_path_factory.mktemp("sources")
    names = [name for name in load_sources() if name not in {"simqg", "squad-1k"}]
    return materialise(names, folder / "raw", cache=folder / "cache", mirror=mirror)
