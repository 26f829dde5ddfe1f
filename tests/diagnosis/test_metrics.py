import numpy as np
import pytest
from sklearn.metrics import f1_score

from erreval.diagnosis.examples import multi_hot
from erreval.diagnosis.metrics import co_occurrence, label_set_metrics, verdict_metrics
from erreval.taxonomy import ALL_TYPES, ErrorType

NONE, VAGUE, SPELL = ErrorType.NO_ERROR, ErrorType.VAGUE, ErrorType.SPELL_ERROR
TRUTH = [frozenset(s) for s in ({NONE}, {VAGUE, SPELL}, {VAGUE}, {NONE})]
SAID = [frozenset(s) for s in ({NONE}, {VAGUE}, {NONE}, {SPELL})]


def test_headline_metrics_by_hand():
    found = label_set_metrics(TRUTH, SAID)
    # hits: No Error 1, Vague 1; said 4 labels, true 5: micro-F1 = 2*2 / (4 + 5)
    assert found["micro_f1"] == pytest.approx(4 / 9)
    assert found["exact_match"] == pytest.approx(1 / 4)
    assert found["over_prediction_rate"] == pytest.approx(1 - 2 / 4)
    # F1 by type: No Error 2*1/(2+2) = .5, Vague 2*1/(1+2) = 2/3, Spell 0, the other eight 0
    assert found["macro_f1"] == pytest.approx((0.5 + 2 / 3) / 11)
    assert found["weighted_f1"] == pytest.approx((0.5 * 2 + 2 / 3 * 2 + 0 * 1) / 5)


def test_the_floor_always_answers_no_error():
    floor = label_set_metrics(TRUTH, SAID)["floor"]
    # 2 hits of 4 said and 5 true
    assert floor["micro_f1"] == pytest.approx(4 / 9)
    assert floor["exact_match"] == pytest.approx(0.5)


def test_types_carry_their_counts_and_undefined_stays_undefined():
    rows = label_set_metrics(TRUTH, SAID)["types"]
    assert [row["type"] for row in rows] == [t.value for t in ALL_TYPES]
    types = {row["type"]: row for row in rows}
    assert types["Spell Error"] == {
        "type": "Spell Error",
        "count": 1,
        "predicted": 1,
        "precision": 0.0,
        "recall": 0.0,
        "f1": 0.0,
        "auroc": None,
    }
    assert types["Off Topic"]["f1"] is None
    assert types["Off Topic"]["count"] == 0


def test_metrics_are_scikit_learns():
    rng = np.random.default_rng(2)

    def sets():
        return [
            frozenset({ErrorType.NO_ERROR})
            if rng.random() < 0.5
            else frozenset(t for t in ALL_TYPES[:10] if rng.random() < 0.2) or frozenset({ErrorType.VAGUE})
            for _ in range(300)
        ]

    truth, said = sets(), sets()
    found = label_set_metrics(truth, said)
    for kind in ("micro", "macro", "weighted"):
        assert found[f"{kind}_f1"] == pytest.approx(
            f1_score(multi_hot(truth), multi_hot(said), average=kind, zero_division=0)
        )


def test_co_occurrence_counts_true_by_predicted():
    matrix = np.array(co_occurrence(TRUTH, SAID)["matrix"])
    k = {t: i for i, t in enumerate(ALL_TYPES)}
    assert matrix[k[VAGUE], k[NONE]] == 1
    assert matrix[k[SPELL], k[VAGUE]] == 1
    assert matrix.sum() == 5


def test_verdicts_by_hand():
    # accepted: .9, .6, .5; right among them: .9, .5
    found = verdict_metrics([True, False, True, True, False], np.array([0.9, 0.6, 0.5, 0.4, 0.1]))
    assert found["accuracy"] == pytest.approx(3 / 5)
    assert found["precision"] == pytest.approx(2 / 3)
    assert found["recall"] == pytest.approx(2 / 3)
    assert found["f1"] == pytest.approx(2 / 3)
    assert found["floor"]["answer"] == "right"
    assert found["floor"]["accuracy"] == pytest.approx(3 / 5)


def test_nothing_to_assess_is_unknown_and_not_zero():
    assert label_set_metrics([], [])["micro_f1"] is None
    assert verdict_metrics([], np.array([]))["accuracy"] is None
