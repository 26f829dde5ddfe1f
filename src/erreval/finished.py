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
from erreval.frames import label_sets_of
from erreval.layout import Layout
from erreval.lockfile import FinishedStage, Lock, key_of
from erreval.taxonomy import ALL_TYPES, ErrorType, slug

_ANEW = "run: dvc repro -f summarise"
MODELS = ("identifier", "verifier")
FOLDERS: Mapping[str, str] = {"identifier": "fused", "verifier": "verifier"}
"""Where the models lie that are registered: the Error Identifier is the encoder joined by the detectors' signals."""
DEV_METRIC: Mapping[str, str] = {"identifier": "identifier/dev/micro_f1", "verifier": "verifier/dev/perturbed/f1"}
"""The metric by which the champion of each model is chosen, higher is better. Only dev counts, never test.

The Verifier's is taken on perturbed label sets: its verdicts on predictions depend on whose predictions they are.
"""


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
    queue: Mapping[str, Any]
    """Counts of the queue that fed this round's training set; empty where none did."""
    annotator: str | None
    """Who answered that queue."""
    reports: tuple[str, ...]
    """Gate reports of its training set, and of doubtful labels in it; these do not count towards the key."""

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
    results = _results(lock, profile)
    rounds = tuple(_round(lock, profile, name, results) for name in _round_names(results))
    stages = _refinement_stages(lock, profile, results)
    return FinishedRefinement(
        profile=profile,
        key=_refinement_key(lock, profile, results),
        params=_params(stages),
        rounds=rounds,
        champion=str(results["identifier"]["champion"]),
        results=tuple(_result_path(profile, model) for model in MODELS),
        reports=tuple(dict.fromkeys([*_reports(lock, *stages), *(path for item in rounds for path in item.reports)])),
    )


def read_evaluation(lock: Lock, profile: str) -> FinishedEvaluation:
    """Gather a profile's evaluation.

    Raises:
        StageError: As for ``read_refinement``.
    """
    path, results = _result_path(profile, "evaluate"), _results(lock, profile)
    result = lock.read_json(path, made_by="evaluate")
    before = {stage.name for stage in _refinement_stages(lock, profile, results)}
    before |= {lock.producer(_result_path(profile, model), made_by="summarise").name for model in MODELS}
    closure = lock.upstream([lock.producer(path, made_by="evaluate")])
    own = [stage for stage in closure if stage.name not in before]
    return FinishedEvaluation(
        profile=profile,
        key=key_of(own, "evaluation", profile),
        refinement=_refinement_key(lock, profile, results),
        params=_params(own),
        numbers=evaluation_numbers(result),
        result=result,
        results=(path,),
    )


def round_numbers(identifier: Mapping[str, Any], verifier: Mapping[str, Any]) -> Numbers:
    """A round's blocks of ``identifier.json`` and ``verifier.json`` as metrics.

    Keys are ``identifier/<set>/<statistic>``, ``identifier/<set>/types/<type>/<f1 or count>``,
    ``verifier/<set>/<perturbed or predicted>/<statistic>``, and for the floor ``<model>/floor/<set>/…``.
    """
    numbers = Numbers()
    for model, sets in (("identifier", identifier), ("verifier", verifier)):
        for name, block in sets.items():
            _add_block(numbers, model, name, block)
    return numbers


def _add_block(numbers: Numbers, model: str, path: str, block: Mapping[str, Any]) -> None:
    for key, value in _scalars(block):
        numbers.add(f"{model}/{path}/{key}", value)
    for name, inner in block.items():
        if name == "floor":
            for key, value in _scalars(inner):
                numbers.add(f"{model}/floor/{path}/{key}", value)
        elif name == "types":
            for row in inner:
                for key in ("f1", "count"):
                    numbers.add(f"{model}/{path}/types/{slug(ErrorType(row['type']))}/{key}", row.get(key))
        elif isinstance(inner, Mapping) and name != "confusion":
            _add_block(numbers, model, f"{path}/{name}", inner)


def evaluation_numbers(result: Mapping[str, Any]) -> Numbers:
    """``evaluate.json`` as metrics.

    Keys are ``study/<benchmark>/diagnosis/<dimension>/<statistic>``, the same with ``_outside_dev`` for the rows
    whose passage is not in the development set, and the means (``mean_pearson`` and its like) by their own names. A
    judge's scores joined with the diagnosis are ``study/<benchmark>/diagnosis-with-<judge>/…``.
    """
    numbers = Numbers()
    study = f"study/{result.get('benchmark', 'qgeval')}/diagnosis"
    for suffix, rows in (("", result), ("_outside_dev", result.get("outside_dev") or {})):
        for key, value in _scalars(rows):
            numbers.add(f"{key}{suffix}" if key.startswith("mean_") else f"{study}/{key}{suffix}", value)
        for dimension, row in by_dimension(rows).items():
            for key, value in _scalars(row):
                numbers.add(f"{study}/{dimension}/{key}{suffix}", value)
    for row in result.get("with_judges") or []:
        for key, value in _scalars(row):
            numbers.add(f"{study}-with-{row['judge']}/{row['dimension']}/{key}", value)
    return numbers


