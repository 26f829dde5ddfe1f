"""Stage extend: the next round's training set, gated: what was there, reliable samples, answered ones."""

from __future__ import annotations

import pandas as pd

from erreval.data.stage_checks import Extension, Table, check_extension
from erreval.frames import LABELLED_COLUMNS, ORIGINS
from erreval.refinement.selection import Verdict
from pipelines.context import open_context, round_argument
from pipelines.gates import keep_and_require
from pipelines.supervision import run, stage

PARAMS = ("extensions", "gates")


def main() -> None:
    """Join the three, let the gate look, and write the set with its report."""
    round_key = round_argument()
    here = open_context(f"extend@{round_key}", PARAMS)
    layout, into = here.layout, here.settings.extensions[round_key].into
    output, report = layout.training_set(into).parent, layout.gate(f"extend-{round_key}")
    with stage(here.name, [output, report], profile=here.settings.profile) as work:
        before = pd.read_parquet(layout.training_set(round_key))
        pool = pd.read_parquet(layout.prepared / "pool.parquet")
        selection = pd.read_parquet(layout.selection(round_key))
        reliable = selection[selection["verdict"] == Verdict.RELIABLE.value].assign(origin="auto")
        answered = pd.read_parquet(layout.labels(round_key)).assign(origin=lambda f: f["annotator"])
        key = ["question_id", "source"]
        new = pd.concat([reliable[[*key, "labels", "origin"]], answered[[*key, "labels", "origin"]]])
        added = new.merge(pool, on=key, how="left", validate="many_to_one").assign(round=int(into.removeprefix("r")))
        extended = pd.concat([before, added[list(LABELLED_COLUMNS)]], ignore_index=True)
        work.path(output).mkdir()
        extended.to_parquet(work.path(output) / layout.training_set(into).name, index=False)
        found = Extension(
            before=before,
            after=Table(extended, str(layout.training_set(into))),
            selection=Table(selection, str(layout.selection(round_key))),
            answers=Table(answered, str(layout.labels(round_key))),
            asked=selection[selection["verdict"] == Verdict.UNRELIABLE.value],
            pool=pool,
            protected=pd.read_parquet(layout.prepared / "protected.parquet"),
        )
        gates = check_extension(found, here.settings.gates, name=here.name, origins=ORIGINS, verdicts=list(Verdict))
        keep_and_require(gates, work.path(report))
        print(f"{here.name}: {len(before)} + {len(reliable)} reliable + {len(answered)} answered", flush=True)


if __name__ == "__main__":
    run(main)
