"""transformers' Trainer with a loss of our own, told progress, and the choice of a checkpoint on dev."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from transformers import EvalPrediction, Trainer, TrainerCallback

from erreval.diagnosis.backbone import Task
from erreval.diagnosis.identifier import label_sets
from erreval.diagnosis.losses import NO_DECISION, Objective
from erreval.diagnosis.metrics import label_set_metrics
from erreval.taxonomy import ALL_TYPES

METRIC = "micro_f1"
"""What the best checkpoint is best by."""


def common_arguments(work: Path, seed: int) -> dict[str, Any]:
    """What every training here asks of ``TrainingArguments``: seeded, batches by length, told by ``Progress`` alone.

    Args:
        work: Folder for what Trainer leaves behind.
        seed: Of the weights and of the order of the data.
    """
    return {
        "output_dir": str(work),
        "lr_scheduler_type": "linear",
        "train_sampling_strategy": "group_by_length",
        "remove_unused_columns": False,
        "logging_strategy": "steps",
        "logging_steps": 10,
        "disable_tqdm": True,
        "report_to": "none",
        "seed": seed,
        "data_seed": seed,
    }


class ObjectiveTrainer(Trainer):
    """A Trainer whose loss is an ``Objective``, whatever head the model has."""

    # The objective is a mean over its batch. Left to itself, Trainer takes BERT's loss for one that it has normalised
    # over all accumulated batches and processes, and scales it by their numbers.
    loss_is_scaled_for_ga = False

    def __init__(self, *, objective: Objective, **settings: Any) -> None:
        super().__init__(**settings)
        self.model_accepts_loss_kwargs = False
        self._objective = objective

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The objective's loss of a batch; see Trainer."""
        outputs = model(**{name: value for name, value in inputs.items() if name != "labels"})
        loss = self._objective(outputs.logits, inputs["labels"])
        return (loss, outputs) if return_outputs else loss


class Progress(TrainerCallback):
    """Tells steps with their loss, and epochs with what dev says."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._started = time.monotonic()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """One line a log entry, with the time that is left."""
        if state.is_world_process_zero and logs and "loss" in logs and state.global_step:
            left = (time.monotonic() - self._started) / state.global_step * (state.max_steps - state.global_step)
            self._report(f"step {state.global_step}/{state.max_steps}  loss {logs['loss']:.4f}  {left:.0f} s left")

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **kwargs: Any) -> None:
        """One line an epoch."""
        if state.is_world_process_zero and metrics:
            self._report(f"epoch {state.epoch:.0f}  dev micro-F1 {metrics[f'eval_{METRIC}']:.4f}")


def micro_f1(task: Task, threshold: float) -> Callable[[EvalPrediction], dict[str, float]]:
    """Micro-F1 on dev, as Trainer asks for it.

    For the identifier it is that of the label sets which follow from the probabilities; for the Verifier, who decides
    between two verdicts, it is the share of right verdicts.

    Args:
        task: Error Identifier or Verifier.
        threshold: Of a type's probability.
    """

    def of_label_sets(predicted: EvalPrediction) -> dict[str, float]:
        label_ids = np.asarray(predicted.label_ids) > 0.5
        probabilities = 1.0 / (1.0 + np.exp(-np.asarray(predicted.predictions, dtype=np.float64)))
        # Trainer groups by length here too: the labels that come with the predictions are in their order.
        truth = [frozenset(t for t, is_there in zip(ALL_TYPES, row, strict=True) if is_there) for row in label_ids]
        found = label_set_metrics(truth, label_sets(probabilities, threshold))
        return {METRIC: float(found["micro_f1"])}

    def of_verdicts(predicted: EvalPrediction) -> dict[str, float]:
        truth = np.asarray(predicted.label_ids)
        decided = truth != NO_DECISION
        said = np.asarray(predicted.predictions).argmax(axis=-1)
        return {METRIC: float((said == truth)[decided].mean())}

    return of_label_sets if task == "identifier" else of_verdicts
