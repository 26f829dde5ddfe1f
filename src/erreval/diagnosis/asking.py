"""What a question asks for and what form an answer has: two coarse vocabularies that are learnt to go together."""

from __future__ import annotations

from erreval.diagnosis.detectors.base import Reading
from erreval.diagnosis.detectors.factual_error import is_year, number_of
from erreval.diagnosis.detectors.off_target_answer import QUANTITY, TIME_WORDS
from erreval.diagnosis.wording import (
    ARTICLES,
    DO,
    FINITE_AUXILIARIES,
    FUNCTION_WORDS,
    HAVE,
    MODALS,
    POSSESSIVES,
    PREPOSITIONS,
    WH_WORDS,
    Token,
    word_set,
    words,
)

_HEADS = {
    "time": word_set("year years date day decade century month time period era season age"),
    "count": word_set(
        "percentage percent number amount population proportion fraction size height length distance speed cost price "
        "rate temperature score"
    ),
    "place": word_set(
        "country city state place location region area island county town village river lake continent stadium venue "
        "building province district street neighborhood mountain ocean sea"
    ),
    "person": word_set(
        "person man woman player actor actress singer author writer king queen president leader composer artist "
        "musician director driver politician host member officer scientist people brother sister father mother son "
        "daughter wife husband character emperor pope poet philosopher"
    ),
    "group": word_set(
        "company team university school college band group organization party church club newspaper magazine agency "
        "network league army"
    ),
    "kind": word_set("type kind sort form category genre"),
    "word": word_set("role position profession occupation job title nickname nationality term word phrase"),
    "idea": word_set(
        "reason purpose cause result effect difference impact significance meaning relationship goal advantage "
        "function feature way method"
    ),
}
_WHO, _WHERE = word_set("who whom who's"), word_set("where where's")
_BEFORE_HEAD = ARTICLES | POSSESSIVES | word_set("one some two three main first other most")
_ORGANISATIONS = word_set(
    "company university inc corp school college club band church party association league team group institute union "
    "council committee ministry department court army museum society"
)
_SMALL = word_set("of the in to and a an on between about over from at by de von or")


def is_choice(question: Reading) -> bool:
    """Whether a question offers its answers ("…, A or B?")."""
    lower = question.lower
    return "or" in lower and lower[0] in FINITE_AUXILIARIES | WH_WORDS


def asked_for(question: Reading) -> str:
    """What a question asks for: its question word, finer for "how" and "what", with the kind of the noun asked for.

    Returns:
        One of about thirty names, such as "who", "what noun:place" or "choice"; "nothing" where nothing asks.
    """
    lower = question.lower
    if not lower:
        return "nothing"
    if lower[0] in FINITE_AUXILIARIES:
        return "choice" if "or" in lower else "yes or no"
    place = next((i for i, w in enumerate(lower) if w in WH_WORDS | _WHO | _WHERE | {"what's"}), None)
    if place is None:
        return "nothing"
    word, after = lower[place], lower[place + 1] if place + 1 < len(lower) else ""
    if is_choice(question) and word in {"which", "who", "what", "where", "when"}:
        return "choice"
    if word in _WHO:
        return "who"
    if word in _WHERE:
        return "where"
    if word == "how":
        return {"many": "how many", "much": "how much"}.get(
            after, "how" if after in FINITE_AUXILIARIES | {""} else "how long"
        )
    return word if word in {"whose", "when", "why"} else _what(lower, place, after)


def _what(lower: tuple[str, ...], place: int, after: str) -> str:
    """For "what" and "which"."""
    if after in DO | MODALS | HAVE:
        return "what do"
    if after in FINITE_AUXILIARIES or lower[place] == "what's":
        start = place + (1 if lower[place] == "what's" else 2)
        while start < len(lower) and lower[start] in _BEFORE_HEAD:
            start += 1
        if lower[start : start + 1] in (("name",), ("names",)):
            start += 1
            while start < len(lower) and lower[start] in ARTICLES | {"of", "for"}:
                start += 1
        return "what is" + _kind_of(lower[start] if start < len(lower) else "")
    noun = []
    for word in lower[place + 1 : place + 5]:
        if word in FUNCTION_WORDS:
            break
        noun.append(word)
    return "what noun" + _kind_of(noun[-1] if noun else "")


def _kind_of(noun: str) -> str:
    return next((f":{kind}" for kind, heads in _HEADS.items() if noun in heads or noun.rstrip("s") in heads), "")


def answer_form(answer: str) -> str:
    """The form of an answer: yes or no, a time, a number, a name, a phrase of some length.

    Returns:
        One of about fifteen names; "none" where there is no word.
    """
    given = words(answer)
    if not given:
        return "none"
    lower = [t.lower for t in given]
    if len(lower) == 1 and lower[0] in {"yes", "no", "true", "false"}:
        return "yes or no"
    numeric = [_numeric(t) for t in given]
    timely = [t.lower in TIME_WORDS or is_year(t) for t in given]
    if any(timely) and all(n or m or w in _SMALL for n, m, w in zip(numeric, timely, lower, strict=True)):
        return "time"
    if all(n or w in _SMALL | {"percent"} for n, w in zip(numeric, lower, strict=True)):
        return "number"
    if any(numeric) and len(given) <= 5:
        return "number and unit"
    if given[0].is_capitalised and all(t.is_capitalised or t.lower in _SMALL for t in given):
        return "organisation" if _ORGANISATIONS & set(lower) else f"name of {min(len(given), 3)}"
    if lower[0] in PREPOSITIONS | {"because", "when", "while", "if", "after", "before"}:
        return "clause"
    if lower[0].endswith("ing") or lower[0] == "to":
        return "doing"
    capital = " with capitals" if 2 * sum(t.is_capitalised for t in given) >= len(given) else ""
    return (
        ("word" if len(given) == 1 else "phrase" if len(given) <= 3 else "long phrase") + capital
        if (len(given) <= 7)
        else "sentence"
    )


def _numeric(token: Token) -> bool:
    return number_of(token) is not None or any(c.isdigit() for c in token.text) or token.lower in QUANTITY
