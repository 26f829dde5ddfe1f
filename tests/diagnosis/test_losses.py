"""Losses by hand; their choice changes the gradient in the Trainer itself; Trainer never rescales them."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from erreval.diagnosis.backbone import build_classifier
from erreval.diagnosis.examples import Example, verifier_examples
from erreval.diagnosis.losses import Objective, positive_weights, verdict_weights
from erreval.diagnosis.training import collate, fine_tune, training_arguments, training_rows
from erreval.errors import ErrevalError
from erreval.sections import AccelerateSettings, EncoderSettings, TrainingSettings
from erreval.taxonomy import ALL_TYPES, ErrorType
from pipelines.launch import launch_command

SOUND = frozenset({ErrorType.NO_ERROR})
VAGUE = ALL_TYPES.index(ErrorType.VAGUE)
LN2 = math.log(2)


def test_positive_weights_by_hand() -> None:
    sets = [SOUND] * 9 + [frozenset({ErrorType.VAGUE})]
    weights = dict(zip(ALL_TYPES, positive_weights(sets), strict=True))
    assert weights[ErrorType.VAGUE] == 3.0  # sqrt(9 negatives / 1 positive)
    assert weights[ErrorType.NO_ERROR] == 1.0  # sqrt(1/9), but never below 1
    assert weights[ErrorType.OFF_TOPIC] == 1.0  # never seen: no weight
    rare = positive_weights([SOUND] * 999 + [frozenset({ErrorType.VAGUE})])
    assert rare[ALL_TYPES.index(ErrorType.VAGUE)] == 10.0  # sqrt(999) is cut


def test_verdict_weights_by_hand(separable: Any) -> None:
    examples = [Example(separable[0][0], (SOUND, frozenset({ErrorType.VAGUE})), (True, False))] * 3
    assert verdict_weights(examples) == [1.0, 1.0]
    assert verdict_weights([Example(separable[0][0], (SOUND,) * 4, (True, False, False, False))]) == [1.0, 3.0]


@pytest.mark.parametrize(
    ("kind", "weights", "expected"),
    [
        # At a logit of 0 every probability is 1/2, every cross-entropy ln 2.
        ("plain", (), LN2),
        ("weighted", (3.0,) * 11, (1 * 3 * LN2 + 10 * LN2) / 11),  # one type of eleven is there
        ("focal", (), 0.25 * LN2),  # (1 - 1/2)^2 ln 2
    ],
)
def test_the_identifiers_loss_by_hand(kind: Any, weights: tuple[float, ...], expected: float) -> None:
    import torch

    labels = torch.zeros(2, 11)
    labels[:, VAGUE] = 1.0
    loss = Objective("identifier", kind, weights)(torch.zeros(2, 11), labels)
    assert float(loss) == pytest.approx(expected, abs=1e-6)


def test_the_focal_loss_of_a_sure_decision_by_hand() -> None:
    import torch

    # p = 3/4 of what is true: (1/4)^2 * -ln(3/4); the Verifier's softmax of (0, ln 3) is (1/4, 3/4).
    expected = (1 / 16) * -math.log(3 / 4)
    logits = torch.tensor([[[0.0, math.log(3)], [5.0, -5.0]]])
    labels = torch.tensor([[1, -100]])  # the second place only fills up
    assert float(Objective("verifier", "focal")(logits, labels)) == pytest.approx(expected, abs=1e-6)
    logits = torch.full((1, 11), -math.log(3))
    assert float(Objective("identifier", "focal")(logits, torch.zeros(1, 11))) == pytest.approx(expected, abs=1e-6)


def test_the_verifiers_weights_by_hand() -> None:
    import torch

    # A mean of cross-entropies, the class "right" counting 3: (1 * -ln(1/4) + 3 * -ln(1/2)) / (1 + 3).
    logits = torch.tensor([[0.0, math.log(3)], [0.0, 0.0]])
    loss = Objective("verifier", "weighted", (1.0, 3.0))(logits, torch.tensor([0, 1]))
    assert float(loss) == pytest.approx((math.log(4) + 3 * LN2) / 4, abs=1e-6)
    assert float(Objective("verifier", "plain")(logits, torch.tensor([0, 1]))) == pytest.approx(1.5 * LN2, abs=1e-6)


def settings_of(**changes: Any) -> TrainingSettings:
    plain = {
        "epochs": 1, "later_epochs": 1, "batch_size": 8, "learning_rate": 0.5, "weight_decay": 0.0, "warmup_share": 0.0,
        "loss": "plain", "best_by": "last", "early_stopping_patience": 0, "threshold": 0.5,
    }  # fmt: skip
    return TrainingSettings.model_validate({**plain, **changes})


def _trainer(backbone: Path, task: Any, head: str, examples: list[Example], work: Path, kind: Any, steps: int) -> Any:
    """The Trainer of ``fine_tune`` on a fresh model without dropout, eight examples a step in ``steps`` parts."""
    from functools import partial

    import torch
    from transformers import AutoTokenizer, PrinterCallback

    from erreval.diagnosis.trainer import ObjectiveTrainer

    torch.manual_seed(0)
    model, _ = build_classifier(backbone, task, head, 0)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    arguments = training_arguments(settings_of(), epochs=1, seed=0, work=work, processes=1, precision="no")
    arguments.per_device_train_batch_size = 8 // steps
    arguments.gradient_accumulation_steps = steps
    arguments.optim = "sgd"  # unlike Adam, it shows how large the gradient is
    arguments.max_grad_norm = 1e9
    trainer = ObjectiveTrainer(
        objective=Objective.of(task, kind, examples),
        model=model,
        args=arguments,
        train_dataset=training_rows(task, model, AutoTokenizer.from_pretrained(backbone), examples, 64),
        data_collator=partial(collate, pad_id=0),
    )
    trainer.remove_callback(PrinterCallback)
    return trainer


@pytest.fixture
def eight(separable: Any) -> list[Example]:
    """Eight examples of which three are vague."""
    return [Example(q, (s,)) for q, s in zip(separable[0][1:9], separable[1][1:9], strict=True)]


@pytest.mark.parametrize("head", ["pooled", "standard"])
def test_the_loss_that_is_asked_for_is_the_one_that_trains(
    tiny_backbone: Path, head: str, eight: list[Example], tmp_path: Path
) -> None:
    """The gradient of a bias, read off the step that Trainer takes, against the formula at the model's own logits."""
    found = {}
    for kind in ("plain", "weighted", "focal"):
        trainer = _trainer(tiny_backbone, "identifier", head, eight, tmp_path, kind, 1)
        batch = next(iter(trainer.get_eval_dataloader(trainer.train_dataset)))
        vague = batch["labels"].numpy()[:, VAGUE]
        assert vague.sum() == 3
        logits = trainer.model(**{k: v for k, v in batch.items() if k != "labels"}).logits.detach().numpy()
        before = float(trainer.model.classifier.bias.detach()[VAGUE])
        trainer.train()
        found[kind] = (before - float(trainer.model.classifier.bias.detach()[VAGUE])) / 0.5  # one step of SGD, rate 0.5
        p = 1 / (1 + np.exp(-logits[:, VAGUE].astype(float)))
    # d/dz of the mean over 8 x 11 decisions: p - y, the positives' part times sqrt(5/3) where it is weighted.
    weight = np.where(vague == 1, round(math.sqrt(5 / 3), 4), 1.0)
    assert found["plain"] == pytest.approx(float((p - vague).sum()) / 88, rel=1e-3)
    assert found["weighted"] == pytest.approx(float((weight * (p - vague)).sum()) / 88, rel=1e-3)
    # Focal, with q the probability of what is true: d/dz of -(1-q)^2 ln q is -(sign) (1-q)^2 (1 - q - 2 q ln q).
    q = np.where(vague == 1, p, 1 - p)
    focal = -np.where(vague == 1, 1, -1) * (1 - q) ** 2 * (1 - q - 2 * q * np.log(q))
    assert found["focal"] == pytest.approx(float(focal.sum()) / 88, rel=1e-3)
    assert len({round(value, 6) for value in found.values()}) == 3


