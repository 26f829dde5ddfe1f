"""Stages end with whoever started them, run once at a time and write whole: tried with real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from erreval.errors import StageError
from pipelines import supervision
from pipelines.repro import OUTCOME
from pipelines.supervision import SUPERVISOR, exclusive, find_process, identity, stage

SLEEPER = """
import subprocess, sys, time
from pathlib import Path
from pipelines.supervision import run, stage

def main():
    name, seconds = sys.argv[1], float(sys.argv[2])
    with stage(name, [Path(f"{name}.txt")]) as work:
        place = work.path(Path(f"{name}.txt"))
        place.write_text("half")
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) if seconds > 5 else None
        Path(f"{name}.started").touch()
        time.sleep(seconds)
        place.write_text("whole")

run(main)
"""

LAUNCHER = """
import subprocess, sys
sys.exit(subprocess.call([sys.executable, *sys.argv[1:]]))
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A DVC project whose stage "slow" sleeps behind a shell and a launcher, as training does."""
    monkeypatch.delenv(SUPERVISOR, raising=False)
    monkeypatch.delenv(supervision.STATE, raising=False)
    monkeypatch.setenv("DVC_NO_ANALYTICS", "1")
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "site"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    (tmp_path / "launcher.py").write_text(LAUNCHER)
    python = sys.executable
    (tmp_path / "dvc.yaml").write_text(
        textwrap.dedent(f"""
        stages:
          quick:
            cmd: {python} sleeper.py quick 0
            outs: [quick.txt]
          slow:
            cmd: {python} launcher.py sleeper.py slow 600; echo the shell stays
            deps: [quick.txt]
            outs: [slow.txt]
          copy:
            cmd: cp quick.txt copy.txt
            deps: [quick.txt]
            outs: [copy.txt]
        """)
    )
    subprocess.run([python, "-m", "dvc", "init", "--no-scm", "-q"], check=True)
    return tmp_path


def start(*command: str) -> psutil.Popen:
    return psutil.Popen([sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(path: Path, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.05)


def survivors(folder: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.cwd() == str(folder) and process.pid != os.getpid() and supervision.is_alive(process):
                found.append(process)
        except psutil.Error:
            continue
    return found


def all_gone(folder: Path, seconds: float = 3) -> bool:
    end = time.monotonic() + seconds
    while survivors(folder):
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def lineage(folder: Path) -> dict[str, psutil.Process]:
    """The processes of a running "slow" stage by their role."""
    roles = {}
    for process in survivors(folder):
        words = process.cmdline()
        if "pipelines.repro" in words or "dvc" in words:
            roles["repro"] = process
        elif words[1:2] == ["launcher.py"]:
            roles["launcher"] = process
        elif words[1:2] == ["sleeper.py"]:
            roles["stage"] = process
        elif "time.sleep(600)" in words[-1]:
            roles["child of the stage"] = process
        else:
            roles["shell"] = process
    return roles


@pytest.mark.parametrize("victim", ["repro", "shell", "launcher", "stage"])
@pytest.mark.parametrize("runner", ["pipelines.repro", "dvc"])
def test_killing_any_process_leaves_none_behind(toy: Path, runner: str, victim: str) -> None:
    if (runner, victim) == ("dvc", "stage"):
        pytest.skip("the children of a stage killed under plain dvc are the system's: nobody is left to know them")
    command = ["-m", runner, *(["repro"] if runner == "dvc" else []), "slow"]
    starter = start(*command)
    wait_for(toy / "slow.started")
    roles = lineage(toy)
    assert set(roles) == {"repro", "shell", "launcher", "stage", "child of the stage"}
    roles[victim].send_signal(signal.SIGKILL)
    starter.wait(10)
    assert all_gone(toy), [p.cmdline() for p in survivors(toy)]
    assert starter.returncode != 0
    assert not (toy / "slow.txt").exists()
    assert (toy / "quick.txt").read_text() == "whole"


def test_repro_ends_with_the_process_that_started_it(toy: Path) -> None:
    starter = start("-c", "import subprocess, sys; subprocess.call([sys.executable, '-m', 'pipelines.repro', 'slow'])")
    wait_for(toy / "slow.started")
    starter.send_signal(signal.SIGKILL)
    starter.wait(10)
    assert all_gone(toy), [p.cmdline() for p in survivors(toy)]


def test_started_again_it_goes_on_after_the_last_finished_stage(toy: Path) -> None:
    starter = start("-m", "pipelines.repro", "slow")
    wait_for(toy / "slow.started")
    starter.send_signal(signal.SIGKILL)
    starter.wait(10)
    assert all_gone(toy)
    (toy / "quick.started").unlink()
    text = (toy / "sleeper.py").read_text()
    (toy / "sleeper.py").write_text(text.replace("time.sleep(seconds)", "pass"))
    done = subprocess.run([sys.executable, "-m", "pipelines.repro", "slow"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (toy / "quick.started").exists()
    assert (toy / "slow.txt").read_text() == "whole"
    assert list((toy / ".erreval" / "tmp").iterdir()) == []


def test_repro_tells_what_happened(toy: Path) -> None:
    def outcome(*options: str) -> str:
        command = [sys.executable, "-m", "pipelines.repro", *options]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        return next(line.removeprefix(OUTCOME) for line in reversed(lines) if line.startswith(OUTCOME))

    assert outcome("--status") == '["copy", "quick", "slow"]'
    assert outcome("quick", "--single") == "ran"
    assert outcome("quick", "--single") == "unchanged"
    assert outcome("copy") == "ran"
    assert outcome("--status") == '["slow"]'
    (toy / "copy.txt").unlink()
    assert outcome("copy") == "restored"
    assert outcome("copy", "--single", "--force") == "ran"


def test_a_mistake_is_one_line_and_exit_code_2(toy: Path) -> None:
    script = "from pipelines.supervision import run\nfrom erreval.errors import SourceError\n"
    script += "def main():\n    raise SourceError('squad.json: line 3\\n  is broken')\nrun(main)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "error: squad.json: line 3 is broken\n")


def test_a_full_disk_is_one_line_and_exit_code_2(toy: Path) -> None:
    script = "import errno, os\nfrom pipelines.supervision import run\n"
    script += "def main():\n    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), 'model.bin')\nrun(main)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: model.bin: No space left on device")
    assert done.stderr.count("\n") == 1


def test_an_orphan_refuses_to_work(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = start("-c", "pass")
    known_as = identity(gone)
    gone.wait(10)
    monkeypatch.setenv(SUPERVISOR, known_as)
    done = subprocess.run([sys.executable, "sleeper.py", "quick", "0"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "is gone; nothing was done" in done.stderr
    assert not (toy / "quick.txt").exists()


def test_a_second_run_of_a_stage_is_refused_and_told_by_whom(toy: Path) -> None:
    first = start("sleeper.py", "alone", "600")
    wait_for(toy / "alone.started")
    second = subprocess.run([sys.executable, "sleeper.py", "alone", "0"], capture_output=True, text=True)
    assert second.returncode == 2
    assert f"(process {first.pid})" in second.stderr
    first.kill()
    first.wait(10)
    third = subprocess.run([sys.executable, "sleeper.py", "alone", "0"], capture_output=True, text=True)
    assert third.returncode == 0, third.stderr
    for process in survivors(toy):  # the first one's child: nobody was there to end it
        process.kill()


def test_outputs_appear_whole_or_not_at_all(toy: Path) -> None:
    table, folder = Path("out/table.csv"), Path("out/model")
    folder.mkdir(parents=True)
    (folder / "old").touch()
    with pytest.raises(ZeroDivisionError), stage("fails", [table, folder]) as work:
        work.path(table).write_text("half")
        raise ZeroDivisionError
    assert not table.exists()
    assert (folder / "old").exists()
    with stage("works", [table, folder]) as work:
        work.path(table).write_text("whole")
        work.path(folder).mkdir()
        (work.path(folder) / "new").touch()
        assert not table.exists()
    assert table.read_text() == "whole"
    assert [p.name for p in folder.iterdir()] == ["new"]
    assert list((toy / ".erreval" / "tmp").iterdir()) == []


def test_outputs_that_were_not_written_or_not_declared_are_mistakes(toy: Path) -> None:
    with (
        pytest.raises(StageError, match=r"ended without writing b\.txt"),
        stage("x", [Path("a.txt"), Path("b.txt")]) as work,
    ):
        work.path(Path("a.txt")).touch()
    assert not Path("a.txt").exists()
    with pytest.raises(StageError, match=r"did not declare c\.txt"), stage("x", [Path("a.txt")]) as work:
        work.path(Path("c.txt"))


def test_processes_that_train_together_share_a_folder_and_the_first_publishes(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    with stage("train@r0", [Path("model")]) as first:
        monkeypatch.setenv("RANK", "1")
        with stage("train@r0", [Path("model")]) as second:
            assert second.path(Path("model")) == first.path(Path("model"))
        assert not Path("model").exists()
        first.path(Path("model")).touch()
    assert Path("model").exists()


def test_exclusive_frees_on_exit(tmp_path: Path) -> None:
    again = pytest.raises(StageError, match=f"a thing runs already here .process {os.getpid()}")
    with exclusive(tmp_path / "a.lock", "a thing"), again, exclusive(tmp_path / "a.lock", "a thing"):
        pass
    with exclusive(tmp_path / "a.lock", "a thing"):
        pass


def test_an_identity_is_not_taken_over() -> None:
    assert find_process(identity()) == psutil.Process()
    assert find_process(f"{os.getpid()}:1.0") is None
    assert find_process("nonsense") is None
