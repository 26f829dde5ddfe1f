"""bfloat16 only where the hardware has it, and what inference does with inputs that occur again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from erreval.diagnosis.identifier import Identifier
from erreval.diagnosis.precision import infers_in_bf16, training_precision


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({"avx2": True, "avx512_bf16": False, "amx_bf16": False}, "no"),
        ({"avx512_bf16": True}, "bf16"),
        ({"amx_bf16": True}, "bf16"),
        ({}, "no"),
    ],
)
def test_bf16_follows_the_instructions_of_the_cpu(
    monkeypatch: pytest.MonkeyPatch, capabilities: dict[str, bool], expected: str
) -> None:
    import torch

    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities)
    monkeypatch.delenv("ERREVAL_PRECISION")
    assert training_precision("auto", "cpu") == expected
    assert infers_in_bf16("cpu") == (expected == "bf16")
    assert training_precision("fp16", "cpu") == "fp16"  # what is asked for by name is done
    monkeypatch.setenv("ERREVAL_PRECISION", "fp32")
    assert not infers_in_bf16("cpu")
    assert not infers_in_bf16("mps")


def test_an_input_that_occurs_again_is_computed_once(tiny_identifier: Path, separable: Any) -> None:
    identifier = Identifier.load(tiny_identifier)
    questions = separable[0][:6]
    rows: list[int] = []
    hook = identifier._model.register_forward_hook(lambda *of: rows.append(of[2].logits.shape[0]))
    found = identifier.predict_probabilities([*questions, *questions[::-1], *questions])
    hook.remove()
    assert sum(rows) == len({(q.question, q.answer, q.passage) for q in questions})
    np.testing.assert_array_equal(found[:6], found[6:12][::-1])
    np.testing.assert_array_equal(found[:6], found[12:])
    told: list[tuple[int, int]] = []
    identifier.predict_probabilities(questions * 3, lambda done, total: told.append((done, total)))
    assert told[-1] == (18, 18)
