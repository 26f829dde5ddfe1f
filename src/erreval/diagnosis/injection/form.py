"""Errors of form: Incomplete, Not A Question, Spell Error; Grammar Error has a module of its own."""

from __future__ import annotations

import re
from dataclasses import replace

from numpy.random import Generator

from erreval.diagnosis.detectors.base import Reading
from erreval.diagnosis.injection.anatomy import (
    answer_sentence,
    best_sentence,
    body,
    lower_first,
    names_asked,
    opening,
    question_word_for,
    splice,
    upper_first,
)
from erreval.diagnosis.injection.examples import GoodExample, Neighbours, choose, shuffled
from erreval.diagnosis.wording import (
    CONJUNCTIONS,
    DETERMINERS,
    DO,
    FINITE_AUXILIARIES,
    HAVE,
    MODALS,
    PREPOSITIONS,
    WH_WORDS,
    is_known,
    words,
)

_PARTICLES = frozenset({"out", "up", "off", "down", "over", "through", "around", "along", "about", "like", "near"})
_DANGLING = (DETERMINERS | PREPOSITIONS | CONJUNCTIONS | {"that", "which"}) - _PARTICLES - {"this", "those", "these"}
_ADVERBIAL = frozenset({"instead", "later", "ago", "earlier", "together", "according", "today", "now", "originally"})
_SURELY_DANGLING = DETERMINERS | CONJUNCTIONS - {"so"}


def incomplete(example: GoodExample, neighbours: Neighbours, rng: Generator) -> GoodExample | None:
    """Break the question off: after a word that needs another, in the middle of a phrase, or in a copied sentence."""
    routes = [_cut, _cut, _cut, _cut_copy]
    for route in shuffled(rng, routes):
        text = route(example, neighbours, rng)
        if text is not None:
            return replace(example, question=text)
    return None


