"""The default Error Identifier: detectors' signals, joined by an encoder's probabilities where there is an encoder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from erreval.diagnosis.detectors.registry import why_not_judged
from erreval.diagnosis.fusion import Fusion, with_encoder
from erreval.diagnosis.identifier import Identifier
from erreval.diagnosis.interface import Report
from erreval.diagnosis.signals import vectors
from erreval.diagnosis.thresholds import WhenEmpty, decide
from erreval.errors import ErrevalError
from erreval.records import Question
from erreval.taxonomy import ERRORS, TYPE_INDEX, ErrorType

FILE = "fusion.json"
"""Its name in the folder of an identifier; an encoder, where there is one, lies in the folder ``encoder`` beside it."""
ENCODER_FOLDER = "encoder"
_FORMAT = 1
_NO_ERROR = TYPE_INDEX[ErrorType.NO_ERROR]


def is_fused(folder: Path) -> bool:
    """Whether a folder holds a fused identifier."""
    return (folder / FILE).is_file()


class FusedIdentifier:
    """Signals and, where it has one, an encoder; probabilities are calibrated and the label sets its thresholds'."""

    def __init__(
        self,
        fusion: Fusion,
        thresholds: Mapping[ErrorType, float],
        encoder: Identifier | None = None,
        *,
        name: str = "fusion",
        when_empty: WhenEmpty = "no error",
    ) -> None:
        if fusion.uses_encoder and encoder is None:
            raise ErrevalError(f"{name}: fitted with an encoder's probabilities, and there is no encoder; add it")
        self.fusion = fusion
        self.thresholds = dict(thresholds)
        self.encoder = encoder if fusion.uses_encoder else None
        self.name = name
        self.when_empty: WhenEmpty = when_empty
        self.max_tokens = self.encoder.max_tokens if self.encoder is not None else 0

    def predict_probabilities(self, questions: Sequence[Question], report: Report | None = None) -> np.ndarray:
        """Calibrated probabilities, (n, 11); NaN where a type cannot be judged for want of an answer or a passage."""
        if not questions:
            return np.zeros((0, len(TYPE_INDEX)))
        encoded = self.encoder.predict_probabilities(questions, report) if self.encoder is not None else None
        signals = with_encoder(
            vectors(questions, self.fusion.answer_fit, None if encoded is not None else report), encoded
        )
        found = self.fusion.probabilities(signals)
        for row, question in enumerate(questions):
            unjudged = [TYPE_INDEX[t] for t in ERRORS if why_not_judged(question, t) is not None]
            if unjudged:
                judged = [TYPE_INDEX[t] for t in ERRORS if TYPE_INDEX[t] not in unjudged]
                found[row, unjudged] = np.nan
                found[row, _NO_ERROR] = np.prod(1.0 - found[row, judged])
        return found

    def decide(self, probabilities: np.ndarray) -> list[frozenset[ErrorType]]:
        """See ``thresholds.decide``; a type that was not judged is never named."""
        return decide(probabilities, self.thresholds, self.when_empty)

    def truncated(self, questions: Sequence[Question]) -> list[bool]:
        """Whether the encoder sees only part of each question's text; detectors see all of it."""
        return self.encoder.truncated(questions) if self.encoder is not None else [False] * len(questions)

    def save(self, folder: Path) -> None:
        """Write ``fusion.json``, under a temporary name first; the encoder is copied there by who trained it."""
        content = {
            "format": _FORMAT,
            "when_empty": self.when_empty,
            "thresholds": {t.value: level for t, level in self.thresholds.items()},
            "fusion": self.fusion.to_json(),
        }
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"{FILE}.part"
        partial.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        partial.replace(folder / FILE)

    @classmethod
    def load(cls, folder: Path) -> FusedIdentifier:
        """Read what ``save`` wrote, and the encoder beside it.

        Raises:
            ErrevalError: There is no fusion, its encoder is missing, or another version of erreval wrote it.
        """
        path = folder / FILE
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != _FORMAT:
                raise ErrevalError(
                    f"{path}: format {content['format']}, and this version reads {_FORMAT}; fit it again"
                )
            fusion = Fusion.from_json(content["fusion"])
            levels = {ErrorType(name): float(level) for name, level in content["thresholds"].items()}
            when_empty: WhenEmpty = "abstain" if content["when_empty"] == "abstain" else "no error"
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            why = " ".join(str(error).split())[:200]
            raise ErrevalError(f"{path}: no fusion can be read from here ({why}); fit it again") from error
        missing = [t.value for t in ERRORS if t not in levels]
        if missing:
            raise ErrevalError(f"{path}: no threshold for {', '.join(missing)}; fit it again")
        encoder = Identifier.load(folder / ENCODER_FOLDER) if fusion.uses_encoder else None
        return cls(fusion, levels, encoder, name=str(folder), when_empty=when_empty)
