"""A chat completion off the wire, read strictly: what is no completion is said to be none."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from erreval.chat.exchange import ChatReply, TokenLogprob, Usage
from erreval.chat.failures import FailureReason

_THINKING = re.compile(r"\A\s*<think>(.*?)</think>\s*", re.DOTALL)
_OPEN = re.compile(r"\A\s*<think>(.*)\Z", re.DOTALL)


class _Wire(BaseModel):
    # Endpoints add fields of their own; those that are known must be what they should be.
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Alternative(_Wire):
    token: str
    logprob: float


class _Token(_Alternative):
    top_logprobs: list[_Alternative] | None = None


class _Logprobs(_Wire):
    content: list[_Token] | None = None


class _Message(_Wire):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None


class _Choice(_Wire):
    message: _Message
    finish_reason: str | None = None
    logprobs: _Logprobs | None = None


class _Usage(_Wire):
    prompt_tokens: int | None = Field(default=None, ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)


class _Completion(_Wire):
    choices: list[_Choice]
    model: str | None = None
    usage: _Usage | None = None


class UnreadableCompletionError(Exception):
    """A body that is no chat completion, or one without a choice."""

    def __init__(self, reason: FailureReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def read_completion(body: bytes, content_type: str) -> ChatReply:
    """The reply in the body of a 200 answer; ``seconds`` and ``attempts`` are left at their defaults.

    Raises:
        UnreadableCompletionError: The body is not JSON, is cut off, is no completion, or has no choice.
    """
    kind = content_type.split(";")[0].strip().lower()
    if not kind.endswith("json"):
        raise UnreadableCompletionError(FailureReason.PROTOCOL, f"content type {kind or 'not given'}")
    try:
        found = _Completion.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "body"
        raise UnreadableCompletionError(FailureReason.PROTOCOL, f"{where}: {first['msg']}") from None
    if not found.choices:
        raise UnreadableCompletionError(FailureReason.EMPTY, "")
    choice = found.choices[0]
    if choice.message.content is None and choice.message.refusal is None and choice.message.reasoning_content is None:
        raise UnreadableCompletionError(FailureReason.EMPTY, "the message has no content")
    text, thinking = split_thinking(choice.message.content or "")
    usage = found.usage or _Usage()
    tokens = choice.logprobs.content if choice.logprobs else None
    return ChatReply(
        text=text,
        thinking=thinking if thinking is not None else choice.message.reasoning_content,
        refusal=choice.message.refusal,
        finish_reason=choice.finish_reason,
        usage=Usage(prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens),
        logprobs=None if tokens is None else tuple(map(_logprob, tokens)),
        served_by=found.model,
    )


def _logprob(token: _Token) -> TokenLogprob:
    others = tuple((other.token, other.logprob) for other in token.top_logprobs or ())
    return TokenLogprob(token=token.token, logprob=token.logprob, alternatives=others)


def split_thinking(content: str) -> tuple[str, str | None]:
    """A reasoning model's answer and its thinking; a thought that never closes leaves no answer."""
    closed = _THINKING.match(content)
    if closed:
        return content[closed.end() :], closed[1].strip()
    unclosed = _OPEN.match(content)
    return ("", unclosed[1].strip()) if unclosed else (content, None)
