"""The fusion: signs of its weights, base rates, what the settings do, folds that never reuse a question."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from erreval.diagnosis.answer_fit import AnswerFit
from erreval.diagnosis.diagnose import diagnose_all
from erreval.diagnosis.fused import FILE, FusedIdentifier, is_fused
from erreval.diagnosis.fusion import Fusion, Labelled, base_rate, with_encoder
from erreval.diagnosis.fusion import fit_fusion as fit_with
from erreval.diagnosis.loading import load_identifier, thresholds
from erreval.diagnosis.nested import Material, cross_fitted, fit_with_thresholds, folds_by_passage, out_of_fold
from erreval.diagnosis.signals import SIGNALS, log_odds
from erreval.errors import ErrevalError
from erreval.records import Question
from erreval.settings import load_settings
from erreval.taxonomy import ALL_TYPES, ERRORS, NEEDS_PASSAGE, TYPE_INDEX, ErrorType

NO_FIT = AnswerFit({}, 0.0)
SETTINGS = load_settings(Path(__file__).parents[2] / "params.yaml").fusion
COPY = ErrorType.UNNECESSARY_COPY


def drawn(n: int, rng: np.random.Generator, share: float = 0.15, telling: float = 1.5) -> Labelled:
    """Rows whose signals are ``telling`` higher where the error is."""
    hot = np.zeros((n, len(ALL_TYPES)))
    for t in ERRORS:
        hot[:, TYPE_INDEX[t]] = rng.random(n) < share
    hot[:, TYPE_INDEX[ErrorType.NO_ERROR]] = hot.sum(axis=1) == 0
    signals = {t: rng.normal(size=(n, len(names))) + telling * hot[:, [TYPE_INDEX[t]]] for t, names in SIGNALS.items()}
    return Labelled(signals, hot)


def fit_fusion(injected: Labelled, people: Labelled, fit: AnswerFit, **changes: float) -> Fusion:
    return fit_with(injected, people, fit, SETTINGS.model_copy(update=changes))


def mean_loss(p: np.ndarray, rows: Labelled, error: ErrorType) -> float:
    k = TYPE_INDEX[error]
    y = rows.hot[:, k]
    return float(-(y * np.log(p[:, k]) + (1 - y) * np.log(1 - p[:, k])).mean())


def test_weights_are_never_negative_even_where_a_signal_points_the_other_way() -> None:
    rng = np.random.default_rng(0)
    people = drawn(200, rng, telling=-2.0)
    fusion = fit_fusion(drawn(200, rng, telling=-2.0), people, NO_FIT, common_weight=0.0)
    assert all(weight >= 0 for model in fusion.types.values() for weight in model.weights)
    assert fusion.types[COPY].weights == (0.0, 0.0, 0.0)


def test_probabilities_have_the_base_rate_of_the_people_not_of_the_injected() -> None:
    rng = np.random.default_rng(1)
    injected, people = drawn(2000, rng, share=0.5), drawn(400, rng, share=0.1)
    p = fit_fusion(injected, people, NO_FIT).probabilities(people.signals)
    for t in ERRORS:
        assert p[:, TYPE_INDEX[t]].mean() == pytest.approx(base_rate(people.hot, t), abs=0.02)
    # No Error: the product of the ten complements, by hand for the first row.
    errors = [TYPE_INDEX[t] for t in ERRORS]
    assert p[0, TYPE_INDEX[ErrorType.NO_ERROR]] == pytest.approx(float(np.prod([1 - p[0, k] for k in errors])))


def test_a_type_that_nobody_saw_is_rare_and_keeps_the_detectors_shape() -> None:
    rng = np.random.default_rng(2)
    injected, people = drawn(1000, rng, share=0.3), drawn(159, rng)
    k = TYPE_INDEX[ErrorType.OFF_TOPIC]
    people.hot[:, k] = 0
    # (0 + 1/2) / (159 + 1) = 1/320
    assert base_rate(people.hot, ErrorType.OFF_TOPIC) == pytest.approx(1 / 320)
    fusion = fit_fusion(injected, people, NO_FIT)
    assert all(weight > 0 for weight in fusion.types[ErrorType.OFF_TOPIC].weights)
    assert fusion.probabilities(people.signals)[:, k].mean() < 0.02


def test_settings_matter() -> None:
    rng = np.random.default_rng(3)
    injected, people = drawn(500, rng, telling=0.0), drawn(300, rng, telling=2.0)
    strong = fit_fusion(injected, people, NO_FIT, injected_counts_as=1.0)
    drowned = fit_fusion(injected, people, NO_FIT, injected_counts_as=30_000.0)
    assert sum(strong.types[COPY].weights) > 2 * sum(drowned.types[COPY].weights)
    pulled = fit_fusion(injected, people, NO_FIT, pull=1e6, common_weight=0.3)
    assert pulled.types[COPY].weights == pytest.approx([0.3, 0.3, 0.3], abs=1e-3)


def test_an_encoder_that_knows_is_listened_to() -> None:
    rng = np.random.default_rng(4)
    injected, people, other = (drawn(400, rng, telling=0.3) for _ in range(3))

    def with_guess(rows: Labelled) -> Labelled:
        guess = np.clip(0.1 + 0.6 * rows.hot + rng.normal(scale=0.1, size=rows.hot.shape), 0.001, 0.999)
        return Labelled(with_encoder(rows.signals, guess), rows.hot)

    alone = fit_fusion(injected, people, NO_FIT)
    knows = [with_guess(rows) for rows in (injected, people, other)]
    joined = fit_fusion(knows[0], knows[1], NO_FIT)
    assert joined.uses_encoder
    assert not alone.uses_encoder
    assert mean_loss(joined.probabilities(knows[2].signals), other, COPY) < 0.5 * mean_loss(
        alone.probabilities(other.signals), other, COPY
    )
    with pytest.raises(ErrevalError, match="different signals"):
        fit_fusion(knows[0], people, NO_FIT)
    with pytest.raises(ErrevalError, match="there is no encoder"):
        FusedIdentifier(joined, dict.fromkeys(ERRORS, 0.5))


def test_log_odds_by_hand() -> None:
    # ln(.5/.5) + ln 99 = ln 99; at .01 and below 0; at .99 and above 2 ln 99.
    assert log_odds(0.5) == pytest.approx(np.log(99))
    assert log_odds(0.0) == log_odds(0.01) == pytest.approx(0.0)
    assert log_odds(1.0) == log_odds(0.99) == pytest.approx(2 * np.log(99))


def test_folds_hold_every_passage_out_once() -> None:
    passages = [f"p{k // 3}" for k in range(60)]
    seen_count = np.zeros(60)
    for seen, held in folds_by_passage(passages, 6, np.random.default_rng(0)):
        assert not {passages[i] for i in seen} & {passages[i] for i in held}
        assert len(seen) + len(held) == 60
        seen_count[held] += 1
    assert (seen_count == 1).all()
    with pytest.raises(ErrevalError, match="two passages"):
        list(folds_by_passage(["p"] * 4, 2, np.random.default_rng(0)))


def test_the_question_that_is_predicted_decides_nothing() -> None:
    """Turning one passage's labels round changes the other passages' predictions, and never its own."""
    rng = np.random.default_rng(5)
    injected, people = drawn(150, rng), drawn(120, rng)
    passages = [f"p{k // 4}" for k in range(120)]
    own = np.array([p == "p7" for p in passages])
    turned = Labelled(people.signals, people.hot.copy())
    for t in ERRORS:
        turned.hot[own, TYPE_INDEX[t]] = 1 - turned.hot[own, TYPE_INDEX[t]]

    def predict(rows: Labelled) -> tuple[np.ndarray, list[frozenset[ErrorType]]]:
        material = Material(injected, rows, passages, NO_FIT, SETTINGS)
        return cross_fitted(material, np.random.default_rng(9), folds=4, inner=3)

    (before, sets), (after, sets_after) = predict(people), predict(turned)
    np.testing.assert_array_equal(before[own], after[own])
    assert [s for s, mine in zip(sets, own, strict=True) if mine] == [
        s for s, mine in zip(sets_after, own, strict=True) if mine
    ]
    assert (before[~own] != after[~own]).any()
    held = out_of_fold(Material(injected, people, passages, NO_FIT, SETTINGS), np.random.default_rng(9), 4)
    np.testing.assert_array_equal(held, before)  # the same outer folds


QUESTIONS = [
    Question(question="Who wrote the book?", passage="Ann wrote the book. Bob read it.", answer="Ann"),
    Question(question="no", passage="Ann wrote the book. Bob read it.", answer="no"),
    Question(question="Who wrote the book", passage="", answer=None),
]


def test_saved_and_loaded_it_says_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    people = drawn(80, rng)
    passages = [f"p{k // 2}" for k in range(80)]
    fit = AnswerFit({"near answer": 1.25, "pair who / name of 1": 0.5}, -0.25)
    fitted = fit_with_thresholds(Material(drawn(100, rng), people, passages, fit, SETTINGS), rng)
    identifier = FusedIdentifier(fitted.fusion, fitted.thresholds)
    identifier.save(tmp_path / "model")
    assert is_fused(tmp_path / "model")
    assert not list((tmp_path / "model").glob("*.part"))
    back = load_identifier(tmp_path / "model")
    assert isinstance(back, FusedIdentifier)
    before, after = identifier.predict_probabilities(QUESTIONS), back.predict_probabilities(QUESTIONS)
    np.testing.assert_allclose(after, before, atol=1e-12)
    assert back.decide(after) == identifier.decide(before)
    assert thresholds(back) == dict(fitted.thresholds)
    assert back.truncated(QUESTIONS) == [False] * 3
    # Without passage and answer five types are not judged, and No Error is what the other five leave.
    unjudged = np.isnan(after[2])
    assert unjudged.sum() == 5
    judged = [k for k in map(TYPE_INDEX.__getitem__, ERRORS) if not unjudged[k]]
    assert after[2, TYPE_INDEX[ErrorType.NO_ERROR]] == pytest.approx(float(np.prod(1 - after[2, judged])))
    assert back.predict_probabilities([]).shape == (0, 11)


def test_a_diagnosis_by_a_fusion_leaves_open_what_cannot_be_judged() -> None:
    rng = np.random.default_rng(7)
    fusion = fit_fusion(drawn(100, rng), drawn(80, rng), NO_FIT)
    levels = dict.fromkeys(ERRORS, 0.5) | {ErrorType.OFF_TARGET_ANSWER: 0.0}
    sound, _, bare = diagnose_all(QUESTIONS, FusedIdentifier(fusion, levels))
    assert ErrorType.OFF_TARGET_ANSWER in sound.labels  # its threshold is 0
    assert ErrorType.OFF_TARGET_ANSWER not in bare.labels
    assert bare.probabilities[ErrorType.OFF_TARGET_ANSWER] is None
    assert set(bare.not_judged) == NEEDS_PASSAGE
    assert bare.probabilities[ErrorType.NO_ERROR] is not None
    assert (sound.model, sound.note) == ("fusion", "")


@pytest.mark.parametrize(
    ("content", "told"),
    [("", "no fusion can be read"), ('{"format": 99}', "format 99"), ('{"format": 1}', "no fusion can be read")],
)
def test_what_cannot_be_loaded_is_told(tmp_path: Path, content: str, told: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(ErrevalError, match=told):
        FusedIdentifier.load(tmp_path)


def test_nothing_to_fit_on_is_told() -> None:
    empty = drawn(0, np.random.default_rng(0))
    with pytest.raises(ErrevalError, match="there are none"):
        fit_fusion(empty, empty, NO_FIT)
    # Without people's labels the injected rows stand for themselves.
    injected = drawn(300, np.random.default_rng(1), share=0.3)
    p = fit_fusion(injected, empty, NO_FIT).probabilities(injected.signals)
    assert p[:, TYPE_INDEX[COPY]].mean() == pytest.approx(injected.hot[:, TYPE_INDEX[COPY]].mean(), abs=0.02)