def by_dimension(rows: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What ``evaluate.json`` says of each dimension.

    Headlines stand in the mapping ``dimensions``, whose numbers `dvc metrics show` lists; all else in rows of
    ``details``.
    """
    found = {name: dict(row) for name, row in (rows.get("dimensions") or {}).items()}
    for row in rows.get("details") or []:
        found.setdefault(row["dimension"], {}).update({k: v for k, v in row.items() if k != "dimension"})
    return found


def _result_path(profile: str, what: str) -> str:
    return (Layout(profile).results / f"{what}.json").as_posix()


def _results(lock: Lock, profile: str) -> dict[str, dict[str, Any]]:
    results = {model: lock.read_json(_result_path(profile, model), made_by="summarise") for model in MODELS}
    named = {model: [item["round"] for item in results[model].get("rounds") or []] for model in MODELS}
    names = set(named["identifier"])
    if not names or names != set(named["verifier"]):
        raise StageError(f"results/{profile}: identifier.json and verifier.json do not name the same rounds; {_ANEW}")
    if results["identifier"].get("champion") not in names:
        raise StageError(f"results/{profile}/identifier.json: the champion is none of its rounds; {_ANEW}")
    return results


def _round_names(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return sorted((item["round"] for item in results["identifier"]["rounds"]), key=lambda r: int(r.removeprefix("r")))


def _refinement_stages(lock: Lock, profile: str, results: Mapping[str, Mapping[str, Any]]) -> list[FinishedStage]:
    """All that the rounds were made from; a round that is not in the results (any more) does not count."""
    layout = Layout(profile)
    assessed = [(layout.assessment(name).as_posix(), f"assess@{name}") for name in _round_names(results)]
    return lock.upstream(lock.producer(path, made_by=stage) for path, stage in assessed)


def _refinement_key(lock: Lock, profile: str, results: Mapping[str, Mapping[str, Any]]) -> str:
    return key_of(_refinement_stages(lock, profile, results), "refinement", profile, *_round_names(results))


def _round(lock: Lock, profile: str, name: str, results: Mapping[str, Mapping[str, Any]]) -> FinishedRound:
    layout = Layout(profile)
    models = {model: layout.model(FOLDERS[model], name).as_posix() for model in MODELS}
    training, assessed = layout.training_set(name).as_posix(), layout.assessment(name).as_posix()
    assess = lock.producer(assessed, made_by=f"assess@{name}")
    assessment = lock.read_json(assessed, made_by=f"assess@{name}")
    own = {
        model: {side: block for side, block in item.items() if side != "round"}
        for model in MODELS
        for item in results[model]["rounds"]
        if item["round"] == name
    }
    sides = assessment.get("identifier") or {}
    if {s: {k: v for k, v in block.items() if k != "confusion"} for s, block in sides.items()} != own["identifier"]:
        raise StageError(f"results/{profile}/identifier.json: round {name} is not what {assessed} says; {_ANEW}")
    feeder = lock.producer(training, made_by=f"train_identifier@{name}")
    made_by = {"identifier": f"fuse@{name}", "verifier": f"train_verifier@{name}"}
    trained = [lock.producer(path, made_by=made_by[model]) for model, path in models.items()]
    queue, annotator = _queue(lock, layout, feeder)
    return FinishedRound(
        name=name,
        key=key_of({s.name: s for s in (feeder, *trained, assess)}.values(), "round", profile, name),
        params=_params(lock.upstream([*trained, assess])),
        numbers=round_numbers(own["identifier"], own["verifier"]),
        dev_set=_dev_set(layout, assess),
        training=_training_set(lock.root, training),
        models=models,
        assessment=assessment,
        queue=queue,
        annotator=annotator,
        reports=tuple(_reports(lock, feeder, lock.find(layout.label_noise(name).as_posix()))),
    )


def _queue(lock: Lock, layout: Layout, feeder: FinishedStage) -> tuple[dict[str, Any], str | None]:
    """The counts of the queue whose answers a training set holds, and who answered it."""
    for path in feeder.deps:
        answered, name = lock.find(path), Path(path).stem
        if answered is not None and path == layout.labels(name).as_posix():
            summary = (layout.queue(name) / "summary.json").as_posix()
            annotator = answered.params.get("annotator.kind")
            return lock.read_json(summary, made_by=f"queue@{name}"), None if annotator is None else str(annotator)
    return {}, None


def _dev_set(layout: Layout, assess: FinishedStage) -> str:
    """Digest of the questions that dev metrics are measured on, as ``assess`` has read them."""
    path = (layout.prepared / "development.parquet").as_posix()
    digest = assess.deps.get(path)
    if not digest:
        raise StageError(f"dvc.lock: stage {assess.name} has not read {path}; run: dvc repro {assess.name}")
    return digest


def _training_set(root: Path, path: str) -> TrainingSet:
    from erreval.data.outputs import read_output

    frame = read_output(root / path)
    labels = Counter(label.value for found in label_sets_of(frame) for label in found)
    origins = Counter(str(name) for name in frame["origin"])
    return TrainingSet(
        path=path,
        digest=hashlib.md5((root / path).read_bytes(), usedforsecurity=False).hexdigest(),
        size=len(frame),
        origins={name: origins[name] for name in sorted(origins)},
        labels={t.value: labels[t.value] for t in ALL_TYPES if labels[t.value]},
    )


def _params(stages: list[FinishedStage]) -> dict[str, Any]:
    merged = {name: value for stage in stages for name, value in stage.params.items()}
    return {name: merged[name] for name in sorted(merged)}


def _reports(lock: Lock, *stages: FinishedStage | None) -> Iterator[str]:
    """The gate reports of stages, for people and for programs."""
    for stage in stages:
        for out in stage.outs if stage else ():
            if "gates" in Path(out).parts:
                files = [file for kind in ("*.html", "*.json") for file in sorted((lock.root / out).glob(kind))]
                yield from (file.relative_to(lock.root).as_posix() for file in files)


def _scalars(block: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    for key, value in block.items():
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            yield key, value
