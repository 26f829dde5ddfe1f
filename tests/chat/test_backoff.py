"""Waits between attempts."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from erreval.chat.backoff import RetryPolicy, retry_after
from erreval.chat.failures import ENDS_ALL, RETRIED, ChatError, FailureReason

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_what_a_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@given(
    reason=st.sampled_from(sorted(RETRIED)),
    attempts=st.integers(1, 12),
    asked=st.one_of(st.none(), st.floats(0, 500)),
    seed=st.integers(0, 2**32),
)
def test_a_wait_lies_between_what_is_asked_for_and_the_bound(
    reason: FailureReason, attempts: int, asked: float | None, seed: int
) -> None:
    policy = RetryPolicy()
    wait = policy.wait(ChatError("m", reason, retry_after=asked), attempts, random.Random(seed))
    if attempts >= policy.attempts or (asked or 0) > policy.patience:
        assert wait is None
    else:
        assert wait is not None
        # 0.5 s doubled with each attempt, at most 30 s, on top of what the server asks for
        assert 0 <= wait - (asked or 0.0) <= min(0.5 * 2 ** (attempts - 1), 30.0) + 1e-9


@pytest.mark.parametrize("reason", sorted(set(FailureReason) - RETRIED))
def test_what_is_not_retried(reason: FailureReason) -> None:
    assert RetryPolicy().wait(ChatError("m", reason), 1, random.Random(0)) is None
    assert not ENDS_ALL & RETRIED
