"""Stage fuse: a round's encoder joined by the detectors' signals, calibrated, with thresholds; and what it says of dev.

It learns from good questions of the training passages, from held-out injected errors (the half of their passages that
``assess`` does not use), and from the dev half of the development set. Where dev also chose the encoder's checkpoint,
the passages that did are left out: no question decides twice.
"""

from __future__ import annotations

import shutil

import numpy as np
import pandas as pd

from erreval.data.splits import dev_fold, heldout_role
from erreval.diagnosis.answer_fit import AnswerFit, fit_answers
from erreval.diagnosis.fused import ENCODER_FOLDER, FusedIdentifier
from erreval.diagnosis.fusion import Labelled, labelled
from erreval.diagnosis.identifier import Identifier
from erreval.diagnosis.nested import Material, cross_fitted, fit_with_thresholds
from erreval.diagnosis.signals import vectors
from erreval.frames import label_sets_of, questions_of
from erreval.taxonomy import ALL_TYPES, format_label_set, slug
from pipelines.context import open_context, round_argument
from pipelines.good_pairs import good_examples, with_stories
from pipelines.supervision import run, stage

PARAMS = ("fusion", "identifier")
STORIES = 2500
"""Pairs from stories that tell how answers fit, where there are fewer encyclopaedic ones."""


def main() -> None:
    """Write the fused identifier, encoder included, and its cross-fitted predictions of the development set."""
    round_key = round_argument()
    here = open_context(f"fuse@{round_key}", PARAMS)
    layout, settings, rng = here.layout, here.settings, here.rng()
    output, predicted = layout.model("fused", round_key), layout.cross_fitted(round_key)
    with stage(here.name, [output, predicted], profile=settings.profile) as work:
        encoder = Identifier.load(layout.model("identifier", round_key)) if settings.fusion.encoder else None
        good = pd.read_parquet(layout.prepared / "good.parquet")
        fit = fit_answers(good_examples(with_stories(good, STORIES, rng)), rng)
        print(f"{here.name}: {len(fit.weights)} weights tell how well an answer fits", flush=True)
        development = pd.read_parquet(layout.prepared / "development.parquet")
        heldout = pd.read_parquet(layout.prepared / "heldout.parquet")
        apart = ~heldout["question_id"].isin(set(development["question_id"]))
        injected = heldout[apart & (heldout["passage_id"].map(heldout_role) == "fit")]
        everything = Material(
            injected=_measured(injected, fit, encoder),
            people=_measured(development, fit, encoder),
            passages=development["passage_id"].tolist(),
            answer_fit=fit,
            settings=settings.fusion,
        )
        seen = _learnt_from(development, best_by=settings.identifier.best_by)
        fitted = fit_with_thresholds(everything.take(seen), rng)
        identifier = FusedIdentifier(
            fitted.fusion, fitted.thresholds, encoder, name=str(output), when_empty=settings.fusion.when_empty
        )
        work.path(output).mkdir()
        identifier.save(work.path(output))
        if encoder is not None:
            shutil.copytree(layout.model("identifier", round_key), work.path(output) / ENCODER_FOLDER)
        scopes = {"dev": np.flatnonzero(development["side"] == "dev"), "all": np.arange(len(development))}
        frames = [
            _cross_fitted(scope, development.iloc[rows], everything.take(rows), rng) for scope, rows in scopes.items()
        ]
        work.path(predicted).parent.mkdir(parents=True, exist_ok=True)
        pd.concat(frames, ignore_index=True).to_parquet(work.path(predicted), index=False)
        print(f"{here.name}: fitted on {len(injected)} injected and {len(seen)} development questions", flush=True)


def _learnt_from(development: pd.DataFrame, *, best_by: str) -> np.ndarray:
    dev = development["side"] == "dev"
    if best_by == "dev_micro_f1":
        dev &= development["passage_id"].map(dev_fold) != "checkpoint"
    return np.flatnonzero(dev)


def _measured(frame: pd.DataFrame, fit: AnswerFit, encoder: Identifier | None) -> Labelled:
    questions = questions_of(frame)
    probabilities = None if encoder is None else encoder.predict_probabilities(questions)
    return labelled(vectors(questions, fit), label_sets_of(frame), probabilities)


def _cross_fitted(scope: str, rows: pd.DataFrame, material: Material, rng: np.random.Generator) -> pd.DataFrame:
    """Predictions by fusions, base rates and thresholds that other passages chose."""
    probabilities, sets = cross_fitted(material, rng)
    return rows[["question_id", "source"]].assign(
        scope=scope,
        labels=[format_label_set(found) for found in sets],
        **{f"p_{slug(t)}": probabilities[:, k] for k, t in enumerate(ALL_TYPES)},
    )


if __name__ == "__main__":
    run(main)
