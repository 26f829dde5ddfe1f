"""What a person sees in the terminal while a flow runs there; silent where a server runs the flow."""

from __future__ import annotations

import os
import shutil
import sys
import time

ECHO = "ERREVAL_ECHO"
"""Set to 1 by the commands that run a flow in a terminal."""

_started: dict[str, float] = {}


def heading(position: int, total: int, stage: str) -> None:
    """Announce a stage."""
    _started[stage] = time.monotonic()
    _say(f"[{position:2}/{total}] {stage}")


def line(text: str) -> None:
    """Show a line that a stage printed."""
    width = max(shutil.get_terminal_size((120, 24)).columns - 8, 40)
    _say(f"        {text if len(text) <= width else text[: width - 1] + '…'}")


def ended(stage: str, outcome: str) -> None:
    """Tell how a stage ended, and how long it took."""
    seconds = time.monotonic() - _started.pop(stage, time.monotonic())
    _say(f"        {outcome}, {seconds:.1f} s" if outcome == "ran" else f"        {outcome}")


def _say(text: str) -> None:
    if os.environ.get(ECHO) == "1":
        print(text, file=sys.stderr, flush=True)
