"""The losses that the two classifiers are trained with, and how they treat rare labels.

``plain`` is binary cross-entropy over the eleven types for the Error Identifier and cross-entropy over the two
verdicts for the Verifier. ``weighted`` lets the rare side count more. ``focal`` is the loss of Lin et al. 2017 ("Focal
Loss for Dense Object Detection", Eq. 4): what is decided well already counts little. Each is a mean over the decisions
of a batch, so that it means the same in batches of any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor, nn

from erreval.diagnosis.backbone import Task
from erreval.diagnosis.examples import Example, multi_hot
from erreval.sections import LossName
from erreval.taxonomy import ErrorType

FOCUS = 2.0
"""Exponent of the focal loss, the best of those that its authors tried."""

NO_DECISION = -100
"""Label of a place that only fills up a batch; it counts nothing."""


def positive_weights(label_sets: Sequence[frozenset[ErrorType]]) -> list[float]:
    """Weight of a type's positives in the loss: the square root of negatives per positive, at most 10."""
    hot = multi_hot(label_sets)
    positives = hot.sum(axis=0)
    ratio = np.where(positives > 0, (len(hot) - positives) / np.maximum(positives, 1), 1.0)
    return [round(float(w), 4) for w in np.clip(np.sqrt(ratio), 1.0, 10.0)]


def verdict_weights(examples: Sequence[Example]) -> list[float]:
    """Weights that make the Verifier's classes, wrong and right, count alike: 1 and wrong sets per right one."""
    right = sum(sum(e.right) for e in examples)
    wrong = sum(len(e.right) for e in examples) - right
    return [1.0, round(wrong / right, 4) if right and wrong else 1.0]


@dataclass(frozen=True)
class Objective:
    """The loss of one training."""

    task: Task
    kind: LossName
    weights: tuple[float, ...] = ()
    """Of ``weighted``: of each type's positives for the identifier, of each class for the Verifier."""

    @classmethod
    def of(cls, task: Task, kind: LossName, examples: Sequence[Example]) -> Objective:
        """The loss of this kind, its weights taken from the training examples."""
        if kind != "weighted":
            return cls(task, kind)
        weights = (
            positive_weights([example.label_sets[0] for example in examples])
            if task == "identifier"
            else verdict_weights(examples)
        )
        return cls(task, kind, tuple(weights))

    def __call__(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss of a batch, a number.

        Args:
            logits: (batch, 11) for the identifier; (batch, 2) or (batch, k, 2) for the Verifier.
            labels: (batch, 11) zeros and ones; (batch,) or (batch, k) class indices, ``NO_DECISION`` where none is.
        """
        logits = logits.float()
        if self.task == "identifier":
            return self._over_types(logits, labels.float())
        return self._over_verdicts(logits.flatten(0, -2), labels.flatten())

    def _over_types(self, logits: Tensor, labels: Tensor) -> Tensor:
        if self.kind != "focal":
            weight = logits.new_tensor(self.weights) if self.weights else None
            return nn.functional.binary_cross_entropy_with_logits(logits, labels, pos_weight=weight)
        each = nn.functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
        return self._focused(each)

    def _over_verdicts(self, logits: Tensor, labels: Tensor) -> Tensor:
        if self.kind != "focal":
            weight = logits.new_tensor(self.weights) if self.weights else None
            return nn.functional.cross_entropy(logits, labels, weight=weight, ignore_index=NO_DECISION)
        decided = labels != NO_DECISION
        return self._focused(nn.functional.cross_entropy(logits[decided], labels[decided], reduction="none"))

    @staticmethod
    def _focused(each: Tensor) -> Tensor:
        # A cross-entropy is -log of the probability of what is true.
        return ((1.0 - (-each).exp()) ** FOCUS * each).mean()
