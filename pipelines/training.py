"""What the two training stages share: examples in, a classifier out, collapse refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from erreval.data.splits import dev_fold
from erreval.diagnosis.backbone import Task
from erreval.diagnosis.examples import Example, one_by_one, verifier_examples
from erreval.diagnosis.identifier import Identifier, check_not_collapsed
from erreval.diagnosis.training import fine_tune
from erreval.diagnosis.verifier import Verifier
from erreval.frames import label_sets_of, questions_of
from erreval.sections import TrainingSettings
from pipelines.context import open_context
from pipelines.supervision import stage

PROBES = 120
"""Held-out questions on which a trained model must not answer always the same."""


def train(task: Task, round_key: str) -> None:
    """Fine-tune one model of one round and refuse it if it has collapsed."""
    name = f"train_{task}@{round_key}"
    here = open_context(name, ("encoder", "accelerate", "rounds", task))
    settings, layout = here.settings, here.layout
    recipe: TrainingSettings = getattr(settings, task)
    output = layout.model(task, round_key)
    rng = here.rng()
    with stage(name, [output], profile=settings.profile) as work:
        frame = pd.read_parquet(layout.training_set(round_key))
        probes = pd.read_parquet(layout.prepared / "heldout.parquet").head(PROBES)
        examples = _examples(task, frame, settings.verifier.negatives_per_question if task == "verifier" else 0, rng)
        dev = _choosing_examples(task, layout.prepared, rng) if recipe.best_by == "dev_micro_f1" else []
        print(f"{name}: {len(examples)} examples from {len(frame)} questions", flush=True)
        is_main = fine_tune(
            task,
            layout.start(getattr(settings.rounds[round_key], task)),
            examples,
            encoder=settings.encoder,
            training=recipe,
            epochs=recipe.epochs if round_key == "r0" else recipe.later_epochs,
            seed=int(rng.integers(2**31)),
            output=work.path(output),
            work=work.folder / "trainer",
            dev=dev,
            processes=settings.accelerate.processes,
            precision=settings.accelerate.mixed_precision,
            report=lambda line: print(f"{name}: {line}", flush=True),
        )
        if is_main:
            _refuse_collapse(task, name, work.path(output), probes, rng)


def _choosing_examples(task: Task, prepared: Path, rng: np.random.Generator) -> list[Example]:
    """The dev questions that choose the checkpoint, and nothing else: calibration and thresholds have other folds."""
    frame = pd.read_parquet(prepared / "development.parquet")
    mine = (frame["side"] == "dev") & (frame["passage_id"].map(dev_fold) == "checkpoint")
    return _examples(task, frame[mine], 1, rng)


def _examples(task: Task, frame: pd.DataFrame, negatives: int, rng: np.random.Generator) -> list[Example]:
    questions, labels = questions_of(frame), label_sets_of(frame)
    if task == "verifier":
        return verifier_examples(questions, labels, negatives, rng)
    return [Example(question, (found,)) for question, found in zip(questions, labels, strict=True)]


def _refuse_collapse(task: Task, name: str, folder: Path, probes: pd.DataFrame, rng: np.random.Generator) -> None:
    questions, labels = questions_of(probes), label_sets_of(probes)
    if task == "identifier":
        check_not_collapsed(Identifier.load(folder).predict_probabilities(questions), name)
        return
    tried = one_by_one(verifier_examples(questions, labels, 1, rng))
    verifier = Verifier.load(folder)
    check_not_collapsed(verifier.predict([q for q, _, _ in tried], [labels for _, labels, _ in tried])[:, None], name)
