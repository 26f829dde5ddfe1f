"""The stage fuse: what it learns from, and what it must leave to others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from erreval.data.splits import dev_fold, heldout_role
from pipelines.fuse import _learnt_from
from pipelines.good_pairs import good_examples, with_stories

PASSAGES = [f"{k:064x}" for k in range(300)]
DEVELOPMENT = pd.DataFrame({"passage_id": PASSAGES, "side": ["dev", "test", "dev"] * 100})


def test_the_test_half_is_never_learnt_from() -> None:
    for best_by in ("last", "dev_micro_f1"):
        assert set(DEVELOPMENT["side"].iloc[_learnt_from(DEVELOPMENT, best_by=best_by)]) == {"dev"}
    assert len(_learnt_from(DEVELOPMENT, best_by="last")) == 200


def test_passages_that_chose_the_checkpoint_choose_nothing_more() -> None:
    folds = {dev_fold(PASSAGES[row]) for row in _learnt_from(DEVELOPMENT, best_by="dev_micro_f1")}
    assert folds == {"calibration", "thresholds"}


def test_half_of_the_held_out_passages_calibrate_and_the_others_assess() -> None:
    roles = [heldout_role(passage) for passage in PASSAGES]
    # 300 draws at one half: 150, standard deviation sqrt(75) = 8.7
    assert roles.count("fit") == pytest.approx(150, abs=35)
    assert set(roles) == {"fit", "assess"}
    assert roles == [heldout_role(passage) for passage in PASSAGES]


def test_all_encyclopaedic_pairs_and_as_many_stories_at_most() -> None:
    registers = ["encyclopaedic"] * 3 + ["story"] * 5
    frame = pd.DataFrame({"register": registers}).assign(passage="p", question=list("abcdefgh"), answer="x", source="s")
    drawn = [example.question for example in good_examples(with_stories(frame, 2, np.random.default_rng(0)))]
    assert drawn[:3] == ["a", "b", "c"]
    assert len(drawn) == 6  # max(3 own, 2) stories
    assert set(drawn[3:]) <= set("defgh")
