"""Errors of clarity and conciseness: Vague, Unnecessary Copy from Passage."""

from __future__ import annotations

import re
from dataclasses import replace

from numpy.random import Generator

from erreval.diagnosis.detectors.base import Reading
from erreval.diagnosis.detectors.unnecessary_copy import shared_runs
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
from erreval.diagnosis.injection.grammar import statement_without_answer
from erreval.diagnosis.wording import FINITE_AUXILIARIES, PREPOSITIONS, WH_WORDS, Name, is_content, words

LEAST_RUN = 8
"""Words that an injected copy has in a row from the passage, at least."""


def vague(example: GoodExample, neighbours: Neighbours, rng: Generator) -> GoodExample | None:
    """Take away what a reader needs: names become pronouns, the modifiers of the thing asked for are cut off."""
    for route in shuffled(rng, [_pronouns, _pronouns, _generic_head, _others]):
        text = route(example, neighbours, rng)
        if text is not None and text != example.question:
            return replace(example, question=text)
    return None


def _pronouns(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """Every name of the question becomes a pronoun or "the thing", as "When did it take control of it?" would."""
    found = names_asked(example.question)
    if not found:
        return None
    text = example.question
    person = _speaks_of_person(example, found[0], neighbours)
    for n, name in reversed(list(enumerate(found))):
        text = _refer(text, name, person if n == 0 else None, rng)
    specific = [t for t in Reading(text).content if t.start > 0]
    return upper_first(text) if len(specific) <= 5 and len(words(text)) >= 3 else None


def _speaks_of_person(example: GoodExample, name: Name, neighbours: Neighbours) -> str | None:
    """The pronoun that the passage's sentences on a name mostly go on with, of "he" and "she"; None for neither."""
    reading = neighbours.reading(example.passage)
    key = name.text.split()[-1].lower()
    he = she = 0
    for i, (start, end) in enumerate(reading.sentence_spans):
        if key in reading.text[start:end].lower():
            later = reading.sentence_spans[min(i + 1, len(reading.sentence_spans) - 1)][1]
            near = reading.text[start:later].lower()
            he += len(re.findall(r"\b(?:he|his|him)\b", near))
            she += len(re.findall(r"\b(?:she|her)\b", near))
    return None if he == she else "he" if he > she else "she"


def _refer(text: str, name: Name, person: str | None, rng: Generator) -> str:
    """The text with a name replaced by a word that refers to nothing; an article before it goes too."""
    start, end = name.start, name.end
    possessive = text[end : end + 2] in {"'s", "’s"}
    before = text[:start].rstrip()
    last = re.search(r"(\w+)$", before)
    word = last.group(1).lower() if last else ""
    if word in {"the", "a", "an"} and last is not None:
        start = last.start()
        head = re.search(r"(\w+)$", before[: last.start()].rstrip())
        word = head.group(1).lower() if head else ""
    if possessive:
        return splice(
            text, start, end + 2, {"he": "his", "she": "her"}.get(person or "", choose(rng, ("its", "their")))
        )
    object_place = word in PREPOSITIONS or (word not in FINITE_AUXILIARIES | {""} and is_content(word))
    if person is not None:
        return splice(text, start, end, {"he": "him", "she": "her"}[person] if object_place else person)
    return splice(text, start, end, choose(rng, ("it", "it", "them" if object_place else "they", "the thing", "this")))


def _generic_head(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """Cut the question back to its head: "What was the name of the stadium in Warsaw?" to "What was the name?"."""
    text = body(example.question)
    tokens = words(text)
    for i in range(2, min(len(tokens) - 1, 8)):
        kept, cut = tokens[:i], tokens[i:]
        telling = [t for t in cut if is_content(t.text)]
        if tokens[i].lower not in PREPOSITIONS | {"that", "who", "which", "when"} or not is_content(kept[-1].text):
            continue
        named = any(t.is_capitalised for t in kept[1:])
        has_verb = any(t.lower in FINITE_AUXILIARIES for t in kept) or (kept[0].lower == "who" and len(kept) >= 3)
        plain = sum(is_content(t.text) for t in kept[1:]) <= 2
        if not named and plain and has_verb and (len(telling) >= 2 or any(t.is_capitalised for t in telling)):
            return text[: kept[-1].end] + "?"
    return None


def _others(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """As in "What is another one?", "What are two other categories?"; only where the head noun is plain."""
    parts = opening(example.question)
    if parts is None or parts.wh not in {"What", "Who"} or parts.verb not in {"is", "was", "are", "were"}:
        return None
    head = re.match(
        r"(?:the|a|an|one)\s+(?:name of the\s+)?([a-z]+)(?=\s+(?:of|for|in|that|who|to|from)\b|$)", parts.rest
    )
    if head is None or head.end() == len(parts.rest):
        return None
    noun = head.group(1)
    if parts.verb in {"are", "were"} or noun.endswith("s"):
        return f"{parts.wh} {parts.verb} {choose(rng, ('two other', 'the other', 'some other'))} {noun}?"
    return f"{parts.wh} {parts.verb} {choose(rng, ('another', 'the other', 'that'))} {noun}?"


def unnecessary_copy(example: GoodExample, neighbours: Neighbours, rng: Generator) -> GoodExample | None:
    """Carry a long stretch of the passage into the question, without breaking grammar."""
    for route in shuffled(rng, [_subject_asked, _subject_asked, _prefixed, _apposition, _in_place]):
        text = route(example, neighbours, rng)
        if text is not None and copies(text, example, neighbours):
            return replace(example, question=text)
    return None


def copies(text: str, example: GoodExample, neighbours: Neighbours) -> bool:
    """Whether a text has ``LEAST_RUN`` words in a row from the passage, more than the untouched question has."""
    passage = neighbours.reading(example.passage)
    before = max((b - a for a, b in shared_runs(Reading(example.question), passage)), default=0)
    return max((b - a for a, b in shared_runs(Reading(text), passage)), default=0) >= max(LEAST_RUN, before + 2)


def _subject_asked(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """The whole sentence, its first words (the answer) replaced by who or what."""
    sentence = answer_sentence(example, neighbours)
    if sentence is None:
        return None
    answer = example.answer.strip(" .")
    at = sentence.lower().find(answer.lower())
    rest = sentence[at + len(answer) :].rstrip(" .")
    follows = re.match(r"\s+\(?[a-z]", rest)
    if at > 4 or follows is None or not 14 <= len(words(rest)) <= 60:
        return None
    return f"{upper_first(question_word_for(example.question))}{rest}?"


def _prefixed(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """The good question behind a copied sentence that it does not need."""
    sentence = best_sentence(example, neighbours)
    reading = neighbours.reading(example.passage)
    pool = [" ".join(reading.text[a:b].split()) for a, b in reading.sentence_spans]
    if sentence is not None and rng.random() < 0.5:
        pool = [sentence]
    answer = example.answer.lower().strip(" .")
    fits = [
        s
        for s in pool
        if 12 <= len(words(s)) <= 40
        and s[-1] == "."
        and answer not in s.lower()
        and not re.search(r"[\"“”?!]|^'|^(?:But|And|So|Then|Now)\b", s)
    ]
    if not fits:
        return None
    told = lower_first(choose(rng, fits).rstrip("."))
    lead = choose(rng, ("Given that", "Considering that", "Since", "As", "Given the fact that"))
    return f"{lead} {told}, {lower_first(example.question)}"


def _apposition(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """What the passage says of a name, put behind the name: "Did Tesla, who was …, …?"."""
    reading = neighbours.reading(example.passage)
    for name in shuffled(rng, names_asked(example.question)):
        if example.question[name.end : name.end + 1] in {"'", "’"}:
            continue
        for start, end in reading.sentence_spans:
            sentence = " ".join(reading.text[start:end].split())
            match = re.match(
                rf"(?:The )?(?:[A-Z]\S+ )?{re.escape(name.text)} (is|was|are|were|had|has) (.+)\.$", sentence
            )
            if match is None or example.answer.lower().strip(" .") in match.group(2).lower():
                continue
            told = re.split(r", (?:and|but|so|for)\b|[;\"“]", f"{match.group(1)} {match.group(2)}")[0].rstrip(" ,")
            if 8 <= len(words(told)) <= 40:
                wh = "who" if _speaks_of_person(example, name, neighbours) else "which"
                at_end = body(example.question)[name.end :] == ""
                return splice(example.question, name.end, name.end, f", {wh} {told}{'' if at_end else ','}")
    return None


def _in_place(example: GoodExample, neighbours: Neighbours, rng: Generator) -> str | None:
    """A long sentence that ends in the answer, asked in place: "… from its debut in 1999 until which year?"."""
    sentence = answer_sentence(example, neighbours)
    if sentence is None:
        return None
    answer = example.answer.strip(" .")
    at = sentence.lower().rfind(answer.lower())
    before = sentence[:at].rstrip()
    asked = re.search(
        r"\b(?:what|which) ([a-z]+)\b(?= (?:is|was|were|are|did|does|do|has|had))", example.question.lower()
    )
    if at < 0 or sentence[at + len(answer) :].strip(" .)\"'”") or not 14 <= len(words(before)) <= 45:
        return None
    last = words(before)[-1].lower
    if last not in PREPOSITIONS | FINITE_AUXILIARIES or last in WH_WORDS:
        return None
    wh = f"which {asked.group(1)}" if asked else question_word_for(example.question)
    return f"{before} {wh}?"


def spliced_copy(example: GoodExample, neighbours: Neighbours, rng: Generator) -> GoodExample | None:
    """Copy and Grammar Error at once: a long statement with ", and who?" or a second question stuck on."""
    statement = statement_without_answer(example, neighbours)
    wh = question_word_for(example.question)
    texts = []
    if statement is not None and len(words(statement)) > 14:
        texts += [f"{statement}, and {wh}?", f"{statement}, {wh}?"]
    sentence = best_sentence(example, neighbours)
    if sentence is not None and 12 <= len(words(sentence)) <= 45 and example.answer.lower() not in sentence.lower():
        texts.append(f"{sentence.rstrip('.')}, {lower_first(example.question)}")
    if sentence is not None and statement is None and 14 <= len(words(sentence)) <= 45:
        answer = example.answer.strip(" .")
        at = sentence.lower().find(answer.lower())
        if at > 4 and sentence[at + len(answer) :][:1] in {" ", ","}:
            texts.append(f"{sentence[:at]}{wh}{sentence[at + len(answer) :].rstrip('.')}?")
    fits = [t for t in texts if copies(t, example, neighbours)]
    return replace(example, question=choose(rng, fits)) if fits else None


def copied_statement(example: GoodExample, neighbours: Neighbours, rng: Generator) -> GoodExample | None:
    """Copy and Not A Question at once: one or two long sentences of the passage, with or without a question mark."""
    sentence = best_sentence(example, neighbours)
    if sentence is None or len(words(sentence)) < 8:
        return None
    reading = neighbours.reading(example.passage)
    pool = [" ".join(reading.text[a:b].split()) for a, b in reading.sentence_spans]
    at = pool.index(sentence)
    text = sentence.rstrip(" .")
    if len(words(text)) < 20:
        if at + 1 >= len(pool):
            return None
        text = f"{text}{choose(rng, (', ', '. '))}{pool[at + 1].rstrip(' .')}"
    if not 18 <= len(words(text)) <= 80 or any(t.lower in {"what", "why"} for t in words(text)) or "?" in text:
        return None
    return replace(example, question=text + choose(rng, (".", "?", "?")))
