"""Many jobs at once, with a bound; an interruption lets what is in flight finish."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from erreval.chat.failures import ENDS_ALL, ChatError, FailureReason

J = TypeVar("J")
R = TypeVar("R")

IN_A_ROW = 10
"""So many jobs that fail one after another end a batch: the endpoint is gone, and the rest would only wait for it."""


@dataclass
class Batch(Generic[R]):
    """What became of the jobs, by position."""

    results: dict[int, R] = field(default_factory=dict)
    failures: dict[int, ChatError] = field(default_factory=dict)


async def run_all(
    jobs: Sequence[J],
    work: Callable[[J], Awaitable[R]],
    *,
    concurrency: int,
    stopping: asyncio.Event,
    report: Callable[[int, int], None] | None = None,
) -> Batch[R]:
    """Work on jobs, at most ``concurrency`` at a time.

    A cancellation (Ctrl-C under ``asyncio.run``) starts no further job, lets those in flight finish, and is then
    passed on; a second Ctrl-C ends at once.

    Args:
        jobs: What to do, in the order in which it is begun.
        work: Does one job; a ``ChatError`` of it is kept and the others go on.
        concurrency: Jobs in flight; a job that makes its calls one after another is one call in flight.
        stopping: Shared with the clients; set when the batch ends early.
        report: Called with (done, all), failures included.

    Returns:
        Results and failures; a job that is in neither was not begun.

    Raises:
        ChatError: One that every other job would meet too, or the last of ``IN_A_ROW`` in a row.
    """
    waiting = iter(enumerate(jobs))
    batch: Batch[R] = Batch()
    in_a_row = 0

    async def worker() -> None:
        nonlocal in_a_row
        for position, job in waiting:
            if stopping.is_set():
                return
            try:
                batch.results[position] = await work(job)
                in_a_row = 0
            except ChatError as failure:
                batch.failures[position] = failure
                in_a_row += failure.reason is not FailureReason.STOPPED
                if failure.reason in ENDS_ALL or in_a_row >= IN_A_ROW:
                    raise
            if report is not None:
                report(len(batch.results) + len(batch.failures), len(jobs))

    workers = [asyncio.create_task(worker()) for _ in range(min(concurrency, len(jobs)))]
    if not workers:
        return batch
    try:
        await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        if not all(task.done() for task in workers):
            stopping.set()
            await asyncio.wait(workers)
        for task in workers:
            if not task.cancelled():
                task.exception()  # looked at: the loop would print those that nobody asks for, beside the one raised
    for task in sorted(workers, key=lambda task: isinstance(task.exception(), ChatError)):  # mistakes in `work` first
        task.result()
    return batch


def run_blocking(make: Callable[[], Coroutine[None, None, R]]) -> R:
    """Run a coroutine to its end, also where an event loop is running already (a notebook): then in a thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(lambda: asyncio.run(make())).result()
