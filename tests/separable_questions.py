"""Questions that a classifier of any size can learn in seconds."""

from __future__ import annotations

from erreval.records import Question
from erreval.taxonomy import ErrorType


def separable_questions() -> tuple[list[Question], list[frozenset[ErrorType]]]:
    """Forty-eight questions whose label set a single word gives away: sound, vague, or with an answer off target."""
    places = ("Paris", "Oslo", "Rome", "Cairo", "Lima", "Tokyo", "Delhi", "Bonn")
    rivers = ("Seine", "Akerselva", "Tiber", "Nile", "Rimac", "Sumida", "Yamuna", "Rhine")
    questions: list[Question] = []
    labels: list[frozenset[ErrorType]] = []
    for place, river in zip(places, rivers, strict=True):
        passage = f"The city of {place} lies on the river {river}, and many ships come there."
        for verb in ("lies", "stands"):
            sound = f"On which river {verb} the city of {place}?"
            for question, answer, found in (
                (sound, river, ErrorType.NO_ERROR),
                (f"What about that thing in {place} that {verb}?", river, ErrorType.VAGUE),
                (sound, "yesterday at noon", ErrorType.OFF_TARGET_ANSWER),
            ):
                questions.append(Question(question=question, passage=passage, answer=answer, source="separable"))
                labels.append(frozenset({found}))
    return questions, labels
