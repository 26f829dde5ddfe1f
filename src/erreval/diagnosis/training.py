"""Fine-tuning of the two classifiers, through transformers' Trainer (and so through accelerate)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from erreval.diagnosis.backbone import Task, build_classifier
from erreval.diagnosis.encoding import Encoded, encode
from erreval.records import Question
from erreval.settings import EncoderSettings, TrainingSettings
from erreval.taxonomy import ALL_TYPES, ErrorType

PAD_TO = 16
"""Lengths are padded to a multiple of this: shapes that vary freely make CPU kernels recompile."""


@dataclass(frozen=True)
class Example:
    """A question with a label set, and for the Verifier whether that set is right."""

    question: Question
    labels: frozenset[ErrorType]
    right: bool = True


def multi_hot(label_sets: Sequence[frozenset[ErrorType]]) -> np.ndarray:
    """Label sets as zeros and ones, (n, 11), columns in the order of ``ALL_TYPES``."""
    return np.array([[float(t in labels) for t in ALL_TYPES] for labels in label_sets], dtype=np.float32).reshape(
        len(label_sets), len(ALL_TYPES)
    )


def positive_weights(label_sets: Sequence[frozenset[ErrorType]]) -> list[float]:
    """Weight of a type's positives in the loss: the square root of negatives per positive, at most 10."""
    hot = multi_hot(label_sets)
    positives = hot.sum(axis=0)
    ratio = np.where(positives > 0, (len(hot) - positives) / np.maximum(positives, 1), 1.0)
    return [round(float(w), 4) for w in np.clip(np.sqrt(ratio), 1.0, 10.0)]


def perturbed(
    labels: frozenset[ErrorType], rng: np.random.Generator, weights: Sequence[float] | None = None
) -> frozenset[ErrorType]:
    """A wrong label set made from a right one: one label added, dropped or swapped.

    Args:
        labels: The right set.
        rng: Source of randomness.
        weights: How often each of the eleven types comes in; the training set's frequencies make hard negatives.

    Returns:
        A valid label set that differs: No Error never stands beside an error.
    """
    share = np.ones(len(ALL_TYPES)) if weights is None else np.asarray(weights, dtype=float) + 1e-6
    errors = labels - {ErrorType.NO_ERROR}
    candidates: list[tuple[str, frozenset[ErrorType]]] = []
    outside = [t for t in ALL_TYPES if t not in labels and t is not ErrorType.NO_ERROR]
    p = np.array([share[ALL_TYPES.index(t)] for t in outside])
    new = outside[int(rng.choice(len(outside), p=p / p.sum()))]
    if errors:
        old = sorted(errors)[int(rng.integers(len(errors)))]
        candidates = [
            ("add", errors | {new}),
            ("drop", (errors - {old}) or frozenset({ErrorType.NO_ERROR})),
            ("swap", (errors - {old}) | {new}),
        ]
    else:
        candidates = [("swap", frozenset({new}))]
    return candidates[int(rng.integers(len(candidates)))][1]


def verifier_examples(
    questions: Sequence[Question],
    label_sets: Sequence[frozenset[ErrorType]],
    negatives: int,
    rng: np.random.Generator,
) -> list[Example]:
    """Right label sets and perturbed ones for the Verifier: 1 + ``negatives`` examples a question."""
    frequency = multi_hot(label_sets).mean(axis=0)
    examples = []
    for question, labels in zip(questions, label_sets, strict=True):
        examples.append(Example(question, labels, right=True))
        seen = {labels}
        for _ in range(negatives):
            wrong = perturbed(labels, rng, list(frequency))
            if wrong not in seen:
                seen.add(wrong)
                examples.append(Example(question, wrong, right=False))
    return examples


