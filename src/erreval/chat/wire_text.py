"""Texts inside prompts, and JSON inside replies."""

from __future__ import annotations

import json
import re
from typing import Any


def fenced(name: str, text: str) -> str:
    """A text between tags of its own; whatever in it looks like one of these tags loses its bracket.

    So a passage cannot close its fence and go on as if it were the prompt.
    """
    tame = re.sub(rf"<(?=\s*/?\s*{re.escape(name)}\b)", "‹", text, flags=re.IGNORECASE)
    return f"<{name}>\n{tame.strip()}\n</{name}>"


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
