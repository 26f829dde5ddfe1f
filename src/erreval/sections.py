"""The sections of ``params.yaml``, typed and frozen; what cannot be is refused with its reason."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from erreval.taxonomy import ErrorType


class Section(BaseModel):
    """A part of params.yaml: frozen, and nothing in it that is not known."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class DataSettings(Section):
    """Which data a run uses."""

    sources: tuple[str, ...]
    benchmark: Literal["qgeval", "sample"]
    development: Literal["pilot", "heldout"]
    shares: dict[Literal["train", "pool", "heldout"], float]
    dev_share: float = Field(gt=0, lt=1)

    @model_validator(mode="after")
    def _shares_add_up(self) -> DataSettings:
        if set(self.shares) != {"train", "pool", "heldout"} or abs(sum(self.shares.values()) - 1) > 1e-9:
            raise ValueError(f"shares must name train, pool and heldout and add up to 1, not {self.shares}")
        return self


class InjectionSettings(Section):
    """How many questions with injected errors are made, and in which mix."""

    train_size: int = Field(ge=50)
    pool_size: int = Field(ge=20)
    heldout_size: int = Field(ge=20)
    combine_share: float = Field(ge=0, le=1)
    mix: dict[ErrorType, float]

    @model_validator(mode="after")
    def _mix_is_complete(self) -> InjectionSettings:
        missing = [t.value for t in ErrorType if self.mix.get(t, 0.0) <= 0.0]
        if missing:
            raise ValueError(f"mix needs a weight above 0 for each of the eleven labels; missing: {', '.join(missing)}")
        return self


class EncoderSettings(Section):
    """The pretrained encoder under the Error Identifier and the Verifier."""

    backbone: str = Field(pattern=r"^(package|hub|folder):.+")
    head: Literal["pooled", "standard"]
    max_tokens: int = Field(ge=32, le=8192)
    frozen_layers: int = Field(ge=0)


Precision = Literal["auto", "no", "bf16", "fp16"]
"""Of the arithmetic of training; ``auto`` is bf16 where the hardware has it, else ``no``."""


class AccelerateSettings(Section):
    """How training is launched."""

    processes: int = Field(ge=1)
    threads: int = Field(ge=1)
    mixed_precision: Precision


LossName = Literal["plain", "weighted", "focal"]


class TrainingSettings(Section):
    """One model's training."""

    epochs: int = Field(ge=1, le=100)
    later_epochs: int = Field(ge=1, le=100)
    batch_size: int = Field(ge=1)
    learning_rate: float = Field(gt=0, lt=1)
    weight_decay: float = Field(ge=0)
    warmup_share: float = Field(ge=0, lt=1)
    loss: LossName
    best_by: Literal["last", "dev_micro_f1"]
    early_stopping_patience: int = Field(ge=0)
    threshold: float = Field(gt=0, lt=1)

    @model_validator(mode="after")
    def _stopping_needs_dev(self) -> TrainingSettings:
        if self.early_stopping_patience and self.best_by == "last":
            raise ValueError("early_stopping_patience needs best_by: dev_micro_f1; 0 trains for all epochs")
        return self


class VerifierSettings(TrainingSettings):
    """The Verifier's training."""

    negatives_per_question: int = Field(ge=1, le=10)


class SelectionSettings(Section):
    """Thresholds that split the pool into reliable, unreliable and neither."""

    confidence: Literal["mean", "min", "joint"]
    reliable_uncertainty: float = Field(ge=0.5, le=1)
    reliable_inconsistency: float = Field(ge=0, le=1)
    unreliable_uncertainty: float = Field(ge=0.5, le=1)
    unreliable_inconsistency: float = Field(ge=0, le=1)

    @model_validator(mode="after")
    def _no_overlap(self) -> SelectionSettings:
        for name in ("uncertainty", "inconsistency"):
            if getattr(self, f"reliable_{name}") >= getattr(self, f"unreliable_{name}"):
                raise ValueError(f"reliable_{name} must lie below unreliable_{name}, or a sample would be both")
        return self


class QueueSettings(Section):
    """How much goes to people."""

    size: int = Field(ge=1)


class AnnotatorSettings(Section):
    """Who answers the queue."""

    kind: Literal["simulated"]
    error_rate: float = Field(ge=0, le=1)


class OverlapSettings(Section):
    """When a passage counts as that of a benchmark."""

    ngram: int = Field(ge=3, le=50)
    share: float = Field(gt=0, le=1)


class ExamplesSettings(Section):
    """The fewest examples of each error type."""

    training: int = Field(ge=0)
    assessed: int = Field(ge=0)


class DriftSettings(Section):
    """The most that a round's training set may differ from the one before, each figure from 0 to 1."""

    label_distribution: float = Field(ge=0, le=1)
    question_length: float = Field(ge=0, le=1)
    passage_length: float = Field(ge=0, le=1)
    source_mix: float = Field(ge=0, le=1)

    def thresholds(self) -> dict[str, float]:
        """By the names that reports use."""
        return {name.replace("_", " "): value for name, value in self.model_dump().items()}


Warned = Literal["repeated questions", "examples of each type", "nearly constant scores", "drift"]
"""The checks that only warn unless ``gates.stop_on`` names them."""


class GateSettings(Section):
    """Thresholds of the quality gates, and which findings stop a run."""

    stop_on: tuple[Warned, ...]
    overlap: OverlapSettings
    examples: ExamplesSettings
    commonest_score: float = Field(gt=0, le=1)
    drift: DriftSettings


class LabelNoiseSettings(Section):
    """How doubtful labels are found."""

    folds: int = Field(ge=2, le=20)
    least_auroc: float = Field(ge=0.5, le=1)
    most: float = Field(ge=0, le=1)


class FusionSettings(Section):
    """How detectors' signals and the encoder's probabilities become one calibrated probability for each type.

    The three numbers in params.yaml were chosen by the log-likelihood of held-out folds of the pilot's dev half alone.
    """

    encoder: bool
    injected_counts_as: float = Field(gt=0)
    """All injected rows together weigh as much as this many labelled real questions."""
    pull: float = Field(ge=0)
    """Strength of the pull of each weight towards ``common_weight`` (ridge)."""
    common_weight: float = Field(ge=0)
    """The weight of a standardised signal of which nothing is known."""
    folds: int = Field(ge=2, le=20)
    when_empty: Literal["no error", "abstain"]


class RoundPlan(Section):
    """What the models of a round start from: ``backbone`` or the folder of the round before."""

    identifier: str
    verifier: str


class ExtensionPlan(Section):
    """The round whose training set a queue feeds."""

    into: str
