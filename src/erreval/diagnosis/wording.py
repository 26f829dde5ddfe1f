"""Words, sentences and spelling of cases: what detectors and error injection both need to know about a text.

Everything here is plain English heuristics on regular expressions, so that a question is read in well under a
millisecond and nothing has to be downloaded.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from wordfreq import zipf_frequency


def word_set(text: str) -> frozenset[str]:
    """The words of a text, separated by white space, as a set."""
    return frozenset(text.split())


WH_WORDS = word_set("who whom whose what which when where why how")
"""Words that open a question; four of them also open relative clauses."""

BE = word_set("is are was were am be been being")
DO = word_set("do does did")
MODALS = word_set("can could will would shall should may might must")
HAVE = word_set("has have had")
NEGATED = word_set(
    "isn't aren't wasn't weren't don't doesn't didn't can't couldn't won't wouldn't shouldn't hasn't haven't hadn't"
)
FINITE_AUXILIARIES = (BE - {"be", "been", "being"}) | DO | MODALS | HAVE | NEGATED
"""Verbs that stand before the subject in a question."""

ARTICLES = frozenset({"a", "an", "the"})
POSSESSIVES = word_set("my your his her its our their whose")
DEMONSTRATIVES = word_set("this that these those")
DETERMINERS = ARTICLES | POSSESSIVES | DEMONSTRATIVES | word_set("every each some any no another")
PRONOUNS = word_set(
    "i you he she it we they me him us them his her hers its our ours their theirs himself herself itself "
    "themselves this that these those one"
)
PREPOSITIONS = word_set(
    "of in on at by for with from to into onto about against between among during before after above below under "
    "over through without within along across behind beyond near since until upon toward towards despite except "
    "besides per via as than like off out up down around"
)
CONJUNCTIONS = word_set("and or but nor because although though while if unless whereas so")
FUNCTION_WORDS = (
    WH_WORDS
    | BE
    | DO
    | MODALS
    | HAVE
    | NEGATED
    | DETERMINERS
    | PRONOUNS
    | PREPOSITIONS
    | CONJUNCTIONS
    | word_set(
        "not there here then also very too just only more most much many such own same other both all few did not "
        "yes no it's that's what's who's"
    )
)
"""Words that carry grammar rather than content."""

_COUNTING = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
NUMBER_WORDS = {word: value for value, word in enumerate(_COUNTING.split())}
NUMBER_WORDS |= {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}

_TOKEN = re.compile(
    r"\d+(?:[.,]\d+)*(?:%|(?:st|nd|rd|th|s)\b)?"  # numbers, with their endings
    r"|(?:[^\W\d_]\.){2,}"  # U.S., e.g.
    r"|[^\W_]+(?:['’\-][^\W_]+)*"  # words, with apostrophes and hyphens inside
    r"|[^\w\s]|_"
)
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[^\Wa-z_])|\n{2,}")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|vs|etc|No|Mt|Gen|Col|Lt|Sgt|Capt|Rev|Hon|Inc|Ltd|Co|Corp|ca|cf|al|fig|approx)"
    r"|\b[A-Z])\.[\"'”’)\]]*\s+$"
)


class Token(NamedTuple):
    """A word, a number or a punctuation mark, with its character span in the text."""

    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        """The token in lower case, with the plain apostrophe."""
        return self.text.lower().replace("’", "'")

    @property
    def is_word(self) -> bool:
        """Whether it is a word or a number, and not a punctuation mark."""
        return self.text[0].isalnum()

    @property
    def is_capitalised(self) -> bool:
        """Whether it starts with a capital letter."""
        return self.text[0].isupper()


def tokens(text: str) -> tuple[Token, ...]:
    """Split a text into words, numbers and punctuation marks."""
    return tuple(Token(m.group(), m.start(), m.end()) for m in _TOKEN.finditer(text))


def words(text: str) -> tuple[Token, ...]:
    """The words and numbers of a text, without punctuation."""
    return tuple(t for t in tokens(text) if t.is_word)


def sentences(text: str) -> tuple[tuple[int, int], ...]:
    """Character spans of the sentences of a text, white space trimmed.

    A full stop after an initial or a common abbreviation does not end a sentence; an empty line does.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if _ABBREVIATION.search(text, max(start, match.end() - 24), match.end()):
            continue
        spans.append((start, match.end()))
        start = match.end()
    spans.append((start, len(text)))
    return tuple(trimmed for span in spans if (trimmed := _trim(text, *span)) is not None)


