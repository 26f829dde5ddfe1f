"""Where everything lies in a project folder: the one place that spells these paths.

dvc.yaml names the same paths, as it must; a test holds the two together.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from erreval.errors import ErrevalError


@dataclass(frozen=True)
class Layout:
    """The folders and files of one profile, relative to the project's root unless ``root`` is given."""

    profile: str
    root: Path = Path()

    @property
    def work(self) -> Path:
        """DVC's outputs."""
        return self.root / "data" / "work" / self.profile

    @property
    def results(self) -> Path:
        """Small metrics that git tracks."""
        return self.root / "results" / self.profile

    @property
    def sample(self) -> Path:
        """The project's own passages and questions."""
        return self.root / "data" / "sample"

    @property
    def raw(self) -> Path:
        """Downloaded files, verified."""
        return self.work / "raw"

    @property
    def backbone(self) -> Path:
        """The pretrained encoder that training starts from."""
        return self.work / "backbone"

    @property
    def prepared(self) -> Path:
        """Pool, held-out questions, benchmark and development set."""
        return self.work / "prepared"

    @property
    def champion(self) -> Path:
        """Names the round that is best on dev."""
        return self.work / "champion.json"

    @property
    def diagnosis(self) -> Path:
        """The benchmark's questions, diagnosed."""
        return self.work / "diagnosis.parquet"

    def training_set(self, round_key: str) -> Path:
        """The training set of a round."""
        return self.work / "sets" / round_key / "train.parquet"

    def gate(self, name: str) -> Path:
        """Folder of a gate's report, as JSON and HTML."""
        return self.work / "gates" / name

    def model(self, kind: str, round_key: str) -> Path:
        """Folder of a round's ``identifier`` (the encoder), ``fused`` (with the detectors' signals) or ``verifier``."""
        return self.work / "models" / kind / round_key

    def cross_fitted(self, round_key: str) -> Path:
        """The development set by fusions that have not seen its passages."""
        return self.work / "cross_fitted" / f"{round_key}.parquet"

    def start(self, where: str) -> Path:
        """What a model starts from, as params.yaml spells it: ``backbone`` or ``models/…``."""
        return self.work / where

    def predictions(self, round_key: str) -> Path:
        """The pool with label sets, p_e and p_v."""
        return self.work / "predictions" / f"{round_key}.parquet"

    def selection(self, round_key: str) -> Path:
        """The pool with verdicts."""
        return self.work / "selection" / f"{round_key}.parquet"

    def queue(self, round_key: str) -> Path:
        """Folder of what goes to people: items.jsonl and summary.json."""
        return self.work / "queue" / round_key

    def labels(self, round_key: str) -> Path:
        """The simulated annotator's answers."""
        return self.work / "labels" / f"{round_key}.parquet"

    def assessment(self, round_key: str) -> Path:
        """A round's metrics."""
        return self.work / "assess" / f"{round_key}.json"

    def label_noise(self, round_key: str) -> Path:
        """The doubtful labels of a round's training set."""
        return self.work / "label_noise" / f"{round_key}.parquet"

    def published(self, what: str) -> Path:
        """What was written to MLflow, by key."""
        return self.work / "published" / f"{what}.json"


def read_champion(layout: Layout) -> Path:
    """Folder of the champion Error Identifier.

    Raises:
        ErrevalError: No round has been assessed yet.
    """
    try:
        round_key = json.loads(layout.champion.read_text(encoding="utf-8"))["round"]
    except FileNotFoundError:
        raise ErrevalError(
            f"{layout.champion}: no Error Identifier has been trained in profile {layout.profile}; "
            "run `make run` or `dvc repro`"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise ErrevalError(
            f"{layout.champion}: does not name a round; remove it and run `dvc repro summarise`"
        ) from None
    return layout.model("fused", str(round_key))
