"""`erreval doctor`: what is there, what is not, and what to do about it."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from erreval import doctor
from erreval.chat import endpoint
from erreval.cli import main
from erreval.doctor import Finding, examine
from erreval.errors import ErrevalError
from erreval.layout import Layout
from erreval.settings import apply_profile, load_settings

KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is no project, no endpoint, and room enough."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "ERREVAL_MIRROR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ERREVAL_CACHE", str(tmp_path / "cache"))
    _disk(monkeypatch, 50e9)


def _disk(monkeypatch: pytest.MonkeyPatch, free: float) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage(10**12, 0, int(free)))


def finding(what: str) -> Finding:
    found = {one.what: one for one in examine(Path())}
    assert all(bool(one.remedy) == (one.state != "ok") for one in found.values())
    return found[what]


def ask() -> Result:
    return CliRunner().invoke(main, ["doctor"])


@pytest.fixture
def project(root: Path, tmp_path: Path) -> Path:
    """A project in profile sample, in the current folder."""
    shutil.copy(root / "params.yaml", tmp_path)
    shutil.copytree(root / "profiles", tmp_path / "profiles")
    apply_profile(tmp_path / "params.yaml", "sample")
    return tmp_path


def test_outside_of_a_project() -> None:
    assert finding("project").state == "note"
    assert finding("chat endpoint").state == "note"
    assert finding("torch").state == "ok"
    reply = ask()
    assert "note  project: no params.yaml here\n      -> for flows" in reply.output
    assert reply.exit_code == (2 if "BAD " in reply.output else 0)


def test_a_cache_and_a_model_that_the_environment_names(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert finding("cache").state == "ok"
    (tmp_path / "plain file").touch()
    monkeypatch.setenv("ERREVAL_CACHE", str(tmp_path / "plain file"))
    assert finding("cache").state == "problem"
    monkeypatch.setenv("ERREVAL_MODEL", "/nope")
    found = finding("Error Identifier")
    assert (found.state, found.found.startswith("ERREVAL_MODEL: ")) == ("problem", True)
    monkeypatch.setenv("ERREVAL_MODEL", "detectors")
    assert finding("Error Identifier").state == "note"


def test_all_well_ends_with_0(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda program, path=None: f"/bin/{program}")
    reply = ask()
    assert reply.exit_code == 0, reply.output
    assert "ok    profile: sample (chosen)" in reply.output
    assert "note  Error Identifier: none trained yet" in reply.output
    for line in reply.output.splitlines():
        assert line.startswith(("ok    ", "note  ", "      -> "))


@pytest.mark.parametrize(
    ("what", "found", "remedy"),
    [
        ("no-such-package", "not installed", "make install"),
        ("dvc", "not found", "virtual environment"),
        ("disk", "1.0 GB free", "3 GB"),
        ("project folder", "Permission denied", "your own"),
        ("params.yaml", "seed", "mend"),
        ("chat endpoint", "is no address", "OPENAI_BASE_URL"),
        ("public data", "lacks", "ERREVAL_MIRROR"),
        ("ERREVAL_MIRROR", "nowhere is no folder", "OWNER/REPO/COMMIT/PATH"),
    ],
)
def test_each_problem_is_told_with_its_remedy_and_ends_with_2(
    project: Path, monkeypatch: pytest.MonkeyPatch, what: str, found: str, remedy: str
) -> None:
    match what:
        case "no-such-package":
            monkeypatch.setattr(doctor, "GIVEN", ("torch", what))
        case "dvc":
            monkeypatch.setattr(doctor.shutil, "which", lambda *_, **__: None)
        case "disk":
            _disk(monkeypatch, 1e9)
        case "project folder":
            monkeypatch.setattr(tempfile, "TemporaryFile", _refuse)
        case "params.yaml":
            text = (project / "params.yaml").read_text()
            (project / "params.yaml").write_text(re.sub(r"(?m)^seed: \d+", "seed: -1", text))
        case "chat endpoint":
            monkeypatch.setenv("OPENAI_BASE_URL", "localhost:1")
        case "ERREVAL_MIRROR":  # told even where no public data are used
            monkeypatch.setenv("ERREVAL_MIRROR", "nowhere")
        case _:
            apply_profile(project / "params.yaml", "offline")
            (project / "mirror").mkdir()
            monkeypatch.setenv("ERREVAL_MIRROR", str(project / "mirror"))
    told = finding(what)
    assert told.state == "problem"
    assert found in told.found
    assert remedy in told.remedy
    reply = ask()
    assert reply.exit_code == 2
    assert f"BAD   {what}: " in reply.output
    assert not isinstance(reply.exception, ErrevalError)


def test_a_mirror_that_is_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ERREVAL_MIRROR", str(tmp_path))
    assert finding("ERREVAL_MIRROR") == Finding("ERREVAL_MIRROR", "ok", str(tmp_path))


def _refuse(**_: object) -> None:
    raise PermissionError(13, "Permission denied")


def test_the_champion_is_named(project: Path) -> None:
    layout = Layout(load_settings(project / "params.yaml").profile)
    layout.work.mkdir(parents=True)
    layout.champion.write_text(json.dumps({"round": "r1"}))
    assert finding("Error Identifier") == Finding("Error Identifier", "ok", str(layout.model("fused", "r1")))


@pytest.mark.parametrize("works", [True, False])
def test_the_key_of_the_chat_endpoint_never_shows(monkeypatch: pytest.MonkeyPatch, works: bool) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://me:{KEY}@127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def listed(_: Any) -> list[str]:
        return ["a", "b"]

    if works:
        monkeypatch.setattr(endpoint, "list_models", listed)
    reply = ask()
    shown = "http://127.0.0.1:1/v1 offers 2 models" if works else "http://127.0.0.1:1/v1 cannot be reached"
    assert f"chat endpoint: {shown}" in reply.output
    assert KEY not in reply.output
