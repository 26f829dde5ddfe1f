"""Quality gates, run by Great Expectations: what may enter a training set, and what a table of questions must be.

Great Expectations is imported when a gate runs, not before: that takes seconds.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from erreval.data.gate_report import LISTED, Check, Failure, GateReport, Listing, shorten
from erreval.data.overlap import NGRAM, SHARE, find_overlaps
from erreval.records import content_id
from erreval.taxonomy import ALL_TYPES

__all__ = ["Check", "Failure", "GateReport", "Rule", "check_questions", "check_training_set", "run_gate"]

TABLE_COLUMNS = ("question_id", "passage_id", "source", "passage", "answer", "question")
"""What every table of questions has at least."""

TRAINING_COLUMNS = (*TABLE_COLUMNS, "labels", "origin", "round")
"""What a labelled training frame has at least."""

_ROW = "__row__"


@dataclass(frozen=True)
class Rule:
    """One check: its name, the rule as a sentence, and the Great Expectations that say the same."""

    name: str
    statement: str
    expectations: Sequence[Any]
    blocks: bool = True
    note: str = ""


def run_gate(
    frame: pd.DataFrame,
    rules: Sequence[Rule],
    *,
    name: str,
    counts: Mapping[str, Any] | None = None,
    show: Sequence[str] = (),
    file: str = "",
    listings: Sequence[Listing] = (),
) -> GateReport:
    """Validate a frame with Great Expectations.

    Args:
        frame: The table; rows are named by their position, counted from 1.
        rules: Row-level rules, each with expectations made by ``great_expectations``.
        name: Of the report.
        counts: Figures to keep in the report.
        show: Columns to show beside the offending cell of each failing row.
        file: Where the table lies.
        listings: Rows to show that break no rule.
    """
    gx = load_great_expectations()
    context = gx.get_context(mode="ephemeral", project_config=_in_memory())
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    numbered = frame.reset_index(drop=True).astype(object)
    numbered = numbered.where(numbered.notna(), None)
    numbered[_ROW] = range(1, len(numbered) + 1)
    batch = (
        context.data_sources.add_pandas("frames")
        .add_dataframe_asset(name="frame")
        .add_batch_definition_whole_dataframe("whole")
        .get_batch(batch_parameters={"dataframe": numbered})
    )
    suite = gx.ExpectationSuite(name=name)
    for position, rule in enumerate(rules):
        for expectation in rule.expectations:
            expectation.meta = {"rule": position}
            suite.add_expectation(expectation)
    wanted = {"result_format": "COMPLETE", "unexpected_index_column_names": [_ROW, *show]}
    outcome = batch.validate(suite, result_format=wanted) if len(suite.expectations) else None
    results: dict[int, list[Any]] = {}
    for result in outcome.results if outcome is not None else ():
        results.setdefault(result.expectation_config.meta["rule"], []).append(result)
    checks = tuple(_check(rule, results.get(i, []), len(numbered), show) for i, rule in enumerate(rules))
    return GateReport(name, len(numbered), checks, counts or {}, file, tuple(listings))


def _in_memory() -> Any:
    """A GX project that leaves nothing on the disk; its default makes a temporary folder for each context."""
    from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults

    return DataContextConfig(store_backend_defaults=InMemoryStoreBackendDefaults())


def load_great_expectations() -> Any:
    """The library, imported on first use and with its analytics off; ``.expectations`` are there."""
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations as gx
    import great_expectations.expectations

    return gx


def _check(rule: Rule, results: Sequence[Any], n_rows: int, show: Sequence[str]) -> Check:
    failures: dict[tuple[int, str], Failure] = {}
    notes = [rule.note] if rule.note else []
    for result in results:
        if result.success:
            continue
        indexes = result.result.get("unexpected_index_list")
        if indexes is None:
            notes.append(_without_rows(result))
            continue
        for cells in indexes:
            row = int(cells[_ROW])
            names = [*(name for name in show if name in cells), *(name for name in cells if name not in {_ROW, *show})]
            value = " | ".join(shorten(cells[name]) for name in names)
            failures.setdefault((row, ", ".join(names)), Failure(row, ", ".join(names), value))
    ordered = [failures[key] for key in sorted(failures)]
    n_failed = len({failure.row for failure in ordered})
    passed = all(result.success for result in results)
    return Check(
        name=rule.name,
        statement=rule.statement,
        passed=passed,
        n_rows=n_rows,
        n_failed=n_failed,
        failures=tuple(ordered[:LISTED]),
        blocks=rule.blocks,
        note="; ".join(notes),
    )


def _without_rows(result: Any) -> str:
    """What a failed expectation about the whole table, or one that could not be computed, has to say."""
    mismatched = (result.result.get("details") or {}).get("mismatched") or {}
    if "missing" in mismatched:
        return f"missing columns: {', '.join(map(str, mismatched['missing']))}"
    if "observed_value" in result.result:
        return f"found {result.result['observed_value']}"
    messages = [
        str(info.get("exception_message"))
        for info in _exceptions(result.exception_info)
        if info.get("raised_exception")
    ]
    return f"could not be checked: {messages[0]}" if messages else "does not hold"


def _exceptions(info: Any) -> list[Mapping[str, Any]]:
    if isinstance(info, Mapping) and "raised_exception" in info:
        return [info]
    return [one for one in info.values() if isinstance(one, Mapping)] if isinstance(info, Mapping) else []


def has_columns(columns: Collection[str]) -> Rule:
    """The rule that a table has certain columns; others may stand beside them."""
    gxe = load_great_expectations().expectations

    expectation = gxe.ExpectTableColumnsToMatchSet(column_set=sorted(columns), exact_match=False)
    return Rule("columns", f"the table has the columns {', '.join(columns)}", [expectation])


def has_rows() -> Rule:
    """The rule that a table is not empty."""
    gxe = load_great_expectations().expectations

    return Rule("rows", "there is at least one row", [gxe.ExpectTableRowCountToBeBetween(min_value=1)])


def row_keys() -> Rule:
    """The rule that (question_id, source) is a key."""
    gxe = load_great_expectations().expectations

    expectation = gxe.ExpectCompoundColumnsToBeUnique(column_list=["question_id", "source"])
    return Rule("row keys", "no question stands twice for one source", [expectation])


def says_yes(column: str, statement: str, *, name: str = "") -> Rule:
    """The rule that a column of "yes" and "no", such as ``among`` gives, has no "no".

    Args:
        column: Stands in the report beside each row that fails.
        statement: What holds where all say yes.
        name: Of the rule; by default the column's.
    """
    gxe = load_great_expectations().expectations

    return Rule(name or column, statement, [gxe.ExpectColumnValuesToBeInSet(column=column, value_set=["yes"])])


def among(frame: pd.DataFrame, others: pd.DataFrame) -> list[str]:
    """Whether each row's key is a key of another table, as "yes" or "no"."""
    known = set(zip(others["question_id"], others["source"], strict=True))
    return ["yes" if key in known else "no" for key in zip(frame["question_id"], frame["source"], strict=True)]


