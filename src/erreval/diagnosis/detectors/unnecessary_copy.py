"""Unnecessary Copy from Passage: long stretches of the passage that the question does not need.

Any good question shares words with its passage. What gives a copy away is a long unbroken run together with a
question longer than good ones are (XQuAD: median 11 words, nine in ten below 18, longest shared run mostly below 6).
The published seeds let 28 words with 10 in a row pass, so the middle of the scale lies there.
"""

from __future__ import annotations

from erreval.diagnosis.detectors.base import Reading, evidence, read_passage, read_question, squash
from erreval.records import Evidence, Question
from erreval.taxonomy import ErrorType

_SHORTEST_RUN = 4


def shared_runs(question: Reading, passage: Reading, shortest: int = _SHORTEST_RUN) -> list[tuple[int, int]]:
    """Runs of words that question and passage share, from left to right, each as long as possible.

    Each step asks whether a string occurs in the passage, so the time is that of a few hundred substring searches.

    Returns:
        Half-open ranges of word places in the question, none shorter than ``shortest``.
    """
    lower, text = question.lower, passage.joined
    runs: list[tuple[int, int]] = []
    i = 0
    while i + shortest <= len(lower):
        j = i + shortest
        if f" {' '.join(lower[i:j])} " not in text:
            i += 1
            continue
        while j < len(lower) and f" {' '.join(lower[i : j + 1])} " in text:
            j += 1
        runs.append((i, j))
        i = j
    return runs


class UnnecessaryCopyDetector:
    """Weighs the longest run shared with the passage, the share of the question in runs, and the question's length."""

    error = ErrorType.UNNECESSARY_COPY

    def detect(self, question: Question) -> Evidence | None:
        """See ``base.Detector``."""
        reading = read_question(question.question)
        runs = shared_runs(reading, read_passage(question.passage))
        if not runs:
            return None
        length = len(reading.words)
        start, end = max(runs, key=lambda run: (run[1] - run[0], -run[0]))
        longest = end - start
        copied = sum(b - a for a, b in runs)
        score = squash(0.14 * (length - 30) + 0.14 * (longest - 9) + 0.05 * (copied - 14))
        if score < 0.05:
            return None
        span = (reading.words[start].start, reading.words[end - 1].end)
        message = (
            f"{longest} words in a row are the passage's ({copied / length:.0%} of the question is copied; "
            f"it has {length} words)."
        )
        return evidence(self.error, score, message, [span])
