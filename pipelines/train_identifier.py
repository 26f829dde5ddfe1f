"""Stage train_identifier: fine-tune the Error Identifier of a round."""

from __future__ import annotations

from functools import partial

from pipelines.context import round_argument
from pipelines.launch import launch
from pipelines.supervision import run
from pipelines.training import train

PARAMS = ("encoder", "accelerate", "rounds", "identifier")


def main() -> None:
    """Train on the round's training set, from where params.yaml says."""
    train("identifier", round_argument())


if __name__ == "__main__":
    run(partial(launch, "pipelines.train_identifier", main))
