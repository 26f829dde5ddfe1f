"""Labels that a trained model finds hard to believe: cleanlab's multi-label issues, as a table for the queue.

The probabilities must be out of sample (by cross-validation, or of a model that never saw the rows): a model believes
what it was trained on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from erreval.data.gate_report import Check, GateReport, Listing
from erreval.taxonomy import (
    ALL_TYPES,
    LABEL_SEPARATOR,
    TYPE_INDEX,
    ErrorType,
    check_label_set,
    format_label_set,
    parse_label_set,
)

NOISE_COLUMNS = ("question_id", "source", "labels", "quality", "doubtful", "suggested")
TEXT_COLUMNS = ("origin", "round", "passage_id", "passage", "answer", "question")
"""What the table has besides, where the labelled set has it: enough for a person to answer."""


def present_types(frame: pd.DataFrame) -> NDArray[np.bool_]:
    """Which types each row's ``labels`` name, shape (rows, 11), in the order of ``ALL_TYPES``.

    Raises:
        ValueError: A cell is no label set.
    """
    present = np.zeros((len(frame), len(ALL_TYPES)), dtype=bool)
    for row, cell in enumerate(frame["labels"]):
        present[row, [TYPE_INDEX[label] for label in parse_label_set(cell)]] = True
    return present


def separations(present: NDArray[np.bool_], probabilities: NDArray[np.float64]) -> dict[ErrorType, float | None]:
    """How well the probabilities tell the rows with each type from those without: AUROC, None where all are alike."""
    from sklearn.metrics import roc_auc_score

    return {
        label: float(roc_auc_score(present[:, k], probabilities[:, k]))
        if 0 < present[:, k].sum() < len(present)
        else None
        for k, label in enumerate(ALL_TYPES)
    }


def judged_types(told_apart: Mapping[ErrorType, float | None], least_auroc: float) -> frozenset[ErrorType]:
    """The types whose labels can be doubted: what cannot be told apart cannot be called wrong."""
    return frozenset(label for label, auroc in told_apart.items() if auroc is not None and auroc >= least_auroc)


def find_label_noise(
    frame: pd.DataFrame,
    probabilities: NDArray[np.float64],
    *,
    judged: Collection[ErrorType] = ALL_TYPES,
) -> pd.DataFrame:
    """Find the rows of a labelled set whose labels are probably wrong.

    Args:
        frame: Has ``question_id``, ``source`` and ``labels``.
        probabilities: Shape (rows, 11), in the order of ``ALL_TYPES``, out of sample.
        judged: The types that may be found doubtful.

    Returns:
        The rows whose corrected label set would be another, ``NOISE_COLUMNS``, the most doubtful first: ``quality``
        from 0 (surely wrong) to 1; ``doubtful`` are the types whose presence or absence is in question, ``suggested``
        the label set with those turned round, both joined by ``"; "``; and those of ``TEXT_COLUMNS`` that the set
        has. Empty where nothing is doubtful, or where there are too few rows to estimate noise.

    Raises:
        ValueError: The shapes do not fit, or a probability is not between 0 and 1.
    """
    if probabilities.shape != (len(frame), len(ALL_TYPES)):
        raise ValueError(f"probabilities have shape {probabilities.shape}, not {(len(frame), len(ALL_TYPES))}")
    if not np.all((probabilities >= 0) & (probabilities <= 1)):
        raise ValueError("probabilities must be between 0 and 1, and none may be missing")
    if frame.empty:
        return pd.DataFrame(columns=[*NOISE_COLUMNS, *_texts_in(frame)])
    present = present_types(frame)
    heard = np.array([label in judged for label in ALL_TYPES])
    doubted = _doubted(present, probabilities) & heard
    rows = np.flatnonzero(doubted.any(axis=1))
    quality = _quality(present[:, heard], probabilities[:, heard]) if len(rows) else np.empty(0)
    found = frame.iloc[rows][["question_id", "source", "labels"]].reset_index(drop=True)
    found["quality"] = quality[rows].round(4)
    found["doubtful"] = pd.Series([format_label_set(_types(doubted[row])) for row in rows], dtype=object)
    found["suggested"] = pd.Series(
        [_suggested(present[row] ^ doubted[row], probabilities[row]) for row in rows], dtype=object
    )
    changed = found["suggested"] != found["labels"].map(lambda cell: format_label_set(parse_label_set(cell)))
    found = pd.concat([found, frame.iloc[rows][_texts_in(frame)].reset_index(drop=True)], axis=1)
    found = found[changed]
    return found.sort_values(["quality", "question_id", "source"], kind="stable", ignore_index=True)


def _texts_in(frame: pd.DataFrame) -> list[str]:
    return [name for name in TEXT_COLUMNS if name in frame.columns]


def noise_report(
    found: pd.DataFrame,
    frame: pd.DataFrame,
    told_apart: Mapping[ErrorType, float | None],
    *,
    least_auroc: float,
    most: float,
    file: str = "",
) -> GateReport:
    """How many rows are doubtful, by origin and type, and which; a warning where they are too many.

    Args:
        found: What ``find_label_noise`` gives for ``frame``.
        frame: The labelled set, with ``origin``.
        told_apart: What ``separations`` gives.
        least_auroc: Below it a type was not judged.
        most: The largest share of doubtful rows that is no warning.
        file: Where the labelled set lies.
    """
    share = len(found) / len(frame) if len(frame) else 0.0
    check = Check(
        name="label noise",
        statement=f"at most {most:.0%} of the rows have labels that are probably wrong",
        passed=share <= most,
        n_rows=len(frame),
        n_failed=len(found),
        blocks=False,
        note=f"{len(found)} of {len(frame)} rows are doubtful ({share:.1%}), found by cleanlab",
    )
    all_origins, origins = Counter(frame["origin"]), Counter(found["origin"])
    counts: dict[str, str] = {f"doubtful, {o}": f"{origins[o]} of {n}" for o, n in sorted(all_origins.items())}
    types = Counter(name for cell in found["doubtful"] for name in cell.split(LABEL_SEPARATOR))
    judged = judged_types(told_apart, least_auroc)
    rows = [
        (t.value, "unknown" if auroc is None else round(auroc, 3), "yes" if t in judged else "no", types[t.value])
        for t, auroc in told_apart.items()
    ]
    told = Listing(
        "What the out-of-sample probabilities can tell",
        ("type", "AUROC", "judged", "rows in doubt"),
        tuple(rows),
        f"a type with an AUROC below {least_auroc:g} is not judged",
    )
    shown = ["quality", "labels", "suggested", "origin", "source", "question_id", "question", "answer"]
    listing = Listing.of("Doubtful rows, the most doubtful first", found[shown])
    return GateReport("label noise", len(frame), (check,), counts, file, (told, listing) if len(found) else (told,))


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
    """A valid label set from the corrected marks; where No Error stands beside errors, the more probable wins.

    If nothing is left, the likeliest label.
    """
    errors = [label for label in _types(mask) if label is not ErrorType.NO_ERROR]
    no_error = float(probabilities[TYPE_INDEX[ErrorType.NO_ERROR]])
    strongest = max((float(probabilities[TYPE_INDEX[label]]) for label in errors), default=-1.0)
    if mask[TYPE_INDEX[ErrorType.NO_ERROR]] and no_error > strongest:
        return ErrorType.NO_ERROR.value
    if errors:
        return format_label_set(check_label_set(errors))
    return ALL_TYPES[int(np.argmax(probabilities))].value
