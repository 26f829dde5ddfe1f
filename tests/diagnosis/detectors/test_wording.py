"""Tokens, sentences, cases and Treebank spacing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from erreval.diagnosis.wording import cased_and_ended, detokenise, names, sentences, stem, tokens

TEXT = st.text(max_size=300)


def test_treebank_spacing_is_undone() -> None:
    text = "Wilhelm Conrad Röntgen , of Germany , did n't get 150,782 SEK ( in 1901 ) ; Curie 's `` prize '' -- well ."
    assert (
        detokenise(text)
        == "Wilhelm Conrad Röntgen, of Germany, didn't get 150,782 SEK (in 1901); Curie's \"prize\"–well."
    )


def test_capitals_come_from_the_passage() -> None:
    passage = "The first Nobel Prize in Physics was given to Wilhelm Röntgen of Germany. Prizes are gold."
    question = "who got the first nobel prize in physics in germany's name"
    assert cased_and_ended(question, passage) == "Who got the first Nobel Prize in Physics in Germany's name?"
    assert cased_and_ended("are prizes gold?", passage) == "Are prizes gold?"
    assert cased_and_ended("what did i do", "") == "What did I do?"


def test_abbreviations_do_not_end_sentences() -> None:
    text = 'Dr. Smith of the U.S. Army met J. Doe. "He left." Then it rained!\n\nthe end'
    assert [text[a:b] for a, b in sentences(text)] == [
        "Dr. Smith of the U.S. Army met J. Doe.",
        '"He left."',
        "Then it rained!",
        "the end",
    ]


def test_tokens_keep_numbers_and_inner_apostrophes() -> None:
    assert [t.text for t in tokens("The U.S. spent $1,200.50 on 5% of Ann’s well-known 1990s hats.")] == [
        "The", "U.S.", "spent", "$", "1,200.50", "on", "5%", "of", "Ann’s", "well-known", "1990s", "hats", ".",
    ]  # fmt: skip


def test_inflections_share_a_stem() -> None:
    for group in (
        ("company", "companies"),
        ("founded", "founder"),
        ("go", "went"),
        ("used", "using"),
        ("city", "cities"),
    ):
        assert len({stem(w) for w in group}) == 1, group


def test_names_are_runs_of_capitals() -> None:
    text = "Yesterday the Duke of Normandy met Otto. Then Ann's dog ran. “Come,” he said."
    assert [n.text for n in names(text)] == ["Duke of Normandy", "Otto", "Ann"]


@given(TEXT)
def test_spans_lie_in_the_text(text: str) -> None:
    assert all(text[t.start : t.end] == t.text for t in tokens(text))
    assert all(text[n.start : n.end] == n.text for n in names(text))
    spans = sentences(text)
    assert "".join("".join(text[a:b].split()) for a, b in spans) == "".join(text.split())


@given(TEXT, TEXT)
def test_casing_changes_nothing_but_case_and_end(question: str, passage: str) -> None:
    cased = cased_and_ended(question, passage)
    assert cased_and_ended(cased, passage) == cased or not question.strip()
    if question.strip():
        assert cased[-1] in "?!"
