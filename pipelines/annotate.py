"""Stage annotate: the simulated annotator answers the queue; every label says that it is simulated."""

from __future__ import annotations

import pandas as pd

from erreval.frames import label_sets_of
from erreval.labelling.simulated import SIMULATED, answer
from erreval.taxonomy import format_label_set
from pipelines.context import open_context, round_argument
from pipelines.supervision import run, stage

PARAMS = ("annotator",)


def main() -> None:
    """Write one label an item."""
    round_key = round_argument()
    here = open_context(f"annotate@{round_key}", PARAMS)
    output = here.layout.labels(round_key)
    with stage(here.name, [output], profile=here.settings.profile) as work:
        items = pd.read_json(here.layout.queue(round_key) / "items.jsonl", lines=True, dtype=False)
        if items.empty:
            items = pd.DataFrame({"question_id": [], "source": []}, dtype=str)
        truth = pd.read_parquet(here.layout.prepared / "pool_truth.parquet")
        known = items[["question_id", "source"]].merge(truth, on=["question_id", "source"], validate="one_to_one")
        given = answer(label_sets_of(known), here.settings.annotator.error_rate, here.rng())
        labels = known[["question_id", "source"]].assign(
            labels=[format_label_set(found) for found in given], annotator=SIMULATED, round=round_key
        )
        labels.to_parquet(work.path(output), index=False)


if __name__ == "__main__":
    run(main)
