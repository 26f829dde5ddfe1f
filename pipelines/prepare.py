"""Stage prepare: split passages, inject errors, gate; write training set, pool, held-out questions and benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from erreval.data.overlap import find_overlaps
from erreval.data.readers import BENCHMARKS, PAIRS, PROTECTED
from erreval.data.readers.frames import JUDGEMENT_COLUMNS, SCORE_COLUMNS, Benchmark, Pairs
from erreval.data.readers.sample import read_sample
from erreval.data.splits import assign_sides, side_of
from erreval.data.stage_checks import Prepared, Table, check_prepared
from erreval.diagnosis.injection.inject import build_labelled_set
from erreval.diagnosis.wording import cased_and_ended, detokenise
from erreval.frames import ORIGINS, labelled_frame
from erreval.records import Question, passage_id
from erreval.sections import InjectionSettings
from erreval.taxonomy import ErrorType
from pipelines.context import Context, open_context, write_json
from pipelines.gates import keep_and_require
from pipelines.good_pairs import good_examples, with_stories
from pipelines.supervision import run, stage

PARAMS = ("data", "injection", "gates")
BENCHMARK_COLUMNS = ["question_id", "passage_id", "source", "passage", "answer", "question", "reference"]


def main() -> None:
    """Write everything that later stages read."""
    here = open_context("prepare", PARAMS)
    layout, settings = here.layout, here.settings
    outputs = [layout.prepared, layout.training_set("r0").parent, layout.gate("prepare")]
    with stage(here.name, outputs, profile=settings.profile) as work:
        prepared = work.path(layout.prepared)
        prepared.mkdir()
        benchmarks = {name: BENCHMARKS[name](layout.raw / name) for name in settings.data.sources if name in BENCHMARKS}
        protected = _protected(benchmarks)
        read = _read_pairs(here)
        pairs = _material(read)
        overlap = settings.gates.overlap
        overlaps = find_overlaps(pairs["passage"].unique(), protected["passage"], n=overlap.ngram, share=overlap.share)
        kept = pairs[~pairs["passage_id"].isin(set(overlaps["passage_id"]))]
        sides = assign_sides(kept, settings.data.shares, salt="training")
        sets = {side: _labelled(here, kept[sides == side], size) for side, size in _sizes(settings.injection).items()}
        _write_sets(sets, prepared, work.path(outputs[1]))
        kept[sides == "train"].to_parquet(prepared / "good.parquet", index=False)
        protected.to_parquet(prepared / "protected.parquet", index=False)
        _write_benchmark(here, pairs, benchmarks, prepared)
        _write_judgements(benchmarks, prepared)
        _write_development(here, benchmarks, sets["heldout"], prepared)
        found = Prepared(
            benchmarks={str(layout.raw / name): one for name, one in benchmarks.items()},
            pairs={str(layout.sample if name == "sample" else layout.raw / name): one for name, one in read.items()},
            material=pairs,
            kept=kept,
            tables=_written(here, prepared, work.path(outputs[1])),
            scales=benchmarks[settings.data.benchmark].scales if settings.data.benchmark in benchmarks else {},
        )
        gates = check_prepared(found, settings.gates, name=here.name, origins=ORIGINS)
        keep_and_require(gates, work.path(outputs[2]))
        counts = {
            "passages": int(pairs["passage_id"].nunique()),
            "overlapping_passages_removed": {
                str(source): int(frame["passage_id"].nunique())
                for source, frame in pairs[pairs["passage_id"].isin(set(overlaps["passage_id"]))].groupby("source")
            },
            "labelled": {side: len(frame) for side, frame in sets.items()},
        }
        write_json(counts, prepared / "counts.json")
        print(f"{here.name}: {counts}", flush=True)


def _sizes(injection: InjectionSettings) -> dict[str, int]:
    return {"train": injection.train_size, "pool": injection.pool_size, "heldout": injection.heldout_size}


def _protected(benchmarks: dict[str, Benchmark]) -> pd.DataFrame:
    """The passages that no training may see, of every benchmark at hand."""
    frames = [
        found.questions[["passage_id", "passage"]].drop_duplicates("passage_id").assign(benchmark=name)
        for name, found in benchmarks.items()
        if name in PROTECTED
    ]
    columns = ["passage_id", "passage", "benchmark"]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns, dtype=str)


def _read_pairs(here: Context) -> dict[str, Pairs]:
    """Passages with good questions and answers that people wrote, by source."""
    sources = [name for name in here.settings.data.sources if name in PAIRS]
    read = {name: PAIRS[name](here.layout.raw / name) for name in sources}
    return read or {"sample": read_sample(here.layout.sample)}


def _material(read: dict[str, Pairs]) -> pd.DataFrame:
    """What errors are injected into: every pair that has an answer."""
    pairs = pd.concat([_readable(one.frame) for one in read.values()], ignore_index=True)
    return pairs[pairs["answer"].notna()].reset_index(drop=True)


def _written(here: Context, prepared: Path, training: Path) -> dict[str, Table]:
    """The tables as they lie on the disk, each with the place where it will lie."""
    place = here.layout.training_set("r0")
    found = {"train": Table(pd.read_parquet(training / place.name), str(place))}
    for path in sorted(prepared.glob("*.parquet")):
        found[path.stem] = Table(pd.read_parquet(path), str(here.layout.prepared / path.name))
    return found


def _readable(pairs: pd.DataFrame) -> pd.DataFrame:
    """QED's texts come tokenised, its questions in lower case without a mark, some of them without an answer."""
    if not (pairs["source"] == "qed").all():
        return pairs
    answered = pairs[pairs["explanation_type"] != "none"]
    passages = {text: detokenise(text) for text in answered["passage"].unique()}
    ids = {text: passage_id(text) for text in passages.values()}
    clean = answered.assign(
        passage=answered["passage"].map(passages), answer=[detokenise(a) for a in answered["answer"]]
    )
    return clean.assign(
        passage_id=clean["passage"].map(ids),
        question=[cased_and_ended(detokenise(q), p) for q, p in zip(clean["question"], clean["passage"], strict=True)],
    )


