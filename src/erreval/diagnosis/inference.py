"""Batched inference: sorted by length, padded to multiples, each text once, in bfloat16 where hardware has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from erreval.diagnosis.batches import pad
from erreval.diagnosis.encoding import Encoded
from erreval.diagnosis.precision import infers_in_bf16

_TOKENS_PER_BATCH = 8192
_MOST_IN_BATCH = 64
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


def pooled_features(
    model: Any, encoded: Sequence[Encoded], pad_id: int, report: Callable[[int, int], None] | None = None
) -> np.ndarray:
    """The features that a pooled classifier's head sees, (n, features) float32, in the order of ``encoded``.

    Args and order are those of ``logits``; the model is a pooled classifier.
    """
    return _in_batches(lambda batch: model.features(**batch), model.device, encoded, pad_id, report)


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

    features = pooled_features(model, encoded, pad_id, report)
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
    """``compute`` over batches of examples of like length, results in the order of ``encoded``.

    Systems often generate the same question for a passage, so an input that occurs again is not computed again.
    """
    import torch

    places: dict[tuple[int, ...], list[int]] = {}
    for i, item in enumerate(encoded):
        places.setdefault((*item.input_ids, -1, *(item.token_type_ids or ())), []).append(i)
    order = sorted(places.values(), key=lambda same: (len(encoded[same[0]].input_ids), encoded[same[0]].input_ids))
    rows: list[np.ndarray] = []
    done = computed = 0
    bf16 = infers_in_bf16(device.type)
    with torch.inference_mode(), torch.autocast(device.type, dtype=torch.bfloat16, enabled=bf16):
        while computed < len(order):
            width = len(encoded[order[min(computed + _MOST_IN_BATCH, len(order)) - 1][0]].input_ids)
            chunk = order[computed : computed + max(1, min(_MOST_IN_BATCH, _TOKENS_PER_BATCH // max(width, 1)))]
            batch = pad([encoded[same[0]] for same in chunk], pad_id)
            rows.append(compute({name: tensor.to(device) for name, tensor in batch.items()}).float().cpu().numpy())
            computed += len(chunk)
            done += sum(len(same) for same in chunk)
            if report is not None:
                report(done, len(encoded))
    found = np.empty((len(encoded), rows[0].shape[1]), dtype=np.float32)
    for same, row in zip(order, np.concatenate(rows), strict=True):
        found[same] = row
    return found
