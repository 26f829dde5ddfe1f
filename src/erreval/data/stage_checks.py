"""All gates of a stage. What stops the run and what only warns is decided by the checks and by ``gates.stop_on``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from erreval.data.gate_report import GateReport, GateSummary, join_reports
from erreval.data.gates import check_questions, check_training_set
from erreval.data.reader_checks import check_benchmark, check_pairs, check_scores
from erreval.data.readers.frames import Benchmark, Pairs
from erreval.data.set_checks import check_drift, check_duplicates, check_type_counts, check_variation
from erreval.data.table_checks import (
    check_answers,
    check_contamination,
    check_development,
    check_pool,
    check_protected,
    check_selection,
    check_sides,
)
from erreval.sections import GateSettings


@dataclass(frozen=True)
class Table:
    """A table as it was written, and where."""

    frame: pd.DataFrame
    file: str


@dataclass(frozen=True)
class Prepared:
    """What ``prepare`` has read and written."""

    benchmarks: Mapping[str, Benchmark]
    """As their readers gave them, by the folder that they were read from."""
    pairs: Mapping[str, Pairs]
    """Likewise."""
    material: pd.DataFrame
    """All pairs that errors could be injected into, before those of benchmark passages were taken out."""
    kept: pd.DataFrame
    """What is left of them."""
    tables: Mapping[str, Table]
    """What was written: train, pool, pool_truth, heldout, protected, benchmark, human_scores, development."""
    scales: Mapping[str, tuple[float, float]]
    """Of the human scores: lowest and highest of each dimension; empty where nobody has scored."""


def check_prepared(found: Prepared, gates: GateSettings, *, name: str, origins: Collection[str]) -> GateSummary:
    """The gates of ``prepare``: every reader's output, and every table that was written.

    Args:
        found: What was read and written.
        gates: Thresholds.
        name: Of the stage.
        origins: The values that ``origin`` may have.
    """
    tables = found.tables
    protected, n, share = tables["protected"].frame, gates.overlap.ngram, gates.overlap.share
    pool, truth, benchmark = tables["pool"], tables["pool_truth"].frame, tables["benchmark"]
    development, scores = tables["development"], tables["human_scores"]
    reports = [check_pairs(pairs, file=place) for place, pairs in found.pairs.items()]
    reports += [_benchmark_read(one, gates, place) for place, one in found.benchmarks.items()]
    reports += [
        _in_file(check_protected(protected, name="protected passages"), tables["protected"]),
        check_contamination(found.material, found.kept, protected, name="contamination", n=n, share=share),
        check_sides({side: tables[side].frame for side in ("train", "pool", "heldout")}, name="split"),
        _training_set(tables["train"], protected, gates, name="training set", origins=origins),
        _in_file(check_pool(pool.frame, truth, protected, name="pool", n=n, share=share), pool),
        _training_set(tables["heldout"], protected, gates, name="held-out set", origins=origins, assessed=True),
        _in_file(check_questions(benchmark.frame, name="benchmark"), benchmark),
        _in_file(_development(development.frame, gates), development),
    ]
    if found.scales:
        checked = check_scores(scores.frame, benchmark.frame, found.scales, name="human scores")
        reports.append(_in_file(checked, scores))
    return _summary(name, reports, gates)


@dataclass(frozen=True)
class Extension:
    """What ``extend`` has read and written."""

    before: pd.DataFrame
    """The training set of the round before."""
    after: Table
    selection: Table
    answers: Table
    asked: pd.DataFrame
    """The part of the selection that people could be asked about."""
    pool: pd.DataFrame
    protected: pd.DataFrame


def check_extension(
    found: Extension, gates: GateSettings, *, name: str, origins: Collection[str], verdicts: Collection[str]
) -> GateSummary:
    """The gates of ``extend``: what it was made from, the round's training set, and its drift.

    Args:
        found: What was read and written.
        gates: Thresholds.
        name: Of the stage.
        origins: The values that ``origin`` may have.
        verdicts: The values that ``verdict`` may have.
    """
    after = _training_set(found.after, found.protected, gates, name="training set", origins=origins)
    selection = check_selection(found.selection.frame, found.pool, verdicts, name="selection")
    reports = [
        _in_file(selection, found.selection),
        _in_file(check_answers(found.answers.frame, found.asked, name="answers"), found.answers),
        after,
    ]
    if after.passed:
        thresholds = gates.drift.thresholds()
        drift = check_drift(found.before, found.after.frame, name="drift", thresholds=thresholds)
        reports.append(_in_file(drift, found.after))
    return _summary(name, reports, gates)


def _summary(name: str, reports: Sequence[GateReport], gates: GateSettings) -> GateSummary:
    return GateSummary(name, tuple(report.stopping_on(gates.stop_on) for report in reports))


def _in_file(report: GateReport, table: Table) -> GateReport:
    return replace(report, file=table.file)


def _benchmark_read(benchmark: Benchmark, gates: GateSettings, place: str) -> GateReport:
    read = check_benchmark(benchmark, file=place)
    if benchmark.scores.empty or not read.passed:
        return read
    return join_reports(read.name, [read, check_variation(benchmark, most=gates.commonest_score)], file=place)


def _training_set(
    table: Table,
    protected: pd.DataFrame,
    gates: GateSettings,
    *,
    name: str,
    origins: Collection[str],
    assessed: bool = False,
) -> GateReport:
    """Schema first: what the other checks say of a table that is none of the kind would mislead."""
    n, share = gates.overlap.ngram, gates.overlap.share
    schema = check_training_set(table.frame, protected, name=name, origins=origins, n=n, share=share)
    if not schema.passed:
        return _in_file(schema, table)
    minimum = gates.examples.assessed if assessed else gates.examples.training
    reports = [
        schema,
        check_duplicates(table.frame, name=name),
        check_type_counts(table.frame, minimum=minimum, name=name),
    ]
    return join_reports(name, reports, file=table.file)


def _development(frame: pd.DataFrame, gates: GateSettings) -> GateReport:
    schema = check_development(frame, name="development set")
    if not schema.passed:
        return schema
    few = check_type_counts(frame, minimum=gates.examples.assessed, name=schema.name)
    return join_reports(schema.name, [schema, few])
