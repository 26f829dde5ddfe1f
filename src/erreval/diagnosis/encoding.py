"""Text to token ids: question, answer and a window of the passage, for any encoder with a fast tokeniser.

The layout is the paper's (ErrEval, section 3.1): the first segment is ``question </sep> answer``, the second the
passage. Only the passage is cut, and the window that holds the answer is kept.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from erreval.diagnosis.readable import readable
from erreval.records import Question
from erreval.taxonomy import ErrorType, format_label_set

_MAX_TEXT = 20_000
"""Characters of a question or an answer beyond which no encoder could see anything anyway."""


@dataclass(frozen=True)
class Encoded:
    """One encoded example."""

    input_ids: list[int]
    token_type_ids: list[int] | None
    """None for an encoder whose tokeniser gives none (RoBERTa, MPNet, ModernBERT)."""
    truncated: bool
    """Whether part of the passage (or of an overlong question or answer) was left out."""


@dataclass(frozen=True)
class Layout:
    """Where a tokeniser puts its special tokens around a pair of segments."""

    prefix: list[int]
    middle: list[int]
    suffix: list[int]
    separator: list[int]
    gives_token_types: bool
    uses_token_types: bool

    @classmethod
    def of(cls, tokenizer: Any) -> Layout:
        """Read the layout off an encoded pair of one-token texts."""
        one = tokenizer("a", add_special_tokens=False)["input_ids"]
        pair = tokenizer("a", "a", add_special_tokens=True)
        ids = list(pair["input_ids"])
        first = ids.index(one[0])
        second = len(ids) - 1 - ids[::-1].index(one[0])
        return cls(
            prefix=ids[:first],
            middle=ids[first + len(one) : second],
            suffix=ids[second + len(one) :],
            separator=[tokenizer.sep_token_id],
            gives_token_types="token_type_ids" in pair,
            uses_token_types=1 in pair.get("token_type_ids", []),
        )


def encode(
    tokenizer: Any,
    questions: Sequence[Question],
    max_tokens: int,
    label_sets: Sequence[frozenset[ErrorType]] | None = None,
) -> list[Encoded]:
    """Encode questions for the Error Identifier, or with label sets for a Verifier that reads them as text.

    Args:
        tokenizer: A fast tokeniser of transformers.
        questions: What to encode.
        max_tokens: Upper bound for one example, special tokens included.
        label_sets: Where given, written out before the question: ``labels </sep> question </sep> answer``.

    Returns:
        One entry a question, in order.
    """
    layout = Layout.of(tokenizer)
    questions = [readable(question) for question in questions]
    passages = _passage_tokens(tokenizer, questions)
    encoded = []
    for i, question in enumerate(questions):
        heads = [question.question[:_MAX_TEXT], (question.answer or "")[:_MAX_TEXT]]
        if label_sets is not None:
            heads.insert(0, format_label_set(label_sets[i]))
        parts = tokenizer(heads, add_special_tokens=False, split_special_tokens=True, verbose=False)["input_ids"]
        encoded.append(_assemble(layout, parts, passages[question.passage], question, max_tokens))
    return encoded


def _passage_tokens(
    tokenizer: Any, questions: Sequence[Question]
) -> dict[str, tuple[list[int], list[tuple[int, int]]]]:
    """Each passage is tokenised once, however many questions it has."""
    texts = list(dict.fromkeys(question.passage for question in questions))
    if not texts:
        return {}
    batch = tokenizer(
        texts, add_special_tokens=False, split_special_tokens=True, return_offsets_mapping=True, verbose=False
    )
    return dict(zip(texts, zip(batch["input_ids"], batch["offset_mapping"], strict=True), strict=True))


def _assemble(
    layout: Layout,
    heads: list[list[int]],
    passage: tuple[list[int], list[tuple[int, int]]],
    question: Question,
    max_tokens: int,
) -> Encoded:
    special = len(layout.prefix) + len(layout.middle) + len(layout.suffix) + len(heads) - 1
    # A head part may take at most its share of what there is, so that an overlong question leaves the answer standing.
    room = max_tokens - special
    share = max(room // len(heads), 1)
    free = room - sum(min(len(part), share) for part in heads)
    kept: list[list[int]] = []
    for part in heads:
        take = min(len(part), share + max(free, 0))
        free -= max(take - share, 0)
        kept.append(part[:take])
    cut = any(len(part) < len(whole) for part, whole in zip(kept, heads, strict=True))
    room -= sum(len(part) for part in kept)
    window = answer_window(passage[1], question, max(room, 0))
    first: list[int] = []
    for k, part in enumerate(kept):
        first += (layout.separator if k else []) + part
    body = passage[0][window]
    ids = layout.prefix + first + layout.middle + body + layout.suffix
    types: list[int] | None = [0] * (len(layout.prefix) + len(first) + len(layout.middle)) + [1] * (
        len(body) + len(layout.suffix)
    )
    if not layout.uses_token_types:
        types = [0] * len(ids) if layout.gives_token_types else None
    return Encoded(ids, types, truncated=cut or len(body) < len(passage[0]))


def answer_window(offsets: Sequence[tuple[int, int]], question: Question, size: int) -> slice:
    """The token window of the passage that is kept: around the answer where it occurs, else the beginning.

    Args:
        offsets: Character span of every passage token.
        question: Its answer is looked for in its passage, case folded.
        size: Number of tokens to keep.
    """
    if len(offsets) <= size:
        return slice(0, len(offsets))
    span = _find(question.passage, question.answer) if question.answer else None
    if span is None:
        return slice(0, size)
    starts = np.fromiter((start for start, _ in offsets), dtype=np.int64, count=len(offsets))
    first = max(int(np.searchsorted(starts, span[0], side="right")) - 1, 0)
    last = int(np.searchsorted(starts, span[1], side="left"))
    centre = (first + last) // 2
    begin = min(max(centre - size // 2, 0), len(offsets) - size)
    return slice(begin, begin + size)


def _find(text: str, part: str) -> tuple[int, int] | None:
    """Where ``part`` stands in ``text``, as it is written or else case folded, as a character span of ``text``."""
    at = text.find(part)
    if at >= 0:
        return at, at + len(part)
    folded, wanted = text.casefold(), part.casefold()
    at = folded.find(wanted)
    if at < 0 or not wanted:
        return None
    if len(folded) == len(text):
        return at, at + len(wanted)
    # Folding may lengthen a character ("ß", "İ"): go back from folded places to those of the text.
    ends = list(itertools.accumulate(len(character.casefold()) for character in text))
    return bisect.bisect_right(ends, at), bisect.bisect_left(ends, at + len(wanted)) + 1
