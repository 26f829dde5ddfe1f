"""Errors of content: Off Topic, Factual Error, Information Not Mentioned."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from numpy.random import Generator

from erreval.diagnosis.detectors.base import Reading
from erreval.diagnosis.detectors.factual_error import OPPOSITES, is_year, number_of
from erreval.diagnosis.injection.anatomy import best_sentence, body, names_asked, opening, splice
from erreval.diagnosis.injection.examples import GoodExample, Neighbours, choose, shuffled
from erreval.diagnosis.wording import FINITE_AUXILIARIES, Token, is_content, words

_PLACE = re.compile(r"\b(?:in|at|from|near|to) $")


def off_topic(example: GoodExample, neighbours: Neighbours, rng: Generator) -> GoodExample | None:
    """Ask the question of another document, this passage's answer kept."""
    stranger = next(neighbours.strangers(example, rng), None)
    return replace(example, question=stranger.question) if stranger is not None else None


def degenerate(example: GoodExample, neighbours: Neighbours, rng: Generator) -> GoodExample | None:
    """Off Topic and Not A Question at once: one or a few words from another document ("song")."""
    here = neighbours.reading(example.passage)
    for stranger in neighbours.strangers(example, rng):
        nouns = [t for t in Reading(stranger.question).content if t.start > 0 and not here.has(t.text)]
        pieces = [t.text for t in nouns if t.text.isalpha() and len(t.text) > 3]
        pieces += [n.text for n in names_asked(stranger.question)]
        parts = opening(stranger.question)
        if parts is not None and parts.rest.startswith("the ") and parts.verb in {"is", "was"}:
            rest = [t.lower for t in words(parts.rest)]
            pieces += [] if FINITE_AUXILIARIES & set(rest) else [parts.rest]
        if pieces:
            return replace(example, question=choose(rng, pieces) + choose(rng, ("", "", "?", ".")))
    return None


def factual_error(example: GoodExample, neighbours: Neighbours, rng: Generator) -> GoodExample | None:
    """Make the question say what the passage contradicts: another number, another name, the opposite word."""
    for route in shuffled(rng, [_other_number, _other_number, _other_name, _other_name, _opposite]):
        text = route(example, neighbours, rng)
        if text is not None and text != example.question:
            return replace(example, question=text)
    return None


