"""Texts inside prompts, and JSON inside replies."""

from __future__ import annotations

import json
import re
from typing import Any

FENCES = ("passage", "answer", "question", "sound_question")
"""The tags that prompts use."""

_TAG = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(FENCES)})\b)", re.IGNORECASE)


def fenced(name: str, text: str) -> str:
    """A text between tags of its own; whatever in it looks like one of the tags of prompts loses its bracket.

    So a passage cannot close its fence and go on as if it were the prompt, nor hold a question that looks like the one
    to judge.

    Raises:
        ValueError: The name is not in ``FENCES``.
    """
    if name not in FENCES:
        raise ValueError(f"{name!r} is no fence; add it to FENCES, so that texts cannot hold it")
    return f"<{name}>\n{_TAG.sub('‹', text).strip()}\n</{name}>"


def last_object(text: str, key: str) -> dict[str, Any] | None:
    """The last JSON object in a reply that has ``key`` at its top, or None: the last verdict counts."""
    decoder = json.JSONDecoder()
    found, at = None, text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if key in value:
            found = value
        at = text.find("{", end)
    return found
