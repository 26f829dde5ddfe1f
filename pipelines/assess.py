"""Stage assess: a round's models on questions that training never saw."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from erreval.diagnosis.examples import one_by_one, verifier_examples
from erreval.diagnosis.identifier import Identifier, label_sets
from erreval.diagnosis.metrics import co_occurrence, label_set_metrics, verdict_metrics
from erreval.diagnosis.verifier import Verifier
from erreval.frames import label_sets_of, questions_of
from pipelines.context import open_context, round_argument, write_json
from pipelines.supervision import run, stage

PARAMS = ("identifier", "verifier")


def main() -> None:
    """Write the metrics of both models, by side of the development set and on held-out injected errors."""
    round_key = round_argument()
    here = open_context(f"assess@{round_key}", PARAMS)
    output = here.layout.assessment(round_key)
    with stage(here.name, [output], profile=here.settings.profile) as work:
        identifier = Identifier.load(here.layout.model("identifier", round_key))
        verifier = Verifier.load(here.layout.model("verifier", round_key))
        development = pd.read_parquet(here.layout.prepared / "development.parquet")
        sides = {
            "dev": development[development["side"] == "dev"],
            "test": development[development["side"] == "test"],
            "injected": pd.read_parquet(here.layout.prepared / "heldout.parquet"),
        }
        rng = here.rng()
        settings = here.settings
        found: dict[str, Any] = {"round": round_key, "identifier": {}, "verifier": {}}
        for side, frame in sides.items():
            on_identifier, on_verifier = _assess(
                frame, identifier, verifier, settings.identifier.threshold, settings.verifier.threshold, rng
            )
            found["identifier"][side], found["verifier"][side] = on_identifier, on_verifier
        write_json(found, work.path(output))


def _assess(
    frame: pd.DataFrame,
    identifier: Identifier,
    verifier: Verifier,
    threshold: float,
    verdict_threshold: float,
    rng: np.random.Generator,
) -> tuple[dict[str, Any], dict[str, Any]]:
    questions, truth = questions_of(frame), label_sets_of(frame)
    probabilities = identifier.predict_probabilities(questions)
    predicted = label_sets(probabilities, threshold)
    tried = one_by_one(verifier_examples(questions, truth, 1, rng))
    pairs = [(question, labels) for question, labels, _ in tried] + list(zip(questions, predicted, strict=True))
    p_right = verifier.predict([question for question, _ in pairs], [labels for _, labels in pairs])
    on_perturbed, on_predicted = p_right[: len(tried)], p_right[len(tried) :]
    return (
        {
            **label_set_metrics(truth, predicted, probabilities),
            "confusion": co_occurrence(truth, predicted),
        },
        {
            "perturbed": verdict_metrics([right for _, _, right in tried], on_perturbed, verdict_threshold),
            "predicted": verdict_metrics(
                [said == true for said, true in zip(predicted, truth, strict=True)], on_predicted, verdict_threshold
            ),
        },
    )


if __name__ == "__main__":
    run(main)
