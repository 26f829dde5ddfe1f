"""A chat model as Error Identifier: strict reading, and nothing unread passes for No Error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chat_server import KEY, ChatServer, answers, chat_server, says, sends
from hypothesis import given
from hypothesis import strategies as st

from erreval.chat.endpoint import Endpoint
from erreval.chat.exchange import ChatReply
from erreval.chat.failures import ChatError
from erreval.chat.journal import Journal
from erreval.chat.models import ReadyModel
from erreval.diagnosis.interface import ErrorIdentifier, SaysWhy, predict
from erreval.diagnosis.zero_shot import ZeroShotIdentifier, read_labels, zero_shot_messages
from erreval.records import Question, Unscored
from erreval.taxonomy import ALL_TYPES, TYPE_INDEX, ErrorType, format_label_set

__all__ = ["chat_server"]
GOLDEN = Path(__file__).parent / "golden"
QUESTION = Question(question="Who bild it?", passage="Ann built it.", answer="Ann")


def identifier(server: ChatServer, journal: Journal | None = None) -> ZeroShotIdentifier:
    return ZeroShotIdentifier(ReadyModel("m", "served-1", Endpoint(server.url, KEY), timeout_s=5), journal, 2)


def test_the_prompt_is_that_on_file() -> None:
    found = "\n".join(f"[{m.role}]\n{m.content}" for m in zero_shot_messages(QUESTION)) + "\n"
    assert found == (GOLDEN / "zero_shot.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "case", [json.loads(line) for line in (GOLDEN / "zero_shot_replies.jsonl").read_text().splitlines()]
)
def test_replies_are_read_strictly(case: dict[str, Any]) -> None:
    found = read_labels(
        ChatReply(text=case["text"], finish_reason=case.get("finish", "stop"), refusal=case.get("refusal"))
    )
    if "read" in case:
        assert not isinstance(found, Unscored)
        assert format_label_set(found) == case["read"]
    else:
        assert found == Unscored(reason=case["why"], raw=case["text"])


@given(st.text(max_size=200) | st.lists(st.sampled_from([*'{}[]":,', '"labels"', '"Vague"', "null"])).map("".join))
def test_no_text_crashes_the_reader_or_gives_what_is_not_in_it(text: str) -> None:
    found = read_labels(ChatReply(text=text))
    if not isinstance(found, Unscored):
        assert all(label.value.casefold() in text.casefold() for label in found)


def test_labels_and_what_could_not_be_read_stand_side_by_side(chat_server: ChatServer) -> None:
    def reply(request: dict[str, Any]) -> str:
        text = request["messages"][-1]["content"]
        return "I cannot say." if "unreadable" in text else '{"labels": ["Spell Error", "Off Target Answer"]}'

    chat_server.otherwise = answers(reply)
    questions = [
        QUESTION,
        QUESTION.model_copy(update={"question": "Is this unreadable?"}),
        QUESTION,
        Question(question="Who bild it?", passage="Ann built it."),
    ]
    model = identifier(chat_server)
    assert isinstance(model, ErrorIdentifier)
    assert isinstance(model, SaysWhy)
    found = predict(model, questions)
    assert len(chat_server.requests) == 3  # the repeated question is asked once
    both = frozenset({ErrorType.SPELL_ERROR, ErrorType.OFF_TARGET_ANSWER})
    unread = Unscored(reason="no labels", raw="I cannot say.")
    # without an answer nothing can be said about the answer
    assert found.label_sets == (both, unread, both, frozenset({ErrorType.SPELL_ERROR}))
    assert found.unscored == {1: unread}
    assert found.decided[1] == frozenset()
    assert np.isnan(found.probabilities[1]).all()
    assert list(found.probabilities[0]) == [float(t in both) for t in ALL_TYPES]
    assert np.isnan(found.probabilities[3]).nonzero()[0].tolist() == [TYPE_INDEX[ErrorType.OFF_TARGET_ANSWER]]


def test_a_failed_call_is_unscored_and_a_refused_key_ends_it(chat_server: ChatServer) -> None:
    chat_server.script = [sends({"error": {"message": "too long"}}, 400)]
    chat_server.otherwise = says('{"labels": ["No Error"]}')
    found = identifier(chat_server).predict([QUESTION])
    assert "no reply: m at" in found.unscored[0].reason
    assert "refuses the request: status 400, too long" in found.unscored[0].reason
    chat_server.otherwise = sends({}, 401)
    with pytest.raises(ChatError, match="refuses the key"):
        identifier(chat_server).predict([QUESTION])


def test_kept_calls_are_not_made_again(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.otherwise = says('{"labels": ["Vague"]}')
    for _ in range(2):
        with Journal(tmp_path / "calls.jsonl") as journal:
            assert identifier(chat_server, journal).predict([QUESTION]).decided == [frozenset({ErrorType.VAGUE})]
    assert len(chat_server.requests) == 1
