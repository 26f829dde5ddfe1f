"""Splits by the hash of a passage, and overlap with benchmark passages."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from erreval.data.overlap import find_overlaps, without_overlaps
from erreval.data.readers import READERS
from erreval.data.splits import assign_sides, dev_fold, side_of
from erreval.records import passage_id

SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}


def test_a_side_depends_on_the_passage_alone() -> None:
    ids = [passage_id(str(i)) for i in range(5000)]
    sides = [side_of(one, SHARES, "s") for one in ids]
    assert {side: round(sides.count(side) / 5000, 2) for side in SHARES} == pytest.approx(SHARES, abs=0.02)
    assert sides == [side_of(one, SHARES, "s") for one in ids]
    assert sides != [side_of(one, SHARES, "t") for one in ids]
    # pinned: a change of the rule would move passages between the sides of results already published
    assert sides[:12] == [
        "train",
        "train",
        "train",
        "train",
        "train",
        "dev",
        "train",
        "train",
        "train",
        "train",
        "train",
        "train",
    ]


def test_sides_of_a_frame_follow_its_passages() -> None:
    frame = pd.DataFrame({"passage_id": ["a", "b", "a", "c"]}, index=[5, 3, 1, 0])
    sides = assign_sides(frame, SHARES, "s")
    assert sides.index.tolist() == [5, 3, 1, 0]
    assert sides.iloc[0] == sides.iloc[2] == side_of("a", SHARES, "s")


@pytest.mark.parametrize("shares", [{}, {"a": 0.5}, {"a": 1.5, "b": -0.5}])
def test_shares_must_be_a_distribution(shares: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="sum to 1"):
        side_of("a", shares, "s")


def test_a_side_without_a_share_gets_nothing() -> None:
    assert {side_of(passage_id(str(i)), {"a": 1.0, "b": 0.0}, "s") for i in range(200)} == {"a"}


def test_a_dev_passage_decides_one_thing() -> None:
    ids = [passage_id(str(i)) for i in range(6000)]
    folds = [dev_fold(one) for one in ids]
    shares = {name: round(folds.count(name) / 6000, 2) for name in ("checkpoint", "calibration", "thresholds")}
    assert shares == pytest.approx(dict.fromkeys(shares, 1 / 3), abs=0.02)
    # The fold says nothing about the side that another split puts the passage on.
    dev = [side_of(one, {"dev": 0.5, "test": 0.5}, "development") == "dev" for one in ids]
    in_fold = [is_dev for is_dev, fold in zip(dev, folds, strict=True) if fold == "checkpoint"]
    assert sum(in_fold) / len(in_fold) == pytest.approx(0.5, abs=0.03)


WORDS = [f"word{i}" for i in range(60)]


def test_equal_but_for_case_entities_and_spacing() -> None:
    found = find_overlaps(["One&#10;TWO, three!"], ["one two  three"])
    assert found.to_dict("records") == [
        {
            "passage_id": passage_id("One&#10;TWO, three!"),
            "protected_id": passage_id("one two  three"),
            "kind": "equal",
            "share": 1.0,
        }
    ]


def test_contained_either_way_round() -> None:
    long, part = " ".join(WORDS), " ".join(WORDS[10:40])
    for candidate, protected in ((long, part), (part, long)):
        found = find_overlaps([candidate], [protected])
        assert found[["kind", "share"]].to_dict("records") == [{"kind": "contained", "share": 1.0}]
    # 20 shared words hold 8 of the 18 thirteen-grams of the shorter text
    half = " ".join(WORDS[:20] + [f"other{i}" for i in range(10)])
    assert find_overlaps([half], [long]).empty
    assert find_overlaps([half], [long], share=0.4)["share"].tolist() == [0.4444]


def test_short_and_unrelated_passages_do_not_overlap() -> None:
    assert find_overlaps(["the old man", "", " ".join(WORDS[::-1])], [" ".join(WORDS), "", "x"]).empty
    assert find_overlaps([], []).empty


def test_xquad_holds_eleven_passages_of_qgeval_and_fairytaleqa_none(mirror: Path, laid: dict[str, Path]) -> None:
    qgeval = READERS["qgeval"](laid["qgeval"]).questions["passage"]
    xquad = READERS["xquad"](laid["xquad"]).frame
    kept, overlaps = without_overlaps(xquad, qgeval)
    assert overlaps["passage_id"].nunique() == 11
    assert set(overlaps["kind"]) == {"equal"}
    assert kept["passage_id"].nunique() == 240 - 11
    assert find_overlaps(READERS["fairytaleqa"](laid["fairytaleqa"]).frame["passage"], qgeval).empty
    assert find_overlaps(READERS["qed"](laid["qed"]).frame["passage"], qgeval)["kind"].tolist() == ["contained"]
