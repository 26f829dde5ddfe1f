"""Stage publish_evaluation: write the finished evaluation to MLflow, once."""

from __future__ import annotations

from erreval.finished import read_evaluation
from erreval.publishing import publish_evaluation
from pipelines.publication import publish
from pipelines.supervision import run


def main() -> None:
    """Publish the evaluation of the profile in params.yaml."""
    publish("evaluation", publish_evaluation, lambda lock, profile: read_evaluation(lock, profile).keys())


if __name__ == "__main__":
    run(main)
