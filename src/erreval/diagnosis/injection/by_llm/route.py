"""The paper's route of error injection: one model writes, others judge the labels, the agreed ones stay."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from erreval.chat.batch import Batch, run_all
from erreval.chat.exchange import ChatReply, ChatRequest, Completer, Sampling
from erreval.chat.journal import Journal, call_id
from erreval.diagnosis.injection.by_llm.plan import Item
from erreval.diagnosis.injection.by_llm.prompts import judge_messages, writer_messages
from erreval.diagnosis.injection.by_llm.replies import read_confidence, read_question
from erreval.records import Question, Unscored

WRITER_TOKENS = 512
JUDGE_TOKENS = 512
_WRITER_SAMPLING = Sampling(temperature=1.0)
_JUDGE_SAMPLING = Sampling(temperature=0.0)


@dataclass(frozen=True)
class Agreement:
    """Which samples stay: at least ``judges`` of them are at least so confident (ErrEval: two of three, 0.8)."""

    judges: int = 2
    confidence: float = 0.8

    def keeps(self, verdicts: Mapping[str, float | Unscored]) -> bool:
        """Whether a sample stays; a verdict that cannot be read speaks for nothing."""
        agreed = sum(isinstance(v, float) and v >= self.confidence for v in verdicts.values())
        return agreed >= self.judges


@dataclass(frozen=True)
class Written:
    """What became of an item."""

    item: Item
    question: Question | Unscored
    verdicts: Mapping[str, float | Unscored]
    """By judge; empty where nothing was written."""


def writer_request(item: Item) -> ChatRequest:
    """The call that writes an item."""
    messages = writer_messages(item.base, item.seed.question, item.seed.labels, item.labels)
    return ChatRequest(messages=messages, sampling=_WRITER_SAMPLING, max_tokens=WRITER_TOKENS)


def judge_request(question: Question, item: Item) -> ChatRequest:
    """The call that judges what was written for an item."""
    messages = judge_messages(question, item.labels)
    return ChatRequest(messages=messages, sampling=_JUDGE_SAMPLING, max_tokens=JUDGE_TOKENS)


def written_question(item: Item, reply: ChatReply) -> Question | Unscored:
    """The writer's reply as a question on the item's passage and answer."""
    text = read_question(reply, item.base, item.seed.question)
    return text if isinstance(text, Unscored) else item.base.model_copy(update={"question": text, "reference": None})


async def write_and_judge(
    items: Sequence[Item],
    writer: Completer,
    judges: Sequence[Completer],
    journal: Journal,
    *,
    concurrency: int,
    stopping: asyncio.Event,
    report: Callable[[int, int], None] | None = None,
) -> Batch[Written]:
    """Have every item written and judged; every call is in the journal as soon as it is answered.

    Args:
        items: What to write.
        writer: Writes.
        judges: Each judges everything that was written and can be read.
        journal: Open; calls in it are not made again.
        concurrency: Calls in flight.
        stopping: See ``run_all``.
        report: Called with (done, all) items.

    Returns:
        By position of the item; those with a failed call are in ``failures`` and can be had by another run.

    Raises:
        ChatError: See ``run_all``.
    """

    async def work(item: Item) -> Written:
        about = {"base": item.base.question_id, "seed": item.seed.question.question_id}
        question = written_question(item, await journal.complete(writer, writer_request(item), role="writer", **about))
        verdicts: dict[str, float | Unscored] = {}
        if isinstance(question, Question):
            request = judge_request(question, item)
            for judge in judges:
                verdicts[judge.name] = read_confidence(await journal.complete(judge, request, role="judge", **about))
        return Written(item, question, verdicts)

    return await run_all(items, work, concurrency=concurrency, stopping=stopping, report=report)


@dataclass(frozen=True)
class Estimate:
    """Calls still to be made, by model; a judge's are the most there can be."""

    writer: int
    judges: Mapping[str, int]
    kept: int
    """Calls that a journal holds already."""

    @property
    def most(self) -> int:
        """All of them."""
        return self.writer + sum(self.judges.values())


def estimate(
    items: Sequence[Item],
    writer: tuple[str, str],
    judges: Mapping[str, tuple[str, str]],
    replies: Mapping[str, ChatReply],
) -> Estimate:
    """How many calls a run would make; nothing is called.

    Args:
        items: What to write.
        writer: The writer's ``identity``.
        judges: The judges' identities by name.
        replies: A journal's, by call id.
    """
    to_write = kept = 0
    to_judge = dict.fromkeys(judges, 0)
    for item in items:
        reply = replies.get(call_id(writer, writer_request(item)))
        if reply is None:
            to_write += 1
            to_judge = {name: count + 1 for name, count in to_judge.items()}
            continue
        kept += 1
        question = written_question(item, reply)
        if isinstance(question, Unscored):
            continue
        request = judge_request(question, item)
        for name, identity in judges.items():
            there = call_id(identity, request) in replies
            kept += there
            to_judge[name] += not there
    return Estimate(to_write, to_judge, kept)
