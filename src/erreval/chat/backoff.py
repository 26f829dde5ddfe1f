"""The one owner of retries: how often, and how long to wait in between."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from erreval.chat.failures import RETRIED, ChatError


@dataclass(frozen=True)
class RetryPolicy:
    """Exponential back-off with full jitter (Brooker 2015); a server's Retry-After is never undercut."""

    attempts: int = 6
    """At most, the first one included."""
    first_wait: float = 0.5
    """Seconds; the upper bound of the first wait, doubled each time."""
    longest_wait: float = 30.0
    """Seconds; no wait of our own is longer."""
    patience: float = 120.0
    """Seconds; a server that asks for a longer wait is given up."""

    def wait(self, failure: ChatError, attempts: int, chance: random.Random) -> float | None:
        """Seconds to wait before the next attempt, or None to give up.

        Args:
            failure: Of the last attempt.
            attempts: How many there have been.
            chance: Source of the jitter; it decides nothing but waits.
        """
        if failure.reason not in RETRIED or attempts >= self.attempts:
            return None
        asked = failure.retry_after or 0.0
        if asked > self.patience:
            return None
        bound = min(self.first_wait * 2 ** (attempts - 1), self.longest_wait)
        # On top of what the server asks for, so that those it sent away do not all come back at once.
        return asked + chance.uniform(0.0, bound)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that a reply asks to wait: ``Retry-After-Ms``, or ``Retry-After`` in seconds or as a date (RFC 9110).

    Returns:
        At least 0; None where nothing is asked for, or it cannot be read.
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if 0.0 <= seconds < float("inf"):
            return seconds
    try:
        date = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max((date - (now or datetime.now(UTC))).total_seconds(), 0.0)
