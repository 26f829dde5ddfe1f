"""A Prefect server for all flow tests, and the toy project."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import toy

from flows.environment import PROJECT
from pipelines import supervision


@pytest.fixture(scope="session")
def prefect_server() -> Iterator[str]:
    """Address of the API of one server for the whole session."""
    from prefect.settings import get_current_settings
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        yield str(get_current_settings().api.url)


@pytest.fixture
def toy_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty toy project, which is also the current folder."""
    for name in (supervision.SUPERVISOR, supervision.STATE, PROJECT):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / ".site"))
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / ".erreval" / "prefect"))
    monkeypatch.chdir(tmp_path)
    return toy.build(tmp_path)


@pytest.fixture
def child_environment(prefect_server: str) -> dict[str, str]:
    """Environment of a process that uses the session's server."""
    return os.environ | {"PREFECT_API_URL": prefect_server}
