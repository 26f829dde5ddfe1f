"""What a finished refinement or evaluation consists of, read from dvc.lock and the outputs that it names.

Everything is found by what was made, not by when: the same outputs give the same keys, metrics and figures, whether
DVC ran the stages now, ran them last week, or took them from its cache.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from erreval.errors import StageError
from erreval.lockfile import FinishedStage, Lock, key_of
from erreval.taxonomy import ErrorType, slug

RESULTS_STAGE = ""  # TODO name
MODELS = ("identifier", "verifier")
DEV_METRIC: Mapping[str, str] = {"identifier": "identifier/dev/micro_f1", "verifier": "verifier/perturbed/f1"}
"""The metric by which the champion of each model is chosen, higher is better. Only dev counts, never test."""


@dataclass(frozen=True)
class Numbers:
    """Metrics by key; what is unknown is named, never zero."""

    known: dict[str, float] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)

    def add(self, key: str, value: Any) -> None:
        """Keep a number under its key, or note that it is unknown (null, or not finite)."""
        if value is None or not math.isfinite(value):
            self.unknown.append(key)
        else:
            self.known[key] = float(value)


@dataclass(frozen=True)
class TrainingSet:
    """The questions that a round's models were trained on."""

    path: str
    digest: str
    """MD5 of the file, as in dvc.lock."""
    size: int
    origins: dict[str, int]
    """How many questions came from where: injected, reliable, labelled …"""
    labels: dict[str, int]
    """How many questions carry each label."""


@dataclass(frozen=True)
class FinishedRound:
    """One round: what went in, what came out, how good it is."""

    name: str
    key: str
    params: Mapping[str, Any]
    numbers: Numbers
    dev_set: str
    """Digest of the data that dev metrics were measured on."""
    training: TrainingSet
    models: Mapping[str, str]
    """"identifier" and "verifier" to the folder of the model."""
    assessment: Mapping[str, Any]
    queue: Mapping[str, Any] | None
    reports: tuple[str, ...]

    @property
    def step(self) -> int:
        """The number in the round's name."""
        return int(self.name.removeprefix("r"))

    def dev_metric(self, model: str) -> float | None:
        """What the round's model reaches on dev; None where that is unknown."""
        return self.numbers.known.get(DEV_METRIC[model])


@dataclass(frozen=True)
class FinishedRefinement:
    """All rounds of a profile, r0 first."""

    profile: str
    key: str
    params: Mapping[str, Any]
    rounds: tuple[FinishedRound, ...]
    champion: str
    """The round that the results name as the best on dev."""
    results: tuple[str, ...]
    reports: tuple[str, ...]

    @property
    def best(self) -> FinishedRound:
        """The champion among the rounds."""
        return next(item for item in self.rounds if item.name == self.champion)

    def best_on_dev(self, model: str) -> FinishedRound | None:
        """The round whose model is best on dev, the earlier of two alike; None where no dev metric is known."""
        known = [(value, item) for item in self.rounds if (value := item.dev_metric(model)) is not None]
        return max(known, key=lambda pair: (pair[0], -pair[1].step), default=(None, None))[1]

    def keys(self) -> dict[str, Any]:
        """What was published, without anything that differs from store to store or from day to day."""
        return {
            "profile": self.profile,
            "refinement": self.key,
            "rounds": {r.name: {"key": r.key, "dev_set": r.dev_set} for r in self.rounds},
            "champion": self.champion,
        }


@dataclass(frozen=True)
class FinishedEvaluation:
    """A diagnosed benchmark, compared with people where people have scored it."""

    profile: str
    key: str
    refinement: str
    params: Mapping[str, Any]
    numbers: Numbers
    result: Mapping[str, Any]
    results: tuple[str, ...]

    def keys(self) -> dict[str, Any]:
        """What was published, without anything that differs from store to store or from day to day."""
        return {"profile": self.profile, "evaluation": self.key, "refinement": self.refinement}


def read_refinement(lock: Lock, profile: str) -> FinishedRefinement:
    """Gather a profile's refinement.

    Raises:
        StageError: A result is missing, changed by hand, or older than what it was made from.
    """
    paths = {model: f"results/{profile}/{model}.json" for model in MODELS}
    results = {model: lock.read_json(path, made_by=RESULTS_STAGE) for model, path in paths.items()}
    stages = _refinement_stages(lock, profile)
    blocks = results["identifier"].get("rounds") or {}
    if not blocks:
        raise StageError(f"{paths['identifier']}: names no rounds; run: dvc repro -f")
    rounds = sorted((_round(lock, profile, name, results) for name in blocks), key=lambda r: r.step)
    champion = results["identifier"].get("champion")
    if champion not in blocks:
        raise StageError(f"{paths['identifier']}: the champion {champion!r} is none of its rounds; run: dvc repro -f")
    return FinishedRefinement(
        profile=profile,
        key=key_of(stages, "refinement", profile),
        params=_params(stages),
        rounds=tuple(rounds),
        champion=str(champion),
        results=tuple(paths.values()),
        reports=tuple(path for stage in stages for path in _reports(lock, stage)),
    )


def read_evaluation(lock: Lock, profile: str) -> FinishedEvaluation:
    """Gather a profile's evaluation.

    Raises:
        StageError: As for ``read_refinement``.
    """
    path = f"results/{profile}/evaluate.json"
    result = lock.read_json(path, made_by="evaluate")
    refinement = _refinement_stages(lock, profile)
    before = {stage.name for stage in refinement}
    closure = lock.upstream([lock.producer(path, made_by="evaluate")])
    own = [stage for stage in closure if stage.name not in before]
    return FinishedEvaluation(
        profile=profile,
        key=key_of(own, "evaluation", profile),
        refinement=key_of(refinement, "refinement", profile),
        params=_params(own),
        numbers=evaluation_numbers(result),
        result=result,
        results=(path,),
    )


