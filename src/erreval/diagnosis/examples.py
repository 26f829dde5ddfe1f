"""What the two classifiers learn from: questions with right label sets, and for the Verifier with perturbed ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from erreval.records import Question
from erreval.taxonomy import ALL_TYPES, ErrorType


@dataclass(frozen=True)
class Example:
    """A question with the label sets to learn from it.

    For the Error Identifier that is its one right set. For the Verifier it is the right one and perturbed ones:
    the question is read once, however many sets are verified.
    """

    question: Question
    label_sets: tuple[frozenset[ErrorType], ...]
    right: tuple[bool, ...] = (True,)


def multi_hot(label_sets: Sequence[frozenset[ErrorType]]) -> np.ndarray:
    """Label sets as zeros and ones, (n, 11), columns in the order of ``ALL_TYPES``."""
    return np.array([[float(t in labels) for t in ALL_TYPES] for labels in label_sets], dtype=np.float32).reshape(
        len(label_sets), len(ALL_TYPES)
    )


def perturbed(
    labels: frozenset[ErrorType], rng: np.random.Generator, weights: Sequence[float] | None = None
) -> frozenset[ErrorType]:
    """A wrong label set made from a right one: one label added, dropped or swapped.

    Args:
        labels: The right set.
        rng: Source of randomness.
        weights: How often each of the eleven types comes in; the training set's frequencies make hard negatives.

    Returns:
        A valid label set that differs: No Error never stands beside an error.
    """
    share = np.ones(len(ALL_TYPES)) if weights is None else np.asarray(weights, dtype=float) + 1e-6
    errors = labels - {ErrorType.NO_ERROR}
    candidates: list[tuple[str, frozenset[ErrorType]]] = []
    outside = [t for t in ALL_TYPES if t not in labels and t is not ErrorType.NO_ERROR]
    p = np.array([share[ALL_TYPES.index(t)] for t in outside])
    new = outside[int(rng.choice(len(outside), p=p / p.sum()))]
    if errors:
        old = sorted(errors)[int(rng.integers(len(errors)))]
        candidates = [
            ("add", errors | {new}),
            ("drop", (errors - {old}) or frozenset({ErrorType.NO_ERROR})),
            ("swap", (errors - {old}) | {new}),
        ]
    else:
        candidates = [("swap", frozenset({new}))]
    return candidates[int(rng.integers(len(candidates)))][1]


def verifier_examples(
    questions: Sequence[Question],
    label_sets: Sequence[frozenset[ErrorType]],
    negatives: int,
    rng: np.random.Generator,
) -> list[Example]:
    """Right label sets and perturbed ones for the Verifier.

    Returns:
        One example a question, with its right set and up to ``negatives`` different wrong ones.
    """
    frequency = list(multi_hot(label_sets).mean(axis=0))
    examples = []
    for question, labels in zip(questions, label_sets, strict=True):
        tried = [labels]
        for _ in range(negatives):
            wrong = perturbed(labels, rng, frequency)
            if wrong not in tried:
                tried.append(wrong)
        examples.append(Example(question, tuple(tried), (True, *[False] * (len(tried) - 1))))
    return examples


def one_by_one(examples: Sequence[Example]) -> list[tuple[Question, frozenset[ErrorType], bool]]:
    """Every (question, label set, whether it is right) of the examples."""
    return [(e.question, s, r) for e in examples for s, r in zip(e.label_sets, e.right, strict=True)]
