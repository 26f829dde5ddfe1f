"""Which column of a user's table is the question, which the passage, and so on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from erreval.data.files import read_bytes
from erreval.errors import TableError

ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "question": ("prediction", "generated_question"),
        "passage": ("context", "paragraph"),
        "answer": ("target_answer",),
        "source": ("system",),
        "reference": ("reference_question",),
    }
)
"""Other names that are understood where a column has no given name and the usual name is not there."""


ColumnName = Annotated[str, Field(min_length=1)]


class ColumnMap(BaseModel):
    """The names of the columns in a user's table.

    The usual names are the defaults; where one of them is not there, its aliases are tried:
    ``prediction`` or ``generated_question`` for the question, ``context`` or ``paragraph`` for the passage,
    ``target_answer``, ``system``, ``reference_question``. A column that is *named* must be there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: ColumnName = "question"
    passage: ColumnName = "passage"
    answer: ColumnName = "answer"
    source: ColumnName = "source"
    reference: ColumnName = "reference"

    @classmethod
    def from_yaml(cls, path: Path | str) -> ColumnMap:
        """Read a map from a small YAML file, for example ``question: prediction``.

        Raises:
            TableError: The file is not a mapping of these five names to column names.
        """
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError

        path = Path(path)
        if path.is_file() and not path.stat().st_size:
            raise TableError(f"{path}: no mapping; write lines such as 'question: prediction'")
        try:
            document = YAML(typ="safe").load(read_bytes(path).decode("utf-8"))
        except (YAMLError, UnicodeDecodeError) as error:
            first = " ".join(str(error).split())[:200]
            raise TableError(f"{path}: not a YAML file ({first}); write lines such as 'question: prediction'") from None
        if not isinstance(document, dict):
            raise TableError(f"{path}: no mapping; write lines such as 'question: prediction'")
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            wrong = ", ".join(f"{part['loc'][0]}: {part['input']!r}"[:80] for part in error.errors())
            raise TableError(
                f"{path}: cannot use {wrong}; the names are {', '.join(cls.model_fields)}, each with one column name"
            ) from None

    def resolve(self, path: Path, present: Sequence[str]) -> dict[str, str]:
        """Find the columns in a table that has the columns ``present``.

        Returns:
            The column of the table for each field that has one; ``question`` always has.

        Raises:
            TableError: A named column is not there, or there is no question.
        """
        found: dict[str, str] = {}
        for name in type(self).model_fields:
            wanted: str = getattr(self, name)
            usual = wanted == name
            choices = (wanted, *ALIASES[name]) if usual else (wanted,)
            column = next((choice for choice in choices if choice in present), None)
            if column is not None:
                found[name] = column
            elif name == "question" or not usual:
                there = ", ".join(map(repr, present)) or "none"
                raise TableError(
                    f"{path}: no column {wanted!r}; there are: {there}. Name yours with --{name}-column or in a YAML "
                    "file with --columns"
                )
        for column in found.values():
            if len(roles := [name for name, own in found.items() if own == column]) > 1:
                raise TableError(
                    f"{path}: column {column!r} cannot be {' and '.join(roles)} at once; name one column each"
                )
        return found
