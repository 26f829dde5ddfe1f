"""The project's own passages and questions in data/sample: nothing to download."""

from __future__ import annotations

from pathlib import Path

from erreval.data.readers.frames import Pairs, pair_frame, read_columns
from erreval.errors import TableError


def read_sample(folder: Path) -> Pairs:
    """Read passages.jsonl and questions.jsonl.

    Raises:
        TableError: A file is missing or lacks a column, or a question belongs to no passage.
    """
    passages = read_columns(folder / "passages.jsonl", ("passage_id", "passage"))
    questions = read_columns(folder / "questions.jsonl", ("passage_id", "question", "answer", "answer_start"))
    texts = dict(zip(passages["passage_id"], passages["passage"], strict=True))
    rows = []
    for k, row in enumerate(questions.to_dict("records"), start=1):
        if row["passage_id"] not in texts:
            raise TableError(
                f"{folder / 'questions.jsonl'}, line {k}, column 'passage_id': there is no passage "
                f"{row['passage_id']!r} in passages.jsonl; add it or mend the id"
            )
        rows.append(
            {
                "passage": texts[row["passage_id"]],
                "question": row["question"],
                "answer": row["answer"],
                "answer_start": row["answer_start"],
                "source": "sample",
                "register": "encyclopaedic",
            }
        )
    return Pairs("sample", pair_frame(rows))
