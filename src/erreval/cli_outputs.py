"""What commands write: never over what they read, nor twice to one file, found out before any work; and the words."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

from erreval.errors import ErrevalError


def check_outputs(
    inputs: Iterable[Path | None], tables: Iterable[Path | None], others: Iterable[Path | None] = ()
) -> None:
    """Make sure that a command can write what it was asked to, and that nothing it needs is lost by that.

    Args:
        inputs: What is read; None for what was not given, here and below.
        tables: Tables to write; the ending must be one that is understood.
        others: Other files to write, such as pages.

    Raises:
        ErrevalError: An output is an input, or two outputs are one file, directly or by way of a link.
        TableError: An output cannot be written; see ``check_writable``.
    """
    from erreval.data.files import replaceable
    from erreval.data.tables import check_writable

    read = [path for path in inputs if path is not None]
    to_tables = [path for path in tables if path is not None]
    to_others = [path for path in others if path is not None]
    for output in (*to_tables, *to_others):
        if any(_same(output, path) for path in read):
            raise ErrevalError(f"{output}: is the input itself; name another file to write")
    for one, other in combinations((*to_tables, *to_others), 2):
        if _same(one, other):
            raise ErrevalError(f"{other}: two outputs would be this one file; name another for one of them")
    for path in to_tables:
        check_writable(path)
    for path in to_others:
        replaceable(path)


def _same(one: Path, other: Path) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):  # also where neither is there yet, or a link leads nowhere
        return True
    return one.exists() and other.exists() and one.samefile(other)


def with_interval(value: float, low: float | None, high: float | None) -> str:
    """A value with its interval, where that is known."""
    return f"{value:.3f} [unknown]" if low is None or high is None else f"{value:.3f} [{low:.3f}, {high:.3f}]"


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 row", "2 rows"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
