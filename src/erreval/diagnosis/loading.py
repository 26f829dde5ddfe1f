"""A saved Error Identifier of any kind, by what its folder holds: the one place that tells the kinds apart."""

from __future__ import annotations

from pathlib import Path

from erreval.diagnosis.identifier import Identifier


def load_identifier(folder: Path) -> Identifier:
    """Load an Error Identifier.

    Raises:
        ErrevalError: There is no model in the folder, or it has other classes than the eleven types.
    """
    return Identifier.load(folder)
