"""The client against a real server that does everything wrong in turn."""

from __future__ import annotations

import asyncio
import logging
import traceback
from typing import Any

import pytest
from chat_server import KEY, Action, ChatServer, chat_server, cut_body, cut_json, dribble, page, reset, says, sends

from erreval.chat.backoff import RetryPolicy
from erreval.chat.client import ChatClient
from erreval.chat.endpoint import Endpoint, ModelListError, list_models
from erreval.chat.exchange import ChatReply, ChatRequest, Sampling, conversation
from erreval.chat.failures import ChatError, FailureReason
from erreval.chat.models import ReadyModel

__all__ = ["chat_server"]
ASK = ChatRequest(messages=conversation(("user", "Say hello")))
QUICK = RetryPolicy(attempts=3, first_wait=0.01, longest_wait=0.02, patience=1.5)


def model(server: ChatServer, **more: Any) -> ReadyModel:
    return ReadyModel("m", "served-1", Endpoint(server.url, KEY), **more)


def ask(server: ChatServer, request: ChatRequest = ASK, *, seconds: float = 2.0, **more: Any) -> ChatReply:
    async def once() -> ChatReply:
        async with ChatClient(model(server, timeout_s=seconds, **more), retry=QUICK) as client:
            return await client.complete(request)

    return asyncio.run(once())


def test_a_reply_with_its_usage(chat_server: ChatServer) -> None:
    reply = ask(chat_server)
    assert (reply.text, reply.finish_reason, reply.served_by, reply.attempts) == ("hello", "stop", "served-1", 1)
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (7, 3)
    assert reply.logprobs is None
    assert chat_server.requests == [{"model": "served-1", "messages": [{"role": "user", "content": "Say hello"}]}]


def test_what_is_asked_for_is_sent_under_the_endpoints_names(chat_server: ChatServer) -> None:
    request = ASK.model_copy(
        update={"sampling": Sampling(temperature=0, top_p=0.5, seed=4, stop=("X",)), "max_tokens": 9, "top_logprobs": 2}
    )
    ask(chat_server, request, token_limit="max_completion_tokens")
    sent = chat_server.requests[0]
    assert sent.pop("messages")
    assert sent == {
        "model": "served-1",
        "temperature": 0,
        "top_p": 0.5,
        "seed": 4,
        "stop": ["X"],
        "max_completion_tokens": 9,
        "logprobs": True,
        "top_logprobs": 2,
    }


def test_logprobs_thinking_and_unknown_usage(chat_server: ChatServer) -> None:
    token = {"token": "3", "logprob": -0.1, "bytes": None, "top_logprobs": [{"token": "2", "logprob": -2.5}]}
    chat_server.script = [
        says("<think>\nhm\n</think>\n3", usage=None, choice={"logprobs": {"content": [token]}}),
        says("<think>never ends"),
    ]
    reply = ask(chat_server)
    assert (reply.text, reply.thinking, reply.usage.prompt_tokens) == ("3", "hm", None)
    assert reply.logprobs is not None
    assert (reply.logprobs[0].token, reply.logprobs[0].logprob) == ("3", -0.1)
    assert reply.logprobs[0].alternatives == (("2", -2.5),)
    unfinished = ask(chat_server)
    assert (unfinished.text, unfinished.thinking) == ("", "never ends")


TRANSIENT: dict[str, tuple[Action, FailureReason]] = {
    "429": (sends({"error": {"message": "slow down"}}, 429), FailureReason.RATE_LIMITED),
    "500": (sends({"error": {"message": "oops"}}, 500), FailureReason.SERVER_ERROR),
    "503": (sends({}, 503), FailureReason.SERVER_ERROR),
    "reset": (reset, FailureReason.UNREACHABLE),
    "stall": (says("late", delay=0.7), FailureReason.TIMEOUT),
    "dribble": (dribble, FailureReason.TIMEOUT),
    "truncated JSON": (cut_json, FailureReason.PROTOCOL),
    "truncated body": (cut_body, FailureReason.UNREACHABLE),
    "wrong content type": (page, FailureReason.PROTOCOL),
    "not a completion": (sends({"choices": [{"text": "old"}]}), FailureReason.PROTOCOL),
    "empty choices": (sends({"choices": []}), FailureReason.EMPTY),
    "no content": (says(None), FailureReason.EMPTY),
}


