"""Batched inference: sorted by length, padded to multiples, on whatever device there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from erreval.diagnosis.batches import pad
from erreval.diagnosis.encoding import Encoded

_TOKENS_PER_BATCH = 8192


def best_device() -> str:
    """CUDA, else MPS, else CPU."""
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def logits(
    model: Any,
    encoded: Sequence[Encoded],
    pad_id: int,
    label_sets: np.ndarray | None = None,
    report: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """Run a classifier over encoded examples.

    Args:
        model: A sequence classifier, in evaluation mode on its device.
        encoded: The examples, in any order.
        pad_id: Id of the padding token.
        label_sets: (n, 11) zeros and ones for a Verifier that reads them apart.
        report: Called with (done, all) after each batch.

    Returns:
        (n, classes) float32 logits, in the order of ``encoded``. An example's value does not depend on how the
        others are ordered beyond rounding, since every batch holds examples of like length.
    """
    import torch

    order = sorted(range(len(encoded)), key=lambda i: (len(encoded[i].input_ids), encoded[i].input_ids))
    found = np.zeros((len(encoded), model.config.num_labels), dtype=np.float32)
    done = 0
    with torch.inference_mode():
        while done < len(order):
            width = len(encoded[order[min(done + 63, len(order) - 1)]].input_ids)
            chunk = order[done : done + max(1, min(64, _TOKENS_PER_BATCH // max(width, 1)))]
            batch = pad([encoded[i] for i in chunk], pad_id)
            if label_sets is not None:
                batch["label_set"] = torch.tensor(label_sets[chunk])
            batch = {name: tensor.to(model.device) for name, tensor in batch.items()}
            found[chunk] = model(**batch).logits.float().cpu().numpy()
            done += len(chunk)
            if report is not None:
                report(done, len(order))
    return found
