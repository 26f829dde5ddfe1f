"""Fine-tuning of the two classifiers, through transformers' Trainer (and so through accelerate)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from erreval.diagnosis.backbone import Task, build_classifier
from erreval.diagnosis.batches import pad
from erreval.diagnosis.encoding import Encoded, encode
from erreval.diagnosis.head import warm_up_head
from erreval.records import Question
from erreval.settings import EncoderSettings, TrainingSettings
from erreval.taxonomy import ALL_TYPES, ErrorType


@dataclass(frozen=True)
class Example:
    """A question with the label sets to learn from it.

    For the Error Identifier that is its one right set. For the Verifier it is the right one and perturbed ones:
    the question is read once, however many sets are verified.
    """

    question: Question
    label_sets: tuple[frozenset[ErrorType], ...]
    right: tuple[bool, ...] = (True,)


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


def verdict_weights(examples: Sequence[Example]) -> list[float]:
    """Weights that make the Verifier's classes, wrong and right, count alike: 1 and wrong sets per right one."""
    right = sum(sum(e.right) for e in examples)
    wrong = sum(len(e.right) for e in examples) - right
    return [1.0, round(wrong / right, 4) if right and wrong else 1.0]


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
    """Right label sets and perturbed ones for the Verifier.

    Returns:
        One example a question, with its right set and up to ``negatives`` different wrong ones.
    """
    frequency = list(multi_hot(label_sets).mean(axis=0))
    examples = []
    for question, labels in zip(questions, label_sets, strict=True):
        tried = [labels]
        for _ in range(negatives):
            wrong = perturbed(labels, rng, frequency)
            if wrong not in tried:
                tried.append(wrong)
        examples.append(Example(question, tuple(tried), (True, *[False] * (len(tried) - 1))))
    return examples


def one_by_one(examples: Sequence[Example]) -> list[tuple[Question, frozenset[ErrorType], bool]]:
    """Every (question, label set, whether it is right) of the examples."""
    return [(e.question, s, r) for e in examples for s, r in zip(e.label_sets, e.right, strict=True)]


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
    from transformers import AutoTokenizer, PrinterCallback, Trainer, TrainingArguments, set_seed

    set_seed(seed)
    tokenizer = AutoTokenizer.from_pretrained(start)
    model, is_new = build_classifier(start, task, encoder.head, encoder.frozen_layers)
    model.config.erreval_max_tokens = encoder.max_tokens
    model.config.erreval_threshold = training.threshold
    model.accepts_loss_kwargs = False  # Trainer would scale the loss by processes and accumulation steps
    if task == "identifier" and hasattr(model.config, "positive_weight"):
        model.config.positive_weight = positive_weights([e.label_sets[0] for e in examples])
    if task == "verifier" and hasattr(model.config, "class_weight"):
        model.config.class_weight = verdict_weights(examples)
    rows = training_rows(task, model, tokenizer, examples, encoder.max_tokens)
    collator = partial(collate, pad_id=tokenizer.pad_token_id or 0)
    if is_new and hasattr(model, "head"):
        warm_up_head(model, rows, collator, seed=seed, report=report)
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
        remove_unused_columns=False,
        save_strategy="no",
        logging_strategy="steps",
        logging_steps=10,
        disable_tqdm=True,
        report_to="none",
        seed=seed,
        data_seed=seed,
        dataloader_num_workers=0,
        dataloader_pin_memory=on_gpu,
    )
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=rows,
        data_collator=collator,
        processing_class=tokenizer,
        callbacks=[_progress(report)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    if trainer.is_world_process_zero():
        model.save_pretrained(output)
        tokenizer.save_pretrained(output)


def training_rows(
    task: Task, model: Any, tokenizer: Any, examples: Sequence[Example], max_tokens: int
) -> list[dict[str, Any]]:
    """Examples as rows for ``collate``.

    A model with an input of its own for label sets reads each question once; any other reads the labels as text
    before the question, one row a label set.
    """
    if task == "identifier":
        encoded = encode(tokenizer, [e.question for e in examples], max_tokens)
        hot = multi_hot([e.label_sets[0] for e in examples])
        return [_row(item, None, hot[i]) for i, item in enumerate(encoded)]
    if getattr(model.config, "label_set_size", 0):
        encoded = encode(tokenizer, [e.question for e in examples], max_tokens)
        return [
            _row(item, multi_hot(e.label_sets), np.array(e.right, dtype=np.int64))
            for item, e in zip(encoded, examples, strict=True)
        ]
    apart = one_by_one(examples)
    encoded = encode(tokenizer, [q for q, _, _ in apart], max_tokens, [labels for _, labels, _ in apart])
    return [_row(item, None, int(right)) for item, (_, _, right) in zip(encoded, apart, strict=True)]


def _row(item: Encoded, label_set: np.ndarray | None, labels: Any) -> dict[str, Any]:
    # Trainer groups examples of like length by the length of input_ids.
    return {"encoded": item, "input_ids": item.input_ids, "label_set": label_set, "labels": labels}


def collate(batch: Sequence[dict[str, Any]], pad_id: int) -> dict[str, Any]:
    """Rows of ``training_rows`` as one padded batch of tensors; missing label sets are filled up with label -100."""
    import torch

    tensors = pad([row["encoded"] for row in batch], pad_id)
    if batch[0]["label_set"] is None:
        tensors["labels"] = torch.tensor(np.array([row["labels"] for row in batch]))
        return tensors
    k = max(len(row["labels"]) for row in batch)
    sets = np.zeros((len(batch), k, batch[0]["label_set"].shape[1]), dtype=np.float32)
    labels = np.full((len(batch), k), -100, dtype=np.int64)
    for i, row in enumerate(batch):
        sets[i, : len(row["labels"])] = row["label_set"]
        labels[i, : len(row["labels"])] = row["labels"]
    return {**tensors, "label_set": torch.tensor(sets), "labels": torch.tensor(labels)}


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
