"""The commands: options, one-line mistakes, exit codes, and servers that start and stop together."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import toy
from click.testing import CliRunner, Result

from erreval.cli import main
from erreval.settings import load_settings
from flows import commands
from flows.parameters import EvaluateParameters, RefineParameters, record
from flows.places import Servers, forget_servers, free_port, running_servers
from flows.streaming import Ended, run_module
from flows.up import private_prefect
from pipelines.supervision import identity


def erreval(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_options_mirror_the_form() -> None:
    assert [*commands.REFINE_OPTIONS] == [n for n in RefineParameters.model_fields if n not in {"profile", "others"}]
    assert set(EvaluateParameters.model_fields) == {"benchmark", "when_stale", "others"}


def test_the_form_shows_plain_inputs_with_bounds() -> None:
    shown = RefineParameters.model_json_schema()["properties"]
    assert shown["rounds"] == {
        "description": "How many rounds, the first (r0) included.",
        "maximum": 9,
        "minimum": 1,
        "title": "Rounds",
        "type": "integer",
    }
    assert all(field["description"] and field["title"] for field in shown.values())
    assert next(iter(shown)) == "profile"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["refine", "--rounds", "12"], "error: --rounds: Input should be less than or equal to 9"),
        (["refine", "--set", "queue.size"], "error: --set queue.size: write it as NAME=VALUE"),
        (["evaluate", "--set", "a=[1"], "error: --set a=[1: "),
    ],
)
def test_mistakes_in_options_are_one_line(toy_project: Path, arguments: list[str], told: str) -> None:
    done = erreval(*arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith(told)
    assert done.stderr.count("\n") == 1


def test_outside_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = erreval("run")
    assert done.exit_code == 2
    assert "no dvc.yaml" in done.stderr


def test_a_mistake_leaves_params_as_they_were(toy_project: Path) -> None:
    path = toy_project / "params.yaml"
    before = path.read_text()
    with pytest.raises(Exception, match="no such parameter"):
        record(path, RefineParameters(profile="sample", others={"queue.sise": 1}))
    assert path.read_text() == before
    assert [p.name for p in toy_project.glob(".params*")] == []


@pytest.mark.parametrize(("reachable", "expected"), [(True, "offline"), (False, "sample")])
def test_an_undecided_profile_is_decided_recorded_and_told(
    toy_project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    reachable: bool,
    expected: str,
) -> None:
    import erreval.data.sources as sources

    monkeypatch.setattr(sources, "can_reach", lambda names: sources.Reach(reachable, "so says the test"))
    assert commands._choose(toy_project, "auto").profile == expected
    told = capsys.readouterr().err
    assert f"profile {expected}: so says the test" in told
    assert "`erreval run --profile NAME` changes it" in told
    assert load_settings(toy_project / "params.yaml").profile_decided
    monkeypatch.setattr(sources, "can_reach", lambda names: pytest.fail("a recorded choice is kept"))
    assert commands._choose(toy_project, "auto").profile == expected
    assert commands._choose(toy_project, "paper").profile == "paper"  # explicit: no falling back


def test_lines_and_progress_are_handed_on(tmp_path: Path) -> None:
    script = tmp_path / "talks.py"
    script.write_text(
        "import sys\nprint('one')\nsys.stderr.write('\\r 1%\\r 2%\\r100%\\n')\n"
        "print('\\x1b[31merror: two\\x1b[0m')\nsys.exit(3)\n"
    )
    lines: list[str] = []
    ended = run_module(["talks"], tmp_path, lines.append)
    assert lines == ["one", " 1%", "100%", "error: two"]
    assert (ended.code, ended.told_mistake, ended.reason()) == (3, True, "two")
    assert Ended(1, ("Traceback", "ValueError: x", "  at the end")).reason() == "ValueError: x"


def test_only_living_servers_are_found(toy_project: Path) -> None:
    assert running_servers(toy_project) is None
    gone = psutil.Popen([sys.executable, "-c", "pass"])
    Servers(identity(gone), "http://127.0.0.1:1", "http://127.0.0.1:2").record(toy_project)
    gone.wait()
    assert running_servers(toy_project) is None
    forget_servers(toy_project)
    assert not (toy_project / ".erreval" / "up.json").exists()


def test_a_taken_port_is_passed_over() -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port(port) > port


@pytest.mark.slow
def test_a_private_server_ends_with_its_command_even_if_killed(toy_project: Path) -> None:
    with private_prefect(toy_project) as address:
        assert address.startswith("http://127.0.0.1:")
    assert toy.all_gone(toy_project, 5)
    script = "import time\nfrom pathlib import Path\nfrom flows.up import private_prefect\n"
    script += "with private_prefect(Path.cwd()):\n    Path('well').touch()\n    time.sleep(600)"
    holder = psutil.Popen([sys.executable, "-c", script], cwd=toy_project)
    toy.wait_for(toy_project / "well")
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert toy.all_gone(toy_project, 5), [p.cmdline() for p in toy.survivors(toy_project)]


@pytest.mark.slow
def test_up_stops_everything_when_one_server_dies_and_says_which(toy_project: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "MLFLOW_"))}
    command = [sys.executable, "-m", "erreval.cli", "up", "--port", "0", "--mlflow-port", "0"]
    process = subprocess.Popen(command, cwd=toy_project, env=environment, stdout=-1, stderr=-1, text=True)
    toy.wait_for(toy_project / ".erreval" / "up.json", 240)
    assert json.loads((toy_project / ".erreval" / "up.json").read_text())["prefect"].startswith("http://127.0.0.1:")
    (keeper,) = [p for p in toy.survivors(toy_project) if {"flows.keeper", "mlflow"} <= set(p.cmdline())]
    keeper.send_signal(signal.SIGKILL)
    _, told = process.communicate(timeout=90)
    assert process.returncode == 2
    assert "error: MLflow ended (exit code -9)" in told
    assert toy.all_gone(toy_project, 5), [p.cmdline() for p in toy.survivors(toy_project)]
    assert not (toy_project / ".erreval" / "up.json").exists()


def test_the_commands_load_without_what_is_slow() -> None:
    script = "import sys, flows.commands; print({'prefect', 'dvc', 'mlflow', 'pydantic'} & set(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert loaded.stdout.strip() == "set()", loaded.stderr
