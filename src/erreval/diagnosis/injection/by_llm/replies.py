"""What writers and judges answered, read strictly: what cannot be read is Unscored, with the raw text."""

from __future__ import annotations

from erreval.chat.exchange import ChatReply
from erreval.chat.wire_text import last_object
from erreval.records import Question, Unscored


def read_question(reply: ChatReply, base: Question, seed: Question) -> str | Unscored:
    """The question that a writer wrote.

    A question that only repeats the example or the sound question is none: it would carry labels that are not its own.
    """
    found = last_object(reply.text, "question")
    text = found["question"] if found is not None else None
    if not isinstance(text, str) or not text.strip():
        return Unscored(reason=_why(reply, "no question"), raw=reply.text)
    for shown, what in ((base, "the sound question"), (seed, "the example")):
        if _squeezed(text) == _squeezed(shown.question):
            return Unscored(reason=f"repeats {what}", raw=reply.text)
    return text.strip()


def read_confidence(reply: ChatReply) -> float | Unscored:
    """A judge's confidence, 0 to 1; a number off this scale is refused and never brought to it."""
    found = last_object(reply.text, "confidence")
    value = found["confidence"] if found is not None else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Unscored(reason=_why(reply, "no confidence"), raw=reply.text)
    if not 0.0 <= value <= 1.0:
        return Unscored(reason="confidence off the scale", raw=reply.text)
    return float(value)


def _why(reply: ChatReply, otherwise: str) -> str:
    if reply.refusal is not None:
        return "refused"
    return "cut off by the token limit" if reply.finish_reason == "length" else otherwise


def _squeezed(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" ?.")
