"""Thresholds and calibration, against small tables worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from erreval.diagnosis.calibration import expected_calibration_error, reliability
from erreval.diagnosis.examples import multi_hot
from erreval.diagnosis.thresholds import GRID, choose_thresholds, decide
from erreval.taxonomy import ALL_TYPES, ERRORS, TYPE_INDEX, ErrorType

HALF = dict.fromkeys(ERRORS, 0.5)
COPY, VAGUE = TYPE_INDEX[ErrorType.UNNECESSARY_COPY], TYPE_INDEX[ErrorType.VAGUE]
NO_ERROR = TYPE_INDEX[ErrorType.NO_ERROR]


def rows(*cells: dict[int, float]) -> np.ndarray:
    found = np.zeros((len(cells), len(ALL_TYPES)))
    for row, given_cells in zip(found, cells, strict=True):
        for k, p in given_cells.items():
            row[k] = p
    return found


def test_decide_by_hand() -> None:
    p = rows({COPY: 0.5, VAGUE: 0.49, NO_ERROR: 0.9}, {NO_ERROR: 0.6}, {VAGUE: 0.4, NO_ERROR: 0.4})
    nothing = frozenset({ErrorType.NO_ERROR})
    assert decide(p, HALF) == [frozenset({ErrorType.UNNECESSARY_COPY}), nothing, nothing]
    assert decide(p, HALF, "abstain") == [frozenset({ErrorType.UNNECESSARY_COPY}), nothing, frozenset()]
    assert decide(p, HALF | {ErrorType.VAGUE: 0.4})[2] == {ErrorType.VAGUE}


@given(arrays(np.float64, (4, 11), elements=st.floats(0, 1)), st.sampled_from(["no error", "abstain"]))
def test_no_error_never_stands_beside_an_error(p: np.ndarray, when_empty: str) -> None:
    for labels in decide(p, HALF, when_empty):  # type: ignore[arg-type]
        assert labels == {ErrorType.NO_ERROR} or ErrorType.NO_ERROR not in labels
        assert labels or when_empty == "abstain"


def test_a_type_with_many_labels_has_its_own_threshold_and_a_rare_one_the_common() -> None:
    # Copy is right from .30 on (20 positives at .31, 20 negatives at .25); Vague is wrong below .60 (4 positives).
    copies = [{COPY: 0.31, NO_ERROR: 0.5}] * 20 + [{COPY: 0.25, NO_ERROR: 0.5}] * 20
    vague = [{VAGUE: 0.65}] * 4
    truth = [{ErrorType.UNNECESSARY_COPY}] * 20 + [{ErrorType.NO_ERROR}] * 20 + [{ErrorType.VAGUE}] * 4
    chosen = choose_thresholds(rows(*copies, *vague), multi_hot([frozenset(t) for t in truth]))
    assert 0.25 < chosen[ErrorType.UNNECESSARY_COPY] <= 0.31
    assert len({chosen[t] for t in ERRORS if t is not ErrorType.UNNECESSARY_COPY}) == 1
    assert decide(rows(*copies, *vague), chosen) == [frozenset(t) for t in truth]
    assert set(chosen.values()) <= set(GRID)
    assert choose_thresholds(rows(), np.zeros((0, 11))) == HALF


def test_reliability_by_hand() -> None:
    y, p = np.array([0, 1, 1, 1]), np.array([0.05, 0.15, 0.9, 1.0])
    low, second, high = reliability(y, p, (0.0, 0.1, 0.2, 1.0))
    assert (low.n, low.mean_probability, low.share_true) == (1, 0.05, 0.0)
    assert (second.n, second.mean_probability, second.share_true) == (1, 0.15, 1.0)
    assert (high.n, high.mean_probability, high.share_true) == (2, pytest.approx(0.95), 1.0)
    # (1 · .05 + 1 · .85 + 2 · .05) / 4 = 1 / 4
    assert expected_calibration_error(y, p, (0.0, 0.1, 0.2, 1.0)) == pytest.approx(0.25)
    assert expected_calibration_error(np.array([]), np.array([])) is None
    with pytest.raises(ValueError, match="outside"):
        reliability(y, p + 1)


@given(st.floats(0.01, 0.99), st.integers(1, 50))
def test_a_constant_is_as_wrong_as_it_is_far_from_the_share(p: float, n: int) -> None:
    assert expected_calibration_error(np.zeros(n), np.full(n, p)) == pytest.approx(p)
