"""Fences that hold, and the last verdict that counts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from erreval.chat.wire_text import FENCES, fenced, last_object

TAGS = st.sampled_from(["<", "</", "< / ", ">", " ", "\n", *FENCES, *(name.upper() for name in FENCES)])


@given(name=st.sampled_from(FENCES), text=st.text(max_size=50) | st.lists(TAGS, max_size=20).map("".join))
def test_nothing_leaves_its_fence(name: str, text: str) -> None:
    found = fenced(name, text)
    tags = re.findall(r"<\s*/?\s*(?:passage|answer|question|sound_question)\b", found, flags=re.IGNORECASE)
    assert tags == [f"<{name}", f"</{name}"]
    assert found.startswith(f"<{name}>\n")
    assert found.endswith(f"\n</{name}>")


def test_what_looks_like_no_fence_is_left_alone() -> None:
    assert (
        fenced("passage", " a <b> and 3 < 4, <questionable> ")
        == "<passage>\na <b> and 3 < 4, <questionable>\n</passage>"
    )
    with pytest.raises(ValueError, match="is no fence"):
        fenced("steps", "x")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"k": 1}', {"k": 1}),
        ('{"k": 1} then {"k": 2}', {"k": 2}),
        ('{"k": 2} then {"other": 3}', {"k": 2}),
        ('{"k": 1} then {"k": ', {"k": 1}),
        ('{{"k": 1}}', {"k": 1}),
        ('{"outer": {"k": 1}}', None),
        ("[1, 2]", None),
        ("{k: 1}", None),
        ("", None),
        ('{"a":' * 5000, None),
    ],
)
def test_the_last_object_with_the_key(text: str, found: dict[str, int] | None) -> None:
    assert last_object(text, "k") == found
