"""The Error Identifier or the Verifier as MLflow serves it: a models-from-code script, so nothing is pickled.

MLflow copies this file beside the model's folder and runs it on loading. Texts stay texts: "123", "None" and "[1, 2]"
are questions and answers like any other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
from mlflow.pyfunc import PythonModel

from erreval.errors import TableError
from erreval.records import Question
from erreval.taxonomy import ALL_TYPES, ErrorType, format_label_set, parse_label_set


def read_questions(frame: pd.DataFrame) -> list[Question]:
    """The questions in a table with the columns ``question`` and, where known, ``answer`` and ``passage``.

    Raises:
        TableError: A column is missing or a question is empty; the message names the row, counted from 0.
    """
    if "question" not in frame.columns:
        raise TableError(f"input: there is no column 'question'; there are: {', '.join(map(str, frame.columns))}")
    found = []
    for at, row in enumerate(frame.to_dict(orient="records")):
        question = _text(row["question"])
        if question is None or not question.strip():
            raise TableError(f"input, row {at}, column question: empty")
        found.append(
            Question(question=question, answer=_text(row.get("answer")), passage=_text(row.get("passage")) or "")
        )
    return found


def read_label_sets(frame: pd.DataFrame) -> list[frozenset[ErrorType]]:
    """The label sets in the column ``labels``, separated by ``;``.

    Raises:
        TableError: The column is missing or a cell is no label set; the message names the row, counted from 0.
    """
    if "labels" not in frame.columns:
        raise TableError(
            "input: there is no column 'labels'; the Verifier judges a label set, 'Vague; Spell Error' say"
        )
    found = []
    for at, cell in enumerate(frame["labels"]):
        try:
            found.append(parse_label_set(_text(cell) or ""))
        except ValueError as error:
            raise TableError(f"input, row {at}, column labels: {error}") from error
    return found


class ServedModel(PythonModel):  # type: ignore[misc]  # mlflow is untyped
    """Serves the one folder among the artifacts; its name there says whether it is an identifier or a verifier."""

    def load_context(self, context: Any) -> None:
        """Load the model's folder: configuration, tokenizer and safetensors."""
        ((self.kind, folder),) = context.artifacts.items()
        if self.kind == "identifier":
            from erreval.diagnosis.loading import load_identifier

            self.model: Any = load_identifier(Path(folder))
        else:
            from erreval.diagnosis.verifier import Verifier

            self.model = Verifier.load(folder)

    def predict(self, context: Any, model_input: pd.DataFrame, params: Any = None) -> pd.DataFrame:
        """Diagnose questions, or judge label sets.

        Args:
            context: MLflow's; not used after loading.
            model_input: A table with the columns question, answer and passage; for the Verifier also labels.
            params: Not used.

        Returns:
            Identifier: one column of probabilities for each of the eleven labels, and ``labels``.
            Verifier: one column ``p_v``, the probability that the label set is right.
        """
        frame = pd.DataFrame(model_input)
        questions = read_questions(frame)
        if self.kind == "verifier":
            p_v = self.model.predict(questions, read_label_sets(frame)) if questions else []
            return pd.DataFrame({"p_v": np.asarray(p_v, dtype="float64")}, index=frame.index)
        p_e = self.model.predict_probabilities(questions) if questions else np.zeros((0, len(ALL_TYPES)))
        table = pd.DataFrame(p_e, columns=[t.value for t in ALL_TYPES], index=frame.index, dtype="float64")
        table["labels"] = [format_label_set(found) for found in self.model.decide(p_e)]
        return table


def _text(value: Any) -> str | None:
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return None
    return str(value)


mlflow.models.set_model(ServedModel())
