"""Does a saved Error Identifier work? Contents, classes, hash, and a diagnosis of a few questions that differ."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from erreval.diagnosis.identifier import check_not_collapsed
from erreval.diagnosis.loading import load_identifier
from erreval.models.contents import check_contents, content_hash
from erreval.records import Question
from erreval.taxonomy import ErrorType

_SEINE = (
    "The city of Paris lies on the river Seine, and many ships come there. Its oldest bridge, the Pont Neuf, was "
    "finished in 1607 under King Henry IV."
)
_BEES = (
    "Honey bees dance to tell others where flowers are. The biologist Karl von Frisch described the waggle dance, for "
    "which he received the Nobel Prize in 1973."
)
SMOKE: tuple[Question, ...] = tuple(
    Question(question=question, passage=passage, answer=answer, source="smoke")
    for passage, question, answer in (
        (_SEINE, "On which river does the city of Paris lie?", "Seine"),
        (_SEINE, "In which year was the Pont Neuf finished?", "1607"),
        (_SEINE, "In which year was the Pont Neuf finished?", "many ships"),
        (_SEINE, "What about that thing there?", "Seine"),
        (_SEINE, "The city of Paris lies on the river Seine, and many ships come there.", "Seine"),
        (_SEINE, "On which", "Seine"),
        (_BEES, "Who described the waggle dance?", "Karl von Frisch"),
        (_BEES, "Who describd the wagle danse?", "Karl von Frisch"),
        (_BEES, "Who the waggle dance describe did has?", "Karl von Frisch"),
        (_BEES, "Which Nobel Prize did Karl von Frisch receive in 1937?", "1973"),
        (_BEES, "How many goals did the team score in the final?", "Karl von Frisch"),
        (
            _BEES,
            "Honey bees dance to tell others where flowers are, and the biologist Karl von Frisch described the waggle "
            "dance, for which he received the Nobel Prize in which year?",
            "1973",
        ),
    )
)
"""Questions of our own, sound and broken in different ways: a model that answers alike to all of them is no use."""


@dataclass(frozen=True)
class ModelCheck:
    """What was found in a model that works."""

    folder: Path
    sha256: str
    """Of its contents."""
    files: int
    bytes: int
    diagnosed: tuple[frozenset[ErrorType], ...]
    """The label sets of ``SMOKE``, in order."""


def check_model(folder: Path) -> ModelCheck:
    """Check a model's folder and try the model.

    Raises:
        ErrevalError: It holds something else than safetensors and text, has other classes, or cannot be loaded.
        CollapsedModelError: It answers (nearly) alike to everything.
    """
    files = check_contents(folder)
    identifier = load_identifier(folder)
    probabilities = identifier.predict_probabilities(SMOKE)
    check_not_collapsed(probabilities, str(folder))
    return ModelCheck(
        folder=folder,
        sha256=content_hash(files),
        files=len(files),
        bytes=sum(path.stat().st_size for path in files.values()),
        diagnosed=tuple(identifier.decide(probabilities)),
    )
