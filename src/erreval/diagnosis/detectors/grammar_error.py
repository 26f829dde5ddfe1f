"""Grammar Error: the sentence breaks a rule of grammar. A list of rules, each precise rather than far-reaching."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from erreval.diagnosis.detectors.base import Reading, evidence, read_question
from erreval.diagnosis.wording import (
    CONJUNCTIONS,
    DO,
    FINITE_AUXILIARIES,
    MODALS,
    PREPOSITIONS,
    WH_WORDS,
    dictionary,
    word_set,
)
from erreval.records import Evidence, Question
from erreval.taxonomy import ErrorType

Finding = tuple[float, str, tuple[int, int]]
"""Score, message, character span."""

_MAY_DOUBLE = word_set("had that very no so bora walla")
PAST_ONLY = word_set(
    "went took wrote became gave began broke chose drank drove ate fell flew forgot froze grew knew rode rang saw "
    "sang sank shook spoke stole swam threw wore brought bought built caught felt fought found got held kept left "
    "lost made meant met paid said sent slept sold spent stood taught told thought understood won gone taken "
    "written given done been was were had has did does is are born"
)
"""Forms that never follow "did" or a modal as its verb."""
_MAY_BE_NOUN = word_set("left found felt saw won got said lost made given had has did does is are was were been held")
"""Of those, forms that may stand between "did" and its verb as part of the subject or in another clause."""
_ENDS_CLAUSE = PREPOSITIONS | CONJUNCTIONS | word_set("that to have be has whenever once")
_AFTER_WH = word_set("the a an his her its their he she they it this these")
_SINGULAR_PRONOUNS = word_set("he she it this that")
_PLURAL_PRONOUNS = word_set("they we these those")
_BARE_HEADS = word_set(
    "name capital population purpose cause result role reason title meaning author date year location origin "
    "definition number amount length height size nickname occupation"
)
_SINGULAR_S = word_set(
    "series species news physics mathematics politics economics basis status bus census focus process success "
    "access address business class loss mass pass press progress glass congress headquarters means united states "
    "athletics virus campus corpus genius chorus bonus plus gas lens thesis crisis analysis hypothesis diabetes "
    "tennis chess illness witness princess goddess actress weakness darkness kindness boss cross dress grass "
    "guess mess stress this his its whose plus less was has does is us always perhaps across themselves paris "
    "texas kansas illinois"
)
_SILENT_H = ("hour", "honest", "honor", "honour", "heir")
_SOUNDS_LIKE_Y = re.compile(r"(?:eu|ewe|uni(?!n|m)|use|usu|uti|ura|uto|uk|us(?![aeiou]?[a-z]*h)|one|once|ubi|ufo)")


class GrammarErrorDetector:
    """Tries every rule; the strongest finding gives the score, all of them the spans."""

    error = ErrorType.GRAMMAR_ERROR

    def detect(self, question: Question) -> Evidence | None:
        """See ``base.Detector``."""
        reading = read_question(question.question)
        found = [finding for rule in _RULES for finding in rule(reading)]
        if not found:
            return None
        found.sort(key=lambda f: (-f[0], f[2]))
        score = found[0][0] if len(found) == 1 else found[0][0] + 0.05
        messages = list(dict.fromkeys(message for _, message, _ in found))[:3]
        return evidence(self.error, score, " ".join(messages), [span for _, _, span in found])


def _gap(reading: Reading, i: int) -> str:
    return reading.text[reading.words[i].end : reading.words[i + 1].start].strip()


def _span(reading: Reading, i: int, j: int) -> tuple[int, int]:
    return reading.words[i].start, reading.words[j].end


def _doubled_word(reading: Reading) -> Iterator[Finding]:
    lower = reading.lower
    for i in range(len(lower) - 1):
        first, second = reading.words[i], reading.words[i + 1]
        if lower[i] == lower[i + 1] and not _gap(reading, i) and lower[i].isalpha() and lower[i] not in _MAY_DOUBLE:
            name = first.is_capitalised and second.is_capitalised  # Duran Duran
            if not name:
                yield 0.92, f"“{first.text} {second.text}” says the same word twice.", _span(reading, i, i + 1)


def _doubled_phrase(reading: Reading) -> Iterator[Finding]:
    lower = reading.lower
    for size in (4, 3, 2):
        for i in range(len(lower) - 2 * size + 1):
            if lower[i : i + size] == lower[i + size : i + 2 * size] and len(set(lower[i : i + size])) > 1:
                yield (
                    0.85,
                    f"“{' '.join(lower[i : i + size])}” stands there twice.",
                    _span(reading, i, i + 2 * size - 1),
                )
                return


def _two_auxiliaries(reading: Reading) -> Iterator[Finding]:
    lower = reading.lower
    for i in range(len(lower) - 1):
        a, b = lower[i], lower[i + 1]
        clash = (
            (a in DO and b in (FINITE_AUXILIARIES - {"have", "do"}))
            or (a in MODALS and b in (MODALS | DO - {"do"} | {"is", "are", "was", "were", "has", "had"}))
            or (a in {"is", "are", "was", "were"} and b in {"is", "are", "was", "were", "did", "does", "do"})
            or (a in WH_WORDS and b in WH_WORDS)
        )
        name = i > 0 and reading.words[i].is_capitalised  # Will, May, the Who
        if clash and not name and not _gap(reading, i):
            yield 0.78, f"“{a} {b}” do not go together.", _span(reading, i, i + 1)


def _did_went(reading: Reading) -> Iterator[Finding]:
    """A verb in the past after "did" or a modal."""
    lower = reading.lower
    for i, word in enumerate(lower[:-2]):
        if word not in DO | MODALS:
            continue
        for j in range(i + 1, min(i + 6, len(lower))):
            after = lower[j]
            if after in WH_WORDS or after in _ENDS_CLAUSE:
                break
            if _gap(reading, j - 1):
                break
            if after in PAST_ONLY and j > i + 1 and after not in _MAY_BE_NOUN:
                yield 0.8, f"“{after}” after “{word}” should not be in the past.", _span(reading, i, j)
                break
            plain = after in dictionary() and not after.endswith("ed") and not reading.words[j].is_capitalised
            if j > i + 2 and plain and lower[j - 1] not in {"the", "a", "an"}:
                break  # the verb may have come already
            subject = reading.words[j - 1]
            pronoun = lower[j - 1] in {"he", "she", "they", "it", "we"}
            certain = pronoun or (subject.is_capitalised and j - 1 > i and not lower[j - 1].endswith("'s"))
            if j > i + 1 and certain and _is_past(after) and not reading.words[j].is_capitalised:
                yield 0.8, f"“{after}” after “{word}” should not be in the past.", _span(reading, i, j)
                break


def _is_past(word: str) -> bool:
    if word in PAST_ONLY:
        return word not in {"had", "been"}
    return (
        len(word) > 4
        and word.endswith("ed")
        and (word[:-2] in dictionary() or word[:-1] in dictionary())
        and (word not in {"need", "succeed", "exceed", "proceed", "breed", "speed", "bleed", "indeed"})
    )


def _article(reading: Reading) -> Iterator[Finding]:
    for i in range(len(reading.words) - 1):
        article, after = reading.words[i], reading.words[i + 1]
        if _gap(reading, i) or article.text not in {"a", "an"}:
            continue
        vowel = _vowel_sound(after.text)
        if vowel is not None and vowel != (article.text == "an"):
            yield 0.8, f"“{article.text} {after.text}” has the wrong article.", _span(reading, i, i + 1)


def _vowel_sound(word: str) -> bool | None:
    """Whether a word begins with a vowel's sound; None where its letters do not say."""
    lower = word.lower()
    if not word.isascii() or not word[0].isalpha() or len(word) == 1:
        return None
    if any(c.isupper() for c in word[1:]) or "." in word:
        return None  # an abbreviation: spelled out or spoken?
    if lower.startswith(_SILENT_H):
        return True
    if lower.startswith(("h", "u", "eu", "one", "once", "y")):
        if _SOUNDS_LIKE_Y.match(lower):
            return False if not lower.startswith(("unin", "unim")) else None
        return None if lower.startswith(("h", "y")) and word.istitle() else lower[0] == "u"
    return lower[0] in "aeiou"


