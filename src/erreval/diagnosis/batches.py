"""Padding of encoded examples into batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from erreval.diagnosis.encoding import Encoded

PAD_TO = 16
"""Lengths are padded to a multiple of this: shapes that vary freely make CPU kernels recompile."""


def pad(encoded: Sequence[Encoded], pad_id: int) -> dict[str, Any]:
    """Encoded examples of one tokeniser as a batch, padded to the longest, rounded up to a multiple of ``PAD_TO``.

    Returns:
        ``input_ids`` and ``attention_mask``, and ``token_type_ids`` where the encoder has them; (batch, tokens) each.
    """
    import torch

    longest = max(len(item.input_ids) for item in encoded)
    width = -(-longest // PAD_TO) * PAD_TO
    ids = torch.full((len(encoded), width), pad_id, dtype=torch.long)
    types = torch.zeros((len(encoded), width), dtype=torch.long)
    mask = torch.zeros((len(encoded), width), dtype=torch.long)
    for i, item in enumerate(encoded):
        n = len(item.input_ids)
        ids[i, :n] = torch.tensor(item.input_ids)
        mask[i, :n] = 1
        if item.token_type_ids is not None:
            types[i, :n] = torch.tensor(item.token_type_ids)
    batch = {"input_ids": ids, "attention_mask": mask}
    return batch if encoded[0].token_type_ids is None else {**batch, "token_type_ids": types}
