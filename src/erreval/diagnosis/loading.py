"""A saved Error Identifier of any kind, by what its folder holds: the one place that tells the kinds apart."""

from __future__ import annotations

from pathlib import Path

from erreval.diagnosis.fused import FusedIdentifier, is_fused
from erreval.diagnosis.identifier import DEFAULT_THRESHOLD, Identifier
from erreval.taxonomy import ERRORS, ErrorType

SavedIdentifier = Identifier | FusedIdentifier
"""What a folder may hold."""


def load_identifier(folder: Path) -> SavedIdentifier:
    """Load an Error Identifier: a fusion where there is one, else an encoder.

    Raises:
        ErrevalError: There is no model in the folder, or it has other classes than the eleven types.
    """
    return FusedIdentifier.load(folder) if is_fused(folder) else Identifier.load(folder)


def thresholds(identifier: SavedIdentifier | None) -> dict[ErrorType, float]:
    """From which value on each error is named; None stands for the detectors alone."""
    if isinstance(identifier, FusedIdentifier):
        return identifier.thresholds
    return dict.fromkeys(ERRORS, DEFAULT_THRESHOLD if identifier is None else identifier.threshold)
