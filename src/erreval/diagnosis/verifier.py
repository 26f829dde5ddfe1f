"""The Verifier: how probable it is that a label set is right for a question, answer and passage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from erreval.diagnosis.backbone import VERDICTS
from erreval.diagnosis.encoding import encode
from erreval.diagnosis.examples import multi_hot
from erreval.diagnosis.identifier import load_classifier
from erreval.diagnosis.inference import logits, verdict_logits
from erreval.errors import ErrevalError
from erreval.records import Question
from erreval.taxonomy import ErrorType


class Verifier:
    """A trained binary classifier over (question, answer, passage, label set)."""

    def __init__(self, model: Any, tokenizer: Any, name: str) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self.name = name
        self.max_tokens = int(getattr(model.config, "erreval_max_tokens", 0) or 512)

    @classmethod
    def load(cls, folder: Path | str) -> Verifier:
        """Load from a folder that ``fine_tune`` wrote.

        Raises:
            ErrevalError: There is no model, or it is not a Verifier.
        """
        model, tokenizer = load_classifier(folder)
        names = [model.config.id2label.get(i) for i in range(model.config.num_labels)]
        if names != list(VERDICTS):
            raise ErrevalError(f"{folder}: not a Verifier; its classes are {names}")
        return cls(model, tokenizer, name=str(folder))

    def predict(
        self,
        questions: Sequence[Question],
        label_sets: Sequence[frozenset[ErrorType]],
        report: Callable[[int, int], None] | None = None,
    ) -> np.ndarray:
        """The probability p_v that each label set is right, (n,)."""
        if not questions:
            return np.zeros(0, dtype=np.float32)
        pad_id = self._tokenizer.pad_token_id or 0
        if getattr(self._model.config, "label_set_size", 0):
            distinct = {question.question_id: question for question in questions}
            place = {name: k for k, name in enumerate(distinct)}
            encoded = encode(self._tokenizer, list(distinct.values()), self.max_tokens)
            which = [place[question.question_id] for question in questions]
            raw = verdict_logits(self._model, encoded, pad_id, which, multi_hot(label_sets), report)
        else:
            raw = logits(self._model, encode(self._tokenizer, questions, self.max_tokens, label_sets), pad_id, report)
        shifted = np.exp(raw - raw.max(axis=1, keepdims=True))
        right: np.ndarray = (shifted / shifted.sum(axis=1, keepdims=True))[:, VERDICTS.index("right")]
        return right