@pytest.mark.parametrize("fault", TRANSIENT)
def test_a_fault_is_survived_once_and_told_when_it_stays(chat_server: ChatServer, fault: str) -> None:
    action, reason = TRANSIENT[fault]
    seconds = 0.2 if reason is FailureReason.TIMEOUT else 2.0
    chat_server.script = [action]
    reply = ask(chat_server, seconds=seconds)
    assert (reply.text, reply.attempts) == ("hello", 2)
    chat_server.otherwise = action
    with pytest.raises(ChatError) as caught:
        ask(chat_server, seconds=seconds)
    assert (caught.value.reason, caught.value.attempts) == (reason, 3)
    assert "(3 attempts)" in str(caught.value)
    assert len(chat_server.requests) == 2 + 3


PERMANENT: dict[str, tuple[Action, FailureReason]] = {
    "400": (sends({"error": {"message": "too long"}}, 400), FailureReason.REQUEST_REFUSED),
    "401": (sends({"error": {"message": f"Incorrect API key: {KEY}"}}, 401), FailureReason.KEY_REFUSED),
    "403": (sends({"error": {"message": KEY}}, 403), FailureReason.KEY_REFUSED),
    "404": (sends({"error": {"message": "no such model"}}, 404), FailureReason.UNKNOWN_MODEL),
    "quota": (sends({"error": {"message": "", "code": "insufficient_quota"}}, 429), FailureReason.OUT_OF_QUOTA),
}


@pytest.mark.parametrize("fault", PERMANENT)
def test_what_will_not_get_better_is_not_asked_again(chat_server: ChatServer, fault: str) -> None:
    chat_server.otherwise, reason = PERMANENT[fault]
    with pytest.raises(ChatError) as caught:
        ask(chat_server)
    assert (caught.value.reason, caught.value.attempts, len(chat_server.requests)) == (reason, 1, 1)
    assert str(caught.value).startswith(f"m at {chat_server.url} {reason.value}")


def test_retry_after_is_not_undercut_and_not_waited_for_without_end(chat_server: ChatServer) -> None:
    limited = {"error": {"message": "slow down"}}
    chat_server.script = [sends(limited, 429, **{"Retry-After": "1"})]
    assert ask(chat_server).seconds >= 1.0
    chat_server.script = [sends(limited, 429, **{"Retry-After": "3600"})]
    with pytest.raises(ChatError) as caught:
        ask(chat_server)
    assert (caught.value.reason, caught.value.attempts) == (FailureReason.RATE_LIMITED, 1)


@pytest.mark.parametrize("fault", [*TRANSIENT, *PERMANENT])
def test_the_key_is_nowhere(chat_server: ChatServer, fault: str, caplog: pytest.LogCaptureFixture) -> None:
    """Neither in the message, the traceback and what it chains, the attributes, nor in any log at DEBUG."""
    action = {**TRANSIENT, **PERMANENT}[fault][0]
    chat_server.otherwise = action
    with caplog.at_level(logging.DEBUG), pytest.raises(ChatError) as caught:
        ask(chat_server, seconds=0.15)
    told = "".join(traceback.format_exception(caught.value)) + repr(vars(caught.value))
    assert KEY not in told + caplog.text
    assert caught.value.__context__ is None
    assert KEY not in repr(model(chat_server))


def test_the_key_is_not_in_the_traceback_of_the_list_of_models(chat_server: ChatServer) -> None:
    with pytest.raises(ModelListError) as caught:
        list_models(Endpoint(chat_server.url, f"{KEY}-old"))
    assert caught.value.status == 401
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None