def _missing_inversion(reading: Reading) -> Iterator[Finding]:
    """The subject before its verb: "What the name is of …", "Why the king was angry?"."""
    lower = reading.lower
    if len(lower) < 3 or lower[0] not in {"what", "when", "where", "why", "how"} or lower[1] not in _AFTER_WH:
        return
    if any(word in WH_WORDS for word in lower[2:]) or "," in reading.text:
        return
    auxiliary = next((w for w in lower[2:] if w in FINITE_AUXILIARIES), None)
    where = _span(reading, 0, 1)
    what = f"After “{lower[0]}” the verb should come before “{lower[1]}”"
    yield (0.85 if auxiliary else 0.75), what + (f" (“{auxiliary}” comes later)." if auxiliary else "."), where


def _missing_auxiliary(reading: Reading) -> Iterator[Finding]:
    lower = reading.lower
    if len(lower) < 3 or lower[0] not in {"when", "where", "why"} or "," in reading.text:
        return
    if not any(w in FINITE_AUXILIARIES for w in lower[1:]):
        yield 0.7, f"There is no auxiliary verb after “{lower[0]}”.", _span(reading, 0, 1)
    elif lower[1] not in FINITE_AUXILIARIES | PREPOSITIONS | _AFTER_WH | WH_WORDS | word_set(
        "exactly else else's would're approximately and not is's"
    ) and not any(w in WH_WORDS for w in lower[2:]):
        yield 0.6, f"After “{lower[0]}” there should be an auxiliary verb, not “{lower[1]}”.", _span(reading, 0, 1)