def not_blank(column: str) -> Rule:
    """The rule that a column has text in every row."""
    gxe = load_great_expectations().expectations

    return Rule(
        f"{column} not blank",
        f"the {column} is never empty",
        [
            gxe.ExpectColumnValuesToNotBeNull(column=column),
            gxe.ExpectColumnValuesToMatchRegex(column=column, regex=r"\S"),
        ],
    )


def label_rules() -> list[Rule]:
    """The rules of a column ``labels``."""
    gxe = load_great_expectations().expectations
    from erreval.data.expectations import ExpectColumnValuesToBeKnownLabels, ExpectNoErrorToStandAlone

    return [
        Rule(
            "label vocabulary",
            "labels are known error types, at least one and none twice",
            [
                gxe.ExpectColumnValuesToNotBeNull(column="labels"),
                ExpectColumnValuesToBeKnownLabels(column="labels"),
            ],
        ),
        Rule("no error alone", "No Error excludes every other label", [ExpectNoErrorToStandAlone(column="labels")]),
    ]


def check_training_set(
    frame: pd.DataFrame,
    protected: pd.DataFrame | None,
    *,
    name: str,
    origins: Collection[str] | None = None,
    n: int = NGRAM,
    share: float = SHARE,
) -> GateReport:
    """The gate that every labelled training set passes before anything learns from it.

    Args:
        frame: Has ``TRAINING_COLUMNS``; ``labels`` are ``;``-separated; ``answer`` may be empty.
        protected: Has a column ``passage``: the benchmark passages that must not be trained on. None where there are
            no benchmarks; the report then says that this was not checked.
        name: Of the report.
        origins: The values that ``origin`` may have; any text where not given.
        n: See ``find_overlaps``.
        share: See ``find_overlaps``.

    Returns:
        The report; call ``require()`` to stop the run if it was not passed.
    """
    gxe = load_great_expectations().expectations

    if not set(TRAINING_COLUMNS) <= set(frame.columns):
        return run_gate(frame, [has_columns(TRAINING_COLUMNS)], name=name)
    origin = not_blank("origin")
    if origins is not None:
        origin = Rule(
            "origin",
            f"the origin is one of {', '.join(sorted(origins))}",
            [*origin.expectations, gxe.ExpectColumnValuesToBeInSet(column="origin", value_set=sorted(origins))],
        )
    rules = [
        *_question_rules(TRAINING_COLUMNS),
        origin,
        Rule(
            "round",
            "the round is a whole number from 0",
            [
                gxe.ExpectColumnValuesToNotBeNull(column="round"),
                gxe.ExpectColumnValuesToMatchRegex(column="round", regex=r"^\d+(?:\.0)?$"),
            ],
        ),
        *label_rules(),
        _contamination(frame, protected, n, share),
    ]
    counts = _label_counts(frame)
    return run_gate(frame.assign(content_id=_content_ids(frame)), rules, name=name, counts=counts)


