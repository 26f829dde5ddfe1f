"""The whole life of one question, from a line of a user's table to a score a dimension. Read it as documentation.

row of a table -> Question -> evidence of the detectors -> probabilities of the Error Identifier
    -> label set -> Verifier -> uncertainty and inconsistency -> Diagnosis -> row of a table -> dimension scores
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import erreval
from erreval.data.tables import read_questions, read_table, write_table
from erreval.diagnosis.detectors.registry import labels_from_evidence, run_detectors
from erreval.diagnosis.examples import multi_hot
from erreval.diagnosis.identifier import Identifier, label_sets
from erreval.diagnosis.report import diagnosis_table
from erreval.diagnosis.scores import dimension_scores, one_diagnosis_scores
from erreval.diagnosis.verifier import Verifier
from erreval.refinement.confidence import inconsistency, set_confidence, uncertainty
from erreval.taxonomy import (
    ALL_TYPES,
    DIMENSION_ERRORS,
    NEEDS_ANSWER,
    Dimension,
    ErrorType,
    format_label_set,
    parse_label_set,
    slug,
)

TABLE = """\
no,question,passage,answer,system
1,On which river lies the city of Oslo?,The city of Oslo lies on the river Akerselva.,Akerselva,gpt
2,What about that thing in Oslo that lies?,The city of Oslo lies on the river Akerselva.,Akerselva,gpt
3,On which river lies the city of Oslo?,The city of Oslo lies on the river Akerselva.,,gpt
"""


def test_the_life_of_a_question(tmp_path: Path, tiny_identifier: Path, tiny_verifier: Path) -> None:
    # A user's table is read: text stays text, an empty cell is None, other columns are kept aside.
    (tmp_path / "mine.csv").write_text(TABLE, encoding="utf-8")
    questions, rest = read_questions(tmp_path / "mine.csv")
    sound, vague, unanswered = questions
    assert rest["no"].tolist() == ["1", "2", "3"]
    assert (sound.source, unanswered.answer) == ("gpt", None)

    # Its identity is the hash of passage, answer and question; splits go by the passage alone.
    assert len({q.question_id for q in questions}) == 3
    assert len({q.passage_id for q in questions}) == 1

    # The detectors need no training: each says what it found, how strongly, and where.
    assert labels_from_evidence(run_detectors(sound)) == {ErrorType.NO_ERROR}
    for evidence in run_detectors(vague):
        assert 0 <= evidence.score <= 1
        assert all(0 <= start <= end <= len(vague.question) for start, end in evidence.spans)

    # The Error Identifier gives eleven probabilities; a label set follows: never empty, No Error never with an error.
    identifier = Identifier.load(tiny_identifier)
    probabilities = identifier.predict_probabilities(questions)
    predicted = label_sets(probabilities, identifier.threshold)
    assert predicted[:2] == [{ErrorType.NO_ERROR}, {ErrorType.VAGUE}]
    assert all(parse_label_set(format_label_set(labels)) == labels for labels in predicted)

    # The Verifier says how probable it is that a set is right. From both follow the two numbers of a refinement round.
    p_v = Verifier.load(tiny_verifier).predict(questions, predicted)
    p_e = set_confidence(probabilities, multi_hot(predicted), "mean")
    np.testing.assert_allclose(uncertainty(p_e), 1 - np.abs(p_e - 0.5))
    np.testing.assert_allclose(inconsistency(p_e, p_v), np.abs(p_e - p_v))

    # A diagnosis joins both: the model's probabilities, the detectors' evidence, and what could not be judged.
    found = erreval.diagnose(unanswered.question, unanswered.passage, model=identifier)
    assert found.question_id == unanswered.question_id
    assert found.model == str(tiny_identifier)
    assert set(found.not_judged) == NEEDS_ANSWER
    assert found.probabilities[ErrorType.OFF_TARGET_ANSWER] is None

    # The user's rows and columns come back in order, with the diagnosis beside them.
    rows = diagnosis_table(read_table(tmp_path / "mine.csv"), questions, identifier)
    write_table(rows, tmp_path / "diagnosed.parquet")
    back = read_table(tmp_path / "diagnosed.parquet")
    assert list(back.columns[:5]) == ["no", "question", "passage", "answer", "system"]
    assert back["question_id"].tolist() == [q.question_id for q in questions]
    assert [parse_label_set(cell) for cell in back["labels"]][:2] == predicted[:2]
    assert back["not_judged"][2] == f"{ErrorType.OFF_TARGET_ANSWER.value}: there is no answer"

    # A dimension's score grows with the probability that none of its errors is there (logarithm, .02 at the bottom);
    # it is unknown where one of them was not judged.
    scores = dimension_scores(probabilities)
    for dimension, errors in DIMENSION_ERRORS.items():
        sound = np.prod([1 - back[f"p_{slug(t)}"][1] for t in errors])
        by_hand = np.log((sound + 0.02) / 0.02) / np.log(1.02 / 0.02)
        assert back[f"score_{dimension.value}"][1] == pytest.approx(by_hand, abs=1e-5)
        assert back[f"score_{dimension.value}"][1] == pytest.approx(scores[dimension][1], abs=1e-6)
    assert scores[Dimension.CLARITY][1] < scores[Dimension.CLARITY][0]  # vagueness costs clarity
    assert one_diagnosis_scores(found.probabilities)[Dimension.ANSWER_CONSISTENCY] is None
    assert np.isnan(back[f"score_{Dimension.ANSWER_CONSISTENCY.value}"].astype(float)[2])
    assert set(found.probabilities) == set(ALL_TYPES)
