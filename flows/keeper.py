"""Keep one server: run a command, pass signals on, and end it with whoever started this process.

Run as ``python -m flows.keeper COMMAND …``. Other people's servers do not watch their parents; this does it for them.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from types import FrameType

from pipelines.supervision import SUPERVISOR, adopt_orphans, end_descendants, identity, run, watch_ancestors

_GRACE_SECONDS = 8
_PR_SET_PDEATHSIG = 1


def keep(command: Sequence[str]) -> int:
    """Run a command until it ends or this process is told to end; nothing of it stays.

    Returns:
        The command's exit code; 0 where it was told to end.
    """
    adopt_orphans()
    os.environ[SUPERVISOR] = identity()
    told_to_end = False
    child = subprocess.Popen(command, preexec_fn=_end_with_parent if sys.platform == "linux" else None)  # noqa: PLW1509

    def end(_signal: int, _frame: FrameType | None) -> None:
        nonlocal told_to_end
        told_to_end = True
        child.terminate()

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, end)
    try:
        while child.poll() is None:
            try:
                child.wait(timeout=_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                if told_to_end:
                    child.kill()
        return 0 if told_to_end else child.returncode
    finally:
        end_descendants()


def _end_with_parent() -> None:
    """Where the system can, the command ends even if this process is killed; it is started from the main thread."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def main() -> int:
    """Keep the command given as arguments."""
    watch_ancestors()
    return keep(sys.argv[1:])


if __name__ == "__main__":
    run(main)
