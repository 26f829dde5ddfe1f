"""The fusion: detectors' signals and the encoder's probabilities become one calibrated probability for each type.

For each type a logistic regression whose weights cannot be negative, since every signal grows with the error, and are
drawn towards one common weight rather than towards zero: with as few positives as people's labels give, equal weights
are hard to beat (Dawes 1979). It is fitted on labels of real systems' questions together with injected errors. The
injected rows are reweighted to the base rate of the real ones (Saerens et al. 2002 for the idea), so that the
probabilities are those of real questions, and count together as a stated number of real questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from erreval.diagnosis.answer_fit import AnswerFit
from erreval.diagnosis.examples import multi_hot
from erreval.diagnosis.signals import SIGNALS, log_odds
from erreval.errors import ErrevalError
from erreval.sections import FusionSettings
from erreval.taxonomy import ALL_TYPES, ERRORS, TYPE_INDEX, ErrorType

ENCODER = "encoder"
"""Name of the signal that is the encoder's own probability, as log-odds."""


@dataclass(frozen=True)
class Labelled:
    """Questions as signals, with their labels."""

    signals: Mapping[ErrorType, np.ndarray]
    """By error type (n, signals)."""
    hot: np.ndarray
    """(n, 11) zeros and ones."""

    def take(self, rows: np.ndarray) -> Labelled:
        """Some of the rows."""
        return Labelled({t: values[rows] for t, values in self.signals.items()}, self.hot[rows])


@dataclass(frozen=True)
class TypeModel:
    """The logistic regression of one type."""

    names: tuple[str, ...]
    centre: tuple[float, ...]
    spread: tuple[float, ...]
    weights: tuple[float, ...]
    """Of the standardised signals, none negative."""
    intercept: float

    def logits(self, signals: np.ndarray) -> np.ndarray:
        """(n, signals) to (n,) log-odds."""
        standard = (signals - np.array(self.centre)) / np.array(self.spread)
        return np.asarray(standard @ np.array(self.weights) + self.intercept)


def labelled(
    signals: Mapping[ErrorType, np.ndarray],
    label_sets: Sequence[frozenset[ErrorType]],
    encoder: np.ndarray | None = None,
) -> Labelled:
    """Signals with labels, and with the encoder's probabilities where there are some.

    Args:
        signals: See ``signals.vectors``.
        label_sets: One for each row.
        encoder: (n, 11) probabilities by an encoder that was not trained on these rows.
    """
    return Labelled(with_encoder(signals, encoder), multi_hot(label_sets))


def with_encoder(signals: Mapping[ErrorType, np.ndarray], encoder: np.ndarray | None) -> dict[ErrorType, np.ndarray]:
    """The signals, joined by the encoder's log-odds of the same type as the last column."""
    if encoder is None:
        return dict(signals)
    return {
        t: np.column_stack([values, [log_odds(float(p)) for p in encoder[:, TYPE_INDEX[t]]]])
        for t, values in signals.items()
    }