def _spliced(reading: Reading) -> Iterator[Finding]:
    """A statement with the question stuck on its end (", and who?"), or two questions in one."""
    lower = reading.lower
    if len(lower) < 6 or lower[-1] not in WH_WORDS:
        return
    i = len(lower) - 1
    before = _gap(reading, i - 1)
    glued = lower[i - 1] in {"and", "or", "but"}
    if lower[0] in WH_WORDS and lower[-1] in {"what", "who", "whom"}:
        yield 0.75, f"It asks twice: “{lower[0]}” and “{lower[-1]}”.", _span(reading, i, i)
    elif before == "," or glued:
        yield (
            0.85,
            f"The question word “{lower[-1]}” is only stuck on the end of a statement.",
            _span(reading, i - 1, i),
        )
    elif lower[0] not in WH_WORDS | FINITE_AUXILIARIES | PREPOSITIONS and len(lower) > 12:
        yield 0.55, f"The question word “{lower[-1]}” stands at the end of a statement.", _span(reading, i, i)


def _comma_splices(reading: Reading) -> Iterator[Finding]:
    """Three or more clauses strung together by commas in one long question."""
    if len(reading.words) < 30:
        return
    pieces = re.split(r"[,;]\s", reading.text)
    subjects = sum(
        1
        for piece in pieces
        if re.match(r"(?:it|he|she|they|the \w+|a \w+)\s(?:is|was|are|were|has|had)\b", piece.strip(), re.I)
    )
    if subjects >= 2 or (subjects >= 1 and len(pieces) >= 4):
        yield 0.5, "Whole statements are strung together with commas.", _span(reading, 0, len(reading.words) - 1)


def _agreement(reading: Reading) -> Iterator[Finding]:
    lower = reading.lower
    for i in range(len(lower) - 2):
        a, b, c = lower[i : i + 3]
        if _gap(reading, i) or (i > 0 and lower[i - 1] not in WH_WORDS):
            continue
        pair = f"“{a} {b}” do not agree."
        singular_verb, plural_verb = a in {"does", "is", "was", "has"}, a in {"do", "are", "were", "have"}
        if (singular_verb and b in _PLURAL_PRONOUNS) or (plural_verb and b in _SINGULAR_PRONOUNS - {"that"}):
            yield 0.85, pair, _span(reading, i, i + 1)
        elif a in {"is", "was", "does", "has", "are", "were", "do", "have"} and b in {
            "the",
            "a",
            "an",
            "some",
            "two",
            "three",
        }:
            yield from _agreement_with_noun(reading, i, a, b, c)


def _agreement_with_noun(reading: Reading, i: int, verb: str, determiner: str, noun: str) -> Iterator[Finding]:
    plural_verb = verb in {"are", "were", "do", "have"}
    if determiner in {"two", "three"}:
        if not plural_verb:
            yield 0.7, f"“{verb} {determiner} {noun}” do not agree.", _span(reading, i, i + 2)
        return
    last = i + 3 >= len(reading.words)
    ends = last or reading.lower[i + 3] in {"of", "that", "who", "for", "behind"}
    if reading.words[i + 2].is_capitalised or not ends or noun not in dictionary():
        return
    plural = is_plural(noun)
    if (plural and not plural_verb and verb != "has") or (
        not plural and plural_verb and (determiner in {"a", "an"} or noun in _BARE_HEADS)
    ):
        yield 0.7, f"“{verb} {determiner} {noun}” do not agree.", _span(reading, i, i + 2)


def is_plural(noun: str) -> bool:
    """Whether a lower-case noun looks like a regular plural."""
    if noun in _SINGULAR_S or not noun.endswith("s") or noun.endswith(("ss", "us", "is")) or len(noun) < 4:
        return False
    return noun[:-1] in dictionary() or noun[:-2] in dictionary()


def _bare_head(reading: Reading) -> Iterator[Finding]:
    lower = reading.lower
    for i in range(len(lower) - 2):
        asked = i > 0 and lower[i - 1] in WH_WORDS and lower[i] in {"is", "was"} and not _gap(reading, i)
        if asked and lower[i + 1] in _BARE_HEADS and lower[i + 2] in {"of", "that"}:
            yield 0.75, f"There is no article before “{lower[i + 1]}”.", _span(reading, i, i + 2)


def _stray_marks(reading: Reading) -> Iterator[Finding]:
    for match in re.finditer(r"\?\s*[?.,]|,\s*[,.]|\s,\s*\?|,\?", reading.text):
        yield 0.4, f"The marks “{match.group().strip()}” do not go together.", match.span()


_RULES: tuple[Callable[[Reading], Iterator[Finding]], ...] = (
    _doubled_word,
    _doubled_phrase,
    _two_auxiliaries,
    _did_went,
    _article,
    _missing_inversion,
    _missing_auxiliary,
    _spliced,
    _comma_splices,
    _agreement,
    _bare_head,
    _stray_marks,
)
