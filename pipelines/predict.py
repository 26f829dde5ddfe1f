"""Stage predict: label sets for the pool, with p_e and p_v."""

from __future__ import annotations

import numpy as np
import pandas as pd

from erreval.diagnosis.examples import multi_hot
from erreval.diagnosis.fused import FusedIdentifier
from erreval.diagnosis.verifier import Verifier
from erreval.frames import questions_of
from erreval.refinement.confidence import inconsistency, set_confidence, uncertainty
from erreval.taxonomy import ALL_TYPES, format_label_set, slug
from pipelines.context import open_context, round_argument
from pipelines.supervision import run, stage

PARAMS = ("selection",)


def main() -> None:
    """Score the unlabelled pool with both models of the round."""
    round_key = round_argument()
    here = open_context(f"predict@{round_key}", PARAMS)
    output = here.layout.predictions(round_key)
    with stage(here.name, [output], profile=here.settings.profile) as work:
        pool = pd.read_parquet(here.layout.prepared / "pool.parquet")
        already = pd.read_parquet(here.layout.training_set(round_key), columns=["question_id"])
        pool = pool[~pool["question_id"].isin(already["question_id"])].reset_index(drop=True)
        questions = questions_of(pool)
        identifier = FusedIdentifier.load(here.layout.model("fused", round_key))
        probabilities = identifier.predict_probabilities(questions)
        sets = identifier.decide(probabilities)
        p_e = set_confidence(probabilities, multi_hot(sets), here.settings.selection.confidence)
        p_v = Verifier.load(here.layout.model("verifier", round_key)).predict(questions, sets)
        frame = pool[["question_id", "passage_id", "source"]].assign(
            labels=[format_label_set(found) for found in sets],
            p_e=p_e,
            p_v=np.asarray(p_v, dtype=float),
            uncertainty=uncertainty(p_e),
            inconsistency=inconsistency(p_e, p_v),
            **{f"p_{slug(t)}": probabilities[:, k] for k, t in enumerate(ALL_TYPES)},
        )
        frame.to_parquet(work.path(output), index=False)


if __name__ == "__main__":
    run(main)