def _cut(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    text = body(example.question)
    tokens = words(text)
    places = []
    for i in range(2, len(tokens) - 1):
        last, following = tokens[i], tokens[i + 1]
        if text[last.end : following.start] != " ":
            continue
        inside = _inside_phrase(text, i)
        if last.lower in _DANGLING or inside:
            places.append((i, last.lower in _SURELY_DANGLING))
    if not places:
        return None
    i, surely = choose(rng, places)
    kept = text[: tokens[i].end]
    if len(tokens[i + 1].text) > 5 and not tokens[i + 1].text[0].isdigit() and rng.random() < 0.12:
        whole = tokens[i + 1].text
        part = whole[: int(rng.integers(2, len(whole) - 2))]
        if not is_known(part.lower()):
            return f"{kept} {part}"
    return kept + ("?" if surely and rng.random() < 0.5 else "")


def _inside_phrase(text: str, i: int) -> bool:
    """Whether a cut after word i falls within a name, or between two words that both carry content."""
    reading = Reading(text)
    last, following = reading.words[i], reading.words[i + 1]
    content = {t.start for t in reading.content}
    if any(n.start < last.end < n.end and last.end < following.end <= n.end for n in reading.names):
        return True
    if last.lower in FINITE_AUXILIARIES:
        return i <= 2
    if following.lower in _ADVERBIAL:
        return False
    return last.start in content and following.start in content and not last.text[0].isdigit()


def _cut_copy(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """A copied sentence cut off: "What is a 2001 South Korean film about a female gang boss who needs"."""
    sentence = answer_sentence(example, neighbours)
    if sentence is None:
        return None
    at = sentence.lower().find(example.answer.lower().strip(" ."))
    rest = sentence[at + len(example.answer.strip(" .")) :]
    tokens = words(rest)
    if at > 25 or len(tokens) < 12 or not rest.startswith(" "):
        return None
    wh = upper_first(question_word_for(example.question))
    last = int(rng.integers(9, min(len(tokens) - 2, 26)))
    while last > 8 and rest[tokens[last].end : tokens[last + 1].start] != " ":
        last -= 1
    return f"{wh}{rest[: tokens[last].end]}" if last > 8 else None


def not_a_question(example: GoodExample, neighbours: Neighbours, rng: Generator) -> GoodExample | None:
    """Make a statement or a fragment: a copied short sentence, the question answered, a bare noun phrase."""
    for route in shuffled(rng, [_copied_statement, _copied_statement, _answered, _answered, _noun_phrase]):
        text = route(example, neighbours, rng)
        if text is not None:
            return replace(example, question=text)
    return None


def _mark(rng: Generator) -> str:
    return choose(rng, (".", "?", ".", "?", ""))


def _copied_statement(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    reading = neighbours.reading(example.passage)
    short = []
    for start, end in reading.sentence_spans:
        sentence = " ".join(reading.text[start:end].split())
        if 5 <= len(words(sentence)) <= 18 and sentence[0].isupper() and sentence[-1] == ".":
            short.append(sentence)
    told = best_sentence(example, neighbours)
    if told in short and rng.random() < 0.7:
        short = [told]
    return choose(rng, short).rstrip(".") + _mark(rng) if short else None


def _answered(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """The question with its answer put in: "Larry Ellison was the founder of Oracle."."""
    answer = example.answer.strip(" .")
    if not 1 <= len(words(answer)) <= 8:
        return None
    parts = opening(example.question)
    if parts is not None and parts.wh in {"Who", "What"} and parts.verb in {"is", "was", "are", "were"}:
        noun_first = parts.rest.lower().startswith(("the ", "one "))
        if noun_first and words(parts.rest)[-1].lower not in PREPOSITIONS:
            return f"{upper_first(parts.rest)} {parts.verb} {lower_first(answer)}{_mark(rng)}"
    match = re.match(r"^Who\s+(\S+)\s+(.+)$", body(example.question), re.DOTALL)
    if match and match.group(1) not in DO | MODALS | (HAVE - {"had"}):
        return f"{upper_first(answer)} {match.group(1)} {match.group(2)}{_mark(rng)}"
    return None


def _noun_phrase(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    parts = opening(example.question)
    if parts is not None and parts.verb in {"is", "was", "are", "were"} and parts.rest.lower().startswith("the "):
        later = {t.lower for t in words(parts.rest)} & FINITE_AUXILIARIES
        if not later:
            return upper_first(parts.rest) + _mark(rng)
    found = names_asked(example.question)
    return choose(rng, found).text + choose(rng, ("", "?", ".")) if found and rng.random() < 0.3 else None


_KEYS = "q:wa w:qes e:wrd r:etf t:ryg y:tuh u:yij i:uok o:ipl p:ol a:qsz s:adwx d:sfec f:dgrv g:fhtb h:gjyn j:hkum"
_MORE_KEYS = "k:jli l:ko z:asx x:zcd c:xvf v:cbg b:vnh n:bmj m:nk"
_KEYBOARD = {key: near for key, _, near in (entry.partition(":") for entry in f"{_KEYS} {_MORE_KEYS}".split())}
"""By letter, the keys around it."""
_CONFUSIONS = (
    "ie:ei ei:ie ance:ence ence:ance able:ible tion:sion ph:f ally:aly ea:ae our:uor ment:mant ate:ete ary:ery"
)
_CONFUSED = [(right, wrong) for right, _, wrong in (entry.partition(":") for entry in _CONFUSIONS.split())]


def typo(word: str, rng: Generator) -> str | None:
    """A word with one slip: letters swapped, dropped or doubled, a neighbouring key, a common confusion.

    Returns:
        A string that is no word of English, its first letter kept; None where ten tries only gave words.
    """
    for _ in range(10):
        i = int(rng.integers(1, len(word) - 1))
        kind = int(rng.integers(6))
        if kind == 0:
            slip = word[:i] + word[i + 1] + word[i] + word[i + 2 :]
        elif kind == 1:
            slip = word[:i] + word[i + 1 :]
        elif kind == 2:
            slip = word[:i] + word[i] + word[i:]
        elif kind == 3:
            slip = word[:i] + choose(rng, _KEYBOARD.get(word[i].lower(), word[i])) + word[i + 1 :]
        elif kind == 4:
            slip = word[:i] + choose(rng, "aeiou") + word[i + 1 :] if word[i] in "aeiou" else word
        else:
            known = [(a, b) for a, b in _CONFUSED if a in word[1:]]
            slip = word[0] + word[1:].replace(*choose(rng, known), 1) if known else word
        if slip != word and slip.isalpha() and not is_known(slip.lower()):
            return slip
    return None


def spell_error(example: GoodExample, neighbours: Neighbours, rng: Generator) -> GoodExample | None:
    """Misspell one content word, at times two; never into a word that English, the passage or the answer has."""
    here = neighbours.reading(example.passage)
    given = {t.lower for t in words(example.answer)}
    plain, named = [], []
    for token in Reading(example.question).content:
        if token.text.isalpha() and token.text.isascii() and token.start > 0:
            if token.text.islower() and len(token.text) >= 5 and is_known(token.lower):
                plain.append(token)
            elif token.text.istitle() and len(token.text) >= 6:
                named.append(token)
    pool = named if named and (not plain or rng.random() < 0.2) else plain
    if not pool:
        return None
    count = 2 if len(pool) > 1 and rng.random() < 0.2 else 1
    text = example.question
    for token in sorted(shuffled(rng, pool)[:count], key=lambda t: -t.start):
        slip = typo(token.text, rng)
        if slip is None or slip.lower() in here.vocabulary or slip.lower() in given:
            continue
        text = splice(text, token.start, token.end, slip)
    return replace(example, question=text) if text != example.question else None


def starts_with_question_word(question: str) -> bool:
    """Whether the first word of a question asks."""
    tokens = words(question)
    return bool(tokens) and tokens[0].lower in WH_WORDS
