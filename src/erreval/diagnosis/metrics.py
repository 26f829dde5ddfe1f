"""How good label sets and verdicts are, each beside its floor. Pure functions on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from erreval.diagnosis.examples import multi_hot
from erreval.taxonomy import ALL_TYPES, ErrorType

Numbers = dict[str, float | int | None]


def label_set_metrics(
    truth: Sequence[frozenset[ErrorType]],
    predicted: Sequence[frozenset[ErrorType]],
    probabilities: np.ndarray | None = None,
) -> dict[str, Any]:
    """Multi-label metrics over the eleven classes, with the floor that always answers No Error.

    Micro, macro and weighted F1, exact match rate and over-prediction rate (1 - micro precision) are those of
    ErrEval, Table 5. Macro-F1 averages all eleven classes; a class that neither occurs nor is predicted counts 0,
    as in scikit-learn, and ``types`` shows its count.

    Args:
        truth: The right label sets.
        predicted: The predicted label sets.
        probabilities: (n, 11), for the area under the ROC curve of each type; without them it is unknown (None).

    Returns:
        ``n``, the five metrics, ``floor`` with the same five, and ``types``: a row a label (a list, since DVC shows
        every number of a mapping as a column of `dvc metrics show`).
    """
    hot, guess = multi_hot(truth), multi_hot(predicted)
    always_no_error = multi_hot([frozenset({ErrorType.NO_ERROR})] * len(truth))
    return {
        "n": len(truth),
        **_headline(hot, guess),
        "floor": _headline(hot, always_no_error),
        "types": [
            {
                "type": t.value,
                **_type_numbers(hot[:, k], guess[:, k]),
                "auroc": None if probabilities is None else auroc(hot[:, k], probabilities[:, k]),
            }
            for k, t in enumerate(ALL_TYPES)
        ],
    }


def _headline(hot: np.ndarray, guess: np.ndarray) -> Numbers:
    hits, said, true = (hot * guess).sum(0), guess.sum(0), hot.sum(0)
    f1 = np.divide(2 * hits, said + true, out=np.zeros(len(hits)), where=said + true > 0)
    return {
        "micro_f1": _ratio(2 * hits.sum(), said.sum() + true.sum()),
        "macro_f1": float(f1.mean()),
        "weighted_f1": _ratio(float((f1 * true).sum()), true.sum()),
        "exact_match": _ratio(float((hot == guess).all(axis=1).sum()), len(hot)),
        "over_prediction_rate": _ratio(said.sum() - hits.sum(), said.sum()),
    }


def _type_numbers(true: np.ndarray, said: np.ndarray) -> Numbers:
    hits = float((true * said).sum())
    return {
        "count": int(true.sum()),
        "predicted": int(said.sum()),
        "precision": _ratio(hits, said.sum()),
        "recall": _ratio(hits, true.sum()),
        "f1": _ratio(2 * hits, true.sum() + said.sum()),
    }


def _ratio(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def auroc(true: np.ndarray, scores: np.ndarray) -> float | None:
    """Area under the ROC curve, or None where only one class occurs."""
    from sklearn.metrics import roc_auc_score

    if len(np.unique(true)) < 2:
        return None
    return float(roc_auc_score(true, scores))


def co_occurrence(truth: Sequence[frozenset[ErrorType]], predicted: Sequence[frozenset[ErrorType]]) -> dict[str, Any]:
    """How often each true label met each predicted label: rows true, columns predicted."""
    matrix = multi_hot(truth).T @ multi_hot(predicted)
    return {"labels": [t.value for t in ALL_TYPES], "matrix": matrix.astype(int).tolist()}


def verdict_metrics(right: Sequence[bool], p_right: np.ndarray, threshold: float = 0.5) -> dict[str, Any]:
    """Accuracy, precision, recall and F1 of the Verifier, "right" being the positive class (ErrEval, Table 8).

    Args:
        right: Whether each label set is right.
        p_right: (n,) the Verifier's probability that it is.
        threshold: From which probability on a set counts as accepted.

    Returns:
        The metrics with ``n``, the share of right sets, and the floor: always the more frequent verdict.
    """
    true = np.asarray(right, dtype=bool)
    majority = bool(true.mean() >= 0.5) if len(true) else True
    return {
        "n": len(true),
        "share_right": _ratio(int(true.sum()), len(true)),
        **_verdict_numbers(true, np.asarray(p_right) >= threshold),
        "auroc": auroc(true, np.asarray(p_right)) if len(true) else None,
        "floor": {"answer": "right" if majority else "wrong", **_verdict_numbers(true, np.full(len(true), majority))},
    }


def _verdict_numbers(true: np.ndarray, said: np.ndarray) -> Numbers:
    hits = int((true & said).sum())
    return {
        "accuracy": _ratio(int((true == said).sum()), len(true)),
        "precision": _ratio(hits, int(said.sum())),
        "recall": _ratio(hits, int(true.sum())),
        "f1": _ratio(2 * hits, int(true.sum()) + int(said.sum())),
    }
