"""Batched inference: sorted by length, padded to multiples, on whatever device there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from erreval.diagnosis.batches import pad
from erreval.diagnosis.encoding import Encoded

_TOKENS_PER_BATCH = 8192
_HEAD_BATCH = 1024


def best_device() -> str:
    """CUDA, else MPS, else CPU."""
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def logits(
    model: Any, encoded: Sequence[Encoded], pad_id: int, report: Callable[[int, int], None] | None = None
) -> np.ndarray:
    """Run a classifier over encoded examples.

    Args:
        model: A sequence classifier, in evaluation mode on its device.
        encoded: The examples, in any order.
        pad_id: Id of the padding token.
        report: Called with (done, all) after each batch.

    Returns:
        (n, classes) float32 logits, in the order of ``encoded``; an example's value does not depend on that order.
    """
    return _in_batches(lambda batch: model(**batch).logits, model.device, encoded, pad_id, report)


def verdict_logits(
    model: Any,
    encoded: Sequence[Encoded],
    pad_id: int,
    which: Sequence[int],
    label_sets: np.ndarray,
    report: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """Run a pooled Verifier: each question goes through the encoder once, each label set through the head.

    Args:
        model: A pooled Verifier, in evaluation mode on its device.
        encoded: The distinct questions.
        pad_id: Id of the padding token.
        which: (n,) position in ``encoded`` of the question that each label set is about.
        label_sets: (n, 11) zeros and ones.
        report: Called with (done, all) questions.

    Returns:
        (n, 2) float32 logits.
    """
    import torch

    features = _in_batches(lambda batch: model.features(**batch), model.device, encoded, pad_id, report)
    found = []
    with torch.inference_mode():
        for at in range(0, len(which), _HEAD_BATCH):
            part = torch.tensor(features[np.asarray(which[at : at + _HEAD_BATCH])], device=model.device)
            sets = torch.tensor(label_sets[at : at + _HEAD_BATCH], device=model.device)
            found.append(model.head(part, sets).float().cpu().numpy())
    return np.concatenate(found)


def _in_batches(
    compute: Callable[[dict[str, Any]], Any],
    device: Any,
    encoded: Sequence[Encoded],
    pad_id: int,
    report: Callable[[int, int], None] | None,
) -> np.ndarray:
    """``compute`` over batches of examples of like length, results in the order of ``encoded``."""
    import torch

    order = sorted(range(len(encoded)), key=lambda i: (len(encoded[i].input_ids), encoded[i].input_ids))
    rows: list[np.ndarray] = []
    done = 0
    with torch.inference_mode():
        while done < len(order):
            width = len(encoded[order[min(done + 63, len(order) - 1)]].input_ids)
            chunk = order[done : done + max(1, min(64, _TOKENS_PER_BATCH // max(width, 1)))]
            batch = pad([encoded[i] for i in chunk], pad_id)
            rows.append(compute({name: tensor.to(device) for name, tensor in batch.items()}).float().cpu().numpy())
            done += len(chunk)
            if report is not None:
                report(done, len(order))
    found = np.empty((len(order), rows[0].shape[1]), dtype=np.float32)
    found[order] = np.concatenate(rows)
    return found
