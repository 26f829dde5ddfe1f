"""The parts of a question and of the passage's sentence that answers it."""

from __future__ import annotations

import re
from typing import NamedTuple

from wordfreq import zipf_frequency

from erreval.diagnosis.detectors.base import Reading
from erreval.diagnosis.injection.examples import GoodExample, Neighbours
from erreval.diagnosis.wording import (
    DETERMINERS,
    FUNCTION_WORDS,
    PREPOSITIONS,
    Name,
    Token,
    is_content,
    is_known,
    names,
    stem,
    words,
)


class Opening(NamedTuple):
    """How a question begins: "What | is | the nickname of …"."""

    wh: str
    verb: str
    rest: str
    """What follows the verb, without the final mark."""


_OPENING = re.compile(
    r"^(What|Who|Where|When|Why|How)\s+(is|was|are|were|did|does|do|can|could|will|would|has|have|had)\s+(.+)$",
    re.DOTALL,
)


def body(question: str) -> str:
    """The question without its final mark."""
    return question.strip().rstrip("?.! ").rstrip()


def opening(question: str) -> Opening | None:
    """The question word and the verb that a question begins with, if it is of that form."""
    match = _OPENING.match(body(question))
    return Opening(*match.groups()) if match else None


def lower_first(text: str) -> str:
    """The text with a small first letter, unless its first word is a name or an abbreviation."""
    first, _, rest = text.partition(" ")
    lower = first.lower().strip(",.")
    common = zipf_frequency(lower, "en") > 4.2 and is_known(lower) and first.istitle() and not rest[:1].isupper()
    plain = lower in FUNCTION_WORDS or common
    return (
        text[0].lower() + text[1:] if (plain and lower not in {"i", "i'm"} and len(first) > 1) or first == "A" else text
    )


def upper_first(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def answer_sentence(example: GoodExample, neighbours: Neighbours) -> str | None:
    """The passage's sentence that holds the answer; where several do, the one most like the question."""
    reading = neighbours.reading(example.passage)
    answer = example.answer.lower().strip(" .")
    asked = {stem(t.text) for t in words(example.question) if is_content(t.text)}
    best: tuple[int, int] | None = None
    text = None
    for i, (start, end) in enumerate(reading.sentence_spans):
        sentence = reading.text[start:end]
        if answer and answer in sentence.lower():
            rank = (len(asked & reading.sentence_stems[i]), -i)
            if best is None or rank > best:
                best, text = rank, sentence
    return " ".join(text.split()) if text is not None else None


def best_sentence(example: GoodExample, neighbours: Neighbours) -> str | None:
    """The answer's sentence, or where the answer is not verbatim in the passage the sentence most like the question."""
    found = answer_sentence(example, neighbours)
    if found is not None:
        return found
    reading = neighbours.reading(example.passage)
    if not reading.sentence_spans:
        return None
    asked = {stem(t.text) for t in words(f"{example.question} {example.answer}") if is_content(t.text)}
    ranks = [(len(asked & s), -i) for i, s in enumerate(reading.sentence_stems)]
    start, end = reading.sentence_spans[-max(ranks)[1]]
    return " ".join(reading.text[start:end].split())


def names_asked(question: str) -> list[Name]:
    """Names in the question, without one that only is its capitalised first word."""
    found = [n for n in names(question) if n.start > 0 or " " in n.text]
    return [n for n in found if _stands_alone(question, n)]


def _stands_alone(question: str, name: Name) -> bool:
    """Whether a name can be exchanged: not part of a compound, and not in front of a noun ("a Turing machine")."""
    before, after = question[: name.start], question[name.end :]
    if before[-1:] not in {"", " ", '"', "“", "("} or after[:1] not in {
        "",
        " ",
        "?",
        ",",
        "'",
        "’",
        '"',
        "”",
        ")",
        ".",
        ";",
    }:
        return False
    follows = re.match(r" ([a-z]+)", after)
    last = re.search(r"(\w+) $", before)
    attributive = last is not None and last.group(1).lower() in DETERMINERS | PREPOSITIONS
    return not (attributive and follows is not None and is_content(follows.group(1)))


def splice(text: str, start: int, end: int, replacement: str) -> str:
    """The text with a span replaced, double blanks mended."""
    joined = text[:start] + replacement + text[end:]
    return re.sub(r"\s+([,?.!])", r"\1", re.sub(r"[ \t]{2,}", " ", joined)).strip()


def content_tokens(question: str) -> list[Token]:
    """The content words of a question with their places, its first word left out."""
    reading = Reading(question)
    return [t for t in reading.content if t.start > 0]


def question_word_for(question: str) -> str:
    """The word "who" where the question asks for a person, else "what"."""
    return "who" if re.match(r"(?i)\W*(?:by |to |with )?who", question) else "what"
