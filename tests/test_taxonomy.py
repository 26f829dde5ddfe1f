import pytest

from erreval.taxonomy import (
    ALL_TYPES,
    DIMENSION_ERRORS,
    ERRORS,
    Dimension,
    ErrorType,
    check_label_set,
    format_label_set,
    parse_label_set,
    slug,
)

# ErrEval, Table 6, written out by hand.
TABLE_6 = {
    "fluency": {"Incomplete", "Spell Error", "Grammar Error"},
    "clarity": {"Incomplete", "Not A Question", "Grammar Error", "Vague"},
    "conciseness": {"Unnecessary Copy from Passage"},
    "relevance": {"Off Topic"},
    "consistency": {"Off Topic", "Factual Error", "Information Not Mentioned"},
    "answerability": {
        "Incomplete",
        "Not A Question",
        "Vague",
        "Off Topic",
        "Factual Error",
        "Information Not Mentioned",
    },
    "answer_consistency": {
        "Incomplete",
        "Not A Question",
        "Vague",
        "Off Topic",
        "Factual Error",
        "Information Not Mentioned",
        "Off Target Answer",
    },
}


def test_dimensions_are_those_of_table_6():
    assert {d.value: {t.value for t in errors} for d, errors in DIMENSION_ERRORS.items()} == TABLE_6
    assert len(Dimension) == 7


def test_eleven_types_of_which_ten_are_errors():
    assert len(ALL_TYPES) == 11
    assert set(ALL_TYPES) - set(ERRORS) == {ErrorType.NO_ERROR}


def test_every_error_lowers_some_dimension():
    assert set().union(*DIMENSION_ERRORS.values()) == set(ERRORS)


def test_a_label_set_is_read_and_written_in_one_order():
    labels = parse_label_set("Off Target Answer;  Vague")
    assert labels == {ErrorType.VAGUE, ErrorType.OFF_TARGET_ANSWER}
    assert format_label_set(labels) == "Vague; Off Target Answer"


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("", "never empty"),
        ("Spelling", "unknown error type 'Spelling'"),
        ("No Error; Vague", "excludes every other"),
        ("Vague; Vague", "stands twice"),
    ],
)
def test_what_is_no_label_set_is_refused(cell, told):
    with pytest.raises(ValueError, match=told):
        parse_label_set(cell)


def test_slug_and_check():
    assert slug(ErrorType.NOT_A_QUESTION) == "not_a_question"
    with pytest.raises(ValueError, match="never empty"):
        check_label_set([])
