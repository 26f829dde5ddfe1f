"""What is not needed is not imported: the command line answers at once, and nothing reports to anybody by default."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "torch", "transformers", "accelerate", "mlflow", "prefect", "pandas", "dvc", "great_expectations", "openai",
    "sklearn", "scipy", "matplotlib", "fastapi", "sqlalchemy",
}  # fmt: skip
IMPORTED = "import sys; print(*sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr)"
HELP = "from erreval.cli import main; main(['--help'], standalone_mode=False);"

TELEMETRY = {
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "MLFLOW_DISABLE_TELEMETRY": "1",
    "DVC_NO_ANALYTICS": "1",
    "GX_ANALYTICS_ENABLED": "0",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "0",
}


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter in which nobody has decided about telemetry."""
    environment = {name: value for name, value in os.environ.items() if name not in TELEMETRY}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )


@pytest.mark.parametrize("code", ["import erreval;", HELP, "import erreval; erreval.Question; erreval.ErrorType;"])
def test_nothing_heavy_is_imported(code: str, tmp_path: Path) -> None:
    ended = run(code + IMPORTED, tmp_path)
    imported = set(ended.stderr.split())
    assert "erreval" in imported
    assert not imported & HEAVY


def test_help_lists_every_command(tmp_path: Path) -> None:
    listed = run(HELP, tmp_path).stdout
    for command in ("fetch", "diagnose", "refine", "evaluate", "run", "up", "doctor"):
        assert f"\n  {command} " in listed


SWITCHES = {
    "the command line": "from erreval.cli import main; main(['doctor', '--help'], standalone_mode=False);",
    "a stage": "from pipelines.supervision import silence_telemetry; silence_telemetry();",
    "a flow": "from flows.environment import prepare; prepare();",
}


@pytest.mark.parametrize("who", SWITCHES)
def test_telemetry_is_off_unless_someone_switches_it_on(who: str, tmp_path: Path) -> None:
    show = f"import os, sys; print({{name: os.environ.get(name) for name in {list(TELEMETRY)!r}}}, file=sys.stderr)"
    found = eval(run(SWITCHES[who] + show, tmp_path).stderr.splitlines()[-1])
    needed = TELEMETRY if who != "the command line" else {k: v for k, v in TELEMETRY.items() if "PREFECT" not in k}
    for name, value in needed.items():
        as_switch = {"true": "1", "false": "0"}.get(str(found[name]).lower(), found[name])
        assert as_switch == value, name
