"""Stage evaluate: how the diagnosis scores correlate with people, beside the floor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from erreval.baselines.trivial import TRIVIAL_FEATURES
from erreval.frames import questions_of
from erreval.studies.correlation import floor, pearson
from erreval.studies.judge_fusion import fuse_with_judge, overestimation, three_levels
from erreval.studies.resampling import one_annotator_level, pearson_interval, without_influential
from erreval.taxonomy import Dimension
from pipelines.context import open_context, write_json
from pipelines.supervision import run, stage

PARAMS = ("data",)
HEADLINES = ("pearson", "floor", "n")


def main() -> None:
    """Write results/<profile>/evaluate.json; where nobody scored the questions, only what was diagnosed."""
    here = open_context("evaluate", PARAMS)
    output = here.layout.results / "evaluate.json"
    with stage(here.name, [output], profile=here.settings.profile) as work:
        rows = pd.read_parquet(here.layout.prepared / "benchmark.parquet")
        diagnosis = pd.read_parquet(here.layout.diagnosis)
        human = pd.read_parquet(here.layout.prepared / "human_scores.parquet")
        development = pd.read_parquet(here.layout.prepared / "development.parquet")
        result: dict[str, Any] = {
            "benchmark": here.settings.data.benchmark,
            "rows": len(rows),
            "distinct_questions": int(rows["question_id"].nunique()),
            "diagnosed": [
                {"labels": str(k), "questions": int(v)}
                for k, v in diagnosis["labels"].value_counts().sort_index().items()
            ],
        }
        if human.empty:
            result |= {"scored": False, "reason": "nobody has scored these questions, so no correlation is shown"}
        else:
            seen = set(development.loc[development["side"] == "dev", "passage_id"])
            outside = ~rows["passage_id"].isin(seen).to_numpy()
            everything = _correlations(rows, diagnosis, human, np.ones(len(rows), dtype=bool), here.rng())
            unseen = _correlations(rows, diagnosis, human, outside, here.rng())
            judged = pd.read_parquet(here.layout.prepared / "judgements.parquet")
            result |= {
                "scored": True,
                **_headlines_apart(everything),
                "outside_dev": _in_rows(unseen),
                "with_judges": _with_judges(judged, diagnosis, human),
            }
        write_json(result, work.path(output))


def _headlines_apart(found: dict[str, Any]) -> dict[str, Any]:
    """Every number of a mapping is a column of `dvc metrics show`: what is no headline stands in a list of rows."""
    headlines = {name: {key: row[key] for key in HEADLINES} for name, row in found["dimensions"].items()}
    details = [
        {"dimension": name, **{key: value for key, value in row.items() if key not in HEADLINES}}
        for name, row in found["dimensions"].items()
    ]
    return {**found, "dimensions": headlines, "details": details}


def _in_rows(found: dict[str, Any]) -> dict[str, Any]:
    means = {key: value for key, value in found.items() if key != "dimensions"}
    return {**means, "details": [{"dimension": name, **row} for name, row in found["dimensions"].items()]}


def _with_judges(judged: pd.DataFrame, diagnosis: pd.DataFrame, human: pd.DataFrame) -> list[dict[str, Any]]:
    """Published judges alone, and with half a vote for the diagnosis: correlation, and flawed questions called good.

    Weight and levels are fixed in ``studies.judge_fusion``, before anyone's scores are looked at.
    """
    key = ["question_id", "source"]
    people = human[human["annotator"] == "mean"].rename(columns={"score": "human"})[[*key, "dimension", "human"]]
    found = []
    for (judge, dimension), own in judged.groupby(["judge", "dimension"]):
        rows = own.merge(diagnosis, on=key, validate="one_to_one").merge(people, on=[*key, "dimension"])
        scores, mean = (rows[name].to_numpy(dtype=float) for name in ("score", "human"))
        fused = fuse_with_judge(scores, rows[f"score_{dimension}"].to_numpy(dtype=float))
        both = np.isfinite(fused.scores)
        alone, joined = overestimation(scores, mean), overestimation(three_levels(fused.scores), mean)
        found.append(
            {
                "judge": str(judge),
                "dimension": str(dimension),
                "n": fused.n,
                "weight_of_diagnosis": fused.weight,
                "pearson_judge_alone": pearson(scores[both], mean[both]).value,
                "pearson": pearson(fused.scores[both], mean[both]).value,
                "overestimation_judge_alone": alone.overestimated,
                "penalised_judge_alone": alone.penalised,
                "overestimation": joined.overestimated,
                "penalised": joined.penalised,
                "flawed": joined.flawed,
                "good": joined.good,
            }
        )
    return found


def _correlations(
    rows: pd.DataFrame, diagnosis: pd.DataFrame, human: pd.DataFrame, keep: np.ndarray, rng: np.random.Generator
) -> dict[str, Any]:
    key = ["question_id", "source"]
    kept = rows.loc[keep, [*key, "passage_id", "passage", "answer", "question"]].reset_index(drop=True)
    questions = questions_of(kept)
    features = {name: np.array([f(q) for q in questions]) for name, f in TRIVIAL_FEATURES.items()}
    scored = kept[key].merge(diagnosis, on=key, how="left", validate="one_to_one")
    by_annotator = human.pivot_table(index=key, columns=["dimension", "annotator"], values="score")
    people = by_annotator.reindex(pd.MultiIndex.from_frame(kept[key]))
    dimensions = {
        dimension.value: _dimension(
            scored[f"score_{dimension.value}"].to_numpy(dtype=float),
            people[dimension.value],
            features,
            kept["passage_id"].to_numpy(dtype=str),
            rng,
        )
        for dimension in Dimension
    }
    six = [found for name, found in dimensions.items() if name != Dimension.RELEVANCE.value]
    return {
        "mean_pearson": _mean([found["pearson"] for found in dimensions.values()]),
        "mean_pearson_six": _mean([found["pearson"] for found in six]),
        "mean_floor": _mean([found["floor"] for found in dimensions.values()]),
        "mean_floor_six": _mean([found["floor"] for found in six]),
        "dimensions": dimensions,
    }


def _dimension(
    scores: np.ndarray,
    people: pd.DataFrame,
    features: dict[str, np.ndarray],
    passages: np.ndarray,
    rng: np.random.Generator,
) -> dict[str, Any]:
    mean = people["mean"].to_numpy(dtype=float)
    known = np.isfinite(scores) & np.isfinite(mean)
    scores, mean = scores[known], mean[known]
    found = pearson(scores, mean)
    trivial = floor({name: values[known] for name, values in features.items()}, mean)
    interval = pearson_interval(scores, mean, passages[known], rng)
    annotators = people.drop(columns="mean").to_numpy(dtype=float)[known]
    return {
        "pearson": found.value,
        "floor": trivial.value,
        "floor_feature": trivial.feature,
        "n": found.n,
        "left_out": int((~known).sum()),
        "interval": [interval.low, interval.high],
        "without_influential": without_influential(scores, mean),
        "floor_without_influential": None
        if trivial.feature is None
        else _absolute(without_influential(features[trivial.feature][known], mean)),
        "one_annotator": one_annotator_level(annotators),
    }


def _absolute(value: float | None) -> float | None:
    return None if value is None else abs(value)


def _mean(values: list[float | None]) -> float | None:
    """The mean, or None where one of the values is undefined: a mean over fewer would be another number."""
    return None if any(value is None for value in values) else float(np.mean([v for v in values if v is not None]))


if __name__ == "__main__":
    run(main)
