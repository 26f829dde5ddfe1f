"""What to write: which errors, about which passage, after which example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.random import Generator

from erreval.errors import ErrevalError
from erreval.records import Question
from erreval.taxonomy import ErrorType, format_label_set


@dataclass(frozen=True)
class Seed:
    """A labelled example that is shown to the writer."""

    question: Question
    labels: frozenset[ErrorType]


@dataclass(frozen=True)
class Item:
    """One question to write; it takes its label set from its seed."""

    base: Question
    """A sound question with its passage and answer."""
    seed: Seed

    @property
    def labels(self) -> frozenset[ErrorType]:
        """What the question is to have."""
        return self.seed.labels


def draw_items(
    bases: Sequence[Question], seeds: Sequence[Seed], types: Sequence[ErrorType], n: int, rng: Generator
) -> list[Item]:
    """Draw items: the types take turns, and so do the seeds that have a type, each with its whole label set.

    The first k items of a larger n are those of n = k, so that a longer run goes on where a shorter one ended.

    Args:
        bases: Sound questions with passage and answer; repeated ones count once.
        seeds: Labelled examples.
        types: Every item has at least one of these; with a seed's further labels, if there are.
        n: How many.
        rng: The source of chance.

    Raises:
        ErrevalError: A question lacks passage or answer, a type has no seed, or there are fewer than n pairs of a
            question and a seed on different passages.
    """
    _refuse_unusable(bases, seeds, types)
    unique = {question.question_id: question for question in bases}
    pool = [unique[i] for i in sorted(unique)]
    order = [pool[int(i)] for i in rng.permutation(len(pool))]
    by_type = {t: [seed for seed in seeds if t in seed.labels] for t in types}
    drawn: dict[tuple[str, str, str], Item] = {}
    misses = turn = 0
    while len(drawn) < n:
        mine = by_type[types[turn % len(types)]]
        seed = mine[turn // len(types) % len(mine)]
        item = next((item for item in _candidates(order, seed, turn) if _key(item) not in drawn), None)
        turn += 1
        if item is not None:
            drawn[_key(item)] = item
            misses = 0
            continue
        misses += 1
        if misses >= len(types) * max(map(len, by_type.values())):
            raise ErrevalError(
                f"only {len(drawn)} different questions can be asked for, not {n}; give more questions or seeds, or "
                "ask for fewer"
            )
    return list(drawn.values())


def _candidates(order: Sequence[Question], seed: Seed, turn: int) -> list[Item]:
    start = turn % len(order)
    return [Item(q, seed) for q in (*order[start:], *order[:start]) if q.passage_id != seed.question.passage_id]


def _key(item: Item) -> tuple[str, str, str]:
    return item.base.question_id, item.seed.question.question_id, format_label_set(item.labels)


def _refuse_unusable(bases: Sequence[Question], seeds: Sequence[Seed], types: Sequence[ErrorType]) -> None:
    problems = []
    lacking = [row for row, q in enumerate(bases, start=1) if q.answer is None or not q.passage.strip()]
    if lacking:
        rows = ", ".join(map(str, lacking[:10]))
        problems.append(f"{len(lacking)} questions have no passage or no answer (rows {rows}); fill in or remove them")
    if not bases:
        problems.append("there are no questions to write about")
    without = [t.value for t in types if not any(t in seed.labels for seed in seeds)]
    if without:
        problems.append(f"no seed has the label {', '.join(without)}; add one or leave the type out")
    if problems:
        raise ErrevalError("; ".join(problems))
