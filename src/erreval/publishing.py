"""Finished DVC stages, written to MLflow: a refinement with its rounds, models and champions, and an evaluation.

Publishing is idempotent: what is there already under its key is reused, what was half written is completed. Nothing
is computed here that the stages have not computed.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from erreval import plots
from erreval.finished import (
    DEV_METRIC,
    MODELS,
    FinishedEvaluation,
    FinishedRefinement,
    FinishedRound,
    by_dimension,
    read_evaluation,
    read_refinement,
)
from erreval.lockfile import Lock
from erreval.tracking import KEY, NOTE, PARENT, REFINEMENT, ROUNDS, Published, PublishedRun, Store, open_store

log = logging.getLogger(__name__)

REGISTERED: Mapping[str, str] = {"identifier": "erreval-identifier", "verifier": "erreval-verifier"}
"""The name of each model in MLflow's registry."""

UNKNOWN = "erreval.unknown_metrics"
"""Tag: how many metrics are unknown, and therefore not logged."""

GATES = "erreval.gates"
"""Tag: the gate reports of a run by stage, as JSON: passed or not, how many warnings, digest. They are artifacts."""


def publish_refinement(root: Path, profile: str, *, flow_run_id: str | None = None) -> Published:
    """Publish a profile's finished refinement: a parent run, a child for each round, models and champions.

    Args:
        root: The workspace, with dvc.lock and the outputs.
        profile: Whose outputs.
        flow_run_id: The Prefect flow run to link the parent to.

    Raises:
        StageError: A result is missing or stale; the message names the command that makes it.
        TrackingError: The store cannot be reached, or refuses.
    """
    refinement = read_refinement(Lock.read(root), profile)
    with open_store() as store:
        parent = store.open("refinement", refinement.key, f"{profile} {refinement.key[:8]}", {"profile": profile})
        store.link_flow(parent.run_id, flow_run_id)
        rounds = tuple(_publish_round(store, root, refinement, item, parent) for item in refinement.rounds)
        note = _refinement_note(store, refinement, rounds)
        _attach_reports(store, root, parent.run_id, refinement.reports, note)
        if parent.made:
            _write_refinement(store, root, refinement, parent, rounds)
        champions = {REGISTERED[model]: _choose_champion(store, refinement, model) for model in MODELS}
    return Published(parent, rounds, {name: version for name, version in champions.items() if version})


def publish_evaluation(root: Path, profile: str, *, flow_run_id: str | None = None) -> Published:
    """Publish a profile's finished evaluation, as a run under its refinement's where that is published.

    Args and errors are those of ``publish_refinement``.
    """
    evaluation = read_evaluation(Lock.read(root), profile)
    with open_store() as store:
        tags = {"profile": profile, REFINEMENT: evaluation.refinement}
        refinement = store.find(evaluation.refinement)
        if refinement is not None:
            tags[PARENT] = str(refinement.info.run_id)
        run = store.open("evaluation", evaluation.key, f"{profile} evaluation {evaluation.key[:8]}", tags)
        store.link_flow(run.run_id, flow_run_id)
        if run.made:
            _write_evaluation(store, root, evaluation, run)
    return Published(run)


