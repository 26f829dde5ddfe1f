"""The Error Identifier: eleven probabilities for a question, and the label set that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from erreval.diagnosis.encoding import encode
from erreval.diagnosis.inference import best_device, logits
from erreval.errors import CollapsedModelError, ErrevalError
from erreval.records import Question
from erreval.taxonomy import ALL_TYPES, TYPE_INDEX, ErrorType

_NO_ERROR = TYPE_INDEX[ErrorType.NO_ERROR]
DEFAULT_THRESHOLD = 0.5
SAME_FOR_ALL = 0.95
"""Share of varied questions; a model that decides alike for more of them has learned next to nothing."""


def load_classifier(folder: Path | str) -> tuple[Any, Any]:
    """A saved classifier and its tokeniser, on the best device, in evaluation mode.

    Raises:
        ErrevalError: There is no model in the folder.
    """
    if not (Path(folder) / "config.json").is_file():
        raise ErrevalError(
            f"{folder}: there is no model in this folder; name one that training has written, or 'detectors'"
        )
    import transformers

    import erreval.diagnosis.pooled  # noqa: F401 - registers our head with the Auto classes

    transformers.utils.logging.disable_progress_bar()
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, use_safetensors=True)
    except (OSError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        raise ErrevalError(f"{folder}: no classifier can be loaded from here ({why})") from error
    return model.to(best_device()).eval(), tokenizer


class Identifier:
    """A trained multi-label classifier over the eleven types."""

    def __init__(self, model: Any, tokenizer: Any, name: str, threshold: float = DEFAULT_THRESHOLD) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self.name = name
        self.threshold = threshold
        self.max_tokens = int(getattr(model.config, "erreval_max_tokens", 0) or 512)

    @classmethod
    def load(cls, folder: Path | str) -> Identifier:
        """Load from a folder that ``fine_tune`` wrote.

        Raises:
            ErrevalError: There is no model, or it has other classes than the eleven types.
        """
        model, tokenizer = load_classifier(folder)
        names = [model.config.id2label.get(i) for i in range(model.config.num_labels)]
        if names != [t.value for t in ALL_TYPES]:
            raise ErrevalError(f"{folder}: not an Error Identifier; its classes are {names}")
        threshold = float(getattr(model.config, "erreval_threshold", DEFAULT_THRESHOLD))
        return cls(model, tokenizer, name=str(folder), threshold=threshold)

    def predict_probabilities(
        self, questions: Sequence[Question], report: Callable[[int, int], None] | None = None
    ) -> np.ndarray:
        """Probabilities of the eleven types, (n, 11) in the order of ``ALL_TYPES``."""
        if not questions:
            return np.zeros((0, len(ALL_TYPES)), dtype=np.float32)
        encoded = encode(self._tokenizer, questions, self.max_tokens)
        raw = logits(self._model, encoded, self._tokenizer.pad_token_id or 0, report=report)
        probabilities: np.ndarray = 1.0 / (1.0 + np.exp(-raw))
        return probabilities

    def decide(self, probabilities: np.ndarray) -> list[frozenset[ErrorType]]:
        """The label sets that follow from probabilities, (n, 11), by this identifier's threshold."""
        return label_sets(probabilities, self.threshold)

    def truncated(self, questions: Sequence[Question]) -> list[bool]:
        """Whether the encoder sees only part of each question's text."""
        return [item.truncated for item in encode(self._tokenizer, questions, self.max_tokens)]


def label_sets(probabilities: np.ndarray, threshold: float = DEFAULT_THRESHOLD) -> list[frozenset[ErrorType]]:
    """The label sets that follow from probabilities.

    Errors at or above the threshold are predicted, unless No Error is more probable than each of them; with no
    error at or above it the set is No Error. No Error is never joined with an error, and no set is empty.

    Args:
        probabilities: (n, 11).
        threshold: Of an error's probability.
    """
    found = []
    for row in probabilities:
        errors = [t for t, p in zip(ALL_TYPES, row, strict=True) if t is not ErrorType.NO_ERROR and p >= threshold]
        strongest = max((row[TYPE_INDEX[t]] for t in errors), default=0.0)
        if not errors or row[_NO_ERROR] > strongest:
            found.append(frozenset({ErrorType.NO_ERROR}))
        else:
            found.append(frozenset(errors))
    return found


def check_not_collapsed(outputs: np.ndarray, what: str) -> None:
    """Refuse a model whose outputs hardly depend on its input.

    Args:
        outputs: (n, classes) probabilities on varied questions.
        what: Name of the model for the message.

    Raises:
        CollapsedModelError: No class's probability varies by more than .01 (standard deviation), or more than
            ``SAME_FOR_ALL`` of the questions get the same decision in every class, or an output is no number.
    """
    if not bool(np.isfinite(outputs).all()):
        raise CollapsedModelError(f"{what} has collapsed: it gives no numbers; lower the learning rate")
    spread = outputs.std(axis=0)
    if len(outputs) > 1 and float(spread.max()) < 0.01:
        raise CollapsedModelError(
            f"{what} has collapsed: over {len(outputs)} different questions no probability varies by more than "
            f"{float(spread.max()):.4f}; train longer, raise the learning rate, or change the seed"
        )
    _, alike = np.unique(outputs >= 0.5, axis=0, return_counts=True)
    if len(outputs) > 1 and alike.max() > SAME_FOR_ALL * len(outputs):
        raise CollapsedModelError(
            f"{what} has collapsed: it decides the same for {alike.max()} of {len(outputs)} different questions; "
            "train longer, raise the learning rate, or change the seed"
        )
