"""Text with marks on it: cut where marks begin and end, so that overlapping ones render right and no letter is lost."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

Span = tuple[int, int]


@dataclass(frozen=True)
class Piece:
    """A stretch of text that carries the same marks throughout."""

    text: str
    marks: tuple[str, ...] = ()
    """What the marks are called, in the order in which they were given; none where nothing is marked."""


def pieces(text: str, marks: Mapping[str, Iterable[Span]]) -> tuple[Piece, ...]:
    """Cut a text at the borders of its marks.

    Args:
        text: What is marked.
        marks: By name, character spans (start, end); they may overlap, and what lies outside the text is cut off.

    Returns:
        Pieces whose texts, joined, are ``text``: none is empty, and two neighbours never carry the same marks.
    """
    spans = {
        name: [(max(start, 0), min(end, len(text))) for start, end in found if max(start, 0) < min(end, len(text))]
        for name, found in marks.items()
    }
    cuts = sorted({0, len(text), *(edge for found in spans.values() for span in found for edge in span)})
    cut: list[Piece] = []
    for start, end in pairwise(cuts):
        carried = tuple(name for name, found in spans.items() if any(a <= start and end <= b for a, b in found))
        if cut and cut[-1].marks == carried:
            cut[-1] = Piece(cut[-1].text + text[start:end], carried)
        else:
            cut.append(Piece(text[start:end], carried))
    return tuple(cut)


def brackets(text: str) -> tuple[str, str]:
    """A pair of brackets that does not stand in the text, so that marks are never mistaken for it."""
    for opening, closing in (("[[", "]]"), ("<<", ">>"), ("{{", "}}")):
        if opening not in text and closing not in text:
            return opening, closing
    depth = 3
    while "[" * depth in text or "]" * depth in text:
        depth += 1
    return "[" * depth, "]" * depth


def bracketed(cut: Iterable[Piece], style: Callable[[Piece], str] | None = None) -> str:
    """The text with brackets around what is marked, each followed by its marks in braces: ``the [[captial]]{1} of``.

    Args:
        cut: The pieces of one text.
        style: Gives a marked piece its colour, where there is a terminal; colour is never the only sign.
    """
    parts = list(cut)
    opening, closing = brackets("".join(part.text for part in parts))
    told = []
    for part in parts:
        shown = visible(part.text) if style is None or not part.marks else style(Piece(visible(part.text), part.marks))
        told.append(f"{opening}{shown}{closing}{{{','.join(part.marks)}}}" if part.marks else shown)
    return "".join(told)


def as_html(cut: Iterable[Piece], targets: Mapping[str, str]) -> str:
    """The text as HTML: marked pieces in ``<mark>``, each followed by its marks as links in ``<sup>``.

    Args:
        cut: The pieces of one text.
        targets: By mark, the id of the element that explains it.
    """
    told = []
    for part in cut:
        shown = html.escape(visible(part.text))
        if part.marks:
            links = " ".join(f'<a href="#{html.escape(targets[name])}">{html.escape(name)}</a>' for name in part.marks)
            shown = f"<mark>{shown}</mark><sup>{links}</sup>"
        told.append(shown)
    return "".join(told)


def visible(text: str) -> str:
    r"""The text with control characters spelled out (``\x1b``), so that it cannot steer a terminal or a page.

    Line feeds and tabs stay; so does all other text.
    """
    if text.isprintable():
        return text
    return "".join(
        repr(sign)[1:-1] if unicodedata.category(sign) == "Cc" and sign not in "\n\t" else sign for sign in text
    )
