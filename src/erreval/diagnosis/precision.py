"""Where bfloat16 is fast: on hardware with instructions for it. Elsewhere it is emulated, several times slower."""

from __future__ import annotations

import os
from typing import Literal

from erreval.sections import Precision

OVERRIDE = "ERREVAL_PRECISION"
"""Environment variable: ``fp32`` keeps inference in single precision on hardware that could do bfloat16."""

_CPU_INSTRUCTIONS = ("amx_bf16", "avx512_bf16")


def has_fast_bf16(device: str) -> bool:
    """Whether a kind of device (``cpu``, ``cuda``, ``mps``) multiplies bfloat16 matrices in hardware."""
    import torch

    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device == "cpu":
        found = torch.cpu.get_capabilities()
        return any(found.get(name, False) for name in _CPU_INSTRUCTIONS)
    return False


def training_precision(wanted: Precision, device: str) -> Literal["no", "bf16", "fp16"]:
    """What ``accelerate.mixed_precision`` comes to on a device."""
    if wanted != "auto":
        return wanted
    return "bf16" if has_fast_bf16(device) else "no"


def infers_in_bf16(device: str) -> bool:
    """Whether inference on a device runs in bfloat16."""
    return os.environ.get(OVERRIDE) != "fp32" and has_fast_bf16(device)
