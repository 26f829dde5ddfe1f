"""What a model or a detector reads of a passage: its HTML entities resolved, and nothing else.

The records keep their text, and so their ids: half of QGEval's passages hold a literal ``&#10;`` between two
paragraphs, which an encoder reads as the number ten and a detector as part of a sentence.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache

from erreval.records import Question

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def readable(question: Question) -> Question:
    """The question with a passage to be read; itself where there is no entity. Question and answer stay as they are."""
    if "&" not in question.passage:
        return question
    passage = _resolved(question.passage)
    return question if passage == question.passage else question.model_copy(update={"passage": passage})


@lru_cache(maxsize=1024)
def _resolved(passage: str) -> str:
    """Only whole entities: ``html.unescape`` alone also takes "&copy" without its semicolon for a sign."""
    return _ENTITY.sub(lambda found: html.unescape(found.group()), passage)
