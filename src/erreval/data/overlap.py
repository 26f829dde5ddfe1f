"""Contamination: does a passage equal, hold, or lie inside a benchmark passage?

Texts are compared as sequences of words: HTML entities resolved, NFKC, case folded, punctuation and white space
dropped. Two passages are *equal* if these are the same, and one is *contained* in the other if enough of the word
n-grams of the one with fewer are found in the other. n = 13 is the usual length in contamination reports
(Brown et al. 2020, appendix C).
"""

from __future__ import annotations

import hashlib
import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from erreval.records import passage_id

OVERLAP_COLUMNS = ("passage_id", "protected_id", "kind", "share")
NGRAM = 13
SHARE = 0.5
"""Of the n-grams of the shorter passage: above it, that passage counts as contained."""

_WORD = re.compile(r"\w+")
_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no power of it vanishes modulo 2**64


def words_of(text: str) -> list[str]:
    """The words that passages are compared by."""
    return _WORD.findall(unicodedata.normalize("NFKC", html.unescape(text)).casefold())


@dataclass
class _Hasher:
    """Hashes of word n-grams, 64 bits each; the same in every process."""

    n: int
    known: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        with np.errstate(over="ignore"):
            self.powers = np.cumprod(np.full(self.n, _BASE), dtype=np.uint64)

    def __call__(self, words: list[str]) -> NDArray[np.uint64]:
        """The different n-grams of a passage, sorted; none if it has fewer than n words."""
        if len(words) < self.n:
            return np.empty(0, dtype=np.uint64)
        codes = np.fromiter((self._code(word) for word in words), dtype=np.uint64, count=len(words))
        windows = np.lib.stride_tricks.sliding_window_view(codes, self.n)
        with np.errstate(over="ignore"):
            return np.unique((windows * self.powers).sum(axis=1, dtype=np.uint64))

    def _code(self, word: str) -> int:
        code = self.known.get(word)
        if code is None:
            code = int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
            self.known[word] = code
        return code


def find_overlaps(
    candidates: Iterable[str], protected: Iterable[str], *, n: int = NGRAM, share: float = SHARE
) -> pd.DataFrame:
    """Find the candidates that overlap with protected passages.

    Passages of fewer than ``n`` words are only compared as a whole.

    Args:
        candidates: Passages that someone wants to train on or show as examples.
        protected: Passages of benchmarks.
        n: Length of the word n-grams.
        share: How much of the shorter passage's n-grams must be found for "contained", above 0 and up to 1.

    Returns:
        ``OVERLAP_COLUMNS``, one row for each pair that overlaps, candidates in their order; ``kind`` is "equal" or
        "contained".
    """
    hasher = _Hasher(n)
    guarded = [(passage_id(text), words_of(text)) for text in dict.fromkeys(protected)]
    whole: dict[tuple[str, ...], list[str]] = {}
    for identity, words in guarded:
        whole.setdefault(tuple(words), []).append(identity)
    grams = [hasher(words) for _, words in guarded]
    sizes = np.array([len(one) for one in grams], dtype=np.int64)
    index = np.concatenate(grams) if grams else np.empty(0, dtype=np.uint64)
    owners = np.repeat(np.arange(len(grams)), sizes)
    order = np.argsort(index, kind="stable")
    index, owners = index[order], owners[order]
    rows: list[tuple[str, str, str, float]] = []
    for text in dict.fromkeys(candidates):
        words = words_of(text)
        own = hasher(words)
        equal = whole.get(tuple(words), []) if words else []
        found = [(identity, "equal", 1.0) for identity in equal]
        for owner, hits in _hits(own, index, owners):
            part = hits / min(len(own), int(sizes[owner]))
            if part >= share and guarded[owner][0] not in equal:
                found.append((guarded[owner][0], "contained", round(part, 4)))
        rows += [(passage_id(text), *one) for one in sorted(found, key=lambda one: (-one[2], one[0]))]
    return pd.DataFrame(rows, columns=list(OVERLAP_COLUMNS))


def _hits(own: NDArray[np.uint64], index: NDArray[np.uint64], owners: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """How many of a passage's n-grams each protected passage has, where it has any."""
    if not len(own) or not len(index):
        return
    low = np.searchsorted(index, own, "left")
    there = np.flatnonzero(index[np.minimum(low, len(index) - 1)] == own)
    if len(there):
        high = np.searchsorted(index, own[there], "right")
        places = [owners[a:b] for a, b in zip(low[there], high, strict=True)]
        which, counts = np.unique(np.concatenate(places), return_counts=True)
        yield from zip(which.tolist(), counts.tolist(), strict=True)


def without_overlaps(
    frame: pd.DataFrame, protected: Iterable[str], *, n: int = NGRAM, share: float = SHARE
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Drop the rows whose passage overlaps with a protected one.

    Args:
        frame: Has the columns ``passage_id`` and ``passage``.
        protected: Passages of benchmarks.
        n: See ``find_overlaps``.
        share: See ``find_overlaps``.

    Returns:
        The rows that are left, and the overlaps found, to be reported.
    """
    overlaps = find_overlaps(frame["passage"], protected, n=n, share=share)
    kept = frame[~frame["passage_id"].isin(set(overlaps["passage_id"]))]
    return kept.reset_index(drop=True), overlaps
