"""The one family of errors that a user can mend: each says what, where and what to do."""

from __future__ import annotations


class ErrevalError(Exception):
    """A mistake in the input, the settings or the surroundings, told in one line.

    The command line prints the message and ends with exit code 2; nothing was written.
    """


class TableError(ErrevalError):
    """A file that cannot be read or written as a table; the message names file, row and column."""


class SettingsError(ErrevalError):
    """Mistakes in params.yaml or a profile, all of them at once."""


class SourceError(ErrevalError):
    """A public file that cannot be had, or is not what it should be."""


class GateError(ErrevalError):
    """A quality gate that did not let the data through."""


class CollapsedModelError(ErrevalError):
    """A trained model that predicts the same for everything."""


class StageError(ErrevalError):
    """A stage or a flow that cannot start or go on: locked, orphaned, or missing an input."""