def _publish_round(
    store: Store, root: Path, refinement: FinishedRefinement, item: FinishedRound, parent: PublishedRun
) -> PublishedRun:
    tags = {
        PARENT: parent.run_id,
        REFINEMENT: refinement.key,
        UNKNOWN: str(len(item.numbers.unknown)),
        "profile": refinement.profile,
        "round": item.name,
        "dev_set": item.dev_set,
    }
    if item.annotator is not None:
        tags["annotator"] = item.annotator
    run = store.open("round", item.key, f"{refinement.profile} {item.name} {item.key[:8]}", tags)
    for model in MODELS:
        store.register(
            run.run_id, model, REGISTERED[model], root / item.models[model], _version_tags(refinement, item, model)
        )
    _attach_reports(store, root, run.run_id, item.reports, [f"Round {item.name} of profile `{refinement.profile}`."])
    if run.made:
        queue = {f"queue/{name}": n for name, n in item.queue.items() if type(n) in (int, float)}
        metrics = {**item.numbers.known, **queue, "training/size": item.training.size}
        store.write(run.run_id, item.params, [(key, float(value), item.step) for key, value in metrics.items()])
        counts = {"size": item.training.size} | {f"origin.{k}": n for k, n in item.training.origins.items()}
        store.log_dataset(run.run_id, f"training-{item.name}", item.training.digest, item.training.path, counts)
        _log_round_artifacts(store, root, run.run_id, item)
        store.finish(run.run_id)
        log.info("published round %s as MLflow run %s", item.name, run.run_id)
    return replace(run, name=item.name)


def _log_round_artifacts(store: Store, root: Path, run_id: str, item: FinishedRound) -> None:
    client, title = store.client, f"Error Identifier, round {item.name}"
    for side, block in item.assessment["identifier"].items():
        client.log_figure(run_id, plots.per_type_f1(block, title=f"{title}, {side}"), f"plots/f1_{side}.png")
        if any("reliability" in row for row in block.get("types") or []):
            figure = plots.reliability(block, title=f"{title}, {side}: calibration")
            client.log_figure(run_id, figure, f"plots/reliability_{side}.png")
        table = block.get("confusion")
        if table:
            figure = plots.confusion(table["labels"], table["matrix"], title=f"{title}, {side}: true and predicted")
            client.log_figure(run_id, figure, f"plots/confusion_{side}.png")
    figure = plots.label_distribution(item.training.labels, title=f"Training set of round {item.name}")
    client.log_figure(run_id, figure, "plots/labels.png")
    client.log_dict(run_id, dict(item.assessment), "assessment.json")
    if item.queue:
        client.log_dict(run_id, dict(item.queue), "queue.json")


def _attach_reports(store: Store, root: Path, run_id: str, reports: Sequence[str], note: Sequence[str]) -> None:
    """Log gate reports, and name them in a tag and in the note; those that the run has are left alone.

    A run is told apart by what its models were made from. Doubtful labels are looked for beside that, so their
    report may be a new one where the run is not.
    """
    named = {Path(path).parent.name: _outcome(root / path) for path in reports if path.endswith(".json")}
    tag = json.dumps(named, sort_keys=True)
    if store.client.get_run(run_id).data.tags.get(GATES) == tag:
        return
    for report in reports:
        store.client.log_artifact(run_id, str(root / report), f"gates/{Path(report).parent.name}")
    place = f"#/experiments/{store.experiment}/runs/{run_id}/artifacts/gates"
    lines = [
        f"- gates of [{stage}]({place}/{stage}/report.html): {'passed' if found['passed'] else 'not passed'}, "
        f"{found['warnings']} warning{'' if found['warnings'] == 1 else 's'}"
        for stage, found in named.items()
    ]
    store.tag(run_id, {GATES: tag, NOTE: "\n".join([*note, "", *lines])})


def _outcome(report: Path) -> dict[str, Any]:
    content = report.read_bytes()
    found = json.loads(content)
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    return {"passed": found["passed"], "warnings": found["warnings"], "md5": digest}


def _refinement_note(store: Store, refinement: FinishedRefinement, rounds: Sequence[PublishedRun]) -> list[str]:
    links = [f"- [{run.name}](#/experiments/{store.experiment}/runs/{run.run_id})" for run in rounds]
    best = refinement.best.name
    return [f"Refinement of profile `{refinement.profile}`; best round on dev: **{best}**.", "", *links]


