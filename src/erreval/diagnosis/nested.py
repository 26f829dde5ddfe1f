"""Nested folds by passage: the question that is predicted never chose a weight, a base rate or a threshold.

Outer folds are predicted by a fusion fitted on the other passages; its thresholds are chosen on probabilities that
inner folds of those passages give one another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from erreval.diagnosis.answer_fit import AnswerFit
from erreval.diagnosis.fusion import Fusion, FusionSettings, Labelled, fit_fusion
from erreval.diagnosis.thresholds import choose_thresholds, decide
from erreval.errors import ErrevalError
from erreval.taxonomy import ALL_TYPES, ErrorType


@dataclass(frozen=True)
class Fitted:
    """A fusion with thresholds that were chosen on its folds' own predictions."""

    fusion: Fusion
    thresholds: Mapping[ErrorType, float]


def folds_by_passage(passages: Sequence[str], folds: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, ...]]:
    """Row numbers seen and held out, each passage held out once, folds about equally many passages.

    Args:
        passages: (n,) the passage of each row.
        folds: How many, at most as many as there are passages.
        rng: Draws which passages go together.

    Raises:
        ErrevalError: There are fewer than two passages.
    """
    names = np.asarray(passages, dtype=object)
    different = np.array(sorted(set(passages)), dtype=object)
    if len(different) < 2:
        raise ErrevalError(f"folds need questions on two passages or more, not on {len(different)}")
    order = rng.permutation(len(different))
    for part in np.array_split(order, min(folds, len(different))):
        held = np.isin(names, different[part])
        yield np.flatnonzero(~held), np.flatnonzero(held)


def out_of_fold(
    injected: Labelled,
    people: Labelled,
    passages: Sequence[str],
    answer_fit: AnswerFit,
    settings: FusionSettings,
    rng: np.random.Generator,
    folds: int = 5,
) -> np.ndarray:
    """(n, 11) probabilities of the people's rows, each by a fusion that has not seen its passage."""
    found = np.empty((len(people.hot), len(ALL_TYPES)))
    for seen, held in folds_by_passage(passages, folds, rng):
        fusion = fit_fusion(injected, people.take(seen), answer_fit, settings)
        found[held] = fusion.probabilities(people.take(held).signals)
    return found


def fit_with_thresholds(
    injected: Labelled,
    people: Labelled,
    passages: Sequence[str],
    answer_fit: AnswerFit,
    settings: FusionSettings,
    rng: np.random.Generator,
    folds: int = 5,
) -> Fitted:
    """A fusion fitted on all rows, with thresholds chosen on out-of-fold probabilities.

    Args:
        injected: See ``fit_fusion``.
        people: Labelled real questions (the development half).
        passages: The passage of each of the people's rows.
        answer_fit: What gave the signals.
        settings: How to fit.
        rng: Draws the folds.
        folds: How many.
    """
    chosen_on = out_of_fold(injected, people, passages, answer_fit, settings, rng, folds)
    return Fitted(fit_fusion(injected, people, answer_fit, settings), choose_thresholds(chosen_on, people.hot))


def cross_fitted(
    injected: Labelled,
    people: Labelled,
    passages: Sequence[str],
    answer_fit: AnswerFit,
    settings: FusionSettings,
    rng: np.random.Generator,
    *,
    folds: int = 8,
    inner: int = 5,
) -> tuple[np.ndarray, list[frozenset[ErrorType]]]:
    """Probabilities and label sets for all of the people's rows, by nested folds.

    Returns:
        (n, 11) probabilities and n label sets; for each row weights, base rates and thresholds come from other
        passages.
    """
    names = np.asarray(passages, dtype=object)
    found = np.empty((len(people.hot), len(ALL_TYPES)))
    sets: list[frozenset[ErrorType]] = [frozenset()] * len(people.hot)
    for seen, held in folds_by_passage(passages, folds, rng):
        fitted = fit_with_thresholds(
            injected, people.take(seen), names[seen].tolist(), answer_fit, settings, rng, inner
        )
        found[held] = fitted.fusion.probabilities(people.take(held).signals)
        for row, labels in zip(held, decide(found[held], fitted.thresholds), strict=True):
            sets[int(row)] = labels
    return found, sets
