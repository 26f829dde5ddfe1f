"""Stage queue: publish the unreliable samples for people, the most doubtful first."""

from __future__ import annotations

import json

import pandas as pd

from erreval.refinement.selection import Verdict, queue_order
from pipelines.context import open_context, round_argument, write_json
from pipelines.supervision import run, stage

PARAMS = ("queue",)


def main() -> None:
    """Write the items with everything a person needs, and how many were left out."""
    round_key = round_argument()
    here = open_context(f"queue@{round_key}", PARAMS)
    output = here.layout.queue(round_key)
    with stage(here.name, [output], profile=here.settings.profile) as work:
        selection = pd.read_parquet(here.layout.selection(round_key))
        pool = pd.read_parquet(here.layout.prepared / "pool.parquet")
        doubtful = selection[selection["verdict"] == Verdict.UNRELIABLE.value].reset_index(drop=True)
        order = queue_order(
            doubtful["p_e"].to_numpy(), doubtful["p_v"].to_numpy(), doubtful["passage_id"].to_numpy(dtype=str)
        )
        chosen = doubtful.iloc[order[: here.settings.queue.size]]
        texts = pool[["question_id", "source", "passage", "answer", "question"]]
        items = chosen[["question_id", "source", "labels", "p_e", "p_v"]].merge(
            texts, on=["question_id", "source"], how="left", validate="one_to_one"
        )
        folder = work.path(output)
        folder.mkdir()
        lines = [
            json.dumps({"round": round_key, "position": k, **row}, ensure_ascii=False)
            for k, row in enumerate(items.rename(columns={"labels": "predicted"}).to_dict("records"))
        ]
        (folder / "items.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        counts = selection["verdict"].value_counts().to_dict()
        write_json(
            {
                "round": round_key,
                "pool": len(selection),
                **{verdict.value: int(counts.get(verdict.value, 0)) for verdict in Verdict},
                "queued": len(items),
                "left_out": len(doubtful) - len(items),
            },
            folder / "summary.json",
        )


if __name__ == "__main__":
    run(main)