@pytest.mark.parametrize("head", ["pooled", "standard"])
@pytest.mark.parametrize("task", ["identifier", "verifier"])
def test_accumulation_does_not_change_a_step(
    tiny_backbone: Path, task: str, head: str, eight: list[Example], tmp_path: Path
) -> None:
    """Eight examples at once, or two at a time over four accumulated batches: the same step of plain SGD."""
    if task == "verifier":
        questions, labels = [e.question for e in eight[:4]], [e.label_sets[0] for e in eight[:4]]
        eight = verifier_examples(questions, labels, 1, np.random.default_rng(0))
        eight = eight if head == "standard" else eight * 2
    moved = []
    for steps in (1, 4):
        trainer = _trainer(tiny_backbone, task, head, eight, tmp_path, "plain", steps)
        before = trainer.model.classifier.weight.detach().clone()
        trainer.train()
        assert trainer.state.global_step == 1
        moved.append((trainer.model.classifier.weight.detach() - before).numpy())
    assert np.abs(moved[0]).max() > 1e-3
    np.testing.assert_allclose(moved[1], moved[0], atol=1e-5)


def test_another_number_of_processes_than_asked_for_is_refused(tiny_backbone: Path, tmp_path: Path) -> None:
    with pytest.raises(ErrevalError, match="asks for 2 training processes, but 1 run together"):
        training_arguments(settings_of(), epochs=1, seed=0, work=tmp_path, processes=2, precision="no")
    with pytest.raises(ErrevalError, match="batch_size 8 cannot be shared out evenly among 3"):
        training_arguments(settings_of(), epochs=1, seed=0, work=tmp_path, processes=3, precision="no")


