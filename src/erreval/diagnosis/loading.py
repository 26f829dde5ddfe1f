"""A saved Error Identifier of any kind, by what its folder holds: the one place that tells the kinds apart."""

from __future__ import annotations

from pathlib import Path

from erreval.diagnosis.identifier import DEFAULT_THRESHOLD, Identifier
from erreval.taxonomy import ERRORS, ErrorType


def load_identifier(folder: Path) -> Identifier:
    """Load an Error Identifier.

    Raises:
        ErrevalError: There is no model in the folder, or it has other classes than the eleven types.
    """
    return Identifier.load(folder)


def thresholds(identifier: Identifier | None) -> dict[ErrorType, float]:
    """From which value on each error is named; None stands for the detectors alone."""
    return dict.fromkeys(ERRORS, DEFAULT_THRESHOLD if identifier is None else identifier.threshold)
