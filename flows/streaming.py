"""Run a command under supervision and hand on what it prints, line by line, while it prints it."""

from __future__ import annotations

import codecs
import os
import re
import select
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from pipelines.supervision import MISTAKE, SUPERVISOR, identity

PROGRESS_SECONDS = 5.0
"""A progress bar that redraws itself is handed on this often, not with every stroke."""

_STALLED_SECONDS = 5.0
_PIECE = re.compile(r"([^\r\n]*)(\r\n|\n|\r(?=.))", re.DOTALL)
_FAILURE = re.compile(r"(?!ERROR: failed to reproduce)(ERROR: .|[\w.]+(Error|Exception)\b)")
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    tail: tuple[str, ...]
    """The last lines that it printed."""

    @property
    def told_mistake(self) -> bool:
        """Whether it told in one line what a person can mend."""
        return any(line.startswith(MISTAKE) for line in self.tail)

    def reason(self) -> str:
        """The line that says most about a failure."""
        for line in reversed(self.tail):
            if line.startswith(MISTAKE):
                return line.removeprefix(MISTAKE)
        for line in reversed(self.tail):
            if _FAILURE.match(line):
                return line.strip()
        return self.tail[-1].strip() if self.tail else "it printed nothing"


def run_module(
    arguments: Sequence[str],
    root: Path,
    on_line: Callable[[str], None],
    on_start: Callable[[psutil.Process], None] = lambda process: None,
) -> Ended:
    """Run ``python -m …`` in the project; it and all that it starts end with this process.

    Args:
        arguments: Module name and its arguments.
        root: The project's root, where it runs.
        on_line: Gets each printed line, without its end.
        on_start: Gets the started process.

    Returns:
        Exit code (negative for a signal) and last lines.
    """
    environment = os.environ | {SUPERVISOR: identity(), "PYTHONUNBUFFERED": "1"}
    tail: deque[str] = deque(maxlen=60)
    process = psutil.Popen(
        [sys.executable, "-m", *arguments],
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C comes to this process alone, which then ends the others in order
    )
    try:
        on_start(process)
        for line in _lines(process):
            tail.append(line)
            on_line(line)
        return Ended(process.wait(), tuple(tail))
    finally:
        end_tree(process)
        process.stdout.close()


def end_tree(process: psutil.Process) -> None:
    """Kill a process and all below it, if it still runs."""
    with suppress(psutil.NoSuchProcess):
        below = process.children(recursive=True)
        for each in (process, *below):
            with suppress(psutil.NoSuchProcess):
                each.kill()
        psutil.wait_procs([process, *below], timeout=5)


def _lines(process: psutil.Popen) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest, shown, silent_since = "", 0.0, None
    handle = process.stdout.fileno()
    while True:
        if not select.select([handle], [], [], 0.5)[0]:
            # The pipe stays open as long as anything below holds it; who has ended is not waited for much longer.
            if process.poll() is not None:
                silent_since = silent_since or time.monotonic()
                if time.monotonic() - silent_since > _STALLED_SECONDS:
                    break
            continue
        chunk = os.read(handle, 65536)
        if not chunk:
            break
        rest += decoder.decode(chunk)
        end = 0
        for piece in _PIECE.finditer(rest):
            end = piece.end()
            line = _CONTROL.sub("", piece[1]).rstrip()
            redrawn = piece[2] == "\r"
            if not line or (redrawn and time.monotonic() - shown < PROGRESS_SECONDS):
                continue
            if redrawn:
                shown = time.monotonic()
            yield line
        rest = rest[end:]
    if rest.strip():
        yield _CONTROL.sub("", rest).strip()
