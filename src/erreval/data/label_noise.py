"""Labels that a trained model finds hard to believe: cleanlab's multi-label issues, as a table for the queue.

The probabilities must be out of sample (by cross-validation, or of a model that never saw the rows): a model believes
what it was trained on.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from erreval.taxonomy import ALL_TYPES, TYPE_INDEX, ErrorType, check_label_set, format_label_set, parse_label_set

NOISE_COLUMNS = ("question_id", "source", "labels", "quality", "doubtful", "suggested")


def find_label_noise(frame: pd.DataFrame, probabilities: NDArray[np.float64]) -> pd.DataFrame:
    """Find the rows of a labelled set whose labels are probably wrong.

    Args:
        frame: Has ``question_id``, ``source`` and ``labels``.
        probabilities: Shape (rows, 11), in the order of ``ALL_TYPES``, out of sample.

    Returns:
        ``NOISE_COLUMNS``, the most doubtful first: ``quality`` from 0 (surely wrong) to 1; ``doubtful`` are the types
        whose presence or absence is in question, ``suggested`` the label set with those turned round, both joined by
        ``"; "``. Empty where nothing is doubtful, or where there are too few rows to estimate noise.

    Raises:
        ValueError: The shapes do not fit, or a probability is not between 0 and 1.
    """
    if probabilities.shape != (len(frame), len(ALL_TYPES)):
        raise ValueError(f"probabilities have shape {probabilities.shape}, not {(len(frame), len(ALL_TYPES))}")
    if not np.all((probabilities >= 0) & (probabilities <= 1)):
        raise ValueError("probabilities must be between 0 and 1, and none may be missing")
    sets = [parse_label_set(cell) for cell in frame["labels"]]
    if not sets:
        return pd.DataFrame(columns=list(NOISE_COLUMNS))
    present = np.zeros(probabilities.shape, dtype=bool)
    for row, labels in enumerate(sets):
        present[row, [TYPE_INDEX[label] for label in labels]] = True
    doubted = _doubted(present, probabilities)
    rows = np.flatnonzero(doubted.any(axis=1))
    quality = _quality(present, probabilities)
    found = frame.iloc[rows][["question_id", "source", "labels"]].reset_index(drop=True)
    found["quality"] = quality[rows].round(4)
    found["doubtful"] = pd.Series([format_label_set(_types(doubted[row])) for row in rows], dtype=object)
    found["suggested"] = pd.Series(
        [_suggested(present[row] ^ doubted[row], probabilities[row]) for row in rows], dtype=object
    )
    return found.sort_values(["quality", "question_id", "source"], kind="stable", ignore_index=True)


def _doubted(present: NDArray[np.bool_], probabilities: NDArray[np.float64]) -> NDArray[np.bool_]:
    """For each row and type whether its presence or absence is doubtful; types that do not vary cannot be judged."""
    from cleanlab.filter import find_label_issues

    doubted = np.zeros_like(present)
    for index in range(present.shape[1]):
        given = present[:, index].astype(np.int64)
        if 0 < given.sum() < len(given):
            binary = np.stack([1 - probabilities[:, index], probabilities[:, index]], axis=1)
            doubted[:, index] = find_label_issues(given, binary, n_jobs=1)
    return doubted


def _quality(present: NDArray[np.bool_], probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cleanlab's multi-label quality: a moving average of the self-confidences in which the lowest weighs most."""
    from cleanlab.multilabel_classification import get_label_quality_scores

    given = [np.flatnonzero(row).tolist() for row in present]
    scores: NDArray[np.float64] = get_label_quality_scores(given, probabilities)
    return scores


def _types(mask: NDArray[np.bool_]) -> list[ErrorType]:
    return [label for label, there in zip(ALL_TYPES, mask, strict=True) if there]


def _suggested(mask: NDArray[np.bool_], probabilities: NDArray[np.float64]) -> str:
    """A valid label set from the corrected marks: errors exclude No Error; if nothing is left, the likeliest label."""
    errors = [label for label in _types(mask) if label is not ErrorType.NO_ERROR]
    if errors:
        return format_label_set(check_label_set(errors))
    if mask[TYPE_INDEX[ErrorType.NO_ERROR]]:
        return ErrorType.NO_ERROR.value
    return ALL_TYPES[int(np.argmax(probabilities))].value
