"""What goes to a chat model and what comes back: Message, Sampling, ChatRequest, ChatReply. Frozen and validated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Message(_Record):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Sampling(_Record):
    """How the reply is drawn; what is None is left to the endpoint."""

    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    seed: int | None = None
    stop: tuple[str, ...] = ()


class ChatRequest(_Record):
    """One call to a model, whichever model that is."""

    messages: tuple[Message, ...] = Field(min_length=1)
    sampling: Sampling = Sampling()
    max_tokens: int | None = Field(default=None, gt=0)
    """Upper bound for the reply, thinking included; None leaves it to the endpoint."""
    top_logprobs: int | None = Field(default=None, ge=0, le=20)
    """Ask for log-probabilities of the reply's tokens and of this many alternatives; None asks for none."""


class Usage(_Record):
    """Tokens of a call; None where the endpoint does not tell."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class TokenLogprob(_Record):
    """A token of the reply with its log-probability and those of the alternatives."""

    token: str
    logprob: float
    alternatives: tuple[tuple[str, float], ...] = ()


class ChatReply(_Record):
    """What a model answered."""

    text: str
    """The answer, without a reasoning model's thinking."""
    thinking: str | None = None
    """What stood between ``<think>`` and ``</think>``; where that never closes, everything, and ``text`` is empty."""
    refusal: str | None = None
    """The endpoint's own mark that the model refused."""
    finish_reason: str | None = None
    """``stop``, or ``length`` where the reply was cut by the token limit."""
    usage: Usage = Usage()
    logprobs: tuple[TokenLogprob, ...] | None = None
    """None where none were asked for, or the endpoint gave none: never made up."""
    served_by: str | None = None
    """The model as the endpoint names it."""
    seconds: float = 0.0
    """From the first attempt to the reply."""
    attempts: int = 1


class Completer(Protocol):
    """What answers chat requests: the client itself, or something around it that keeps, counts or limits calls."""

    @property
    def name(self) -> str:
        """The model's name in models.yaml."""
        ...

    @property
    def identity(self) -> tuple[str, str]:
        """Address of the endpoint and name of the model there: with the request, what a reply depends on."""
        ...

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer a request.

        Raises:
            ChatError: There is no reply.
        """
        ...


def conversation(*turns: tuple[Literal["system", "user", "assistant"], str]) -> tuple[Message, ...]:
    """Messages from pairs of role and content."""
    return tuple(Message(role=role, content=content) for role, content in turns)


def as_payload(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Messages as the protocol spells them."""
    return [{"role": message.role, "content": message.content} for message in messages]
