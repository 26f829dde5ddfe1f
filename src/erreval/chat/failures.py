"""Why a call to a chat model has no reply, and what follows from that."""

from __future__ import annotations

from enum import StrEnum

from erreval.errors import ErrevalError


class FailureReason(StrEnum):
    """The kinds of failure; the value is how a message names it."""

    UNREACHABLE = "cannot be reached"
    TIMEOUT = "did not answer in time"
    RATE_LIMITED = "is rate limited"
    SERVER_ERROR = "has an error of its own"
    PROTOCOL = "answers with something else than a chat completion"
    EMPTY = "answers without a choice"
    REQUEST_REFUSED = "refuses the request"
    OUT_OF_QUOTA = "says that the account's quota is used up"
    KEY_REFUSED = "refuses the key"
    UNKNOWN_MODEL = "does not know the model"
    STOPPED = "was not asked again, as the run is stopping"


RETRIED = frozenset(
    {
        FailureReason.UNREACHABLE,
        FailureReason.TIMEOUT,
        FailureReason.RATE_LIMITED,
        FailureReason.SERVER_ERROR,
        FailureReason.PROTOCOL,
        FailureReason.EMPTY,
    }
)
"""What may go well another time."""

ENDS_ALL = frozenset({FailureReason.OUT_OF_QUOTA, FailureReason.KEY_REFUSED, FailureReason.UNKNOWN_MODEL})
"""What fails for every other call in the same way."""


class ChatError(ErrevalError):
    """A call that has no reply. The message names model and address, never a key.

    It is raised outside of any ``except`` block, so that no traceback shows the library's own errors: their texts
    quote the server, and a server may quote the key.
    """

    def __init__(
        self,
        who: str,
        reason: FailureReason,
        detail: str = "",
        *,
        status: int | None = None,
        retry_after: float | None = None,
        attempts: int = 1,
    ) -> None:
        tried = f" ({attempts} attempts)" if attempts > 1 else ""
        super().__init__(f"{who} {reason.value}{f': {detail}' if detail else ''}{tried}")
        self.who = who
        self.reason = reason
        self.detail = detail
        self.status = status
        self.retry_after = retry_after
        """Seconds that the server asks to wait, where it does."""
        self.attempts = attempts

    def after(self, attempts: int) -> ChatError:
        """The same failure, told with the number of attempts."""
        return ChatError(
            self.who,
            self.reason,
            self.detail,
            status=self.status,
            retry_after=self.retry_after,
            attempts=attempts,
        )


def without_key(text: str, key: str) -> str:
    """One short line of what a server said, its quotes of the key taken out."""
    return " ".join(text.replace(key, "[key]").split())[:200] if key else " ".join(text.split())[:200]
