"""Ways to identify errors side by side; the figures are worked out by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from chat_server import KEY, ChatServer, answers, chat_server
from click.testing import CliRunner

from erreval.cli import main
from erreval.cli_identifiers import _shortened
from erreval.diagnosis.contest import FLOOR, compare_identifiers
from erreval.diagnosis.detectors_alone import DetectorsAlone
from erreval.diagnosis.diagnose import diagnose
from erreval.diagnosis.identifier import Identifier
from erreval.diagnosis.interface import ErrorIdentifier, Report, predict
from erreval.diagnosis.kinds import KINDS, check_spec, open_identifier
from erreval.errors import ErrevalError
from erreval.records import Question, Unscored
from erreval.taxonomy import ALL_TYPES, TYPE_INDEX, ErrorType

__all__ = ["chat_server"]
GOOD, VAGUE, SPELL = (frozenset({t}) for t in (ErrorType.NO_ERROR, ErrorType.VAGUE, ErrorType.SPELL_ERROR))


class Fixed:
    """Says what it was told to say, with a row of NaN for None."""

    def __init__(self, said: Sequence[frozenset[ErrorType] | None]) -> None:
        self.name = "fixed"
        self.said = said

    def predict_probabilities(self, questions: Sequence[Question], report: Report | None = None) -> np.ndarray:
        return np.array(
            [[np.nan] * 11 if labels is None else [float(t in labels) for t in ALL_TYPES] for labels in self.said]
        )

    def decide(self, probabilities: np.ndarray) -> list[frozenset[ErrorType]]:
        assert not np.isnan(probabilities).any()
        return [frozenset(t for t, p in zip(ALL_TYPES, row, strict=True) if p) for row in probabilities]


def questions(n: int) -> list[Question]:
    return [Question(question=f"Who is number {k}?", passage=f"Ann is number {k}.", answer="Ann") for k in range(n)]


def test_what_is_unscored_counts_as_nothing_found() -> None:
    truth = [GOOD, VAGUE, SPELL, GOOD]
    (floor, mine), predictions = compare_identifiers([Fixed([GOOD, VAGUE, VAGUE, None])], questions(4), truth)
    # floor: 2 of 4 right, 4 labels said, 4 true: F1 = 2*2/8
    assert (floor.name, floor.n, floor.metrics["micro_f1"], floor.metrics["exact_match"]) == (FLOOR, 4, 0.5, 0.5)
    # 2 hits; 3 said, 4 true: F1 = 4/7; exact 2 of 4; 1 of 3 said is wrong
    assert mine.metrics["micro_f1"] == pytest.approx(4 / 7)
    assert mine.metrics["exact_match"] == pytest.approx(0.5)
    assert mine.metrics["over_prediction_rate"] == pytest.approx(1 / 3)
    # F1: No Error 2*1/(1+2) = 2/3, Vague 2*1/(2+1) = 2/3, Spell 0; weighted by 2, 1, 1 of 4
    assert mine.metrics["macro_f1"] == pytest.approx((2 / 3 + 2 / 3) / 11)
    assert mine.metrics["weighted_f1"] == pytest.approx((2 * 2 / 3 + 2 / 3) / 4)
    assert mine.unscored == Counter({"no probabilities": 1})
    # on the three scored: 2 hits of 3 said and 3 true
    assert mine.on_scored is not None
    assert mine.on_scored["micro_f1"] == pytest.approx(2 / 3)
    assert isinstance(predictions[0].label_sets[3], Unscored)


def test_nothing_unscored_needs_no_second_line() -> None:
    (_, mine), _ = compare_identifiers([Fixed([GOOD, VAGUE])], questions(2), [GOOD, VAGUE])
    assert (mine.metrics["micro_f1"], mine.on_scored) == (1.0, None)
    (_, mute), _ = compare_identifiers([Fixed([None, None])], questions(2), [GOOD, VAGUE])
    assert (mute.metrics["micro_f1"], mute.metrics["over_prediction_rate"], mute.on_scored) == (0.0, None, None)


def test_the_detectors_alone_say_what_diagnose_says() -> None:
    asked = [
        Question(question="What is the captial of France?", passage="Paris is the capital of France.", answer="Paris"),
        Question(question="Who wrote the", passage="Ann wrote the book.", answer="Ann"),
        Question(question="Who wrote the book?", passage="Ann wrote the book."),
        Question(question="Who wrote the book?"),
    ]
    found = predict(DetectorsAlone(), asked)
    for question, labels, row in zip(asked, found.label_sets, found.probabilities, strict=True):
        whole = diagnose(question.question, question.passage, question.answer, model="detectors")
        assert labels == whole.labels
        for t in ALL_TYPES:
            value = whole.probabilities[t]
            assert np.isnan(row[TYPE_INDEX[t]]) if value is None else row[TYPE_INDEX[t]] == pytest.approx(value)


def test_every_kind_fulfils_the_interface(tiny_identifier: Path) -> None:
    assert set(KINDS) == {"detectors", "encoder", "fusion", "zero-shot", "lora"}
    for spec in ("detectors", f"encoder:{tiny_identifier}"):
        assert isinstance(open_identifier(spec), ErrorIdentifier)
    encoder = open_identifier(f"encoder:{tiny_identifier}")
    assert isinstance(encoder, Identifier)
    with pytest.raises(ErrevalError, match=f"holds no fusion; write encoder:{tiny_identifier}"):
        open_identifier(f"fusion:{tiny_identifier}")
    asked = questions(3)
    assert predict(encoder, asked).decided == encoder.decide(encoder.predict_probabilities(asked))


@pytest.mark.parametrize("spec", ["", "llm:x", "encoder", "encoder:", "detectors:x", "zero-shot"])
def test_a_wrong_name_says_how_to_write_it(spec: str) -> None:
    told = check_spec(spec)
    assert told is not None
    assert "write" in told
    with pytest.raises(ErrevalError, match="write"):
        open_identifier(spec)


def test_the_command(
    tmp_path: Path, chat_server: ChatServer, tiny_identifier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    path = tmp_path / "models.yaml"
    path.write_text(f"models: {{served-1: {{base_url: '{chat_server.url}', key_env: TEST_KEY}}}}", encoding="utf-8")
    asked = questions(4)
    frame = pd.DataFrame([q.model_dump(include={"question", "passage", "answer"}) for q in asked])
    frame["error_label"] = ["No Error", "Vague", "Spell Error", "No Error"]
    frame.to_csv(tmp_path / "labelled.csv", index=False)
    chat_server.otherwise = answers(lambda request: "hm" if "number 3?" in str(request) else '{"labels": ["No Error"]}')
    command = ["compare-identifiers", str(tmp_path / "labelled.csv"), "--models", str(path)]
    command += ["--model", "detectors", "--model", f"encoder:{tiny_identifier}", "--model", "zero-shot:served-1"]
    command += ["--calls", str(tmp_path / "calls.jsonl"), "-o", str(tmp_path / "out.csv")]
    ended = CliRunner().invoke(main, command)
    assert ended.exit_code == 0, ended.output
    lines = {line[:32].strip(): line[32:].split() for line in ended.output.splitlines()}
    assert "4 questions, the truth from column 'error_label'" in ended.output
    assert lines[FLOOR][:2] == ["0", "0.500"]
    # 1 hit; 3 said, 4 true: F1 = 2/7; scored ones: 1 hit of 3 and 3
    assert lines["zero-shot:served-1"][:2] == ["1", "0.286"]
    assert lines["the scored ones alone"][0] == "0.333"
    assert "  1 unscored: no labels" in ended.output
    assert "detectors" in lines
    written = pd.read_csv(tmp_path / "out.csv")
    assert written["zero-shot:served-1 unscored"].tolist()[3] == "no labels: hm"
    assert pd.isna(written["zero-shot:served-1 labels"][3])
    assert written["labels"].tolist() == ["No Error", "Vague", "Spell Error", "No Error"]
    assert CliRunner().invoke(main, command).exit_code == 0
    assert len(chat_server.requests) == 4


def test_all_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("question,labels\nWho?,No Error\nWhy?,Nonsense\n", encoding="utf-8")
    row = CliRunner().invoke(main, ["compare-identifiers", str(tmp_path / "l.csv"), "--model", "detectors"])
    assert row.exit_code == 2
    assert "row 2, column 'labels': unknown error type 'Nonsense'" in row.output
    (tmp_path / "l.csv").write_text("question,labels\nWho?,No Error\n", encoding="utf-8")
    command = ["compare-identifiers", str(tmp_path / "l.csv"), "--models", str(tmp_path / "none.yaml")]
    told = CliRunner().invoke(
        main, [*command, "--model", "what:x", "--model", "lora:/nowhere", "--model", "zero-shot:m"]
    )
    assert told.exit_code == 2
    for part in ("no kind of identifier 'what'", "/nowhere: there is no LoRA adapter", "none.yaml: no such file"):
        assert part in told.output


def test_a_fusion_is_no_encoder(tmp_path: Path) -> None:
    (tmp_path / "fusion.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ErrevalError, match=f"holds no encoder; write fusion:{tmp_path}"):
        open_identifier(f"encoder:{tmp_path}")


def test_a_diagnosed_table_is_no_truth_by_default(tmp_path: Path) -> None:
    text = "question,passage,answer,labels,diagnosed_by,gold\nWho is Ann?,Ann is one.,Ann,Vague,detectors,No Error\n"
    (tmp_path / "d.csv").write_text(text, encoding="utf-8")
    command = ["compare-identifiers", str(tmp_path / "d.csv"), "--model", "detectors"]
    refused = CliRunner().invoke(main, command)
    assert (refused.exit_code, len(refused.output.splitlines())) == (2, 1)
    assert "--label-column" in refused.output
    taken = CliRunner().invoke(main, [*command, "--label-column", "gold"])
    assert taken.exit_code == 0, taken.output
    assert "1 question, the truth from column 'gold'" in taken.output


def test_nothing_scored_at_all_ends_with_why(
    tmp_path: Path, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    models, out = tmp_path / "models.yaml", tmp_path / "out.csv"
    models.write_text(f"models: {{served-1: {{base_url: '{chat_server.url}', key_env: TEST_KEY}}}}", encoding="utf-8")
    (tmp_path / "l.csv").write_text("question,labels\nWho?,No Error\nWhy?,Vague\n", encoding="utf-8")
    chat_server.otherwise = answers(lambda _: "hm")
    command = ["compare-identifiers", str(tmp_path / "l.csv"), "--models", str(models), "--model", "zero-shot:served-1"]
    ended = CliRunner().invoke(main, [*command, "--model", "detectors", "-o", str(out)])
    assert ended.exit_code == 2
    assert "zero-shot:served-1: none of 2 questions could be scored (2 no labels)" in ended.output
    assert pd.read_csv(out)["zero-shot:served-1 unscored"].tolist() == ["no labels: hm"] * 2


def test_a_long_name_keeps_its_kind_and_its_end() -> None:
    # of 32 characters "fusion:" and the sign of the cut leave 24; "/offline/models/fused/r10" has 25, so "offline" goes
    long = "fusion:/work/here/data/work/offline/models/fused/r10"
    assert _shortened(["detectors", long]) == ["detectors", "fusion:…/models/fused/r10"]
    twins = [f"encoder:/a/{side}/data/work/offline/models/identifier/r1" for side in ("left", "right")]
    shown = _shortened(twins)
    assert len(set(shown)) == 2
    assert all(name.startswith("encoder:…/") and name.endswith("/identifier/r1") for name in shown)
    assert _shortened([long, long]) == ["fusion:…/models/fused/r10"] * 2
    assert _shortened([f"lora:{'x' * 40}/"]) == [f"lora:…{'x' * 25}/"]