def _balanced(pairs: pd.DataFrame, size: int, rng: np.random.Generator) -> pd.DataFrame:
    """Encyclopaedic pairs and stories in random order, enough for ``size`` where there are so many."""
    own = int((pairs["register"] == "encyclopaedic").sum())
    mixed = with_stories(pairs, size - own, rng)
    return mixed.iloc[rng.permutation(len(mixed))]


def _labelled(here: Context, pairs: pd.DataFrame, size: int) -> pd.DataFrame:
    injection, rng = here.settings.injection, here.rng()
    examples = good_examples(_balanced(pairs, size, rng))
    made = build_labelled_set(examples, injection.mix, size, injection.combine_share, rng)
    questions = [
        Question(question=e.question, passage=e.passage, answer=e.answer, source=f"injected/{e.source}") for e in made
    ]
    untouched = frozenset({ErrorType.NO_ERROR})
    origins = ["untouched" if e.labels == untouched else "injected" for e in made]
    return labelled_frame(questions, [e.labels for e in made], origins, 0)


def _write_sets(sets: dict[str, pd.DataFrame], prepared: Path, training: Path) -> None:
    training.mkdir()
    sets["train"].to_parquet(training / "train.parquet", index=False)
    sets["heldout"].to_parquet(prepared / "heldout.parquet", index=False)
    pool = sets["pool"]
    pool.drop(columns=["labels", "origin", "round"]).to_parquet(prepared / "pool.parquet", index=False)
    pool[["question_id", "source", "labels"]].to_parquet(prepared / "pool_truth.parquet", index=False)


def _write_benchmark(here: Context, pairs: pd.DataFrame, benchmarks: dict[str, Benchmark], prepared: Path) -> None:
    """The questions to diagnose and compare with people; the sample's were scored by nobody."""
    name = here.settings.data.benchmark
    if name in benchmarks:
        questions, scores = benchmarks[name].questions, benchmarks[name].scores
    else:
        questions = labelled_frame(
            [
                Question(question=e.question, passage=e.passage, answer=e.answer, source=e.source)
                for e in good_examples(pairs)
            ],
            [frozenset({ErrorType.NO_ERROR})] * len(pairs),
            ["untouched"] * len(pairs),
            0,
        ).assign(reference=None)
        scores = pd.DataFrame(columns=list(SCORE_COLUMNS))
    questions[BENCHMARK_COLUMNS].to_parquet(prepared / "benchmark.parquet", index=False)
    scores.to_parquet(prepared / "human_scores.parquet", index=False)


def _write_judgements(benchmarks: dict[str, Benchmark], prepared: Path) -> None:
    """Scores that judges have published for the benchmark, without their replies."""
    columns = [name for name in JUDGEMENT_COLUMNS if name not in ("prompt", "reply")]
    frames = [found.judgements[columns] for found in benchmarks.values() if found.judgements is not None]
    judged = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)
    judged.to_parquet(prepared / "judgements.parquet", index=False)


def _write_development(here: Context, benchmarks: dict[str, Benchmark], heldout: pd.DataFrame, prepared: Path) -> None:
    """The questions to assess on, split by passage into dev and test."""
    name, share = here.settings.data.development, here.settings.data.dev_share
    if name in benchmarks:
        found = benchmarks[name]
        if found.labels is None:
            raise TypeError(f"{name} carries no labels")
        frame = found.questions.merge(found.labels, on=["question_id", "source"], validate="one_to_one")
    else:
        frame = heldout
    sides = _dev_or_test(frame["passage_id"].tolist(), share)
    columns = [*BENCHMARK_COLUMNS[:-1], "labels"]
    frame[columns].assign(side=sides).to_parquet(prepared / "development.parquet", index=False)


def _dev_or_test(passage_ids: Sequence[str], dev_share: float) -> list[str]:
    shares = {"dev": dev_share, "test": 1 - dev_share}
    return [side_of(passage, shares, salt="development") for passage in passage_ids]


if __name__ == "__main__":
    run(main)
