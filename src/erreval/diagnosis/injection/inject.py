"""Break one good question, or draw a whole labelled set.

What the labels mean where one fault brings another: a label names the fault that was injected, and what follows from
it is not labelled a second time. An Off Topic question cannot be answered by this passage's answer; it is Off Topic
alone, as in the published annotation. A question about what the passage does not tell (``content.asked_beyond``) is
labelled Information Not Mentioned *and* Off Target Answer, as the published annotators did; it therefore only appears
among the combined ones, while a single Information Not Mentioned adds or swaps a detail and keeps an answer that fits.
Off Target Answer leaves the question untouched and changes the answer; every other error changes the question's text.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator

from erreval.diagnosis.detectors.registry import labels_from_evidence, run_detectors
from erreval.diagnosis.injection.answer import off_target
from erreval.diagnosis.injection.clarity import copied_statement, spliced_copy, unnecessary_copy, vague
from erreval.diagnosis.injection.content import (
    asked_beyond,
    degenerate,
    factual_error,
    information_not_mentioned,
    off_topic,
)
from erreval.diagnosis.injection.examples import GoodExample, InjectedExample, Neighbours
from erreval.diagnosis.injection.form import incomplete, not_a_question, spell_error
from erreval.diagnosis.injection.grammar import grammar_error
from erreval.records import Question
from erreval.taxonomy import ALL_TYPES, ERRORS, TYPE_INDEX, ErrorType

__all__ = [
    "GoodExample",
    "InjectedExample",
    "Neighbours",
    "build_labelled_set",
    "combine",
    "inject",
    "is_sound",
    "untouched",
]

Injector = Callable[[GoodExample, Neighbours, Generator], GoodExample | None]
_E = ErrorType
_log = logging.getLogger(__name__)

INJECTORS: Mapping[ErrorType, Injector] = {
    _E.INCOMPLETE: incomplete,
    _E.NOT_A_QUESTION: not_a_question,
    _E.SPELL_ERROR: spell_error,
    _E.GRAMMAR_ERROR: grammar_error,
    _E.VAGUE: vague,
    _E.UNNECESSARY_COPY: unnecessary_copy,
    _E.OFF_TOPIC: off_topic,
    _E.FACTUAL_ERROR: factual_error,
    _E.INFORMATION_NOT_MENTIONED: information_not_mentioned,
    _E.OFF_TARGET_ANSWER: off_target,
}

_AT_ONCE: Mapping[tuple[ErrorType, ErrorType], Injector] = {
    (_E.NOT_A_QUESTION, _E.UNNECESSARY_COPY): copied_statement,
    (_E.GRAMMAR_ERROR, _E.UNNECESSARY_COPY): spliced_copy,
    (_E.NOT_A_QUESTION, _E.OFF_TOPIC): degenerate,
    (_E.INFORMATION_NOT_MENTIONED, _E.OFF_TARGET_ANSWER): asked_beyond,
}
"""Pairs that one fault brings at once, in the order of the taxonomy."""

COMPATIBLE: Mapping[ErrorType, tuple[ErrorType, ...]] = {
    _E.INCOMPLETE: (_E.OFF_TARGET_ANSWER, _E.SPELL_ERROR),
    _E.NOT_A_QUESTION: (_E.UNNECESSARY_COPY, _E.UNNECESSARY_COPY, _E.OFF_TOPIC),
    _E.SPELL_ERROR: (_E.GRAMMAR_ERROR, _E.OFF_TARGET_ANSWER, _E.FACTUAL_ERROR),
    _E.GRAMMAR_ERROR: (_E.UNNECESSARY_COPY, _E.UNNECESSARY_COPY, _E.OFF_TARGET_ANSWER, _E.VAGUE),
    _E.VAGUE: (_E.OFF_TARGET_ANSWER, _E.OFF_TARGET_ANSWER, _E.GRAMMAR_ERROR),
    _E.UNNECESSARY_COPY: (_E.NOT_A_QUESTION, _E.GRAMMAR_ERROR, _E.OFF_TARGET_ANSWER, _E.SPELL_ERROR),
    _E.OFF_TOPIC: (_E.NOT_A_QUESTION, _E.GRAMMAR_ERROR),
    _E.FACTUAL_ERROR: (_E.OFF_TARGET_ANSWER, _E.GRAMMAR_ERROR),
    _E.INFORMATION_NOT_MENTIONED: (_E.OFF_TARGET_ANSWER, _E.OFF_TARGET_ANSWER, _E.GRAMMAR_ERROR),
    _E.OFF_TARGET_ANSWER: (
        _E.INFORMATION_NOT_MENTIONED,
        _E.VAGUE,
        _E.GRAMMAR_ERROR,
        _E.FACTUAL_ERROR,
        _E.UNNECESSARY_COPY,
    ),
}
"""By type, the types that may join it; one that stands there twice joins twice as often."""

_ORDER: Mapping[ErrorType, int] = {
    error: place
    for place, error in enumerate(
        (
            _E.OFF_TOPIC,
            _E.FACTUAL_ERROR,
            _E.INFORMATION_NOT_MENTIONED,
            _E.UNNECESSARY_COPY,
            _E.VAGUE,
            _E.NOT_A_QUESTION,
            _E.GRAMMAR_ERROR,
            _E.INCOMPLETE,
            _E.SPELL_ERROR,
            _E.OFF_TARGET_ANSWER,
        )
    )
}
"""In which order two errors are injected: content first, then the wording, then the form, the answer last."""


def inject(example: GoodExample, error: ErrorType, neighbours: Neighbours, rng: Generator) -> InjectedExample | None:
    """Break a good question in one way.

    Args:
        example: The good question.
        error: One of the ten errors.
        neighbours: Where to borrow questions, answers and names from.
        rng: The source of chance.

    Returns:
        The broken question, or None where this error cannot honestly be injected here.

    Raises:
        ValueError: The error is No Error.
    """
    if error is _E.NO_ERROR:
        raise ValueError("No Error cannot be injected; take the example itself (see untouched)")
    return _labelled(example, INJECTORS[error](example, neighbours, rng), {error})


def combine(
    example: GoodExample, first: ErrorType, second: ErrorType, neighbours: Neighbours, rng: Generator
) -> InjectedExample | None:
    """Break a good question in two ways; None where that is not possible."""
    pair = (first, second) if TYPE_INDEX[first] < TYPE_INDEX[second] else (second, first)
    if pair in _AT_ONCE:
        return _labelled(example, _AT_ONCE[pair](example, neighbours, rng), set(pair))
    draft: GoodExample | None = example
    for error in sorted(pair, key=_ORDER.__getitem__):
        before = draft
        draft = INJECTORS[error](draft, neighbours, rng) if draft is not None else None
        if draft is None or before is None or not _changed(before, draft):
            return None
    return _labelled(example, draft, set(pair))


def untouched(example: GoodExample) -> InjectedExample:
    """The good question itself, labelled No Error."""
    return InjectedExample(
        example.passage, example.question, example.answer, frozenset({_E.NO_ERROR}), example.source, example.id
    )


_SPOILS = frozenset({_E.INCOMPLETE, _E.NOT_A_QUESTION, _E.SPELL_ERROR, _E.GRAMMAR_ERROR, _E.OFF_TOPIC})


def is_sound(example: GoodExample) -> bool:
    """Whether a question from a data set may pass for one without error.

    Data sets of search queries hold statements and fragments, and crowd workers make typos: a tenth of QED's
    questions ask nothing, two in a hundred of XQuAD's are misspelt. False where a detector names an error of form, or
    where the passage has next to nothing of the question.
    """
    found = run_detectors(Question(question=example.question, passage=example.passage, answer=example.answer))
    return not labels_from_evidence(found) & _SPOILS


def _squeezed(text: str) -> str:
    return " ".join(text.lower().split()).rstrip(" ?.")


def _changed(before: GoodExample, after: GoodExample) -> bool:
    return before.question != after.question or _squeezed(before.answer) != _squeezed(after.answer)


def _labelled(example: GoodExample, broken: GoodExample | None, labels: set[ErrorType]) -> InjectedExample | None:
    if broken is None or not broken.question.strip() or not _changed(example, broken):
        return None
    only_answer = labels == {_E.OFF_TARGET_ANSWER}
    if not only_answer and _squeezed(broken.question) == _squeezed(example.question):
        return None
    return InjectedExample(
        broken.passage, broken.question, broken.answer, frozenset(labels), example.source, example.id
    )


@dataclass
class _Drawing:
    """The set while it is drawn: what is in it, and which texts are taken."""

    taken: set[tuple[str, str, str]]
    found: list[InjectedExample] = field(default_factory=list)

    def add(self, example: InjectedExample | None) -> bool:
        if example is None:
            return False
        key = (example.passage, example.answer, example.question)
        if key in self.taken:
            return False
        self.taken.add(key)
        self.found.append(example)
        return True


def build_labelled_set(
    examples: Sequence[GoodExample],
    mix: Mapping[ErrorType, float],
    n: int,
    combine_share: float,
    rng: Generator,
) -> list[InjectedExample]:
    """Draw a training set of broken and untouched questions.

    The result depends on the examples as a set, not on their order, and on nothing else but the arguments. Where the
    examples cannot carry as many of a type as asked for, there are fewer, and a warning says so.

    Args:
        examples: Good questions; repeated ones count once.
        mix: A weight for each type, No Error included; types left out get none. It is the distribution of the
            *primary* label; the second label of a combined one comes on top.
        n: How many rows to draw.
        combine_share: The share of the broken ones that carry two errors, in [0, 1].
        rng: The source of chance.

    Returns:
        Rows in random order, every (passage, answer, question) at most once, and no good question under an error.

    Raises:
        ValueError: A weight is negative or all are zero, or the share or n is out of range.
    """
    quota = _quotas(mix, n)
    if not 0.0 <= combine_share <= 1.0:
        raise ValueError(f"combine_share is {combine_share}; it must lie in [0, 1]")
    neighbours = Neighbours(examples)
    pool = neighbours.examples
    drawing = _Drawing({(e.passage, e.answer, e.question) for e in pool})
    seed = int(rng.integers(2**63))
    order = [int(i) for i in rng.permutation(len(pool))]
    for place, error in enumerate(ERRORS):
        wanted = quota.get(error, 0)
        doubles = round(wanted * combine_share)
        shift = place * len(order) // len(ERRORS)
        turn = order[shift:] + order[:shift]
        made = _fill(drawing, pool, turn, error, doubles, neighbours, seed, joined=True)
        made += _fill(drawing, pool, turn[::-1], error, wanted - made, neighbours, seed, joined=False)
        if made < wanted:
            _log.warning("only %d of %d examples of %s could be made from %d questions", made, wanted, error, len(pool))
    drawing.found += _good_ones(pool, order, {e.pair_id for e in drawing.found}, quota.get(_E.NO_ERROR, 0))
    return [drawing.found[int(i)] for i in rng.permutation(len(drawing.found))]


def _quotas(mix: Mapping[ErrorType, float], n: int) -> dict[ErrorType, int]:
    """How many rows of each type: n shared out by weight, the largest remainders rounded up."""
    total = float(sum(mix.values()))
    if n < 0 or total <= 0 or min(mix.values()) < 0:
        raise ValueError(f"cannot draw {n} rows with the weights {dict(mix)}")
    exact = {t: n * mix[t] / total for t in ALL_TYPES if t in mix}
    quota = {t: int(x) for t, x in exact.items()}
    by_rest = sorted(exact, key=lambda t: (quota[t] - exact[t], TYPE_INDEX[t]))
    for t in by_rest[: n - sum(quota.values())]:
        quota[t] += 1
    return quota


_PASSES = 4


def _fill(
    drawing: _Drawing,
    pool: Sequence[GoodExample],
    turn: Sequence[int],
    error: ErrorType,
    wanted: int,
    neighbours: Neighbours,
    seed: int,
    *,
    joined: bool,
) -> int:
    """Add up to ``wanted`` broken questions of a type, each question taken once before any is taken again."""
    made = 0
    for again in range(_PASSES):
        for i in turn:
            if made >= wanted:
                return made
            example = pool[i]
            own = np.random.default_rng([seed, zlib.crc32(example.id.encode()), TYPE_INDEX[error], int(joined), again])
            if joined:
                partner = COMPATIBLE[error][int(own.integers(len(COMPATIBLE[error])))]
                broken = combine(example, error, partner, neighbours, own)
            else:
                broken = inject(example, error, neighbours, own)
            made += drawing.add(broken)
    return made


def _good_ones(
    pool: Sequence[GoodExample], order: Sequence[int], paired: set[str], wanted: int
) -> list[InjectedExample]:
    """Untouched questions: first those of which a broken one is in the set, so that pairs stand side by side."""
    first = [i for i in order if pool[i].id in paired]
    rest = [i for i in order if pool[i].id not in paired]
    if wanted > len(pool):
        _log.warning("only %d of %d untouched examples are there", len(pool), wanted)
    return [untouched(replace(pool[i])) for i in (first + rest)[:wanted]]
