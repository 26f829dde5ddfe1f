"""Many jobs: the bound, the drain, and what ends a batch early."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from typing import Any

import pytest
from chat_server import KEY, ChatServer, chat_server, says, sends

from erreval.chat.backoff import RetryPolicy
from erreval.chat.batch import IN_A_ROW, Batch, run_all, run_blocking
from erreval.chat.client import ChatClient
from erreval.chat.endpoint import Endpoint
from erreval.chat.exchange import ChatReply, ChatRequest, conversation
from erreval.chat.failures import ChatError, FailureReason
from erreval.chat.models import ReadyModel

__all__ = ["chat_server"]
QUICK = RetryPolicy(attempts=2, first_wait=0.01, longest_wait=0.01)


def run(
    server: ChatServer,
    n: int,
    concurrency: int,
    *,
    retry: RetryPolicy = QUICK,
    seen: list[int] | None = None,
    report: list[tuple[int, int]] | None = None,
) -> Batch[ChatReply]:
    async def work_all() -> Batch[ChatReply]:
        stopping = asyncio.Event()
        model = ReadyModel("m", "served-1", Endpoint(server.url, KEY))
        async with ChatClient(model, retry=retry, stopping=stopping) as client:

            async def work(job: int) -> ChatReply:
                reply = await client.complete(ChatRequest(messages=conversation(("user", f"job {job}"))))
                if seen is not None:
                    seen.append(job)
                return reply

            note = None if report is None else lambda done, total: report.append((done, total))
            return await run_all(range(n), work, concurrency=concurrency, stopping=stopping, report=note)

    return run_blocking(work_all)


def test_everything_is_done_once_and_the_bound_is_kept(chat_server: ChatServer) -> None:
    chat_server.otherwise = says("hello", delay=0.02)
    told: list[tuple[int, int]] = []
    batch = run(chat_server, 40, 4, report=told)
    assert sorted(batch.results) == list(range(40))
    assert not batch.failures
    assert chat_server.most_in_flight == 4
    assert len(chat_server.requests) == 40
    assert told == [(k, 40) for k in range(1, 41)]
    assert run(chat_server, 0, 4).results == {}


def test_one_failure_does_not_stop_the_others(chat_server: ChatServer) -> None:
    chat_server.script = [says("hello"), sends({}, 400)]
    batch = run(chat_server, 5, 1)
    assert (sorted(batch.results), list(batch.failures)) == ([0, 2, 3, 4], [1])
    assert batch.failures[1].reason is FailureReason.REQUEST_REFUSED


def test_a_refused_key_ends_it(chat_server: ChatServer) -> None:
    chat_server.script = [says("hello"), sends({}, 401)]
    with pytest.raises(ChatError, match="refuses the key"):
        run(chat_server, 50, 1)
    assert len(chat_server.requests) == 2


def test_an_endpoint_that_is_gone_ends_it(chat_server: ChatServer) -> None:
    chat_server.otherwise = sends({}, 500)
    with pytest.raises(ChatError, match="error of its own"):
        run(chat_server, 500, 2)
    # ten jobs in a row, two attempts each, and at most one more in flight
    assert 2 * IN_A_ROW <= len(chat_server.requests) <= 2 * IN_A_ROW + 2


def test_an_interruption_drains(chat_server: ChatServer) -> None:
    """Ctrl-C: what is in flight is finished and kept, nothing further is sent, and the interruption goes on."""
    chat_server.otherwise = says("hello", delay=0.3)
    seen: list[int] = []
    threading.Timer(0.45, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        run(chat_server, 100, 3, seen=seen)
    assert len(seen) == len(chat_server.requests)
    assert 3 <= len(seen) < 12


def test_an_interruption_does_not_wait_for_a_long_back_off(chat_server: ChatServer) -> None:
    chat_server.otherwise = sends({}, 429, **{"Retry-After": "60"})
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        run(chat_server, 4, 2, retry=RetryPolicy())
    assert len(chat_server.requests) == 2


def test_a_mistake_in_the_work_is_not_swallowed(chat_server: ChatServer) -> None:
    async def broken(job: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run_all(range(3), broken, concurrency=2, stopping=asyncio.Event()))


def test_it_runs_inside_a_running_loop(chat_server: ChatServer) -> None:
    async def notebook() -> int:
        return len(run(chat_server, 3, 2).results)

    assert asyncio.run(notebook()) == 3


@pytest.mark.parametrize("mistaken", [False, True])
def test_of_many_that_fail_at_once_only_one_is_told(mistaken: bool) -> None:
    """Nothing is left for the loop to print; a mistake in the work is the one that is raised."""
    printed: list[dict[str, Any]] = []

    async def refused(job: int) -> None:
        await asyncio.sleep(0)
        raise ZeroDivisionError if job == 2 and mistaken else ChatError("m", FailureReason.KEY_REFUSED)

    async def work_all() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: printed.append(context))
        await run_all(range(3), refused, concurrency=3, stopping=asyncio.Event())

    with pytest.raises(ZeroDivisionError if mistaken else ChatError):
        run_blocking(work_all)
    gc.collect()
    assert printed == []