def round_numbers(identifier: Mapping[str, Any], verifier: Mapping[str, Any]) -> Numbers:
    """A round's blocks of ``identifier.json`` and ``verifier.json`` as metrics.

    Keys are ``identifier/<set>/<statistic>``, ``identifier/<set>/types/<type>/<f1 or count>``,
    ``verifier/<set>/<statistic>``, and for the floor ``<model>/floor/<set>/<statistic>``.
    """
    numbers = Numbers()
    for model, sets in (("identifier", identifier), ("verifier", verifier)):
        for name, block in sets.items():
            for key, value in _scalars(block):
                numbers.add(f"{model}/{name}/{key}", value)
            for key, value in _scalars(block.get("floor") or {}):
                numbers.add(f"{model}/floor/{name}/{key}", value)
            for label, row in (block.get("types") or {}).items():
                for key in ("f1", "count"):
                    numbers.add(f"{model}/{name}/types/{slug(ErrorType(label))}/{key}", row.get(key))
    return numbers


def evaluation_numbers(result: Mapping[str, Any], *, benchmark: str = "qgeval") -> Numbers:
    """``evaluate.json`` as metrics: ``study/<benchmark>/diagnosis/<dimension>/<statistic>`` and the two means."""
    numbers = Numbers()
    for dimension, row in (result.get("dimensions") or {}).items():
        for key, value in _scalars(row):
            numbers.add(f"study/{benchmark}/diagnosis/{dimension}/{key}", value)
    for key in ("mean_pearson", "mean_pearson_six"):
        if key in result:
            numbers.add(key, result[key])
    return numbers


def _refinement_stages(lock: Lock, profile: str) -> list[FinishedStage]:
    paths = [f"results/{profile}/{model}.json" for model in MODELS]
    return lock.upstream(lock.producer(path, made_by=RESULTS_STAGE) for path in paths)


def _round(lock: Lock, profile: str, name: str, results: Mapping[str, Mapping[str, Any]]) -> FinishedRound:
    work = f"data/work/{profile}"
    models = {model: f"{work}/models/{model}/{name}" for model in MODELS}
    training, assessed = f"{work}/sets/{name}/train.parquet", f"{work}/assess/{name}.json"
    feeder = lock.producer(training, made_by=f"train_identifier@{name}")
    assess = lock.producer(assessed, made_by=f"assess@{name}")
    trained = [lock.producer(path, made_by=f"train_{model}@{name}") for model, path in models.items()]
    missing = [model for model in MODELS if name not in (results[model].get("rounds") or {})]
    if missing:
        path = f"results/{profile}/{missing[0]}.json"
        raise StageError(f"{path}: has no round {name}; run: dvc repro")
    queue = f"{work}/queue/{name}/summary.json"
    return FinishedRound(
        name=name,
        key=key_of({s.name: s for s in (feeder, *trained, assess)}.values(), "round", profile, name),
        params=_params(lock.upstream([*trained, assess])),
        numbers=round_numbers(results["identifier"]["rounds"][name], results["verifier"]["rounds"][name]),
        dev_set=_dev_set(assess, name),
        training=_training_set(lock.root, training),
        models=models,
        assessment=lock.read_json(assessed, made_by=f"assess@{name}"),
        queue=lock.read_json(queue, made_by=f"queue@{name}")
        if lock.find(queue) and (lock.root / queue).exists()
        else None,
        reports=tuple(_reports(lock, feeder)),
    )


def _dev_set(assess: FinishedStage, name: str) -> str:
    """Digest of the data that ``assess`` read and that is no round's: the questions it measures on."""
    read = {path: digest for path, digest in assess.deps.items() if path.startswith("data/")}
    shared = sorted(digest for path, digest in read.items() if name not in Path(path).with_suffix("").parts)
    return hashlib.sha256("\n".join(shared).encode()).hexdigest()[:16]


def _training_set(root: Path, path: str) -> TrainingSet:
    import pandas as pd

    frame = pd.read_parquet(root / path)
    labels: Counter[str] = Counter()
    for cell in frame["labels"]:
        parts = cell.split(";") if isinstance(cell, str) else list(cell)
        labels.update(str(part).strip() for part in parts)
    origin = next((column for column in ("origin", "source") if column in frame.columns), None)
    origins = Counter(str(name) for name in frame[origin]) if origin else Counter()
    return TrainingSet(
        path=path,
        digest=hashlib.md5((root / path).read_bytes(), usedforsecurity=False).hexdigest(),
        size=len(frame),
        origins={name: origins[name] for name in sorted(origins)},
        labels=dict(labels),
    )


def _params(stages: list[FinishedStage]) -> dict[str, Any]:
    merged = {name: value for stage in stages for name, value in stage.params.items()}
    return {name: merged[name] for name in sorted(merged)}


def _reports(lock: Lock, stage: FinishedStage) -> Iterator[str]:
    for out in stage.outs:
        path = lock.root / out
        if "gates" in Path(out).parts:
            files = sorted(path.glob("*.html")) if path.is_dir() else [path]
            yield from (
                file.relative_to(lock.root).as_posix() for file in files if file.suffix == ".html" and file.exists()
            )


def _scalars(block: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    for key, value in block.items():
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            yield key, value
