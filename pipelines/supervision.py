"""What every stage process stands in: it ends with whoever started it, is the only one of its kind, and writes whole.

Killing ``dvc repro`` leaves the stage it started running, and a restart would then start a second writer. So a stage
watches its ancestors and ends with them, holds a lock of its own, and writes to a temporary place that is renamed when
all is done::

    def main() -> None:
        with stage("prepare", outputs=[folder / "train.csv"], profile=settings.profile) as work:
            write_table(work.path(folder / "train.csv"), rows)

    if __name__ == "__main__":
        run(main)
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import json
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NoReturn

import psutil

from erreval.errors import ErrevalError, StageError

SUPERVISOR = "ERREVAL_SUPERVISOR_PID"
"""Names the process that a whole tree of processes must not outlive, as ``pid:create_time``."""

STATE = "ERREVAL_STATE"
"""Overrides where locks, temporary outputs, databases and logs lie; by default ``.erreval`` in the project."""

EXIT_ORPHANED = 143
EXIT_MISTAKE = 2
EXIT_INTERRUPTED = 130

MISTAKE = "error: "
"""Starts the one line on stderr that tells a mistake."""

NO_TELEMETRY = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "GX_ANALYTICS_ENABLED": "false",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DVC_NO_ANALYTICS": "1",
}
"""Switches that keep the packages from reporting what is done here to their makers."""

_POLL_SECONDS = 0.25
_PR_SET_CHILD_SUBREAPER = 36
_SURROUNDINGS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM})
_watched = threading.Event()


def silence_telemetry(environment: MutableMapping[str, str] = os.environ) -> None:
    """Switch reporting off where the user has not decided otherwise."""
    for name, value in NO_TELEMETRY.items():
        environment.setdefault(name, value)


def project_root(start: Path | None = None) -> Path:
    """The nearest folder from ``start`` (default: the current one) upwards that holds dvc.yaml, else ``start``."""
    here = (start or Path.cwd()).resolve()
    return next((folder for folder in (here, *here.parents) if (folder / "dvc.yaml").is_file()), here)


def state_folder(root: Path | None = None) -> Path:
    """The project's own state: ``.erreval`` in its root, unless the environment names another folder."""
    named = os.environ.get(STATE)
    return Path(named).resolve() if named else (root or project_root()) / ".erreval"


def identity(process: psutil.Process | None = None) -> str:
    """``pid:create_time`` of a process (default: this one), which a reused pid does not repeat."""
    process = process or psutil.Process()
    return f"{process.pid}:{process.create_time():.2f}"


def find_process(known_as: str) -> psutil.Process | None:
    """The living process of an ``identity``, or None where it has ended."""
    with suppress(ValueError, psutil.Error):
        pid, _, created = known_as.partition(":")
        process = psutil.Process(int(pid))
        if is_alive(process) and abs(process.create_time() - float(created)) < 2:
            return process
    return None


def is_alive(process: psutil.Process) -> bool:
    """Whether a process still runs; one that has ended and waits to be collected does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def supervising_chain() -> list[psutil.Process]:
    """The ancestors whose death must end this process, the nearest first.

    That is everything up to the process named by ``ERREVAL_SUPERVISOR_PID``; without one, up to the nearest ``dvc``;
    without that, the parent alone.

    Raises:
        StageError: The named supervisor is no ancestor (any more): this process was orphaned before it could look.
    """
    ancestors = psutil.Process().parents()
    named = os.environ.get(SUPERVISOR)
    if named:
        supervisor = find_process(named)
        if supervisor is None or supervisor not in ancestors:
            raise StageError(f"the process that supervises this one ({SUPERVISOR}={named}) is gone; nothing was done")
        return ancestors[: ancestors.index(supervisor) + 1]
    runner = next((i for i, process in enumerate(ancestors) if _is_dvc(process)), 0)
    return ancestors[: runner + 1]


def watch_ancestors() -> None:
    """Start, once in a process, the thread that ends this process and all below it when an ancestor dies.

    Raises:
        StageError: See ``supervising_chain``.
    """
    if _watched.is_set():
        return
    chain = supervising_chain()
    _watched.set()
    threading.Thread(target=_watch, args=(chain,), name="watch-ancestors", daemon=True).start()


def adopt_orphans() -> None:
    """Where the system can (Linux), become the parent of processes below whose own parent dies, so none gets lost."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_descendants() -> None:
    """Kill everything below this process, what is started meanwhile included."""
    for _ in range(5):
        running = [child for child in psutil.Process().children(recursive=True) if is_alive(child)]
        if not running:
            return
        for child in running:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(running, timeout=0.5)


def _watch(chain: Sequence[psutil.Process]) -> None:
    while all(is_alive(process) for process in chain):
        time.sleep(_POLL_SECONDS)
    try:
        end_descendants()
    finally:
        os._exit(EXIT_ORPHANED)


