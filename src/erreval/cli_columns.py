"""The options that say which column of a user's table is what, shared by every command that reads one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_NAMES = {
    "question": "The generated question.",
    "passage": "The text it was made from.",
    "answer": "The answer it was made for.",
    "source": "The system or data set that it comes from.",
    "reference": "A human question for the same passage and answer.",
}


def column_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command ``--columns``, ``--question-column`` and its kin, and ``--encoding``.

    The command gets ``columns``, a ``ColumnMap``, and ``encoding``. A column named by its own option counts more than
    the same one in the YAML file.
    """

    @functools.wraps(command)
    def with_map(*args: Any, columns: Path | None, **options: Any) -> Any:
        from erreval.data.columns import ColumnMap

        named = {name: options.pop(f"{name}_column") for name in _NAMES}
        chosen = ColumnMap.from_yaml(columns) if columns is not None else ColumnMap()
        chosen = chosen.model_copy(update={name: column for name, column in named.items() if column is not None})
        return command(*args, columns=chosen, **options)

    decorated: Callable[..., Any] = with_map
    options = [
        click.option(
            "--columns",
            type=click.Path(path_type=Path),
            metavar="FILE.yaml",
            help="Which column is what, a line each: 'question: prediction'.",
        ),
        *(click.option(f"--{name}-column", help=f"{told} [default: {name}]") for name, told in _NAMES.items()),
        click.option("--encoding", default="utf-8", show_default=True, help="Of CSV, TSV, JSONL and JSON files."),
    ]
    for option in reversed(options):
        decorated = option(decorated)
    return decorated
