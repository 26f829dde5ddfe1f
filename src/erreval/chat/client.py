"""One client for every OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import random
import time
from types import TracebackType
from typing import Any, Self

from erreval.chat.backoff import RetryPolicy, retry_after
from erreval.chat.completion import UnreadableCompletionError, read_completion
from erreval.chat.exchange import ChatReply, ChatRequest, as_payload
from erreval.chat.failures import ChatError, FailureReason, without_key
from erreval.chat.models import ReadyModel

_BY_STATUS = {
    401: FailureReason.KEY_REFUSED,
    403: FailureReason.KEY_REFUSED,
    404: FailureReason.UNKNOWN_MODEL,
    408: FailureReason.TIMEOUT,
    409: FailureReason.SERVER_ERROR,
    429: FailureReason.RATE_LIMITED,
}


class ChatClient:
    """Sends requests to one model, with retries of its own and none of the library's.

    Use it as an async context manager. It holds no limit on calls in flight: see ``batch.run_all``.

    Args:
        model: Where to send what, with the key.
        retry: The retry policy.
        stopping: Once set, a wait between two attempts ends at once and nothing is sent again.
    """

    def __init__(
        self, model: ReadyModel, *, retry: RetryPolicy | None = None, stopping: asyncio.Event | None = None
    ) -> None:
        import openai

        self._model = model
        self._retry = retry or RetryPolicy()
        self._stopping = stopping or asyncio.Event()
        self._chance = random.Random()  # noqa: S311 - spreads waits, decides nothing
        self._openai = openai.AsyncOpenAI(
            base_url=model.endpoint.base_url, api_key=model.endpoint.key, timeout=model.timeout_s, max_retries=0
        )

    @property
    def name(self) -> str:
        """The model's name in models.yaml."""
        return self._model.name

    @property
    def identity(self) -> tuple[str, str]:
        """Address of the endpoint and name of the model there."""
        return self._model.endpoint.address, self._model.served

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._openai.close()

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer a request, after as many attempts as the policy allows.

        Raises:
            ChatError: There is no reply; the reason says why.
        """
        started = time.monotonic()
        attempts = 0
        while True:
            attempts += 1
            outcome = await self._attempt(request)
            if isinstance(outcome, ChatReply):
                seconds = time.monotonic() - started
                return outcome.model_copy(update={"seconds": seconds, "attempts": attempts})
            wait = self._retry.wait(outcome, attempts, self._chance)
            if wait is None:
                raise outcome.after(attempts)
            if await self._told_to_stop(wait):
                raise ChatError(outcome.who, FailureReason.STOPPED, f"it {outcome.reason.value}", attempts=attempts)

    async def _told_to_stop(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def _attempt(self, request: ChatRequest) -> ChatReply | ChatError:
        import openai

        try:
            # The library's own timeout bounds the silence between two bytes; this bounds the whole.
            async with asyncio.timeout(self._model.timeout_s):
                raw = await self._openai.chat.completions.with_raw_response.create(**self._options(request))
            return read_completion(raw.http_response.content, raw.headers.get("content-type", ""))
        except (TimeoutError, openai.APITimeoutError):
            return self._failure(FailureReason.TIMEOUT, f"nothing whole within {self._model.timeout_s:g} s")
        except openai.APIConnectionError:
            return self._failure(FailureReason.UNREACHABLE)
        except openai.APIStatusError as error:
            return self._refused(error)
        except UnreadableCompletionError as error:
            return self._failure(error.reason, error.detail)

    def _options(self, request: ChatRequest) -> dict[str, Any]:
        sampling = request.sampling
        options: dict[str, Any] = {
            "model": self._model.served,
            "messages": as_payload(request.messages),
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
            "stop": list(sampling.stop) or None,
            self._model.token_limit: request.max_tokens,
        }
        if request.top_logprobs is not None:
            options |= {"logprobs": True, "top_logprobs": request.top_logprobs or None}
        return {name: value for name, value in options.items() if value is not None}

    def _refused(self, error: Any) -> ChatError:
        status = int(error.status_code)
        fallback = FailureReason.SERVER_ERROR if status >= 500 else FailureReason.REQUEST_REFUSED
        reason = _BY_STATUS.get(status, fallback)
        if error.code == "insufficient_quota":
            reason = FailureReason.OUT_OF_QUOTA
        said = error.body.get("message") if isinstance(error.body, dict) else None
        detail = f"status {status}" + (f", {said}" if isinstance(said, str) and said else "")
        return self._failure(reason, detail, status=status, retry_after=retry_after(error.response.headers))

    def _failure(self, reason: FailureReason, detail: str = "", **more: Any) -> ChatError:
        who = f"{self.name} at {self._model.endpoint.address}"
        return ChatError(who, reason, without_key(detail, self._model.endpoint.key), **more)