TOGETHER = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from test_losses import train_on_eight

train_on_eight(Path({backbone!r}), Path({folder!r}), processes=2)
"""


def train_on_eight(backbone: Path, folder: Path, processes: int, separable: Any = None) -> list[str]:
    """Ten epochs of one step each over the same eight examples; the lines of progress."""
    from separable_questions import separable_questions

    questions, labels = separable or separable_questions()
    lines: list[str] = []
    fine_tune(
        "identifier",
        backbone,
        [Example(q, (s,)) for q, s in zip(questions[:8], labels[:8], strict=True)],
        encoder=EncoderSettings.model_validate(
            {"backbone": "folder:tiny", "head": "standard", "max_tokens": 64, "frozen_layers": 0}
        ),
        training=settings_of(learning_rate=1e-3),
        epochs=10,
        seed=7,
        output=folder / "model",
        work=folder / "work",
        processes=processes,
        report=lines.append,
    )
    (folder / f"lines{processes}.txt").write_text("\n".join(lines))
    return lines


@pytest.mark.slow
def test_two_processes_on_a_cpu_train_as_one(tiny_backbone: Path, separable: Any, tmp_path: Path) -> None:
    """Launched as the stages are: two processes join, and the loss they report is that of one process."""
    import json
    import shutil

    backbone = tmp_path / "backbone"
    shutil.copytree(tiny_backbone, backbone)
    config = json.loads((backbone / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (backbone / "config.json").write_text(json.dumps(config))
    here = Path(__file__).resolve()
    paths = [str(here.parent), str(here.parents[1]), str(here.parents[2])]
    script = TOGETHER.format(path=paths, backbone=str(backbone), folder=str(tmp_path))
    (tmp_path / "together.py").write_text(script)
    wanted = AccelerateSettings(processes=2, threads=1, mixed_precision="no")
    command = launch_command("together", [], wanted)
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=500)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "model" / "model.safetensors").is_file()
    together = (tmp_path / "lines2.txt").read_text()
    alone = "\n".join(train_on_eight(backbone, tmp_path, 1, separable))

    def loss(text: str) -> float:
        return float(text.split("step 10/10  loss ")[1].split()[0])

    assert loss(together) == pytest.approx(loss(alone), rel=0.02)