def check_questions(
    frame: pd.DataFrame,
    *,
    name: str,
    protected: pd.DataFrame | None = None,
    n: int = NGRAM,
    share: float = SHARE,
) -> GateReport:
    """Schema of a table of questions without labels; and contamination, where it may come to be trained on.

    Args:
        frame: Has ``TABLE_COLUMNS``.
        name: Of the report.
        protected: As for ``check_training_set``; None for a benchmark, which is what is protected.
        n: See ``find_overlaps``.
        share: See ``find_overlaps``.
    """
    if not set(TABLE_COLUMNS) <= set(frame.columns):
        return run_gate(frame, [has_columns(TABLE_COLUMNS)], name=name)
    rules = _question_rules(TABLE_COLUMNS)
    if protected is not None:
        rules.append(_contamination(frame, protected, n, share))
    counts = {"passages": int(frame["passage_id"].nunique())}
    return run_gate(frame.assign(content_id=_content_ids(frame)), rules, name=name, counts=counts)


def _question_rules(columns: Collection[str]) -> list[Rule]:
    """The rules of every table of questions; the table that is checked has a column ``content_id`` beside its own."""
    gxe = load_great_expectations().expectations

    return [
        has_columns(columns),
        has_rows(),
        *(not_blank(column) for column in ("passage", "question", "source", "passage_id")),
        row_keys(),
        Rule(
            "content ids",
            "the question_id is the hash of passage, answer and question",
            [gxe.ExpectColumnPairValuesToBeEqual(column_A="question_id", column_B="content_id")],
        ),
    ]


def _content_ids(frame: pd.DataFrame) -> pd.Series[Any]:
    def text(cell: Any) -> str:
        return cell if isinstance(cell, str) else ""

    rows = zip(frame["passage"], frame["answer"], frame["question"], strict=True)
    return pd.Series([content_id(text(p), text(a), text(q)) for p, a, q in rows], index=frame.index, dtype=object)


def _contamination(frame: pd.DataFrame, protected: pd.DataFrame | None, n: int, share: float) -> Rule:
    gxe = load_great_expectations().expectations
    statement = f"no passage equals, holds or lies inside a benchmark passage ({n}-gram share below {share:g})"
    if protected is None:
        return Rule("contamination", statement, [], note="not checked: no benchmark passages were given")
    passages = [text for text in frame["passage"] if isinstance(text, str)]
    overlaps = find_overlaps(passages, protected["passage"], n=n, share=share)
    contaminated = set(overlaps["passage_id"])
    kinds = Counter(overlaps.drop_duplicates("passage_id")["kind"])
    note = f"{protected['passage'].nunique()} benchmark passages" + "".join(
        f", {count} training passages {kind}" for kind, count in sorted(kinds.items())
    )
    expectation = gxe.ExpectColumnValuesToNotBeInSet(column="passage_id", value_set=sorted(contaminated))
    return Rule("contamination", statement, [expectation], note=note)


def _label_counts(frame: pd.DataFrame) -> dict[str, int]:
    found = Counter(
        part.strip() for cell in frame["labels"] if isinstance(cell, str) for part in cell.split(";") if part.strip()
    )
    return {label.value: found.get(label.value, 0) for label in ALL_TYPES}
