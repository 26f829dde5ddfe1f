"""Not A Question: a statement or a fragment that asks nothing."""

from __future__ import annotations

from erreval.diagnosis.detectors.base import Reading, evidence, read_question
from erreval.diagnosis.wording import DETERMINERS, FINITE_AUXILIARIES, PREPOSITIONS, PRONOUNS, WH_WORDS, Token, word_set
from erreval.records import Evidence, Question
from erreval.taxonomy import ErrorType

_REQUESTS = word_set(
    "name list describe explain identify give tell state define discuss mention specify compare find choose select"
)
_ADVERBIAL = PREPOSITIONS | word_set("when while if according along given because aside other prior today once")
"""Words that open something that a question may well follow: "In 1917, who …", "When it rains, which …"."""
_ALWAYS_ASKS = frozenset({"what", "how", "why"})
_PLAIN_WH = ("whats", "who's", "what's", "where's", "when's", "how's", "whos", "wheres")


class NotAQuestionDetector:
    """Looks for a question word that asks, a verb before its subject, or a request; says so where there is none."""

    error = ErrorType.NOT_A_QUESTION

    def detect(self, question: Question) -> Evidence | None:
        """See ``base.Detector``."""
        reading = read_question(question.question)
        if not reading.words:
            return evidence(self.error, 0.9, "There is no word in it.")
        text = reading.text.rstrip(" \"'”’)]")
        marked = text.endswith("?")
        whole = [(reading.words[0].start, reading.words[-1].end)]
        if self._asks(reading):
            if not marked and text.endswith("."):
                return evidence(self.error, 0.3, "It ends with a full stop.", [(len(text) - 1, len(text))])
            return None
        relative = next((t for t in reading.words if t.lower in WH_WORDS), None)
        if relative is not None:
            message = f"It is a statement: “{relative.text}” only opens a clause about the word before it."
            return evidence(self.error, 0.65 if marked else 0.85, message, [(relative.start, relative.end)])
        if len(reading.words) <= 3:
            return evidence(self.error, 0.9, "It is a fragment without question word or verb.", whole)
        message = "There is no question word, no verb before its subject, and no request."
        return evidence(self.error, 0.75 if marked else 0.95, message, whole)

    def _asks(self, reading: Reading) -> bool:
        tokens = reading.words
        lower = reading.lower
        if lower[0] in _REQUESTS and len(lower) > 2:
            return True
        for i, token in enumerate(tokens):
            word = lower[i]
            if word in _PLAIN_WH or (word in WH_WORDS and self._interrogative(reading, i)):
                return True
            if word in FINITE_AUXILIARIES and self._inverted(reading, i, token):
                return True
        return False

    def _interrogative(self, reading: Reading, i: int) -> bool:
        """Whether the question word at place i asks something, rather than opening a relative or a time clause."""
        lower = reading.lower
        word = lower[i]
        first = i == 0 or (i == 1 and lower[0] in PREPOSITIONS) or (i == 1 and lower[0] in {"and", "so", "but"})
        nearly_last = i >= len(lower) - 3
        if word == "what":
            # "what he knows" inside a statement: only where a pronoun and no auxiliary follows.
            follows = lower[i + 1] if i + 1 < len(lower) else ""
            return first or not (follows in PRONOUNS and follows not in {"this", "that"} and not nearly_last)
        if first:
            # "When she came home, the fox was gone." opens with a time clause; a question goes on with an auxiliary.
            if word in {"when", "while", "where"} and i == 0 and len(lower) > 1:
                return (
                    lower[1] in FINITE_AUXILIARIES or lower[1] not in (DETERMINERS | PRONOUNS) or self._marked(reading)
                )
            return True
        if word in _ALWAYS_ASKS:
            return self._marked(reading) or lower[i + 1 : i + 2] in (("many",), ("much",))
        if i + 1 == len(lower):
            return True
        if lower[i + 1] in FINITE_AUXILIARIES and word in {"when", "where", "why", "how"}:
            return True
        before = self._between(reading, i)
        if before.strip(" \"'“”") in {",", ";", ":"}:
            # "In 1917, who was …?" asks after a short opening; ", who was …" adds to a name.
            if word in {"who", "where", "when"}:
                return self._opening_is_adverbial(reading, i)
            return self._opening_is_adverbial(reading, i) or nearly_last
        previous = lower[i - 1]
        if previous in PREPOSITIONS or previous in {"and", "or"}:
            # "of which year", "by whom": asks unless a whole clause with its own subject follows a comma.
            if self._between(reading, i - 1).strip().startswith((",", ";")) and not self._opening_is_adverbial(
                reading, i
            ):
                return nearly_last
            return True
        if word in {"which", "whose", "whom"}:
            follows = lower[i + 1]
            clause = follows in FINITE_AUXILIARIES | DETERMINERS | PRONOUNS
            return self._marked(reading) and (not clause or nearly_last)
        return nearly_last and self._marked(reading)

    def _opening_is_adverbial(self, reading: Reading, i: int) -> bool:
        opening = reading.lower[0]
        return opening in _ADVERBIAL or opening.endswith("ly") or opening.isdigit()

    def _inverted(self, reading: Reading, i: int, token: Token) -> bool:
        """Whether the auxiliary at place i stands where a clause begins, before its subject."""
        if i == 0:
            return len(reading.words) > 2
        between = self._between(reading, i)
        if not between.strip().endswith((",", ";", ":", "?", ".")) or i + 1 >= len(reading.words):
            return False
        follows = reading.words[i + 1]
        return self._marked(reading) and (
            follows.lower in DETERMINERS or follows.lower in PRONOUNS or follows.is_capitalised
        )

    def _between(self, reading: Reading, i: int) -> str:
        return reading.text[reading.words[i - 1].end : reading.words[i].start] if i else ""

    def _marked(self, reading: Reading) -> bool:
        return reading.text.rstrip(" \"'”’)]").endswith("?")
