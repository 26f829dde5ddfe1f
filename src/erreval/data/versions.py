"""The versions of a growing training set: one a round, with sizes, labels, origins and a hash."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass

import pandas as pd

from erreval.data.outputs import read_output
from erreval.errors import TableError
from erreval.frames import label_sets_of
from erreval.layout import Layout
from erreval.taxonomy import ALL_TYPES


@dataclass(frozen=True)
class Version:
    """The training set of one round."""

    round_key: str
    rows: int
    passages: int
    origins: dict[str, int]
    """Rows by where they came from: injected, untouched, auto, simulated, human, adjudicated."""
    added: dict[str, int]
    """The same for the rows that this round added."""
    labels: dict[str, int]
    """How often each label stands in the set; a row with two errors counts twice."""
    sha256: str
    """Of the file, which DVC keeps: the same bytes, the same version."""


def versions(layout: Layout) -> list[Version]:
    """The versions that are there, in the order of the rounds.

    Raises:
        TableError: There is none yet.
    """
    places = sorted((layout.work / "sets").glob("r*/train.parquet"), key=lambda path: int(path.parent.name[1:]))
    if not places:
        raise TableError(f"{layout.work / 'sets'}: no training set yet; run `make run` or `dvc repro prepare`")
    return [_version(path.parent.name, path.read_bytes(), read_output(path)) for path in places]


def _version(round_key: str, content: bytes, frame: pd.DataFrame) -> Version:
    counted = Counter(label for labels in label_sets_of(frame) for label in labels)
    new = frame[frame["round"] == int(round_key[1:])]
    return Version(
        round_key=round_key,
        rows=len(frame),
        passages=int(frame["passage_id"].nunique()),
        origins=_counts(frame["origin"]),
        added=_counts(new["origin"]),
        labels={t.value: counted[t] for t in ALL_TYPES},
        sha256=hashlib.sha256(content).hexdigest(),
    )


def _counts(column: pd.Series[str]) -> dict[str, int]:
    return {str(name): int(count) for name, count in sorted(Counter(column).items())}
