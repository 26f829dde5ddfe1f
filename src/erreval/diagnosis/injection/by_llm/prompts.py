"""What the writer and the judges are told. The wording is ours; change it, and its version goes up."""

from __future__ import annotations

from erreval.chat.exchange import Message, conversation
from erreval.chat.wire_text import fenced
from erreval.diagnosis.type_prompts import definitions
from erreval.records import Question
from erreval.taxonomy import ErrorType, format_label_set

VERSION = "1"
"""Of both prompts; it is written beside every question that came of them."""

_WRITER = (
    "You imitate a question generator. A question generator reads a passage and an answer and writes a question that "
    "has this answer; the one you imitate makes mistakes. What you write is used to train a model that finds such "
    "mistakes, so they must be like those of real systems: never a joke, never announced, never exaggerated."
)
_JUDGE = (
    "You check the error labels of generated questions. A label set is right only if every label in it applies and no "
    "other label applies."
)


def writer_messages(
    base: Question, seed: Question, seed_labels: frozenset[ErrorType], labels: frozenset[ErrorType]
) -> tuple[Message, ...]:
    """Ask for one flawed question, shown one example.

    Args:
        base: A sound question with the passage and the answer to write about.
        seed: The example.
        seed_labels: The example's label set.
        labels: What the new question must have.
    """
    task = "\n\n".join(
        [
            f"The labels and what they mean:\n{definitions()}",
            "An example.",
            *_material(seed),
            f"Labels: {format_label_set(seed_labels)}",
            fenced("question", seed.question),
            "Now yours.",
            *_material(base),
            "A sound question for this passage and answer, to be changed as far as the labels ask for:",
            fenced("sound_question", base.question),
            f"Labels: {format_label_set(labels)}",
            "Write one question for this passage and this answer that has exactly these labels and no other. The "
            "passage and the answer stay as they are. Do not repeat the example or the sound question.\n"
            'End with one line of JSON: {"question": "..."}',
        ]
    )
    return conversation(("system", _WRITER), ("user", task))


def judge_messages(question: Question, labels: frozenset[ErrorType]) -> tuple[Message, ...]:
    """Ask how sure a judge is that a label set is exactly right."""
    task = "\n\n".join(
        [
            f"The labels and what they mean:\n{definitions()}",
            "A generated question, with the passage and the answer that it was made for.",
            *_material(question),
            fenced("question", question.question),
            f"Labels: {format_label_set(labels)}",
            "Is this label set exactly right? Go through the labels, those given and those not given, in a few words. "
            "Then end with one line of JSON, the confidence that the set is exactly right being a number from 0 "
            '(certainly wrong) to 1 (certainly right): {"confidence": ...}',
        ]
    )
    return conversation(("system", _JUDGE), ("user", task))


def _material(question: Question) -> tuple[str, str]:
    return fenced("passage", question.passage), fenced("answer", question.answer or "")