@dataclass(frozen=True)
class Fusion:
    """Signals to calibrated probabilities of the eleven types."""

    types: Mapping[ErrorType, TypeModel]
    answer_fit: AnswerFit
    uses_encoder: bool

    def probabilities(self, signals: Mapping[ErrorType, np.ndarray]) -> np.ndarray:
        """(n, 11); No Error is the probability that none of the ten is there, taking them as independent.

        Args:
            signals: By type (n, signals), with the encoder's column where the fusion has been fitted with one.
        """
        errors = np.column_stack([_logistic(self.types[t].logits(signals[t])) for t in ERRORS])
        found = np.empty((len(errors), len(ALL_TYPES)))
        found[:, [TYPE_INDEX[t] for t in ERRORS]] = errors
        found[:, TYPE_INDEX[ErrorType.NO_ERROR]] = np.prod(1.0 - errors, axis=1)
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and names, for ``from_json``."""
        return {
            "uses_encoder": self.uses_encoder,
            "types": {
                t.value: {
                    "intercept": model.intercept,
                    "signals": {
                        name: {"centre": c, "spread": s, "weight": w}
                        for name, c, s, w in zip(model.names, model.centre, model.spread, model.weights, strict=True)
                    },
                }
                for t, model in self.types.items()
            },
            "answer_fit": self.answer_fit.to_json(),
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Fusion:
        """What ``to_json`` gave.

        Raises:
            ValueError: It was fitted with other signals than this version has, or a part of it is none.
            KeyError: A part is missing.
        """
        types = {ErrorType(name): _type_model(found) for name, found in content["types"].items()}
        fusion = cls(types, AnswerFit.from_json(content["answer_fit"]), bool(content["uses_encoder"]))
        for t in ERRORS:
            if types[t].names != _names(t, fusion.uses_encoder):
                raise ValueError(f"{t.value} was fitted with other signals than this version has")
        return fusion


def _type_model(found: Mapping[str, Any]) -> TypeModel:
    parts = found["signals"]
    centre, spread, weights = (
        tuple(float(part[key]) for part in parts.values()) for key in ("centre", "spread", "weight")
    )
    return TypeModel(tuple(parts), centre, spread, weights, float(found["intercept"]))


def _names(error: ErrorType, uses_encoder: bool) -> tuple[str, ...]:
    return (*SIGNALS[error], *([ENCODER] if uses_encoder else []))


def _logistic(x: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -30.0, 30.0))))


def base_rate(hot: np.ndarray, error: ErrorType) -> float:
    """The share of rows with an error, smoothed by half a row: a type that never came is rare, not impossible."""
    return float((hot[:, TYPE_INDEX[error]].sum() + 0.5) / (len(hot) + 1))


def fit_fusion(injected: Labelled, people: Labelled, answer_fit: AnswerFit, settings: FusionSettings) -> Fusion:
    """Fit the ten logistic regressions.

    Args:
        injected: Injected and untouched questions, on passages that neither encoder nor answer fit was trained on.
        people: Real systems' questions with people's labels; may be empty, and then the injected rows count each as
            one and keep their own base rates.
        answer_fit: What gave the signals; kept beside the weights.
        settings: How to fit.

    Raises:
        ErrevalError: There are no rows, or the two sets have different signals.
    """
    if len(injected.hot) + len(people.hot) == 0:
        raise ErrevalError("a fusion needs labelled questions to be fitted on; there are none")
    extra = {t: injected.signals[t].shape[1] - len(SIGNALS[t]) for t in ERRORS}
    if set(extra.values()) not in ({0}, {1}) or any(
        injected.signals[t].shape[1] != people.signals[t].shape[1] for t in ERRORS
    ):
        raise ErrevalError("the injected and the people's rows have different signals; measure both alike")
    uses_encoder = set(extra.values()) == {1}
    types = {t: _fit_type(t, injected, people, settings, _names(t, uses_encoder)) for t in ERRORS}
    return Fusion(types, answer_fit, uses_encoder)


def _row_weights(error: ErrorType, injected: Labelled, people: Labelled, total: float) -> np.ndarray:
    """One for each of the people's rows; the injected ones at the people's base rate, ``total`` together."""
    if len(people.hot) == 0:
        return np.ones(len(injected.hot))
    there = injected.hot[:, TYPE_INDEX[error]] > 0
    rate, own = base_rate(people.hot, error), float(there.mean()) if len(there) else 0.0
    share = np.ones(len(there))
    if 0.0 < own < 1.0:
        share = np.where(there, rate / own, (1 - rate) / (1 - own))
    return np.concatenate([share * total / max(len(there), 1), np.ones(len(people.hot))])


def _fit_type(
    error: ErrorType, injected: Labelled, people: Labelled, settings: FusionSettings, names: tuple[str, ...]
) -> TypeModel:
    from scipy.optimize import minimize

    signals = np.concatenate([injected.signals[error], people.signals[error]])
    sign = np.where(np.concatenate([injected.hot, people.hot])[:, TYPE_INDEX[error]] > 0, 1.0, -1.0)
    weight = _row_weights(error, injected, people, settings.injected_counts_as)
    centre = np.average(signals, axis=0, weights=weight)
    spread = np.sqrt(np.average((signals - centre) ** 2, axis=0, weights=weight))
    spread = np.where(spread > 1e-6, spread, 1.0)
    standard = (signals - centre) / spread

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        margin = sign * (standard @ parameters[1:] + parameters[0])
        slope = -sign * _logistic(-margin) * weight
        away = parameters[1:] - settings.common_weight
        value = float(weight @ np.logaddexp(0.0, -margin) + 0.5 * settings.pull * away @ away)
        return value, np.concatenate([[slope.sum()], standard.T @ slope + settings.pull * away])

    start = np.concatenate([[-2.0], np.full(standard.shape[1], settings.common_weight)])
    bounds = [(-15.0, 15.0), *[(0.0, None)] * standard.shape[1]]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x

    def plain(values: np.ndarray) -> tuple[float, ...]:
        return tuple(round(float(v), 6) for v in values)

    return TypeModel(names, plain(centre), plain(spread), plain(found[1:]), round(float(found[0]), 6))
