"""One run at a time in a workspace; and what a run that was killed left behind is settled by the next."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from erreval.errors import StageError
from pipelines.supervision import exclusive, find_process, identity, state_folder

_SETTLE_SECONDS = 15.0


@dataclass(frozen=True)
class Holder:
    """Who holds, or held, the workspace."""

    process: str
    """Its identity, ``pid:create_time``."""
    flow_run_id: str
    flow_run_name: str
    child: str = ""
    """Identity of the process that it started last."""


@dataclass
class Workspace:
    """A held workspace."""

    note: Path
    holder: Holder
    left_behind: Holder | None
    """The run that was killed here before this one, if one was."""

    def started(self, child: psutil.Process) -> None:
        """Remember a process, so that whoever comes after a kill can wait for its end."""
        with suppress(psutil.NoSuchProcess):
            self.holder = Holder(**{**vars(self.holder), "child": identity(child)})
            _write(self.note, self.holder)


@contextmanager
def workspace(root: Path, flow_run_id: str, flow_run_name: str) -> Iterator[Workspace]:
    """Hold the workspace for a flow run.

    Where the last holder was killed, wait until what it had started has ended too (they notice within a second).

    Raises:
        StageError: Another run holds it.
    """
    lock = _lock(root)
    before = _read(lock.with_suffix(".json"))
    with ExitStack() as held:
        try:
            note = held.enter_context(exclusive(lock, "a run"))
        except StageError:
            raise StageError(_refusal(before)) from None
        if before is not None:
            _settle(before, lock.parent)
        holder = Holder(identity(), flow_run_id, flow_run_name)
        _write(note, holder)
        yield Workspace(note, holder, before)


def refuse_if_in_use(root: Path) -> None:
    """Tell before anything is started for a run that ``workspace`` would refuse.

    Raises:
        StageError: Another run holds the workspace.
    """
    import filelock

    path = _lock(root)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        filelock.FileLock(path).acquire(blocking=False).lock.release()
    except filelock.Timeout:
        raise StageError(_refusal(_read(path.with_suffix(".json")))) from None


def _lock(root: Path) -> Path:
    return state_folder(root) / "workspace.lock"


def _refusal(holder: Holder | None) -> str:
    who = "another run"
    if holder is not None:
        who = f"flow run {holder.flow_run_name!r} (process {holder.process.partition(':')[0]})"
    return f"this workspace is in use by {who}: wait for it to end, or stop it, then start again"


def _settle(left: Holder, state: Path) -> None:
    end = time.monotonic() + _SETTLE_SECONDS
    while left.child and find_process(left.child) is not None:
        if time.monotonic() > end:
            raise StageError(f"process {left.child} of a run that was killed is still there; end it, then start again")
        time.sleep(0.1)
    for lock in sorted((state / "locks").glob("*.lock")):
        while True:
            try:
                with exclusive(lock, f"stage {lock.stem}"):
                    break
            except StageError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)


def _read(note: Path) -> Holder | None:
    with suppress(OSError, ValueError, TypeError):
        return Holder(**json.loads(note.read_text(encoding="utf-8")))
    return None


def _write(note: Path, holder: Holder) -> None:
    part = note.with_suffix(".part")
    part.write_text(json.dumps(vars(holder), indent=2) + "\n", encoding="utf-8")
    part.replace(note)