def _trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    piece = text[start:end]
    if not piece.strip():
        return None
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """A crude common form for the inflections of a word: ``Companies`` and ``company``, ``used`` and ``using``.

    Not a word of English: only for comparing one text with another.
    """
    w = word.lower().replace("’", "'")
    w = w.removesuffix("'s").removesuffix("'")
    if not w.isalpha() or len(w) <= 3:
        return w
    w = _IRREGULAR.get(w, w)
    for ending, rest in _ENDINGS:
        if w.endswith(ending) and len(w) - len(ending) >= 3:
            w = w[: len(w) - len(ending)] + rest
            break
    w = w.removesuffix("e") if len(w) > 4 else w
    if len(w) > 3 and w[-1] == w[-2] and w[-1] in "bdgmnprt":
        w = w[:-1]
    return w[:-1] + "i" if len(w) > 3 and w[-1] == "y" else w


_ENDING_RULES = (
    "ments:ment ations:at ation:at nesses: iness:y ness: ingly: ings: ing: ities:iti ies:y ied:y sses:ss ously:ous ly: "
    "ers: er: ors: or: ions: ion: est: ed: us:us ss:ss es: s:"
)
_ENDINGS = tuple((ending, rest) for ending, _, rest in (rule.partition(":") for rule in _ENDING_RULES.split()))
_IRREGULAR_FORMS = (
    "begin: began begun; bring: brought; build: built; buy: bought; come: came; use: used using; die: death dead "
    "died dying; find: found; give: gave given; go: went gone goes going; grow: grew grown; hold: held; keep: "
    "kept; know: knew known; lead: led leader; leave: left; lose: lost loss; make: made maker; meet: met; say: "
    "said; see: saw seen; sell: sold; send: sent; speak: spoke spoken; take: took taken; tell: told; think: "
    "thought; win: won winner; write: wrote written writer; fall: fell fallen; fight: fought; become: became; "
    "choose: chose chosen choice; draw: drew drawn; drive: drove driven; eat: ate eaten; fly: flew flown; hear: "
    "heard; man: men; woman: women; child: children; person: people; wife: wives; life: lives; born: birth; sing: "
    "sang sung singer; marry: marriage; bear: bore; steal: stole stolen; run: ran; teach: taught; catch: caught"
)
_IRREGULAR = {
    form: base
    for base, _, forms in (entry.partition(": ") for entry in _IRREGULAR_FORMS.split("; "))
    for form in forms.split()
}


_IN_USE = 3.2
"""Zipf frequency from which a word counts as a word, whatever the list says ("onboard")."""


@lru_cache(maxsize=1)
def dictionary() -> frozenset[str]:
    """Words of English, British and American, in lower case (pyspellchecker's list, 160,000)."""
    from spellchecker import SpellChecker  # reads its word list (0.2 s), hence only when first needed

    return frozenset(SpellChecker(language="en").word_frequency.words())


_INFLECTIONS = (("ies", ("y",)), ("es", ("", "e")), ("s", ("",)), ("ed", ("", "e")), ("ing", ("", "e")))


@lru_cache(maxsize=50_000)
def is_known(word: str) -> bool:
    """Whether a lower-case word without apostrophes is a word of English, inflected or not."""
    if word in dictionary() or zipf_frequency(word, "en") >= _IN_USE:
        return True
    # A dictionary misses rare plurals and pasts; it rarely misses their stems.
    for ending, rests in _INFLECTIONS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            base = word[: len(word) - len(ending)]
            if any(base + rest in dictionary() and zipf_frequency(base + rest, "en") > 1.5 for rest in rests):
                return True
    return False


def is_content(word: str) -> bool:
    """Whether a word carries content rather than grammar."""
    lower = word.lower().replace("’", "'")
    return lower not in FUNCTION_WORDS and (len(lower) > 1 or lower.isdigit())


def content_stems(text: str) -> tuple[str, ...]:
    """Stems of the content words of a text, in order, repeated ones once. Hyphenated words also give their parts."""
    found: dict[str, None] = {}
    for token in words(text):
        if is_content(token.text):
            found.setdefault(stem(token.text))
    return tuple(found)


def stem_set(tokens_: Iterable[Token]) -> frozenset[str]:
    """Stems of all words, with the parts of hyphenated ones and the words they make when joined."""
    found = set()
    for token in tokens_:
        found.add(stem(token.text))
        if "-" in token.text:
            found.update(stem(part) for part in token.text.split("-"))
            found.add(stem(token.text.replace("-", "")))
    return frozenset(found)


class Name(NamedTuple):
    """A run of capitalised words, such as a person, a place or a work, with its character span."""

    text: str
    start: int
    end: int


_AFTER_MARK = re.compile(r"(?:^|[\s(\[—–-])[\"'“‘`]+|[:?!;.]\s*[\"'“‘]?|[—–]")
_LINKS = word_set("of de la von van der den del di da du al bin le")