def fine_tune(
    task: Task,
    start: Path,
    examples: Sequence[Example],
    *,
    encoder: EncoderSettings,
    training: TrainingSettings,
    epochs: int,
    seed: int,
    output: Path,
    work: Path,
    report: Callable[[str], None] = print,
) -> None:
    """Fine-tune a classifier and save it with its tokeniser (safetensors).

    Args:
        task: Error Identifier or Verifier.
        start: Folder of the backbone, or of the classifier that is continued.
        examples: Training examples.
        encoder: Encoder settings.
        training: Training settings.
        epochs: Passes over the examples.
        seed: Seeds initialisation, order and dropout.
        output: Folder to write; only the main process writes.
        work: Scratch folder.
        report: Gets one line of progress at a time.
    """
    import torch
    from transformers import AutoTokenizer, Trainer, TrainingArguments, set_seed

    set_seed(seed)
    tokenizer = AutoTokenizer.from_pretrained(start)
    model = build_classifier(start, task, encoder.head, encoder.frozen_layers)
    reads_labels_as_text = task == "verifier" and not getattr(model.config, "label_set_size", 0)
    if task == "identifier" and hasattr(model.config, "positive_weight"):
        model.config.positive_weight = positive_weights([e.labels for e in examples])
    model.config.erreval_max_tokens = encoder.max_tokens
    model.config.erreval_threshold = training.threshold
    model.accepts_loss_kwargs = False  # Trainer would scale the loss by processes and accumulation steps
    encoded = encode(
        tokenizer,
        [e.question for e in examples],
        encoder.max_tokens,
        [e.labels for e in examples] if reads_labels_as_text else None,
    )
    hot = multi_hot([e.labels for e in examples])
    rows = [
        {
            "encoded": item,
            "label_set": hot[i] if task == "verifier" and not reads_labels_as_text else None,
            "labels": hot[i] if task == "identifier" else int(examples[i].right),
            "length": len(item.input_ids),
        }
        for i, item in enumerate(encoded)
    ]
    on_gpu = torch.cuda.is_available() or torch.backends.mps.is_available()
    if not on_gpu:
        _without_attention_dropout(model)
    arguments = TrainingArguments(
        output_dir=str(work),
        num_train_epochs=epochs,
        per_device_train_batch_size=training.batch_size,
        learning_rate=training.learning_rate,
        weight_decay=training.weight_decay,
        warmup_steps=training.warmup_share,
        lr_scheduler_type="linear",
        train_sampling_strategy="group_by_length",
        length_column_name="length",
        remove_unused_columns=False,
        save_strategy="no",
        logging_strategy="steps",
        logging_steps=10,
        disable_tqdm=True,
        report_to="none",
        seed=seed,
        data_seed=seed,
        dataloader_num_workers=0,
    )
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=rows,
        data_collator=lambda batch: collate(batch, tokenizer.pad_token_id or 0),
        processing_class=tokenizer,
        callbacks=[_progress(report)],
    )
    trainer.train()
    if trainer.is_world_process_zero():
        model.save_pretrained(output)
        tokenizer.save_pretrained(output)


def collate(batch: Sequence[dict[str, Any]], pad_id: int) -> dict[str, Any]:
    """Rows of ``fine_tune`` as one padded batch of tensors."""
    import torch

    tensors = pad([row["encoded"] for row in batch], pad_id)
    if batch[0]["label_set"] is not None:
        tensors["label_set"] = torch.tensor(np.stack([row["label_set"] for row in batch]))
    tensors["labels"] = torch.tensor(np.array([row["labels"] for row in batch]))
    return tensors


def pad(encoded: Sequence[Encoded], pad_id: int) -> dict[str, Any]:
    """Encoded examples as a batch, padded to the longest, rounded up to a multiple of ``PAD_TO``."""
    import torch

    longest = max(len(item.input_ids) for item in encoded)
    width = -(-longest // PAD_TO) * PAD_TO
    ids = torch.full((len(encoded), width), pad_id, dtype=torch.long)
    types = torch.zeros((len(encoded), width), dtype=torch.long)
    mask = torch.zeros((len(encoded), width), dtype=torch.long)
    for i, item in enumerate(encoded):
        n = len(item.input_ids)
        ids[i, :n] = torch.tensor(item.input_ids)
        types[i, :n] = torch.tensor(item.token_type_ids)
        mask[i, :n] = 1
    return {"input_ids": ids, "token_type_ids": types, "attention_mask": mask}


def _without_attention_dropout(model: Any) -> None:
    """Attention dropout halves the speed of CPU training and buys nothing at this size."""
    import torch

    for name, module in model.named_modules():
        if "attention" in name and isinstance(module, torch.nn.Dropout):
            module.p = 0.0


def _progress(report: Callable[[str], None]) -> Any:
    import time

    from transformers import TrainerCallback

    class Progress(TrainerCallback):
        started = time.monotonic()

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
            if state.is_world_process_zero and logs and "loss" in logs and state.global_step:
                left = (time.monotonic() - self.started) / state.global_step * (state.max_steps - state.global_step)
                report(f"step {state.global_step}/{state.max_steps}  loss {logs['loss']:.4f}  {left:.0f} s left")

    return Progress()
