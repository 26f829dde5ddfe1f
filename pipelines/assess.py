"""Stage assess: a round's models on questions that training never saw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from erreval.data.splits import heldout_role
from erreval.diagnosis.calibration import expected_calibration_error, reliability
from erreval.diagnosis.detectors_alone import DetectorsAlone
from erreval.diagnosis.examples import multi_hot, one_by_one, verifier_examples
from erreval.diagnosis.fused import FusedIdentifier
from erreval.diagnosis.identifier import Identifier
from erreval.diagnosis.interface import ErrorIdentifier
from erreval.diagnosis.metrics import co_occurrence, label_set_metrics, verdict_metrics
from erreval.diagnosis.verifier import Verifier
from erreval.frames import label_sets_of, questions_of
from erreval.studies.paired import micro_f1_difference, ranking
from erreval.taxonomy import ALL_TYPES, ErrorType, parse_label_set, slug
from pipelines.context import Context, open_context, round_argument, write_json
from pipelines.supervision import run, stage

PARAMS = ("verifier",)
RANKED = ("test", "cross_fitted")
"""The sides on which each type gets intervals."""
RESAMPLES = 200
Numbers = dict[str, Any]
LabelSets = Sequence[frozenset[ErrorType]]


@dataclass(frozen=True)
class Side:
    """Questions with their labels, and what the Error Identifier says of them."""

    name: str
    rows: pd.DataFrame
    probabilities: np.ndarray
    predicted: LabelSets


def main() -> None:
    """Write the metrics of both models, by side of the development set and on held-out injected errors."""
    round_key = round_argument()
    here = open_context(f"assess@{round_key}", PARAMS)
    output = here.layout.assessment(round_key)
    with stage(here.name, [output], profile=here.settings.profile) as work:
        development = pd.read_parquet(here.layout.prepared / "development.parquet")
        identifier = FusedIdentifier.load(here.layout.model("fused", round_key))
        encoder = Identifier.load(here.layout.model("identifier", round_key))
        verifier = Verifier.load(here.layout.model("verifier", round_key))
        rng = here.rng()
        found: dict[str, Any] = {"round": round_key, "identifier": {}, "verifier": {}}
        for side in _sides(here, round_key, development, identifier):
            found["identifier"][side.name] = _identified(side, rng)
            if side.name == "test":
                found["identifier"]["test"]["alternatives"] = _alternatives(side, encoder)
            if side.name != "cross_fitted":
                found["verifier"][side.name] = _verified(side, verifier, here.settings.verifier.threshold, rng)
        write_json(found, work.path(output))


def _sides(here: Context, round_key: str, development: pd.DataFrame, identifier: FusedIdentifier) -> Iterator[Side]:
    """Dev by folds that chose nothing for the question they predict, as the fusion learns from dev; test as it is."""
    crossed = pd.read_parquet(here.layout.cross_fitted(round_key))
    for name, scope, rows in (
        ("dev", "dev", development[development["side"] == "dev"]),
        ("cross_fitted", "all", development),
    ):
        said = rows[["question_id", "source"]].merge(
            crossed[crossed["scope"] == scope], on=["question_id", "source"], how="left", validate="one_to_one"
        )
        probabilities = said[[f"p_{slug(t)}" for t in ALL_TYPES]].to_numpy(dtype=float)
        yield Side(name, rows, probabilities, [parse_label_set(cell) for cell in said["labels"]])
    heldout = pd.read_parquet(here.layout.prepared / "heldout.parquet")
    learnt = set(development.loc[development["side"] == "dev", "question_id"])
    apart = (heldout["passage_id"].map(heldout_role) == "assess") & ~heldout["question_id"].isin(learnt)
    for name, rows in (("test", development[development["side"] == "test"]), ("injected", heldout[apart])):
        probabilities = identifier.predict_probabilities(questions_of(rows))
        yield Side(name, rows, probabilities, identifier.decide(probabilities))


def _identified(side: Side, rng: np.random.Generator) -> dict[str, Any]:
    """Metrics beside the floor, the interval of what is won on it, and for each type how well it is ranked."""
    truth, passages = label_sets_of(side.rows), side.rows["passage_id"].to_numpy(dtype=str)
    hot, floor = multi_hot(truth), multi_hot([frozenset({ErrorType.NO_ERROR})] * len(truth))
    gain = micro_f1_difference(hot, multi_hot(side.predicted), floor, passages, rng)
    block = label_set_metrics(truth, side.predicted, side.probabilities)
    if side.name in RANKED:
        for k, row in enumerate(block["types"]):
            row.update(_ranked(hot[:, k], side.probabilities[:, k], passages, rng))
    return {
        **block,
        "gain": {"micro_f1": gain.difference, "low": gain.interval.low, "high": gain.interval.high},
        "confusion": co_occurrence(truth, side.predicted),
    }


def _ranked(true: np.ndarray, probabilities: np.ndarray, passages: np.ndarray, rng: np.random.Generator) -> Numbers:
    """How well one type is ranked, with intervals by passage, and whether its probabilities mean what they say."""
    order = ranking(true, probabilities, passages, rng, resamples=RESAMPLES)
    return {
        "auroc_interval": [order.auroc_interval.low, order.auroc_interval.high],
        "average_precision": order.average_precision,
        "average_precision_interval": [order.average_precision_interval.low, order.average_precision_interval.high],
        "calibration_error": expected_calibration_error(true, probabilities),
        "reliability": [
            {"n": b.n, "mean_probability": b.mean_probability, "share_true": b.share_true}
            for b in reliability(true, probabilities)
        ],
    }


def _alternatives(side: Side, encoder: Identifier) -> list[dict[str, Any]]:
    """Other ways to identify errors on the same questions (ErrEval, Table 5)."""
    questions, truth = questions_of(side.rows), label_sets_of(side.rows)
    others: dict[str, ErrorIdentifier] = {"detectors alone": DetectorsAlone(), "encoder alone": encoder}
    said: dict[str, LabelSets] = {
        **{name: way.decide(way.predict_probabilities(questions)) for name, way in others.items()},
        "fused": side.predicted,
    }
    return [
        {
            "identifier": name,
            **{k: v for k, v in label_set_metrics(truth, labels).items() if k not in ("types", "floor")},
        }
        for name, labels in said.items()
    ]


def _verified(side: Side, verifier: Verifier, threshold: float, rng: np.random.Generator) -> dict[str, Any]:
    """The Verifier on perturbed label sets, and on the identifier's own predictions."""
    questions, truth = questions_of(side.rows), label_sets_of(side.rows)
    tried = one_by_one(verifier_examples(questions, truth, 1, rng))
    pairs = [(question, labels) for question, labels, _ in tried] + list(zip(questions, side.predicted, strict=True))
    p_right = verifier.predict([question for question, _ in pairs], [labels for _, labels in pairs])
    on_perturbed, on_predicted = p_right[: len(tried)], p_right[len(tried) :]
    said_right = [said == true for said, true in zip(side.predicted, truth, strict=True)]
    return {
        "perturbed": verdict_metrics([right for _, _, right in tried], on_perturbed, threshold),
        "predicted": verdict_metrics(said_right, on_predicted, threshold),
    }


if __name__ == "__main__":
    run(main)
