"""What the forms ask: the parameters of each flow, with their bounds. Empty means: as recorded in params.yaml."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from erreval.errors import SettingsError
from erreval.settings import MAX_ROUNDS, Settings, apply_changes, apply_profile, load_settings

AS_RECORDED: Final = "as recorded"


def _plain(schema: dict[str, Any]) -> None:
    """Show an optional number as an input that may stay empty, not as a choice between a number and nothing."""
    (number,) = [kind for kind in schema.pop("anyOf") if kind.get("type") != "null"]
    schema.update(number)
    schema.pop("default", None)


def _others() -> Any:
    return Field(
        default_factory=dict,
        title="Other parameters",
        description="Any further parameters of params.yaml by their dotted names, such as "
        '{"injection.train_size": 500}.',
    )


class RefineParameters(BaseModel):
    """Parameters of a refinement. What is left empty stays as params.yaml has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    profile: Literal["as recorded", "offline", "sample", "paper"] = Field(
        default=AS_RECORDED,
        title="Profile",
        description="Which data and models: offline (public data, small encoder), sample (nothing to download), "
        "paper (models from the hub, a GPU), or the one that params.yaml records.",
    )
    rounds: int | None = Field(
        default=None,
        json_schema_extra=_plain,
        ge=1,
        le=MAX_ROUNDS,
        title="Rounds",
        description="How many rounds, the first (r0) included.",
    )
    seed: int | None = Field(
        default=None,
        json_schema_extra=_plain,
        ge=0,
        lt=2**31,
        title="Seed",
        description="Start of every random draw of the run.",
    )
    epochs: int | None = Field(
        default=None,
        json_schema_extra=_plain,
        ge=1,
        le=100,
        title="Epochs",
        description="Epochs of both models in the first round.",
    )
    later_epochs: int | None = Field(
        default=None,
        json_schema_extra=_plain,
        ge=1,
        le=100,
        title="Later epochs",
        description="Epochs of both models in the rounds after it.",
    )
    learning_rate: float | None = Field(
        default=None,
        json_schema_extra=_plain,
        gt=0,
        lt=1,
        title="Learning rate",
        description="Of both models; 3e-4 suits the small encoder.",
    )
    reliable_uncertainty: float | None = Field(
        default=None,
        json_schema_extra=_plain,
        ge=0.5,
        le=1,
        title="Uncertainty, reliable",
        description="A sample counts as reliable up to this uncertainty, 1 - |p_e - 0.5|.",
    )
    reliable_inconsistency: float | None = Field(
        default=None,
        json_schema_extra=_plain,
        ge=0,
        le=1,
        title="Inconsistency, reliable",
        description="A sample counts as reliable up to this inconsistency, |p_e - p_v|.",
    )
    unreliable_uncertainty: float | None = Field(
        default=None,
        json_schema_extra=_plain,
        ge=0.5,
        le=1,
        title="Uncertainty, unreliable",
        description="From this uncertainty on a sample goes to people.",
    )
    unreliable_inconsistency: float | None = Field(
        default=None,
        json_schema_extra=_plain,
        ge=0,
        le=1,
        title="Inconsistency, unreliable",
        description="From this inconsistency on a sample goes to people.",
    )
    queue_size: int | None = Field(
        default=None,
        json_schema_extra=_plain,
        ge=1,
        title="Queue size",
        description="At most this many questions go to people in a round.",
    )
    annotator_error_rate: float | None = Field(
        default=None,
        json_schema_extra=_plain,
        ge=0,
        le=1,
        title="Annotator error rate",
        description="Share of wrong answers of the simulated annotator.",
    )
    others: dict[str, Any] = _others()

    def changes(self) -> dict[str, Any]:
        """What to write into params.yaml: dotted names to values; ``profile`` is applied apart."""
        named = {
            "rounds": self.rounds,
            "seed": self.seed,
            "identifier.epochs": self.epochs,
            "verifier.epochs": self.epochs,
            "identifier.later_epochs": self.later_epochs,
            "verifier.later_epochs": self.later_epochs,
            "identifier.learning_rate": self.learning_rate,
            "verifier.learning_rate": self.learning_rate,
            "selection.reliable_uncertainty": self.reliable_uncertainty,
            "selection.reliable_inconsistency": self.reliable_inconsistency,
            "selection.unreliable_uncertainty": self.unreliable_uncertainty,
            "selection.unreliable_inconsistency": self.unreliable_inconsistency,
            "queue.size": self.queue_size,
            "annotator.error_rate": self.annotator_error_rate,
        }
        return {name: value for name, value in named.items() if value is not None} | self.others


class EvaluateParameters(BaseModel):
    """Parameters of an evaluation. It judges the refinement that params.yaml describes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    benchmark: Literal["as recorded", "qgeval", "sample"] = Field(
        default=AS_RECORDED,
        title="Benchmark",
        description="Whose questions are diagnosed: QGEval (scored by people), the project's own sample (not scored), "
        "or the one that params.yaml records.",
    )
    when_stale: Literal["stop", "refine first"] = Field(
        default="stop",
        title="If the refinement is not finished",
        description="What to do where the refinement that params.yaml describes is missing or out of date.",
    )
    others: dict[str, Any] = _others()

    def changes(self) -> dict[str, Any]:
        """What to write into params.yaml: dotted names to values."""
        named = {} if self.benchmark == AS_RECORDED else {"data.benchmark": self.benchmark}
        return named | self.others


def record(path: Path, parameters: RefineParameters | EvaluateParameters) -> Settings:
    """Write what a form or an option asks into params.yaml, so that plain ``dvc repro`` rebuilds the run.

    Args:
        path: params.yaml.
        parameters: What was asked.

    Returns:
        The settings as they now stand.

    Raises:
        SettingsError: Something is out of bounds; params.yaml is then as it was.
    """
    profile = parameters.profile if isinstance(parameters, RefineParameters) else AS_RECORDED
    changes = parameters.changes()
    if profile == AS_RECORDED:
        return apply_changes(path, changes) if changes else load_settings(path)
    before = path.with_name(f".{path.name}.before")
    shutil.copy2(path, before)
    try:
        apply_profile(path, profile)
        return apply_changes(path, changes)
    except SettingsError:
        before.replace(path)
        raise
    finally:
        before.unlink(missing_ok=True)
