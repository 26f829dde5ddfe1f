"""Stage diagnose: the champion's diagnosis of every question of the benchmark."""

from __future__ import annotations

import pandas as pd

from erreval.diagnosis.fused import FusedIdentifier
from erreval.diagnosis.scores import dimension_scores
from erreval.frames import questions_of
from erreval.layout import read_champion
from erreval.taxonomy import ALL_TYPES, format_label_set, slug
from pipelines.context import open_context
from pipelines.supervision import run, stage

PARAMS = ()


def main() -> None:
    """Write label set, probabilities and a score a dimension for every row; each distinct question is read once."""
    here = open_context("diagnose", PARAMS)
    output = here.layout.diagnosis
    with stage(here.name, [output], profile=here.settings.profile) as work:
        rows = pd.read_parquet(here.layout.prepared / "benchmark.parquet")
        distinct = rows.drop_duplicates("question_id").reset_index(drop=True)
        identifier = FusedIdentifier.load(read_champion(here.layout))
        told = -1

        def report(done: int, total: int) -> None:
            nonlocal told
            if done * 10 // total > told:
                told = done * 10 // total
                print(f"{here.name}: {done}/{total} questions", flush=True)

        probabilities = identifier.predict_probabilities(questions_of(distinct), report)
        sets = identifier.decide(probabilities)
        found = pd.DataFrame(
            {
                "question_id": distinct["question_id"],
                "labels": [format_label_set(labels) for labels in sets],
                **{f"p_{slug(t)}": probabilities[:, k] for k, t in enumerate(ALL_TYPES)},
                **{f"score_{d.value}": score for d, score in dimension_scores(probabilities).items()},
            }
        )
        rows[["question_id", "passage_id", "source"]].merge(
            found, on="question_id", how="left", validate="many_to_one"
        ).to_parquet(work.path(output), index=False)


if __name__ == "__main__":
    run(main)
