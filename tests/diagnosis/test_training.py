"""Training: perturbed label sets, weights by hand, a model that learns, and the same bytes from the same seed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from erreval.diagnosis.examples import Example, multi_hot, one_by_one, perturbed, verifier_examples
from erreval.diagnosis.losses import Objective
from erreval.diagnosis.training import collate, training_rows
from erreval.records import Question
from erreval.taxonomy import ALL_TYPES, ERRORS, ErrorType, check_label_set

SOUND = frozenset({ErrorType.NO_ERROR})
LABEL_SETS = st.one_of(
    st.just(SOUND), st.frozensets(st.sampled_from(ERRORS), min_size=1, max_size=len(ERRORS) - 1)
)  # nothing can be added to all ten at once


@given(LABEL_SETS, st.integers(0, 2**32 - 1), st.one_of(st.none(), st.lists(st.floats(0, 1), min_size=11, max_size=11)))
def test_a_perturbed_set_is_valid_and_one_step_away(
    labels: frozenset[ErrorType], seed: int, weights: list[float] | None
) -> None:
    wrong = perturbed(labels, np.random.default_rng(seed), weights)
    assert check_label_set(wrong) == wrong
    assert wrong != labels
    added, dropped = wrong - labels - SOUND, labels - wrong - SOUND
    assert len(added) <= 1
    assert len(dropped) <= 1


def test_perturbation_adds_drops_and_swaps_by_weight() -> None:
    rng = np.random.default_rng(0)
    labels = frozenset({ErrorType.VAGUE, ErrorType.SPELL_ERROR})
    found = [perturbed(labels, rng) for _ in range(300)]
    assert {len(wrong) for wrong in found} == {1, 2, 3}
    only = [1.0 if t is ErrorType.OFF_TOPIC else 0.0 for t in ALL_TYPES]
    often = [perturbed(SOUND, rng, only) for _ in range(100)]
    assert often.count(frozenset({ErrorType.OFF_TOPIC})) > 95


@given(st.lists(LABEL_SETS, min_size=1, max_size=8), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_verifier_examples_hold_the_right_set_first_and_different_wrong_ones(
    sets: list[frozenset[ErrorType]], negatives: int, seed: int
) -> None:
    questions = [Question(question=f"Who is {k}?") for k in range(len(sets))]
    examples = verifier_examples(questions, sets, negatives, np.random.default_rng(seed))
    assert [e.question for e in examples] == questions
    for example, labels in zip(examples, sets, strict=True):
        assert example.label_sets[0] == labels
        assert example.right == (True, *[False] * (len(example.label_sets) - 1))
        assert 2 <= len(example.label_sets) <= negatives + 1
        assert len(set(example.label_sets)) == len(example.label_sets)
    assert one_by_one(examples) == [
        (q, s, s == labels)
        for q, labels, e in zip(questions, sets, examples, strict=True)
        for s in e.label_sets
    ]  # fmt: skip


def test_multi_hot() -> None:
    hot = multi_hot([SOUND, frozenset({ErrorType.INCOMPLETE, ErrorType.VAGUE})])
    assert hot.tolist() == [[0] * 10 + [1], [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]]
    assert multi_hot([]).shape == (0, 11)


def _model(folder: Path, task: str, head: str = "pooled", frozen: int = 0) -> tuple[Any, Any]:
    import torch
    from transformers import AutoTokenizer

    from erreval.diagnosis.backbone import build_classifier

    torch.manual_seed(0)
    return build_classifier(folder, task, head, frozen)[0].eval(), AutoTokenizer.from_pretrained(folder)  # type: ignore[arg-type]


def test_the_loss_falls_and_the_head_warms_up_first(tiny_backbone: Path, tiny_identifier: Path, separable: Any) -> None:
    from erreval.diagnosis.identifier import load_classifier

    examples = [Example(q, (s,)) for q, s in zip(*separable, strict=True)]
    fresh, tokenizer = _model(tiny_backbone, "identifier")
    trained, _ = load_classifier(tiny_identifier)
    objective = Objective.of("identifier", "weighted", examples)
    batch = collate(training_rows("identifier", fresh, tokenizer, examples, 64), 0)
    labels = batch.pop("labels")
    before, after = (float(objective(model.cpu()(**batch).logits, labels).detach()) for model in (fresh, trained))
    assert after < before / 3


def test_same_seed_same_bytes(train_tiny: Any, tiny_identifier: Path, separable: Any) -> None:
    examples = [Example(q, (s,)) for q, s in zip(*separable, strict=True)]

    def digest(folder: Path) -> dict[str, str]:
        return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}

    again, lines = train_tiny("identifier", examples)
    assert digest(again) == digest(tiny_identifier)
    assert any(line.startswith("head trained") for line in lines)
    assert any(line.startswith("step 10/12  loss ") for line in lines)
    other, _ = train_tiny("identifier", examples, seed=8)
    assert digest(other)["model.safetensors"] != digest(again)["model.safetensors"]


def test_a_classifier_is_continued_with_its_head(train_tiny: Any, tiny_identifier: Path, separable: Any) -> None:
    examples = [Example(q, (s,)) for q, s in zip(*separable, strict=True)]
    _, lines = train_tiny("identifier", examples, start=tiny_identifier, epochs=2)
    assert not any(line.startswith("head trained") for line in lines)
    first = next(float(line.split("loss ")[1].split()[0]) for line in lines if line.startswith("step 10/"))
    assert first < 0.2  # it goes on where it was


def test_frozen_layers_are_left_as_they_are(train_tiny: Any, tiny_backbone: Path, separable: Any) -> None:
    from safetensors.numpy import load_file

    examples = [Example(q, (s,)) for q, s in zip(*separable, strict=True)]
    folder, _ = train_tiny("identifier", examples, frozen_layers=1, epochs=1)
    before, after = load_file(tiny_backbone / "model.safetensors"), load_file(folder / "model.safetensors")
    same = {
        name: np.array_equal(value, after[f"encoder.{name}"]) for name, value in before.items() if "pooler" not in name
    }
    assert all(kept for name, kept in same.items() if name.startswith(("embeddings.", "encoder.layer.0.")))
    assert not all(kept for name, kept in same.items() if name.startswith("encoder.layer.1."))


@pytest.mark.parametrize("head", ["pooled", "standard"])
def test_rows_of_the_verifier(tiny_backbone: Path, separable: Any, head: str) -> None:
    """A pooled Verifier reads a question once with all its sets; a standard one reads every set as text."""
    model, tokenizer = _model(tiny_backbone, "verifier", head)
    examples = verifier_examples(separable[0][:4], separable[1][:4], 3, np.random.default_rng(0))
    examples[0] = Example(examples[0].question, examples[0].label_sets[:1])
    rows = training_rows("verifier", model, tokenizer, examples, 64)
    batch = collate(rows, 0)
    assert batch["input_ids"].shape[1] % 16 == 0
    if head == "standard":
        assert len(rows) == sum(len(e.label_sets) for e in examples)
        assert batch["labels"].tolist() == [int(right) for e in examples for right in e.right]
        assert "label_set" not in batch
        return
    widest = max(len(e.label_sets) for e in examples)
    assert batch["label_set"].shape == (4, widest, 11)
    assert batch["labels"][0].tolist() == [1, *[-100] * (widest - 1)]
    loss = float(model(**batch).loss.detach())
    assert np.isfinite(loss)
    batch["label_set"][0, 1:] = 1.0  # what only fills up counts nothing
    assert float(model(**batch).loss.detach()) == pytest.approx(loss, abs=1e-6)