def _write_refinement(
    store: Store, root: Path, refinement: FinishedRefinement, parent: PublishedRun, rounds: tuple[PublishedRun, ...]
) -> None:
    best = refinement.best
    metrics = [(key, value, item.step) for item in refinement.rounds for key, value in item.numbers.known.items()]
    metrics += [(f"best/{key}", value, 0) for key, value in best.numbers.known.items() if "/types/" not in key]
    store.write(parent.run_id, refinement.params, metrics)
    lines, floors = {}, {}
    for name in ("dev", "test"):
        lines[name] = [item.numbers.known.get(f"identifier/{name}/micro_f1") for item in refinement.rounds]
        floors[name] = best.numbers.known.get(f"identifier/floor/{name}/micro_f1")
    figure = plots.rounds(lines, floors, title="Error Identifier, micro F1 by round")
    store.client.log_figure(parent.run_id, figure, "plots/rounds.png")
    for path in refinement.results:
        store.client.log_artifact(parent.run_id, str(root / path), "results")
    named = {item.name: (run.key, run.run_id) for item, run in zip(refinement.rounds, rounds, strict=True)}
    tags: dict[str, Any] = {
        ROUNDS: json.dumps(named),
        UNKNOWN: sum(len(item.numbers.unknown) for item in refinement.rounds),
        "best_round": best.name,
    }
    annotators = sorted({item.annotator for item in refinement.rounds if item.annotator})
    if annotators:
        tags["annotator"] = ", ".join(annotators)
    store.tag(parent.run_id, tags)
    store.finish(parent.run_id)
    log.info("published refinement %s as MLflow run %s", refinement.key, parent.run_id)


def _write_evaluation(store: Store, root: Path, evaluation: FinishedEvaluation, run: PublishedRun) -> None:
    numbers = evaluation.numbers
    store.write(run.run_id, evaluation.params, [(key, value, 0) for key, value in numbers.known.items()])
    dimensions = by_dimension(evaluation.result)
    if dimensions:
        figure = plots.correlations(dimensions, title="Diagnosis score and human score, by dimension")
        store.client.log_figure(run.run_id, figure, "plots/pearson.png")
    for path in evaluation.results:
        store.client.log_artifact(run.run_id, str(root / path), "results")
    tags: dict[str, Any] = {UNKNOWN: len(numbers.unknown), "scored": "true" if dimensions else "false"}
    if evaluation.result.get("reason"):
        tags[NOTE] = str(evaluation.result["reason"])
    store.tag(run.run_id, tags)
    store.finish(run.run_id)
    log.info("published evaluation %s as MLflow run %s", evaluation.key, run.run_id)


def _version_tags(refinement: FinishedRefinement, item: FinishedRound, model: str) -> dict[str, str]:
    tags = {
        KEY: item.key,
        REFINEMENT: refinement.key,
        "profile": refinement.profile,
        "round": item.name,
        "dev_set": item.dev_set,
        "dev_metric_name": DEV_METRIC[model],
    }
    value = item.dev_metric(model)
    return tags if value is None else {**tags, "dev_metric": repr(value)}


def _choose_champion(store: Store, refinement: FinishedRefinement, model: str) -> str | None:
    """Give the alias to the best round, if it is better on the same dev set, or was measured on another one.

    Returns:
        The version that carries the alias afterwards; None where none does.
    """
    name, current = REGISTERED[model], store.champion(REGISTERED[model])
    best = refinement.best_on_dev(model)
    if best is None:
        return None if current is None else str(current.version)
    value, version = best.dev_metric(model), str(store.version(name, best.key).version)
    told = f"{DEV_METRIC[model]} {value:.4f}"
    if current is None:
        why = f"{told}; there was no champion"
    elif str(current.version) == version:
        return version
    elif current.tags.get("dev_set") != best.dev_set:
        why = f"{told}; version {current.version}, the champion before, was measured on another dev set"
    elif value is not None and value > float(current.tags.get("dev_metric", "-inf")):
        why = f"{told}; better than {current.tags.get('dev_metric', 'unknown')} of version {current.version}"
    else:
        return str(current.version)
    store.crown(name, version, why)
    log.info("%s version %s is now the champion: %s", name, version, why)
    return version
