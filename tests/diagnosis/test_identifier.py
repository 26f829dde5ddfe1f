"""The saved Error Identifier: loads with plain transformers, says the same there, and a collapsed one is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from erreval.diagnosis.identifier import Identifier, check_not_collapsed, label_sets, load_classifier
from erreval.errors import CollapsedModelError, ErrevalError
from erreval.frames import labelled_frame
from erreval.layout import Layout
from erreval.settings import load_settings
from erreval.taxonomy import ALL_TYPES, ErrorType, check_label_set

ERREVAL_FIRST = """
import sys, json
import erreval
assert not {"torch", "transformers"} & set(sys.modules), "import erreval must stay cheap"
from transformers import AutoModelForSequenceClassification, pipeline
"""

TRANSFORMERS_FIRST = """
import sys, json
from transformers import AutoModelForSequenceClassification, pipeline
"""

ASK = """
def ask(folder):
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    pipe = pipeline("text-classification", model=folder, top_k=None, function_to_apply="sigmoid")
    found = [{one["label"]: one["score"] for one in reply} for reply in pipe(texts)]
    return {"class": type(model).__name__, "names": list(model.config.id2label.values()), "found": found}

texts, pooled, standard = json.load(sys.stdin)
answers = {}
"""

STANDARD_BY_ITSELF = """
answers["standard"] = ask(standard)
assert not any(name.split(".")[0] == "erreval" for name in sys.modules), "plain transformers must do"
import erreval
"""

END = """
answers["pooled"] = ask(pooled)
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def replies(tiny_identifier: Path, tiny_standard: Path, separable: Any, tmp_path_factory: Any) -> dict[str, Any]:
    """What two fresh processes say: one imports erreval before transformers, the other long after it."""
    texts = [{"text": f"{q.question} [SEP] {q.answer}", "text_pair": q.passage} for q in separable[0][:6]]
    given_in = json.dumps([texts, str(tiny_identifier), str(tiny_standard)])
    scripts = {
        "erreval first": ERREVAL_FIRST + ASK + END,
        "transformers first": TRANSFORMERS_FIRST + ASK + STANDARD_BY_ITSELF + END,
    }
    running = {
        name: subprocess.Popen(
            [sys.executable, "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path_factory.mktemp("elsewhere"),
            env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
        )
        for name, script in scripts.items()
    }
    found = {}
    for name, process in running.items():
        out, err = process.communicate(given_in, timeout=300)
        assert process.returncode == 0, err
        found[name] = json.loads(out.splitlines()[-1])
    return found


@pytest.mark.parametrize("order", ["erreval first", "transformers first"])
def test_our_head_loads_with_the_auto_classes_and_pipeline(
    replies: dict[str, Any], order: str, tiny_identifier: Path, separable: Any
) -> None:
    reply = replies[order]["pooled"]
    assert reply["class"] == "PooledEncoder"
    _same(reply, tiny_identifier, separable)


def test_a_standard_head_loads_with_plain_transformers(
    replies: dict[str, Any], tiny_standard: Path, separable: Any
) -> None:
    reply = replies["transformers first"]["standard"]
    assert reply["class"] == "BertForSequenceClassification"
    _same(reply, tiny_standard, separable)


def _same(reply: dict[str, Any], folder: Path, separable: Any) -> None:
    names = [t.value for t in ALL_TYPES]
    assert reply["names"] == names
    ours = Identifier.load(folder).predict_probabilities(separable[0][:6])
    theirs = np.array([[one[name] for name in names] for one in reply["found"]])
    np.testing.assert_allclose(theirs, ours, atol=1e-5)
    assert ours.std(axis=0).max() > 0.01


def test_only_safetensors_is_written(tiny_identifier: Path, tiny_standard: Path, tiny_verifier: Path) -> None:
    for folder in (tiny_identifier, tiny_standard, tiny_verifier):
        endings = {path.suffix for path in folder.rglob("*") if path.is_file()}
        assert ".safetensors" in endings
        assert endings <= {".safetensors", ".json", ".txt"}
        config = json.loads((folder / "config.json").read_text())
        assert config["erreval_max_tokens"] == 64
        assert "_name_or_path" not in config or not Path(config["_name_or_path"]).is_absolute()


def test_weights_in_another_format_are_not_unpickled(tiny_identifier: Path, tmp_path: Path) -> None:
    import torch

    for path in tiny_identifier.iterdir():
        if path.suffix != ".safetensors":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    torch.save({}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ErrevalError, match="no classifier can be loaded"):
        load_classifier(tmp_path)


def test_the_threshold_and_name_come_with_the_model(tiny_identifier: Path) -> None:
    identifier = Identifier.load(tiny_identifier)
    assert (identifier.name, identifier.threshold, identifier.max_tokens) == (str(tiny_identifier), 0.5, 64)


def test_it_has_learnt(tiny_identifier: Path, separable: Any) -> None:
    questions, truth = separable
    found = label_sets(Identifier.load(tiny_identifier).predict_probabilities(questions))
    assert np.mean([said == true for said, true in zip(found, truth, strict=True)]) > 0.9


def test_what_is_no_identifier_is_refused(tiny_verifier: Path, tiny_backbone: Path, tmp_path: Path) -> None:
    with pytest.raises(ErrevalError, match=r"not an Error Identifier; its classes are \['wrong', 'right'\]"):
        Identifier.load(tiny_verifier)
    with pytest.raises(ErrevalError, match="not an Error Identifier"):
        Identifier.load(tiny_backbone)
    with pytest.raises(ErrevalError, match="no model in this folder"):
        Identifier.load(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "bert"')
    with pytest.raises(ErrevalError, match="no classifier can be loaded"):
        Identifier.load(tmp_path)


def test_order_and_company_do_not_change_a_probability(tiny_identifier: Path, separable: Any) -> None:
    identifier = Identifier.load(tiny_identifier)
    questions = [q.model_copy(update={"passage": q.passage * (1 + k % 7)}) for k, q in enumerate(separable[0])] * 3
    shuffled = np.random.default_rng(5).permutation(len(questions))
    straight = identifier.predict_probabilities(questions)
    turned = identifier.predict_probabilities([questions[k] for k in shuffled])
    np.testing.assert_array_equal(turned, straight[shuffled])
    alone = np.concatenate([identifier.predict_probabilities([q]) for q in questions[:8]])
    np.testing.assert_allclose(alone, straight[:8], atol=1e-6)


def test_progress_is_told_and_nothing_gives_nothing(tiny_identifier: Path, separable: Any) -> None:
    identifier = Identifier.load(tiny_identifier)
    told: list[tuple[int, int]] = []
    identifier.predict_probabilities(separable[0] * 3, lambda done, total: told.append((done, total)))
    assert told[-1] == (144, 144)
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert identifier.predict_probabilities([]).shape == (0, 11)


@given(arrays(np.float64, (4, 11), elements=st.floats(0, 1)), st.floats(0.05, 0.95))
def test_label_sets_are_valid_and_follow_the_threshold(probabilities: np.ndarray, threshold: float) -> None:
    for row, labels in zip(probabilities, label_sets(probabilities, threshold), strict=True):
        assert check_label_set(labels) == labels
        over = {t for t, p in zip(ALL_TYPES, row, strict=True) if p >= threshold} - {ErrorType.NO_ERROR}
        strongest = max((row[ALL_TYPES.index(t)] for t in over), default=-1.0)
        if strongest >= row[ALL_TYPES.index(ErrorType.NO_ERROR)]:
            assert labels == over
        else:
            assert labels == {ErrorType.NO_ERROR}


@pytest.mark.parametrize(
    ("outputs", "why"),
    [
        (np.full((50, 11), 0.3), "no probability varies"),
        (np.tile(np.linspace(0, 1, 11), (50, 1)), "no probability varies"),
        (np.random.default_rng(0).uniform(0.0, 0.49, (50, 11)), "decides the same for 50 of 50"),
        (np.random.default_rng(0).uniform(0.51, 1.0, (50, 1)), "decides the same for 50 of 50"),
        (np.append(np.linspace(0, 0.4, 48), [0.6, 0.7])[:, None], "decides the same for 48 of 50"),
        (np.full((50, 11), np.nan), "has collapsed"),
    ],
)
def test_a_collapsed_model_is_refused(outputs: np.ndarray, why: str) -> None:
    with pytest.raises(CollapsedModelError, match=why) as caught:
        check_not_collapsed(outputs, "train_identifier@r0")
    assert str(caught.value).startswith("train_identifier@r0")
    assert "learning rate" in str(caught.value)


def test_a_healthy_model_is_let_through() -> None:
    check_not_collapsed(np.random.default_rng(0).uniform(size=(50, 11)), "healthy")
    check_not_collapsed(np.append(np.linspace(0, 0.4, 47), [0.6, 0.7, 0.8])[:, None], "47 of 50 alike")
    check_not_collapsed(np.full((1, 11), 0.2), "one question says nothing about collapse")


def test_training_refuses_what_has_collapsed(
    tiny_identifier: Path, tiny_verifier: Path, tiny_backbone: Path, separable: Any, tmp_path: Path
) -> None:
    """The check of the two training stages, on models that answer and on one whose head is dead."""
    from pipelines.training import _refuse_collapse

    questions, labels = separable
    probes = labelled_frame(questions, labels, ["injected"] * len(questions), 0)
    _refuse_collapse("identifier", "train_identifier@r0", tiny_identifier, probes, np.random.default_rng(0))
    _refuse_collapse("verifier", "train_verifier@r0", tiny_verifier, probes, np.random.default_rng(0))
    for folder, task in ((tiny_identifier, "identifier"), (tiny_verifier, "verifier")):
        dead = _with_a_dead_head(folder, tmp_path / task)
        with pytest.raises(CollapsedModelError, match=f"train_{task}@r0 has collapsed"):
            _refuse_collapse(task, f"train_{task}@r0", dead, probes, np.random.default_rng(0))  # type: ignore[arg-type]


def _with_a_dead_head(folder: Path, target: Path) -> Path:
    model, tokenizer = load_classifier(folder)
    model.classifier.weight.data.zero_()
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
    return target


def test_a_stage_whose_model_collapses_ends_with_exit_code_2(
    tiny_identifier: Path, separable: Any, tmp_path: Path, root: Path
) -> None:
    """The real stage, its training replaced by one that writes a dead model: nothing is published."""
    (tmp_path / "params.yaml").write_bytes((root / "params.yaml").read_bytes())
    work = Layout(load_settings(tmp_path / "params.yaml").profile, tmp_path).work
    frame = labelled_frame(*separable, ["injected"] * 48, 0)
    for name in ("sets/r0/train.parquet", "prepared/heldout.parquet"):
        (work / name).parent.mkdir(parents=True)
        pd.DataFrame(frame).to_parquet(work / name)
    dead = _with_a_dead_head(tiny_identifier, tmp_path / "dead")
    script = (
        "import shutil, sys, pipelines.training, pipelines.train_identifier as stage\n"
        "from pipelines.supervision import run\n"
        f"pipelines.training.fine_tune = lambda *a, output, **k: shutil.copytree({str(dead)!r}, output)\n"
        "sys.argv = ['train_identifier', 'r0']\n"
        "run(stage.main)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.startswith("error: train_identifier@r0 has collapsed")
    assert len(ended.stderr.splitlines()) == 1
    assert not (work / "models").exists()
