"""Our own Great Expectations: what GX does not know about label sets. Imported only when a gate runs."""

from __future__ import annotations

from typing import Any, ClassVar

import pandas as pd
from great_expectations.execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import ColumnMapExpectation
from great_expectations.expectations.metrics import ColumnMapMetricProvider, column_condition_partial

from erreval.taxonomy import ErrorType

KNOWN = frozenset(label.value for label in ErrorType)


def names_in(cell: Any) -> list[str]:
    """The label names of a cell, whatever they are."""
    return [part.strip() for part in str(cell).split(";") if part.strip()]


class ColumnValuesKnownLabels(ColumnMapMetricProvider):  # type: ignore[misc]
    """Whether a cell names known error types, at least one and none twice."""

    condition_metric_name = "column_values.erreval_known_labels"

    @column_condition_partial(engine=PandasExecutionEngine)  # type: ignore[untyped-decorator]
    def _pandas(cls, column: pd.Series[Any], **_kwargs: Any) -> pd.Series[bool]:  # noqa: N805 - GX calls it on the class
        def holds(cell: Any) -> bool:
            names = names_in(cell)
            return bool(names) and set(names) <= KNOWN and len(set(names)) == len(names)

        return column.map(holds).astype(bool)


class ColumnValuesNoErrorAlone(ColumnMapMetricProvider):  # type: ignore[misc]
    """Whether No Error stands alone where it stands."""

    condition_metric_name = "column_values.erreval_no_error_alone"

    @column_condition_partial(engine=PandasExecutionEngine)  # type: ignore[untyped-decorator]
    def _pandas(cls, column: pd.Series[Any], **_kwargs: Any) -> pd.Series[bool]:  # noqa: N805
        def holds(cell: Any) -> bool:
            names = set(names_in(cell))
            return ErrorType.NO_ERROR.value not in names or len(names) == 1

        return column.map(holds).astype(bool)


class ExpectColumnValuesToBeKnownLabels(ColumnMapExpectation):  # type: ignore[misc]
    """Expect each cell to name known error types, joined by ``;``, at least one and none twice."""

    map_metric: ClassVar[str] = "column_values.erreval_known_labels"


class ExpectNoErrorToStandAlone(ColumnMapExpectation):  # type: ignore[misc]
    """Expect No Error to exclude every other label."""

    map_metric: ClassVar[str] = "column_values.erreval_no_error_alone"
