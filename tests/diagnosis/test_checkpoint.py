"""The checkpoint that is kept: the best on dev, early stopping, and the paper's settings as a profile."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from erreval.diagnosis.backbone import Task
from erreval.diagnosis.examples import Example, one_by_one, verifier_examples
from erreval.diagnosis.identifier import Identifier, label_sets
from erreval.diagnosis.training import fine_tune
from erreval.diagnosis.verifier import Verifier
from erreval.errors import ErrevalError
from erreval.sections import EncoderSettings, TrainingSettings
from erreval.settings import apply_profile
from erreval.taxonomy import ErrorType

SOUND = frozenset({ErrorType.NO_ERROR})


def _train(
    task: Task, backbone: Path, folder: Path, examples: list[Example], dev: list[Example], **changes: Any
) -> list[str]:
    settings = {
        "epochs": 8, "later_epochs": 8, "batch_size": 8, "learning_rate": 3e-3, "weight_decay": 0.0,
        "warmup_share": 0.1, "loss": "plain", "best_by": "dev_micro_f1", "early_stopping_patience": 2, "threshold": 0.5,
    }  # fmt: skip
    lines: list[str] = []
    fine_tune(
        task,
        backbone,
        examples,
        encoder=EncoderSettings(backbone="folder:tiny", head="pooled", max_tokens=64, frozen_layers=0),
        training=TrainingSettings.model_validate({**settings, **changes}),
        epochs=8,
        seed=7,
        output=folder / "model",
        work=folder / "work",
        dev=dev,
        report=lines.append,
    )
    return lines


def _on_dev(lines: list[str]) -> list[float]:
    return [float(line.rsplit(" ", 1)[1]) for line in lines if "dev micro-F1" in line]


def test_training_stops_early_and_keeps_the_best_on_dev(tiny_backbone: Path, separable: Any, tmp_path: Path) -> None:
    """On dev everything is sound. At first the model predicts nothing, which is right there; what it learns hurts."""
    examples = [Example(q, (s,)) for q, s in zip(*separable, strict=True)]
    dev = [Example(q, (SOUND,)) for q in separable[0][:24]]
    lines = _train("identifier", tiny_backbone, tmp_path, examples, dev, learning_rate=1e-3)
    found = _on_dev(lines)
    assert max(found) > found[-1]
    assert len(found) == found.index(max(found)) + 3 < 8  # two epochs without a better one
    assert lines[-1].startswith("kept the checkpoint of step ")
    kept = label_sets(Identifier.load(tmp_path / "model").predict_probabilities([e.question for e in dev]))
    # One label in truth, one in each prediction where it is No Error: micro-F1 = 2 hits / (24 + labels predicted).
    f1 = 2 * sum(said == SOUND for said in kept) / (24 + sum(map(len, kept)))
    assert f1 == pytest.approx(max(found), abs=1e-4)


def test_the_verifiers_checkpoint_is_chosen_by_right_verdicts(
    tiny_backbone: Path, separable: Any, tmp_path: Path
) -> None:
    import numpy as np

    examples = verifier_examples(separable[0], separable[1], 1, np.random.default_rng(0))
    found = _on_dev(_train("verifier", tiny_backbone, tmp_path, examples, examples[:16], early_stopping_patience=1))
    apart = one_by_one(examples[:16])
    p = Verifier.load(tmp_path / "model").predict([q for q, _, _ in apart], [s for _, s, _ in apart])
    right = [(value >= 0.5) == truth for value, (_, _, truth) in zip(p, apart, strict=True)]
    assert float(np.mean(right)) == pytest.approx(max(found), abs=1e-4)


def test_without_dev_questions_no_checkpoint_is_chosen(tiny_backbone: Path, tmp_path: Path) -> None:
    with pytest.raises(ErrevalError, match="needs labelled dev questions"):
        _train("identifier", tiny_backbone, tmp_path, [], [])


def test_early_stopping_without_dev_is_a_mistake() -> None:
    with pytest.raises(ValidationError, match="early_stopping_patience needs best_by"):
        TrainingSettings(
            epochs=1, later_epochs=1, batch_size=8, learning_rate=1e-3, weight_decay=0.0, warmup_share=0.0,
            loss="plain", best_by="last", early_stopping_patience=1, threshold=0.5,
        )  # fmt: skip


def test_the_paper_profile_has_the_papers_settings(root: Path, tmp_path: Path) -> None:
    """ErrEval, section 4.1: learning rate 2e-5, batches of 32 for base models, at most 20 epochs, 512 tokens."""
    shutil.copytree(root / "profiles", tmp_path / "profiles")
    shutil.copy(root / "params.yaml", tmp_path / "params.yaml")
    found = apply_profile(tmp_path / "params.yaml", "paper")
    for recipe in (found.identifier, found.verifier):
        assert (recipe.learning_rate, recipe.batch_size, recipe.epochs) == (2e-5, 32, 20)
        assert recipe.best_by == "dev_micro_f1"
        assert recipe.early_stopping_patience > 0
    assert (found.encoder.backbone, found.encoder.max_tokens) == ("hub:roberta-base", 512)
