"""Which stages a flow runs, in which order: a pure function of the settings."""

from __future__ import annotations

from erreval.settings import Settings

STEPS = ("label_noise", "train_identifier", "fuse", "train_verifier", "assess")


def refine_stages(settings: Settings) -> tuple[str, ...]:
    """From the sources to a trained Error Identifier and Verifier for every round.

    The last round is only assessed: its pool is not predicted, for no later round would learn from it.
    """
    stages = ["fetch", "backbone", "prepare"]
    for key in settings.rounds:
        stages += [f"{step}@{key}" for step in STEPS]
        if key in settings.extensions:
            stages += [f"{step}@{key}" for step in ("predict", "select", "queue", "annotate", "extend")]
    return (*stages, "summarise", "publish_refinement")


def evaluate_stages(settings: Settings) -> tuple[str, ...]:
    """From a finished refinement to its correlations with people."""
    del settings  # every evaluation has the same steps
    return ("diagnose", "evaluate", "publish_evaluation")
