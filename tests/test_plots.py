"""The figures: made without pyplot, the same for the same values, honest about what is unknown."""

from __future__ import annotations

import io

import pytest

from erreval import plots
from erreval.taxonomy import ALL_TYPES

LABELS = [t.value for t in ALL_TYPES]


def texts(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def png(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def types(f1):
    return [{"type": name, "count": i, "f1": f1} for i, name in enumerate(LABELS)]


def test_a_type_shows_its_f1_its_count_and_the_floor():
    own = types(0.25)
    own[LABELS.index("Off Topic")] = {"type": "Off Topic", "count": 0, "f1": None}
    shown = texts(plots.per_type_f1({"n": 30, "types": own}, title="dev"))
    assert shown[0] == "0.250   n = 0"
    assert shown[LABELS.index("Off Topic")] == "unknown   n = 0"
    assert shown[-1] == "0.250 (floor 0.500)   n = 10"  # 2 · 10 / (10 + 30)


def test_every_type_has_a_row_even_where_the_results_lack_it():
    figure = plots.per_type_f1({}, title="dev")
    assert texts(figure) == ["unknown   n = ?"] * 11
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == LABELS


def test_confusion_writes_counts_and_survives_empty_rows():
    matrix = [[0] * 11 for _ in range(11)]
    matrix[2][3] = 7
    assert texts(plots.confusion(LABELS, matrix, title="dev")) == ["7"]


def test_reliability_draws_the_types_that_occur_and_have_bins():
    bins = [
        {"n": 40, "mean_probability": 0.02, "share_true": 0.05},
        {"n": 5, "mean_probability": 0.7, "share_true": 0.8},
    ]
    rows = [{"type": "Vague", "count": 6, "reliability": bins}, {"type": "Off Topic", "count": 0, "reliability": bins}]
    axes = plots.reliability({"types": rows}, title="dev").axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["Vague (n = 6)"]
    assert axes.collections[0].get_offsets().tolist() == [[0.02, 0.05], [0.7, 0.8]]
    assert plots.reliability({}, title="nothing").axes[0].get_legend() is None


def test_label_distribution_counts_absent_labels_as_none():
    shown = texts(plots.label_distribution({"Vague": 1200}, title="r0"))
    assert shown[LABELS.index("Vague")] == "1,200"
    assert shown.count("0") == 10


def test_rounds_draw_gaps_for_unknown_values_and_floors_where_known():
    figure = plots.rounds({"dev": [0.5, None, 0.6], "test": [0.4, 0.4, 0.4]}, {"dev": 0.5, "test": None}, title="f1")
    lines = figure.axes[0].get_lines()
    assert [line.get_label() for line in lines] == ["dev", "dev: floor", "test"]
    assert lines[0].get_ydata()[1] != lines[0].get_ydata()[1]


def test_correlations_may_be_negative_unknown_or_absent():
    rows = {"fluency": {"pearson": -0.2, "floor": 0.489, "floor_feature": "length", "n": 3000}, "clarity": {"n": 5}}
    figure = plots.correlations(rows, title="QGEval")
    assert texts(figure) == ["-0.200 (floor 0.489)   n = 3,000, floor: length", "unknown   n = 5"]
    assert figure.axes[0].get_xlim()[0] < -0.2
    assert plots.correlations({}, title="nothing").axes


@pytest.mark.parametrize("make", [
    lambda: plots.per_type_f1({"n": 60, "types": types(0.5)}, title="a"),
    lambda: plots.confusion(LABELS, [[i * j for j in range(11)] for i in range(11)], title="b"),
])  # fmt: skip
def test_the_same_values_give_the_same_picture(make):
    assert png(make()) == png(make())
