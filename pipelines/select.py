"""Stage select: split the pool into reliable, unreliable and neither."""

from __future__ import annotations

import pandas as pd

from erreval.refinement.selection import select
from pipelines.context import open_context, round_argument
from pipelines.supervision import run, stage

PARAMS = ("selection",)


def main() -> None:
    """Write each sample's verdict beside its predictions."""
    round_key = round_argument()
    here = open_context(f"select@{round_key}", PARAMS)
    output = here.layout.selection(round_key)
    with stage(here.name, [output], profile=here.settings.profile) as work:
        frame = pd.read_parquet(here.layout.predictions(round_key))
        thresholds = here.settings.selection.model_dump(exclude={"confidence"})
        verdicts = select(frame["p_e"].to_numpy(), frame["p_v"].to_numpy(), **thresholds)
        frame = frame.assign(verdict=[verdict.value for verdict in verdicts])
        frame.to_parquet(work.path(output), index=False)
        print(f"{here.name}: {frame['verdict'].value_counts().to_dict()}", flush=True)


if __name__ == "__main__":
    run(main)