def _other_number(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    asked = [t for t in words(example.question) if t.text[0].isdigit() and number_of(t) is not None]
    if not asked:
        return None
    token = choose(rng, asked)
    here = [
        t.text
        for t in neighbours.reading(example.passage).words
        if t.text[0].isdigit() and number_of(t) is not None and _alike(t, token)
    ]
    said = {number_of(t) for t in words(f"{example.question} {example.answer}")}
    rivals = sorted({n for n in here if number_of(words(n)[0]) not in said})
    if rivals and rng.random() < 0.6:
        return splice(example.question, token.start, token.end, choose(rng, rivals))
    value = number_of(token)
    match = re.fullmatch(r"(\d[\d,]*)(.*)", token.text)
    if value is None or match is None or value != int(value):
        return None
    step = int(rng.integers(1, 12)) if is_year(token) else max(1, int(value * rng.uniform(0.1, 0.6)))
    if match.group(2) == "s":
        step = 10 * int(rng.integers(1, 4))
    other = int(value) + (step if rng.random() < 0.5 or value <= step else -step)
    if float(other) in said or any(number_of(words(n)[0]) == other for n in here):
        return None
    digits = f"{other:,}" if "," in match.group(1) else str(other)
    ending = _ordinal(other) if match.group(2) in {"st", "nd", "rd", "th"} else match.group(2)
    return splice(example.question, token.start, token.end, digits + ending)


def _alike(a: Token, b: Token) -> bool:
    def ending(t: Token) -> str:
        return re.sub(r"^[\d.,]*", "", t.text)

    return is_year(a) == is_year(b) and ending(a) == ending(b)


def _ordinal(n: int) -> str:
    return "th" if 10 < n % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")


def _other_name(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """A name of the question for another one of the passage, of the same length where there is one."""
    asked = names_asked(example.question)
    if not asked:
        return None
    name = choose(rng, asked)
    taken = {w.lower() for w in f"{example.question} {example.answer}".split()}
    told = {n.text for n in neighbours.reading(example.passage).names}
    place = bool(_PLACE.search(example.question[: name.start]))
    passage = " ".join(example.passage.split())
    told = {n for n in told if _with_the(n, passage) == example.question[: name.start].lower().endswith("the ")}
    rivals = sorted(n for n in told if not {w.lower() for w in n.split()} & _bare(taken) and 2 < len(n) < 40)
    same = [n for n in rivals if len(n.split()) == len(name.text.split())]
    if place:
        same = [n for n in same if re.search(rf"\b(?:in|at|from|near|to) (?:the )?{re.escape(n)}\b", passage)]
    pool = same or ([] if place else rivals)
    if not pool:
        return None
    return splice(example.question, name.start, name.end, choose(rng, pool))


def _with_the(name: str, passage: str) -> bool:
    return f"the {name}" in passage or f"The {name}" in passage


def _bare(said: set[str]) -> set[str]:
    return {re.sub(r"\W+$|['’]s\W*$", "", w) for w in said}


_DEGREES = frozenset({"more", "most", "less", "least", "fewer"})


def _opposite(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """The opposite of a word that question and passage share ("largest", "smallest")."""
    here = neighbours.reading(example.passage)
    pool = [
        t
        for t in words(example.question)
        if t.text.islower() and t.lower in OPPOSITES.keys() - _DEGREES and t.lower in here.vocabulary
    ]
    sentence = best_sentence(example, neighbours)
    told = {t.lower for t in words(sentence)} if sentence else set()
    pool = [t for t in pool if t.lower in told and not set(OPPOSITES[t.lower]) & told]
    if not pool:
        return None
    token = choose(rng, pool)
    return splice(example.question, token.start, token.end, choose(rng, OPPOSITES[token.lower]))


def information_not_mentioned(example: GoodExample, neighbours: Neighbours, rng: Generator) -> GoodExample | None:
    """Let the question rest on a time, a person, a place or a name that the passage does not have."""
    for route in shuffled(rng, [_added_time, _added_person, _added_place, _foreign_name, _foreign_name]):
        text = route(example, neighbours, rng)
        if text is not None and text != example.question:
            return replace(example, question=text)
    return None


def _add(question: str, addition: str) -> str:
    return f"{body(question)} {addition}?"


def _absent(names: Sequence[str], here: Reading) -> list[str]:
    return [n for n in names if not any(here.has(w) for w in n.split() if is_content(w))]


def _added_time(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    asks_time = example.question.lower().startswith(("when", "what year", "in what year", "in which year", "how long"))
    if asks_time or any(is_year(t) for t in words(example.question)):
        return None
    here = neighbours.reading(example.passage)
    years = [int(t.text) for t in here.words if is_year(t) and t.text.isdigit()]
    if years:
        year = choose(rng, years) + int(rng.integers(-40, 40))
        if str(year) in here.vocabulary or not 1000 < year < 2030:
            return None
        return _add(
            example.question, choose(rng, (f"in {year}", f"in the spring of {year}", f"before {year}", f"since {year}"))
        )
    moments = (
        "last winter",
        "in the month of May",
        "during the war",
        "on the seventh day",
        "in the dry season",
        "at midnight",
    )
    fits = [m for m in moments if not any(here.has(t.text) for t in words(m) if is_content(t.text))]
    return _add(example.question, choose(rng, fits)) if fits else None


def _added_person(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    people = _absent(neighbours.people(example.source), neighbours.reading(example.passage))
    if not people:
        return None
    lead = choose(
        rng, ("according to", "with the help of", "together with", "after meeting", "as reported by", "besides")
    )
    return _add(example.question, f"{lead} {choose(rng, people)}")


def _added_place(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    places = _absent(neighbours.places(example.source), neighbours.reading(example.passage))
    if not places or example.question.lower().startswith("where"):
        return None
    lead = choose(rng, ("in", "while in", "after leaving", "on the way to", "near"))
    return _add(example.question, f"{lead} {choose(rng, places)}")


def _foreign_name(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """One of two or more names, or a name beside other telling words, replaced by one from another document."""
    asked = names_asked(example.question)
    telling = [t for t in Reading(example.question).content if not t.is_capitalised]
    if not asked or (len(asked) < 2 and len(telling) < 2):
        return None
    name = choose(rng, asked)
    place = bool(_PLACE.search(example.question[: name.start]))
    bank = neighbours.places(example.source) if place else neighbours.people(example.source)
    pool = _absent(bank, neighbours.reading(example.passage))
    return splice(example.question, name.start, name.end, choose(rng, pool)) if pool else None


_ASPECTS_OF_NAMES = (
    "What is the significance of {name} today?",
    "Why did {name} become so famous?",
    "How much did {name} cost to build?",
    "What did critics say about {name}?",
    "Who was the first to write about {name}?",
    "How old was {name} at the time?",
    "What did {name} do afterwards?",
    "Who was {name}'s closest friend?",
    "What was the name of {name}'s mother?",
    "How has {name} changed over the last decade?",
    "What is the population of {name}?",
    "How many people visit {name} each year?",
    "What inspired {name}?",
    "Where did {name} go to school?",
    "What is {name} most often criticised for?",
)


def asked_beyond(example: GoodExample, neighbours: Neighbours, rng: Generator) -> GoodExample | None:
    """Information Not Mentioned and Off Target Answer at once: a question that this passage cannot answer.

    Either that of a related passage, or one about an aspect that this passage does not speak of; the given answer
    stays, and answers neither. (Two of the three seeds with Information Not Mentioned are labelled so.)
    """
    if rng.random() < 0.6:
        relative = next(neighbours.relatives(example, rng), None)
        if relative is not None:
            return replace(example, question=relative.question)
    here = neighbours.reading(example.passage)
    told = [n.text for n in here.names if n.text.lower() not in example.answer.lower() and 3 < len(n.text) < 40]
    if not told:
        return None
    name = choose(rng, told)
    for template in shuffled(rng, _ASPECTS_OF_NAMES):
        aspect = [t.text for t in words(template.format(name="")) if is_content(t.text)]
        if not any(here.has(word) for word in aspect):
            return replace(example, question=template.format(name=name))
    return None
