import hashlib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from erreval.records import Diagnosis, Question, content_id, passage_id
from erreval.taxonomy import ErrorType


def test_the_id_is_the_hash_of_passage_answer_and_question():
    expected = hashlib.sha256(b"P\x1fA\x1fQ").hexdigest()[:16]
    assert content_id("P", "A", "Q") == expected
    assert Question(question="Q", passage="P", answer="A").question_id == expected


def test_nothing_is_folded_but_unicode_composition():
    assert content_id("P", "A", "q") != content_id("P", "A", "Q")
    assert content_id("P", "A", "Q ") != content_id("P", "A", "Q")
    assert content_id("caf\u00e9", "A", "Q") == content_id("cafe\u0301", "A", "Q")


@given(st.text(), st.text(), st.text(min_size=1))
def test_ids_do_not_depend_on_the_composition_of_characters(passage, answer, question):
    def nfd(text):
        return unicodedata.normalize("NFD", text)

    assert content_id(passage, answer, question) == content_id(nfd(passage), nfd(answer), nfd(question))
    assert passage_id(passage) == passage_id(nfd(passage))


def test_an_empty_answer_is_no_answer_but_the_word_none_is_one():
    assert Question(question="Q", answer="  ").answer is None
    assert Question(question="Q", answer="None").answer == "None"
    assert Question(question="Q", answer="").question_id == Question(question="Q").question_id


def test_a_blank_question_is_refused():
    with pytest.raises(ValidationError, match="the question is empty"):
        Question(question=" \n")


def test_a_diagnosis_never_joins_no_error_with_an_error():
    with pytest.raises(ValidationError, match="excludes every other"):
        Diagnosis(question_id="x", labels={ErrorType.NO_ERROR, ErrorType.VAGUE}, probabilities={}, model="detectors")
