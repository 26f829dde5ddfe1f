"""Off Target Answer: a good question with an answer that belongs to another one."""

from __future__ import annotations

import re
from dataclasses import replace

from numpy.random import Generator

from erreval.diagnosis.detectors.base import Reading, read_question
from erreval.diagnosis.detectors.off_target_answer import asked_kind
from erreval.diagnosis.injection.anatomy import answer_sentence
from erreval.diagnosis.injection.examples import GoodExample, Neighbours, choose, shuffled
from erreval.diagnosis.wording import is_content, stem, words

_NOUN_PHRASE = re.compile(
    r"\b(?:the|a|an|his|her|its|their) [a-z]+(?: [a-z]+)?\b(?=[,.;]| (?:of|in|to|and|for|with|by)\b)"
)


def off_target(example: GoodExample, neighbours: Neighbours, rng: Generator) -> GoodExample | None:
    """Give the answer of another question on the passage, or another span of the answer's sentence."""
    routes = [_sibling_answer, _sibling_answer, _other_span]
    for route in shuffled(rng, routes):
        answer = route(example, neighbours, rng)
        if answer is not None:
            return replace(example, answer=answer)
    return None


def _same(a: str, b: str) -> bool:
    """Whether one answer might do for the other: they share a content word, or one contains the other."""
    one, other = a.lower().strip(" ."), b.lower().strip(" .")
    shared = {stem(t.text) for t in words(a) if is_content(t.text)} & {
        stem(t.text) for t in words(b) if is_content(t.text)
    }
    return bool(shared) or one in other or other in one


def _sibling_answer(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """The answer of a sibling: of one that asks for the same kind of thing three times in four, where there is one."""
    fits = [s for s in neighbours.siblings(example) if s.answer.strip() and not _same(s.answer, example.answer)]
    if not fits:
        return None
    kind = asked_kind(read_question(example.question))
    hard = [s for s in fits if asked_kind(read_question(s.question)) is kind]
    return choose(rng, hard if hard and rng.random() < 0.75 else fits).answer


def _other_span(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """A name, a number or a telling word of the answer's sentence that is not the answer."""
    sentence = answer_sentence(example, neighbours)
    if sentence is None:
        return None
    reading = Reading(sentence)
    spans = [n.text for n in reading.names if n.start > 0 or " " in n.text]
    spans += [t.text for t in reading.words if t.text[0].isdigit()]
    spans += [
        m.group() for m in _NOUN_PHRASE.finditer(sentence) if all(is_content(t.text) for t in words(m.group())[1:])
    ]
    fits = [s for s in dict.fromkeys(spans) if not _same(s, example.answer)]
    return choose(rng, fits) if fits else None


def other_answers(example: GoodExample, neighbours: Neighbours, rng: Generator) -> list[str]:
    """Up to three different answers that the passage offers and that do not answer the question, sorted."""
    drawn = [route(example, neighbours, rng) for route in (_sibling_answer, _other_span, _other_span)]
    return sorted({answer for answer in drawn if answer is not None and answer.strip()})
