"""How good the diagnosis is, computed here from the public files: floors to stay above, without an encoder.

The signals and their fusion are fitted as the stage ``fuse`` fits them, on what the stage ``prepare`` writes; nothing
is read from committed results.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from servers import copy_project, run_dvc

from erreval.baselines.trivial import TRIVIAL_FEATURES
from erreval.data.sources import can_reach
from erreval.data.splits import heldout_role
from erreval.diagnosis.answer_fit import AnswerFit, fit_answers
from erreval.diagnosis.examples import multi_hot
from erreval.diagnosis.fused import FusedIdentifier
from erreval.diagnosis.fusion import FusionSettings, Labelled
from erreval.diagnosis.metrics import auroc
from erreval.diagnosis.nested import cross_fitted, fit_with_thresholds
from erreval.diagnosis.scores import dimension_scores
from erreval.frames import questions_of
from erreval.settings import apply_profile
from erreval.studies.correlation import floor, pearson
from erreval.studies.paired import micro_f1_difference
from erreval.taxonomy import TYPE_INDEX, Dimension, ErrorType
from pipelines.fuse import _good_examples, _learnt_from, _measured

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@dataclass(frozen=True)
class Material:
    """What ``prepare`` has written, measured."""

    prepared: Path
    development: pd.DataFrame
    people: Labelled
    injected: Labelled
    fit: AnswerFit

    @property
    def passages(self) -> np.ndarray:
        return self.development["passage_id"].to_numpy(dtype=object)


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Material:
    project = copy_project(tmp_path_factory.mktemp("quality") / "project")
    settings = apply_profile(project / "params.yaml", "offline")
    reach = can_reach(settings.data.sources)
    if not reach.ok:
        pytest.skip(f"the public files are out of reach: {reach.why}")
    made = run_dvc(project, "repro", "prepare")
    assert made.returncode == 0, made.stderr[-3000:]
    prepared = project / "data/work/offline/prepared"
    development, heldout = (pd.read_parquet(prepared / f"{name}.parquet") for name in ("development", "heldout"))
    rng = np.random.default_rng(0)
    fit = fit_answers(_good_examples(pd.read_parquet(prepared / "good.parquet"), rng), rng)
    calibrating = heldout[heldout["passage_id"].map(heldout_role) == "fit"]
    return Material(prepared, development, _measured(development, fit, None), _measured(calibrating, fit, None), fit)


def test_label_sets_beat_always_answering_no_error(material: Material) -> None:
    probabilities, sets = cross_fitted(
        material.injected,
        material.people,
        material.passages.tolist(),
        material.fit,
        FusionSettings(),
        np.random.default_rng(0),
    )
    hot, said = material.people.hot, multi_hot(sets)
    no_error = multi_hot([frozenset({ErrorType.NO_ERROR})] * len(hot))
    passages = material.passages.astype(str)
    gain = micro_f1_difference(hot, said, no_error, passages, np.random.default_rng(0))
    assert gain.interval.low is not None
    assert gain.interval.low > 0
    test = (material.development["side"] == "test").to_numpy()
    half = micro_f1_difference(hot[test], said[test], no_error[test], passages[test], np.random.default_rng(0))
    assert half.difference >= 0.05
    for error, least in ((ErrorType.UNNECESSARY_COPY, 0.85), (ErrorType.OFF_TARGET_ANSWER, 0.62)):
        column = TYPE_INDEX[error]
        for rows in (test, ~test):
            found = auroc(hot[rows][:, column], probabilities[rows][:, column])
            assert found is not None
            assert found >= least, error


def test_scores_beat_the_best_trivial_features_without_any_llm(material: Material) -> None:
    dev = _learnt_from(material.development, best_by="last")
    fitted = fit_with_thresholds(
        material.injected,
        material.people.take(dev),
        material.passages[dev].tolist(),
        material.fit,
        FusionSettings(),
        np.random.default_rng(0),
    )
    rows = pd.read_parquet(material.prepared / "benchmark.parquet")
    human = pd.read_parquet(material.prepared / "human_scores.parquet")
    mean = human[human["annotator"] == "mean"].pivot_table(
        index=["question_id", "source"], columns="dimension", values="score"
    )
    people = mean.reindex(pd.MultiIndex.from_frame(rows[["question_id", "source"]]))
    questions = questions_of(rows)
    scores = dimension_scores(FusedIdentifier(fitted.fusion, fitted.thresholds).predict_probabilities(questions))
    features = {name: np.array([f(q) for q in questions]) for name, f in TRIVIAL_FEATURES.items()}
    seen = set(material.development["passage_id"].iloc[dev])
    everywhere, outside = np.ones(len(rows), dtype=bool), ~rows["passage_id"].isin(seen).to_numpy()
    six = [d for d in Dimension if d is not Dimension.RELEVANCE]

    def correlations(keep: np.ndarray) -> dict[Dimension, float]:
        found = {d: pearson(scores[d][keep], people[d.value].to_numpy()[keep]).value for d in Dimension}
        return {d: value for d, value in found.items() if value is not None}

    whole, unseen = correlations(everywhere), correlations(outside)
    assert np.mean([whole[d] for d in six]) >= 0.38
    assert np.mean(list(whole.values())) >= 0.42
    assert np.mean([unseen[d] for d in six]) >= 0.36  # .38 is the goal; here without the encoder, on 1,740 rows
    beaten = [d for d in six if whole[d] > (floor(features, people[d.value].to_numpy()).value or 0.0)]
    assert len(beaten) >= 5
