"""Entities are resolved at the door of detectors and encoder; records and ids keep them."""

from __future__ import annotations

from pathlib import Path

import pytest

from erreval.diagnosis.detectors.registry import run_detectors
from erreval.diagnosis.readable import readable
from erreval.records import Question, passage_id

TWO = "Ann wrote the book.&#10;Ben sold ten of them."


@pytest.mark.parametrize(
    ("passage", "read"),
    [
        (TWO, "Ann wrote the book.\nBen sold ten of them."),
        ("AT&amp;T &lt;b&gt; caf&eacute; &#x41;&#65;", "AT&T <b> café AA"),
        ("AT&T &copy 2020 &nosuch; & ; &#; &#99999999;", "AT&T &copy 2020 &nosuch; & ; &#; &#99999999;"),
        ("&amp;#10;", "&#10;"),  # once, not twice
        ("plain", "plain"),
    ],
)
def test_whole_entities_are_resolved_once(passage: str, read: str) -> None:
    question = Question(question="Who &amp; what?", passage=passage, answer="&amp;")
    found = readable(question)
    assert (found.passage, found.question, found.answer) == (read, "Who &amp; what?", "&amp;")
    assert question.passage == passage
    assert question.passage_id == passage_id(passage)


def test_detectors_read_the_same_with_the_entity_as_with_the_line_break() -> None:
    for text, answer in (
        ("Who sold ten books?", "Ben"),
        ("How many did he sell, 10?", "ten"),
        ("Who wrote it?", "Ben"),
    ):
        entity, plain = (
            Question(question=text, passage=passage, answer=answer) for passage in (TWO, TWO.replace("&#10;", "\n"))
        )
        assert run_detectors(entity) == run_detectors(plain)
        assert entity.question_id != plain.question_id


def test_the_encoder_reads_no_number_ten(tiny_backbone: Path) -> None:
    from transformers import AutoTokenizer

    from erreval.diagnosis.encoding import encode

    tokenizer = AutoTokenizer.from_pretrained(tiny_backbone)
    entity, plain = (
        Question(question="Who sold it?", passage=passage, answer="Ben")
        for passage in (TWO, TWO.replace("&#10;", "\n"))
    )
    first, second = encode(tokenizer, [entity, plain], 64)
    assert first == second
    assert "#" not in tokenizer.decode(first.input_ids)
