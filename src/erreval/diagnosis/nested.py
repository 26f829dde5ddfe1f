"""Nested folds by passage: the question that is predicted never chose a weight, a base rate or a threshold.

Outer folds are predicted by a fusion fitted on the other passages; its thresholds are chosen on probabilities that
inner folds of those passages give one another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from erreval.diagnosis.answer_fit import AnswerFit
from erreval.diagnosis.fusion import Fusion, Labelled, fit_fusion
from erreval.diagnosis.thresholds import choose_thresholds, decide
from erreval.errors import ErrevalError
from erreval.sections import FusionSettings
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


@dataclass(frozen=True)
class Material:
    """What a fusion is fitted on."""

    injected: Labelled
    """See ``fit_fusion``."""
    people: Labelled
    """Labelled real questions."""
    passages: Sequence[str]
    """The passage of each of the people's rows."""
    answer_fit: AnswerFit
    """What gave the signals."""
    settings: FusionSettings

    def take(self, rows: np.ndarray) -> Material:
        """The same with some of the people's rows."""
        return replace(self, people=self.people.take(rows), passages=[self.passages[k] for k in rows])

    def fit(self) -> Fusion:
        """A fusion fitted on all of it."""
        return fit_fusion(self.injected, self.people, self.answer_fit, self.settings)


def out_of_fold(material: Material, rng: np.random.Generator, folds: int | None = None) -> np.ndarray:
    """(n, 11) probabilities of the people's rows, each by a fusion that has not seen its passage.

    Args:
        material: What there is.
        rng: Draws the folds.
        folds: How many; by default as many as the settings say, here and below.
    """
    found = np.empty((len(material.people.hot), len(ALL_TYPES)))
    for seen, held in folds_by_passage(material.passages, folds or material.settings.folds, rng):
        fusion = material.take(seen).fit()
        found[held] = fusion.probabilities(material.people.take(held).signals)
    return found


def fit_with_thresholds(material: Material, rng: np.random.Generator, folds: int | None = None) -> Fitted:
    """A fusion fitted on all rows, with thresholds chosen on out-of-fold probabilities.

    Args:
        material: With the people's rows of the development half.
        rng: Draws the folds.
        folds: How many.
    """
    chosen_on = out_of_fold(material, rng, folds)
    return Fitted(material.fit(), choose_thresholds(chosen_on, material.people.hot))


def cross_fitted(
    material: Material, rng: np.random.Generator, *, folds: int = 8, inner: int | None = None
) -> tuple[np.ndarray, list[frozenset[ErrorType]]]:
    """Probabilities and label sets for all of the people's rows, by nested folds.

    Args:
        material: What there is.
        rng: Draws the folds.
        folds: How many outer ones.
        inner: How many inner ones.

    Returns:
        (n, 11) probabilities and n label sets; for each row weights, base rates and thresholds come from other
        passages.
    """
    found = np.empty((len(material.people.hot), len(ALL_TYPES)))
    sets: list[frozenset[ErrorType]] = [frozenset()] * len(found)
    for seen, held in folds_by_passage(material.passages, folds, rng):
        fitted = fit_with_thresholds(material.take(seen), rng, inner)
        found[held] = fitted.fusion.probabilities(material.people.take(held).signals)
        for row, labels in zip(held, decide(found[held], fitted.thresholds), strict=True):
            sets[int(row)] = labels
    return found, sets
