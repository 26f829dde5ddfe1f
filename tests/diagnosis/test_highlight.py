"""Marks on text: overlapping ones render right, and no letter is lost or doubled."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from erreval.diagnosis.highlight import Piece, as_html, bracketed, brackets, pieces, visible

TEXTS = st.text(max_size=40) | st.text(alphabet="ab[]{}<>1,& \n", max_size=40)
SPANS = st.lists(st.tuples(st.integers(-3, 45), st.integers(-3, 45)), max_size=3)
MARKS = st.dictionaries(st.sampled_from(["1", "2", "3", "A"]), SPANS, max_size=4)


class TextOf(HTMLParser):
    """What a browser shows of a page: its text without the marks in <sup>."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.refs, self.tags = "", 0, []  # type: ignore[var-annotated]
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.refs += tag == "sup"

    def handle_endtag(self, tag):
        self.refs -= tag == "sup"

    def handle_data(self, data):
        self.text += "" if self.refs else data


def unmarked(told: str, text: str) -> str:
    """The text without what ``bracketed`` has put into it."""
    opening, closing = map(re.escape, brackets(text))
    return re.sub(f"{closing}{{[A0-9,]+}}", "", re.sub(opening, "", told))


def test_overlapping_marks() -> None:
    # "abcdef": mark 1 on bcd, mark 2 on de -> a | bc by 1 | d by both | e by 2 | f
    cut = pieces("abcdef", {"1": [(1, 4)], "2": [(3, 5)]})
    assert cut == (Piece("a"), Piece("bc", ("1",)), Piece("d", ("1", "2")), Piece("e", ("2",)), Piece("f"))
    assert bracketed(cut) == "a[[bc]]{1}[[d]]{1,2}[[e]]{2}f"
    assert as_html(cut[1:3], {"1": "x", "2": "y"}) == (
        '<mark>bc</mark><sup><a href="#x">1</a></sup><mark>d</mark><sup><a href="#x">1</a> <a href="#y">2</a></sup>'
    )


def test_the_style_sees_marked_pieces_only() -> None:
    cut = pieces("the captial of", {"1": [(4, 11)]})
    assert bracketed(cut, lambda piece: piece.text.upper()) == "the [[CAPTIAL]]{1} of"


def test_two_touching_spans_of_one_mark_are_one_piece() -> None:
    assert pieces("abcd", {"1": [(0, 2), (2, 3)]}) == (Piece("abc", ("1",)), Piece("d"))


@given(TEXTS, MARKS)
@example("", {"1": [(0, 3)]})
def test_no_letter_is_lost_or_doubled(text: str, marks: dict[str, list[tuple[int, int]]]) -> None:
    cut = pieces(text, marks)
    assert "".join(piece.text for piece in cut) == text
    assert all(piece.text for piece in cut)
    assert all(a.marks != b.marks for a, b in pairwise(cut))
    at = 0
    for piece in cut:  # each letter carries exactly the marks whose spans hold it
        for place in range(at, at + len(piece.text)):
            assert set(piece.marks) == {m for m, spans in marks.items() if any(a <= place < b for a, b in spans)}
        at += len(piece.text)


@given(TEXTS, MARKS)
@example("a]]{1}[[b", {"1": [(0, 2)]})
@example("[x]", {"1": [(0, 3)], "2": [(1, 2)]})
@example("]", {"1": [(0, 1)]})
def test_without_the_marks_the_text_is_as_it_was(text: str, marks: dict[str, list[tuple[int, int]]]) -> None:
    assert unmarked(bracketed(pieces(text, marks)), text) == visible(text)


@given(TEXTS, MARKS)
@example("<script>alert('&amp;')</script>", {"1": [(3, 9)]})
def test_a_page_shows_the_text_as_it_was_and_no_element_of_it(
    text: str, marks: dict[str, list[tuple[int, int]]]
) -> None:
    page = TextOf(as_html(pieces(text, marks), dict.fromkeys("123A", "here")))
    assert page.text == visible(text)
    assert set(page.tags) <= {"mark", "sup", "a"}


def test_control_characters_are_spelled_out() -> None:
    assert visible("a\x1b[31mb\r\n\tc\x00é") == "a\\x1b[31mb\\r\n\tc\\x00é"
