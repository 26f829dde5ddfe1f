"""Fine-tuning of the two classifiers, through transformers' Trainer (and so through accelerate)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from erreval.diagnosis.backbone import Task, build_classifier
from erreval.diagnosis.batches import pad
from erreval.diagnosis.encoding import Encoded, encode
from erreval.diagnosis.examples import Example, multi_hot, one_by_one
from erreval.diagnosis.head import warm_up_head
from erreval.diagnosis.inference import best_device
from erreval.diagnosis.precision import training_precision
from erreval.errors import ErrevalError
from erreval.sections import EncoderSettings, Precision, TrainingSettings


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
    dev: Sequence[Example] = (),
    processes: int = 1,
    precision: Precision = "no",
    report: Callable[[str], None] = print,
) -> bool:
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
        dev: Examples that choose the checkpoint where ``training.best_by`` says so; else not looked at.
        processes: How many processes train together; a step's ``batch_size`` examples are shared out among them.
        precision: Of the arithmetic.
        report: Gets one line of progress at a time.

    Returns:
        Whether this is the main process, which has written the model.

    Raises:
        ErrevalError: Another number of processes runs than was asked for, or the batch cannot be shared out, or there
            is nothing to choose the checkpoint by.
    """
    from transformers import AutoTokenizer, PrinterCallback, set_seed

    from erreval.diagnosis.losses import Objective
    from erreval.diagnosis.trainer import ObjectiveTrainer, Progress, micro_f1

    chooses = training.best_by == "dev_micro_f1"
    if chooses and not dev:
        raise ErrevalError("best_by: dev_micro_f1 needs labelled dev questions, and there are none; set best_by: last")
    arguments = training_arguments(
        training, epochs=epochs, seed=seed, work=work, processes=processes, precision=precision
    )
    set_seed(seed)
    tokenizer = AutoTokenizer.from_pretrained(start)
    model, is_new = build_classifier(start, task, encoder.head, encoder.frozen_layers)
    model.config.erreval_max_tokens = encoder.max_tokens
    model.config.erreval_threshold = training.threshold
    objective = Objective.of(task, training.loss, examples)
    rows = training_rows(task, model, tokenizer, examples, encoder.max_tokens)
    collator = partial(collate, pad_id=tokenizer.pad_token_id or 0)
    if is_new and encoder.head == "pooled":
        warm_up_head(model, rows, collator, objective, seed=seed, report=report)
    if best_device() == "cpu":
        without_attention_dropout(model)
    trainer = ObjectiveTrainer(
        objective=objective,
        model=model,
        args=arguments,
        train_dataset=rows,
        eval_dataset=training_rows(task, model, tokenizer, dev, encoder.max_tokens) if chooses else None,
        compute_metrics=micro_f1(task, training.threshold) if chooses else None,
        data_collator=collator,
        processing_class=tokenizer,
        callbacks=[Progress(report), *_early_stopping(training)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    is_main = bool(trainer.is_world_process_zero())
    if is_main:
        if chooses:
            report(f"kept the checkpoint of step {trainer.state.best_global_step}, the best on dev")
        model.save_pretrained(output)
        tokenizer.save_pretrained(output)
    return is_main


def training_arguments(
    training: TrainingSettings, *, epochs: int, seed: int, work: Path, processes: int, precision: Precision
) -> Any:
    """What Trainer is told; also joins the processes that train together.

    Raises:
        ErrevalError: Another number of processes runs than was asked for, or the batch cannot be shared out.
    """
    from transformers import TrainingArguments

    from erreval.diagnosis.trainer import METRIC, common_arguments

    device = best_device()
    mixed = training_precision(precision, device)
    chooses = training.best_by == "dev_micro_f1"
    if training.batch_size % processes:
        raise ErrevalError(
            f"batch_size {training.batch_size} cannot be shared out evenly among {processes} processes "
            "(accelerate.processes)"
        )
    arguments = TrainingArguments(
        **common_arguments(work, seed),
        num_train_epochs=epochs,
        per_device_train_batch_size=training.batch_size // processes,
        per_device_eval_batch_size=64,
        learning_rate=training.learning_rate,
        weight_decay=training.weight_decay,
        warmup_steps=training.warmup_share,
        label_names=["labels"],
        eval_strategy="epoch" if chooses else "no",
        save_strategy="epoch" if chooses else "no",
        save_total_limit=1,
        save_only_model=True,
        load_best_model_at_end=chooses,
        metric_for_best_model=METRIC if chooses else None,
        greater_is_better=True if chooses else None,
        bf16=mixed == "bf16",
        fp16=mixed == "fp16",
        # accelerate joins processes on CPUs (over gloo) only if it is told that it is to use the CPU.
        use_cpu=device == "cpu",
        dataloader_num_workers=0,
        dataloader_pin_memory=device == "cuda",
    )
    if arguments.world_size != processes:
        raise ErrevalError(
            f"accelerate.processes asks for {processes} training processes, but {arguments.world_size} run together: "
            "start training through its stage, which launches them, or through torchrun"
        )
    return arguments


def _early_stopping(training: TrainingSettings) -> list[Any]:
    from transformers import EarlyStoppingCallback

    patience = training.early_stopping_patience
    return [EarlyStoppingCallback(early_stopping_patience=patience)] if patience else []


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

    from erreval.diagnosis.losses import NO_DECISION

    tensors = pad([row["encoded"] for row in batch], pad_id)
    if batch[0]["label_set"] is None:
        tensors["labels"] = torch.tensor(np.array([row["labels"] for row in batch]))
        return tensors
    k = max(len(row["labels"]) for row in batch)
    sets = np.zeros((len(batch), k, batch[0]["label_set"].shape[1]), dtype=np.float32)
    labels = np.full((len(batch), k), NO_DECISION, dtype=np.int64)
    for i, row in enumerate(batch):
        sets[i, : len(row["labels"])] = row["label_set"]
        labels[i, : len(row["labels"])] = row["labels"]
    return {**tensors, "label_set": torch.tensor(sets), "labels": torch.tensor(labels)}


def without_attention_dropout(model: Any) -> None:
    """Attention dropout halves the speed of CPU training and buys nothing at this size."""
    import torch

    for name, module in model.named_modules():
        if "attention" in name and isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if isinstance(getattr(module, "attention_dropout", None), float):  # ModernBERT keeps it as a number
            module.attention_dropout = 0.0
