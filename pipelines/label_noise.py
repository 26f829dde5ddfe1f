"""Stage label_noise: the labels of a round's training set that out-of-sample probabilities find hard to believe."""

from __future__ import annotations

import pandas as pd

from erreval.data.gate_report import GateSummary
from erreval.data.label_noise import find_label_noise, judged_types, noise_report, present_types, separations
from erreval.diagnosis.cross_fit import cross_fitted_probabilities, detector_features
from erreval.frames import questions_of
from pipelines.context import open_context, round_argument
from pipelines.gates import keep_and_require
from pipelines.supervision import run, stage

PARAMS = ("label_noise",)


def main() -> None:
    """Write the doubtful rows, the most doubtful first, with the texts that a person needs to judge them."""
    round_key = round_argument()
    here = open_context(f"label_noise@{round_key}", PARAMS)
    layout, noise = here.layout, here.settings.label_noise
    output, report = layout.label_noise(round_key), layout.gate(f"label_noise-{round_key}")
    with stage(here.name, [output, report], profile=here.settings.profile) as work:
        frame = pd.read_parquet(layout.training_set(round_key))
        probabilities = cross_fitted_probabilities(
            detector_features(questions_of(frame)),
            present_types(frame),
            frame["passage_id"].tolist(),
            folds=noise.folds,
            seed=here.settings.seed,
        )
        told_apart = separations(present_types(frame), probabilities)
        found = find_label_noise(frame, probabilities, judged=judged_types(told_apart, noise.least_auroc))
        place = str(layout.training_set(round_key))
        gate = noise_report(found, frame, told_apart, least_auroc=noise.least_auroc, most=noise.most, file=place)
        keep_and_require(GateSummary(here.name, (gate,)), work.path(report))
        found.to_parquet(work.path(output), index=False)
        print(f"{here.name}: {len(found)} of {len(frame)} rows are doubtful", flush=True)


if __name__ == "__main__":
    run(main)