def _is_dvc(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        words = process.cmdline()
        if any(Path(word).name in {"dvc", "dvc.exe"} for word in words[:3]):
            return True
        return any(pair in {("-m", "dvc"), ("-m", "pipelines.repro")} for pair in itertools.pairwise(words))
    return False


class Work:
    """The temporary places of one stage's outputs."""

    def __init__(self, name: str, outputs: Sequence[Path], folder: Path) -> None:
        self.name = name
        self.folder = folder
        self._places = {Path(out): folder / f"{i}" / Path(out).name for i, out in enumerate(outputs)}

    def path(self, output: Path) -> Path:
        """Where to write an output now; its parent folder exists.

        Raises:
            StageError: The stage did not declare this output.
        """
        try:
            place = self._places[Path(output)]
        except KeyError:
            raise StageError(f"stage {self.name} did not declare {output} as an output") from None
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def publish(self) -> None:
        """Rename every output into its place.

        Raises:
            StageError: An output was not written; none is then published.
        """
        missing = [str(output) for output, place in self._places.items() if not place.exists()]
        if missing:
            raise StageError(f"stage {self.name} ended without writing {', '.join(missing)}")
        for output, place in self._places.items():
            output.parent.mkdir(parents=True, exist_ok=True)
            _move(place, output, aside=self.folder / f"replaced-{output.name}")


def _move(place: Path, output: Path, aside: Path) -> None:
    """Put a finished output where it belongs; what stood there goes, and a reader never sees half of it."""
    if place.stat().st_dev != output.parent.stat().st_dev:
        near = output.with_name(f".{output.name}.{os.getpid()}.part")
        shutil.move(place, near)
        place = near
    if output.is_dir() and not output.is_symlink():
        shutil.move(output, aside)
    place.replace(output)


@contextmanager
def stage(name: str, outputs: Sequence[Path], *, profile: str = "") -> Iterator[Work]:
    """Everything a stage must not forget; see the top of this module.

    Where several processes train together (``accelerate launch``), all write to one temporary folder and the process
    of rank 0 holds the lock and publishes.

    Args:
        name: The stage with its round, as in ``train_identifier@r0``.
        outputs: Files and folders that the stage makes, relative to the project's root.
        profile: Keeps the locks of different profiles apart.

    Raises:
        StageError: The stage runs already, was orphaned, or did not write an output.
    """
    watch_ancestors()
    state = state_folder()
    key = re.sub(r"[^\w.@-]+", "_", f"{profile}-{name}" if profile else name)
    shared = int(os.environ.get("WORLD_SIZE", "1")) > 1
    first = int(os.environ.get("RANK", "0")) == 0
    owner = psutil.Process(os.getppid()) if shared else psutil.Process()
    folder = state / "tmp" / f"{key}-{owner.pid}"
    with ExitStack() as held:
        if first:
            held.enter_context(exclusive(state / "locks" / f"{key}.lock", f"stage {name}"))
            _sweep(state / "tmp")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "owner").write_text(identity(owner), encoding="utf-8")
        work = Work(name, outputs, folder)
        try:
            yield work
            if first:
                work.publish()
        finally:
            if first:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def exclusive(path: Path, what: str) -> Iterator[Path]:
    """Hold a lock file, or refuse at once; the operating system frees it when the holder dies.

    Yields:
        The file beside the lock that tells who holds it.

    Raises:
        StageError: Another process holds it; the message names it.
    """
    import filelock  # here, because every command line pays for what stands at the top

    path.parent.mkdir(parents=True, exist_ok=True)
    note = path.with_suffix(".json")
    lock = filelock.FileLock(path)
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout:
        raise StageError(f"{what} runs already here (process {_holder(note)}); wait for it or stop it") from None
    try:
        note.write_text(json.dumps({"process": identity()}), encoding="utf-8")
        yield note
    finally:
        note.unlink(missing_ok=True)
        lock.release()


def _holder(note: Path) -> str:
    with suppress(OSError, ValueError, KeyError):
        return str(json.loads(note.read_text(encoding="utf-8"))["process"]).partition(":")[0]
    return "unknown"


def _sweep(folder: Path) -> None:
    """Remove what stages that died have left behind."""
    for left in folder.glob("*-*"):
        with suppress(OSError):
            if find_process((left / "owner").read_text(encoding="utf-8")) is None:
                shutil.rmtree(left, ignore_errors=True)


def run(main: Callable[[], int | None]) -> NoReturn:
    """Run a stage's ``main`` and end the process: a mistake is told in one line on stderr, with exit code 2."""
    silence_telemetry()
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that spin are six times slower on a busy machine
    try:
        watch_ancestors()
        code = main() or 0
    except ErrevalError as mistake:
        code = _tell(str(mistake))
    except OSError as error:
        if error.errno not in _SURROUNDINGS:
            raise
        where = f"{error.filename}: " if error.filename else ""
        code = _tell(f"{where}{error.strerror}; free some space or make the folder writable, then start again")
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    sys.exit(code)


def _tell(message: str) -> int:
    print(f"{MISTAKE}{' '.join(message.split())}", file=sys.stderr, flush=True)
    return EXIT_MISTAKE
