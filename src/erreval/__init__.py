"""erreval: judge generated questions by finding their errors first.

The names below are loaded on first use, so that ``import erreval`` stays cheap and pulls in no model code.
A saved Error Identifier with our own head loads through transformers' Auto classes as soon as erreval has been
imported, before or after transformers: the registration waits for the Auto classes to be imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wrapt import when_imported

if TYPE_CHECKING:
    from erreval.diagnosis.diagnose import diagnose as diagnose
    from erreval.records import Diagnosis as Diagnosis
    from erreval.records import Question as Question
    from erreval.taxonomy import Dimension as Dimension
    from erreval.taxonomy import ErrorType as ErrorType

__version__ = "0.1.0"

_HOMES = {
    "diagnose": "erreval.diagnosis.diagnose",
    "Diagnosis": "erreval.records",
    "Question": "erreval.records",
    "Dimension": "erreval.taxonomy",
    "ErrorType": "erreval.taxonomy",
}
__all__ = ["Diagnosis", "Dimension", "ErrorType", "Question", "diagnose"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'erreval' has no attribute {name!r}")


@when_imported("transformers.models.auto.modeling_auto")
def _register_with_auto_classes(_module: object) -> None:
    import_module("erreval.diagnosis.pooled")
