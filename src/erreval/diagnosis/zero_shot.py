"""A chat model as Error Identifier: told the eleven types and what they mean, and nothing else (ErrEval, Table 5)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np

from erreval.chat.batch import Batch, run_all, run_blocking
from erreval.chat.client import ChatClient
from erreval.chat.exchange import ChatReply, ChatRequest, Message, Sampling, conversation
from erreval.chat.journal import Journal
from erreval.chat.models import ReadyModel
from erreval.chat.wire_text import fenced, last_object
from erreval.diagnosis.detectors.registry import why_not_judged
from erreval.diagnosis.identifier import label_sets
from erreval.diagnosis.interface import Prediction, Report
from erreval.diagnosis.type_prompts import definitions
from erreval.records import Question, Unscored
from erreval.taxonomy import ALL_TYPES, ErrorType, check_label_set

PROMPT_VERSION = "1"
MAX_TOKENS = 512
_CONCURRENCY = 8
_ROLE = "You find the errors of generated questions. Judge only what is there; many questions have no error."


def zero_shot_messages(question: Question) -> tuple[Message, ...]:
    """Ask for the label set of one question."""
    passage, answer = question.passage.strip(), question.answer
    task = "\n\n".join(
        [
            f"The labels and what they mean:\n{definitions()}",
            "A generated question, with the passage and the answer that it was made for.",
            fenced("passage", passage) if passage else "There is no passage.",
            fenced("answer", answer) if answer is not None else "There is no answer.",
            fenced("question", question.question),
            f"Which labels apply? A question can have several errors; {ErrorType.NO_ERROR.value} stands alone. "
            "Think in a few words, then end with one line of JSON with the labels as they are spelled above: "
            '{"labels": ["..."]}',
        ]
    )
    return conversation(("system", _ROLE), ("user", task))


def read_labels(reply: ChatReply) -> frozenset[ErrorType] | Unscored:
    """The label set in a reply. Anything that is not exactly one is Unscored, never No Error."""
    found = last_object(reply.text, "labels")
    names = found["labels"] if found is not None else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        why = "refused" if reply.refusal is not None else "no labels"
        return Unscored(reason="cut off by the token limit" if reply.finish_reason == "length" else why, raw=reply.text)
    known = {t.value.casefold(): t for t in ErrorType}
    unknown = [name for name in names if name.strip().casefold() not in known]
    if unknown:
        return Unscored(reason=f"unknown label {unknown[0][:40]!r}", raw=reply.text)
    try:
        return check_label_set(known[name.strip().casefold()] for name in names)
    except ValueError as error:
        return Unscored(reason=str(error), raw=reply.text)


class ZeroShotIdentifier:
    """A chat model behind the interface of an Error Identifier; its probabilities are zeros and ones.

    Args:
        model: See ``chat.models.ready_models``.
        journal: Where calls are kept, open; without one nothing is kept.
        concurrency: Calls in flight.
    """

    def __init__(self, model: ReadyModel, journal: Journal | None = None, concurrency: int = _CONCURRENCY) -> None:
        self.name = f"zero-shot:{model.name}"
        self._model = model
        self._journal = journal
        self._concurrency = concurrency

    def predict(self, questions: Sequence[Question], report: Report | None = None) -> Prediction:
        """Ask about each distinct question once.

        Raises:
            ChatError: The key is refused, the model unknown, or the endpoint gone; see ``chat.batch.run_all``.
        """
        distinct = list({question.question_id: question for question in questions}.values())
        batch = run_blocking(lambda: self._ask(distinct, report))
        by_id: dict[str, frozenset[ErrorType] | Unscored] = {}
        for k, question in enumerate(distinct):
            if k in batch.failures:
                by_id[question.question_id] = Unscored(reason=f"no reply: {batch.failures[k]}")
            else:
                by_id[question.question_id] = _judgeable(question, read_labels(batch.results[k]))
        found = tuple(by_id[question.question_id] for question in questions)
        rows = [_row(question, labels) for question, labels in zip(questions, found, strict=True)]
        return Prediction(np.array(rows, dtype=float).reshape(len(rows), len(ALL_TYPES)), found)

    def predict_probabilities(self, questions: Sequence[Question], report: Report | None = None) -> np.ndarray:
        """Zeros and ones, (n, 11); a row of NaN for each question whose reply cannot be read."""
        return self.predict(questions, report).probabilities

    def decide(self, probabilities: np.ndarray) -> list[frozenset[ErrorType]]:
        """The labels that stand in the probabilities."""
        return label_sets(probabilities)

    async def _ask(self, questions: Sequence[Question], report: Report | None) -> Batch[ChatReply]:
        stopping = asyncio.Event()
        async with ChatClient(self._model, stopping=stopping) as client:

            async def work(question: Question) -> ChatReply:
                request = ChatRequest(
                    messages=zero_shot_messages(question), sampling=Sampling(temperature=0.0), max_tokens=MAX_TOKENS
                )
                if self._journal is None:
                    return await client.complete(request)
                return await self._journal.complete(client, request, role="zero-shot", question=question.question_id)

            return await run_all(questions, work, concurrency=self._concurrency, stopping=stopping, report=report)


def _judgeable(question: Question, labels: frozenset[ErrorType] | Unscored) -> frozenset[ErrorType] | Unscored:
    """Without what cannot be judged for want of an answer or a passage, as for every other identifier."""
    if isinstance(labels, Unscored):
        return labels
    return frozenset(t for t in labels if why_not_judged(question, t) is None) or frozenset({ErrorType.NO_ERROR})


def _row(question: Question, labels: frozenset[ErrorType] | Unscored) -> list[float]:
    if isinstance(labels, Unscored):
        return [float("nan")] * len(ALL_TYPES)
    return [float("nan") if why_not_judged(question, t) else float(t in labels) for t in ALL_TYPES]
