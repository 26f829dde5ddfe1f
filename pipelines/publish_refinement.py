"""Stage publish_refinement: write the finished refinement to MLflow, once."""

from __future__ import annotations

from erreval.finished import read_refinement
from erreval.publishing import publish_refinement
from pipelines.publication import publish
from pipelines.supervision import run


def main() -> None:
    """Publish the refinement of the profile in params.yaml."""
    publish("refinement", publish_refinement, lambda lock, profile: read_refinement(lock, profile).keys())


if __name__ == "__main__":
    run(main)