def names(text: str) -> tuple[Name, ...]:
    """Runs of capitalised words, joined by small words such as "of" ("Duchy of Normandy").

    A single word at the beginning of a sentence, of a quotation or after a colon only counts where it is no word of
    English otherwise.
    """
    starts = {start for start, _ in sentences(text)} | {m.end() for m in _AFTER_MARK.finditer(text)}
    found: list[Name] = []
    run: list[Token] = []
    gap: list[Token] = []

    def close() -> None:
        if run and not (len(run) == 1 and run[0].start in starts and is_known(run[0].lower.removesuffix("'s"))):
            found.append(Name(text[run[0].start : run[-1].end], run[0].start, run[-1].end))
        run.clear()
        gap.clear()

    for token in tokens(text):
        opens = token.start in starts and (token.lower in FUNCTION_WORDS or token.lower in _OPENERS)
        if token.is_word and token.is_capitalised and not opens and token.lower not in _NEVER_NAMES:
            if gap and not _adjoins(text, run, gap, token):
                close()
            run.extend([*gap, token])
            gap.clear()
        elif (run and token.lower in _LINKS and not gap) or (
            gap and gap[-1].lower == "of" and token.lower == "the" and len(gap) == 1
        ):
            gap.append(token)
        else:
            close()
    close()
    return tuple(_without_possessive(name) for name in found)


_NEVER_NAMES = frozenset({"i", "i'm", "i'll", "i've"})
_OPENERS = word_set(
    "name list describe explain according along given aside besides since however additionally there their "
    "approximately identify tell"
)


def _adjoins(text: str, run: Sequence[Token], gap: Sequence[Token], token: Token) -> bool:
    return not text[gap[-1].end : token.start].strip() and bool(run)


def _without_possessive(name: Name) -> Name:
    for ending in ("'s", "’s"):
        if name.text.endswith(ending):
            return Name(name.text[: -len(ending)], name.start, name.end - len(ending))
    return name


_PTB = (
    (re.compile(r"``\s*|\s*''"), '"'),
    (re.compile(r"-LRB-\s*|\(\s+"), "("),
    (re.compile(r"\s*-RRB-|\s+\)"), ")"),
    (re.compile(r"\s+([,;:?!%…])"), r"\1"),
    (re.compile(r"\s+\.(?=\s|$|[\"”'])"), "."),
    (re.compile(r"\s+('(?:s|re|ve|ll|d|m)|n't)\b"), r"\1"),
    (re.compile(r"(?<=s) '(?=\s)"), "'"),
    (re.compile(r"(?<=\w) - (?=\w)"), "-"),
    (re.compile(r"\s+--\s+"), "–"),
    (re.compile(r"([$£€#])\s+(?=\d)"), r"\1"),
    (re.compile(r"[ \t]{2,}"), " "),
)


def detokenise(text: str) -> str:
    """Undo Penn-Treebank spacing: ``Rome , Italy 's `` becomes ``Rome, Italy's``, `` `` '' `` become quotes."""
    quoted = re.sub(r"``\s*(.*?)\s*''", r'"\1"', text, flags=re.DOTALL)
    for pattern, replacement in _PTB:
        quoted = pattern.sub(replacement, quoted)
    return quoted.strip()


def cased_and_ended(question: str, passage: str) -> str:
    """Give a lower-case question its capitals and its question mark.

    Capitals go to the first letter, to "I", and to the words that the passage writes with a capital in the middle
    of a sentence at least as often as without one; small words stay small. A full name in the passage lends its
    capitals to the function words inside it ("Lord of the Rings" keeps its small "of").

    Args:
        question: A question in any case; words that already have capitals keep them.
        passage: The text to learn capitals from.
    """
    forms = _passage_forms(passage)
    pieces: list[str] = []
    last = 0
    for token in words(question):
        cased = token.text
        if token.text.islower():
            base, apostrophe, rest = token.text.partition("'")
            if base == "i" and not token.lower.startswith("i."):
                cased = "I" + apostrophe + rest
            elif base not in FUNCTION_WORDS and base in forms:
                cased = forms[base] + apostrophe + rest
        pieces += [question[last : token.start], cased]
        last = token.end
    text = ("".join(pieces) + question[last:]).strip()
    if not text:
        return text
    text = text[0].upper() + text[1:]
    return text if text[-1] in "?!" else text.rstrip(" .,;:") + "?"


@lru_cache(maxsize=64)
def _passage_forms(passage: str) -> dict[str, str]:
    """By lower-case word, the spelling with capitals it mostly has inside the passage's sentences."""
    starts = {start for start, _ in sentences(passage)}
    counts: dict[str, Counter[str]] = {}
    for token in words(passage):
        if token.start in starts or not token.text[0].isalpha():
            continue
        base = re.split(r"['’]", token.text)[0]
        counts.setdefault(base.lower(), Counter())[base] += 1
    best = {low: max(c.items(), key=lambda kv: (kv[1], kv[0].islower(), kv[0]))[0] for low, c in counts.items()}
    return {low: form for low, form in best.items() if form != low and len(form) > 1}
