"""The head first, then the encoder: linear probing before fine-tuning.

A new head on a pretrained encoder starts at random, and its first gradients only disturb the encoder. So the head is
trained on the encoder's features as they are, which are computed once (Kumar et al. 2022, "Fine-Tuning can Distort
Pretrained Features and Underperform Out-of-Distribution", LP-FT). On a CPU that is also where most of the learning
per second happens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from erreval.diagnosis.losses import Objective

EPOCHS = 12
BATCH = 64
LEARNING_RATE = 1e-3
WEIGHT_DECAY = 0.02


def warm_up_head(
    model: Any,
    rows: Sequence[dict[str, Any]],
    collator: Callable[[Sequence[dict[str, Any]]], dict[str, Any]],
    objective: Objective,
    *,
    seed: int,
    report: Callable[[str], None],
) -> None:
    """Train the head of a pooled classifier on the features of its untouched encoder.

    Args:
        model: A ``PooledEncoder``, changed in place.
        rows: Training rows.
        collator: Makes a batch of rows.
        objective: The loss.
        seed: Seeds the order.
        report: Gets one line of progress at a time.
    """
    import torch

    from erreval.diagnosis.inference import best_device

    device = best_device()
    model.to(device).eval()
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]["input_ids"]))
    features, label_sets, labels = [], [], []
    with torch.no_grad():
        for at in range(0, len(order), BATCH):
            batch = {k: v.to(device) for k, v in collator([rows[i] for i in order[at : at + BATCH]]).items()}
            features.append(model.features(batch["input_ids"], batch["attention_mask"], batch.get("token_type_ids")))
            label_sets.append(batch.get("label_set"))
            labels.append(batch["labels"])
            if at // BATCH % 8 == 0:
                report(f"features {at}/{len(order)}")
    head = [p for name, p in model.named_parameters() if not name.startswith(model.base_model_prefix)]
    optimiser = torch.optim.AdamW(head, lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    shuffle = torch.Generator().manual_seed(seed)
    last = 0.0
    for _ in range(EPOCHS):
        last = 0.0
        for k in torch.randperm(len(features), generator=shuffle).tolist():
            loss: Any = objective(model.head(features[k], label_sets[k]), labels[k])
            loss.backward()
            optimiser.step()
            optimiser.zero_grad()
            last += float(loss.detach())
    report(f"head trained on the encoder as it is: loss {last / max(len(features), 1):.4f} after {EPOCHS} passes")
