"""Grammar Error: doubled and dropped words, wrong agreement and verb forms, word order, spliced statements."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from numpy.random import Generator
from wordfreq import zipf_frequency

from erreval.diagnosis.injection.anatomy import answer_sentence, body, opening, question_word_for, splice
from erreval.diagnosis.injection.examples import GoodExample, Neighbours, choose, shuffled
from erreval.diagnosis.wording import (
    ARTICLES,
    FINITE_AUXILIARIES,
    PREPOSITIONS,
    WH_WORDS,
    dictionary,
    is_content,
    tokens,
    words,
)

_OTHER_NUMBER = {
    "is": "are", "are": "is", "was": "were", "were": "was", "does": "do", "do": "does", "has": "have", "have": "has",
}  # fmt: skip
_PAST_FORMS = (
    "take:took write:wrote become:became give:gave begin:began break:broke choose:chose go:went come:came see:saw "
    "know:knew grow:grew win:won lose:lost make:made find:found leave:left build:built buy:bought bring:brought "
    "think:thought say:said tell:told meet:met send:sent hold:held keep:kept feel:felt get:got fall:fell have:had "
    "lead:led speak:spoke eat:ate drink:drank drive:drove fly:flew sell:sold teach:taught run:ran fight:fought "
    "catch:caught wear:wore sing:sang steal:stole throw:threw spend:spent stand:stood understand:understood "
    "hear:heard die:died use:used live:lived want:wanted ask:asked play:played call:called start:started end:ended"
)
_PAST = {base: past for base, _, past in (entry.partition(":") for entry in _PAST_FORMS.split())}

Rule = Callable[[GoodExample, Neighbours, Generator], str | None]


def grammar_error(example: GoodExample, neighbours: Neighbours, rng: Generator) -> GoodExample | None:
    """Break a rule of grammar, in one of the ways in which question generators do."""
    for rule in shuffled(rng, RULES):
        text = rule(example, neighbours, rng)
        if text is not None and text != example.question:
            return replace(example, question=text)
    return None


def doubled_word(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """As in "by the the death of vegetation"."""
    candidates = [t for t in words(example.question) if t.start and t.text.isalpha() and t.text.islower()]
    small = [t for t in candidates if not is_content(t.text) and t.lower not in {"that", "had"}]
    pool = small if small and rng.random() < 0.75 else [t for t in candidates if t.lower not in {"that", "had"}]
    if not pool:
        return None
    token = choose(rng, pool)
    return splice(example.question, token.start, token.end, f"{token.text} {token.text}")


def dropped_word(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """An article, an auxiliary or a preposition left out."""
    found = words(example.question)
    pool = []
    for before, token, after in zip(found, found[1:], found[2:], strict=False):
        article = token.lower in ARTICLES and not after.is_capitalised and not after.lower.endswith("s")
        auxiliary = token.lower in FINITE_AUXILIARIES - {"is", "was"} and before.lower in WH_WORDS | {"year", "many"}
        preposition = token.lower in {"of", "by", "to", "for", "with", "from"} and is_content(before.text)
        if article or (auxiliary and before.lower != "who") or (preposition and is_content(after.text)):
            pool.append(token)
    if not pool:
        return None
    token = choose(rng, pool)
    return splice(example.question, token.start, token.end, "")


def wrong_agreement(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """As in "What are the nickname for", "How many tackle did"."""
    found = words(example.question)
    pool = [
        (t, _OTHER_NUMBER[t.lower])
        for previous, t, after in zip(found, found[1:], found[2:], strict=False)
        if t.lower in _OTHER_NUMBER
        and (is_content(previous.text) or previous.lower in WH_WORDS - {"who"})
        and after.lower not in {"you", "been"}
        and not (t.lower in {"have", "do"} and previous.lower not in WH_WORDS)
    ]
    for previous, t in pairwise(found):
        if previous.lower == "many" and t.lower.endswith("s") and t.lower[:-1] in dictionary():
            pool.append((t, t.text[:-1]))
    if not pool:
        return None
    token, other = choose(rng, pool)
    return splice(example.question, token.start, token.end, other)


def wrong_verb_form(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """As in "When did France took control", "to helped"."""
    found = words(example.question)
    did = next(
        (i for i, t in enumerate(found) if t.lower in {"did", "does", "do", "can", "could", "would", "to"}), None
    )
    if did is None:
        return None
    for token in found[did + 1 : did + 9]:
        past = _PAST.get(token.lower) or _regular_past(token.lower)
        if token.text.islower() and past is not None and (token is not found[did + 1] or found[did].lower == "to"):
            return splice(example.question, token.start, token.end, past)
        if found[did].lower == "to":
            return None
    return None


def _regular_past(word: str) -> str | None:
    if not is_content(word) or not word.isalpha() or len(word) < 4 or word.endswith(("s", "ed", "ing", "ly", "ion")):
        return None
    past = word + "d" if word.endswith("e") else word + "ed"
    return past if zipf_frequency(past, "en") > 3.6 and zipf_frequency(word, "en") > 3.6 else None


def wrong_order(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """As in "What the capital of France is?", "When France did take control of Algeria?"."""
    parts = opening(example.question)
    if parts is None or parts.wh == "Who":
        return None
    if parts.verb in {"is", "was", "are", "were"} and parts.rest.lower().startswith(
        ("the ", "a ", "his ", "her ", "its ")
    ):
        return f"{parts.wh} {parts.rest} {parts.verb}?"
    if parts.verb not in {"did", "does", "do", "can", "could", "will", "would"}:
        return None
    subject = re.match(
        r"(?:(?:the|a|an|his|her|their|its)\s+\w+|[A-Z][\w’'.-]*(?:\s+[A-Z][\w’'.-]*)*|he|she|they|it)\s+", parts.rest
    )
    if subject is None or subject.end() >= len(parts.rest):
        return None
    return f"{parts.wh} {parts.rest[: subject.end()].strip()} {parts.verb} {parts.rest[subject.end() :]}?"


def wrong_article(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """As in "a apple", "an company"."""
    pool = [
        (t, after)
        for t, after in pairwise(words(example.question))
        if t.text in {"a", "an"} and after.text.islower() and after.lower[0] not in "uhoy"
    ]
    if not pool:
        return None
    token, _ = choose(rng, pool)
    return splice(example.question, token.start, token.end, "an" if token.text == "a" else "a")


def asked_twice(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """As in "… and who?", "… is what?" after a question that has asked already."""
    text = body(example.question)
    if len(words(text)) < 4:
        return None
    wh = question_word_for(example.question)
    return text + choose(rng, (f", and {wh}?", f" is {wh}?", f" and {wh}?"))


def spliced_statement(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """The answer's sentence without the answer, and ", and who?" stuck on; only short sentences, for Copy is apart."""
    statement = statement_without_answer(example, neighbours)
    if statement is None or not 5 <= len(words(statement)) <= 14:
        return None
    wh = question_word_for(example.question)
    return f"{statement}{choose(rng, (', and', ',', ' and'))} {wh}?"


def statement_without_answer(example: GoodExample, neighbours: Neighbours) -> str | None:
    """The answer's sentence up to the answer, where that is at its end and something is left."""
    sentence = answer_sentence(example, neighbours)
    if sentence is None:
        return None
    answer = example.answer.strip(" .")
    at = sentence.lower().rfind(answer.lower())
    after = sentence[at + len(answer) :].strip(" .)\"'”")
    before = sentence[:at].rstrip(" ,(\"'“")
    found = tokens(before)
    while found and found[-1].lower in PREPOSITIONS | ARTICLES | FINITE_AUXILIARIES | {"and", "as"}:
        found = found[:-1]
    if after or len(found) < 4:
        return None
    return before[: found[-1].end]


RULES: tuple[Rule, ...] = (
    doubled_word,
    dropped_word,
    wrong_agreement,
    wrong_verb_form,
    wrong_order,
    wrong_article,
    asked_twice,
    spliced_statement,
)
