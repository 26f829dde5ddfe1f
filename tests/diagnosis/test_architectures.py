"""Any encoder of transformers: trained for two steps, saved, and read back by transformers alone, with either head."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from erreval.diagnosis.backbone import build_classifier
from erreval.diagnosis.encoding import encode
from erreval.diagnosis.examples import Example, verifier_examples
from erreval.diagnosis.identifier import Identifier
from erreval.diagnosis.verifier import Verifier
from erreval.taxonomy import ALL_TYPES

SIZE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


@dataclass(frozen=True)
class Architecture:
    """How a family lays out a pair, and whether its tokeniser gives token types."""

    first: str
    separator: str
    pair: str
    token_types: bool = False


ARCHITECTURES = {
    "bert": Architecture("[CLS]", "[SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", token_types=True),
    "roberta": Architecture("<s>", "</s>", "<s> $A </s> </s> $B </s>"),
    "mpnet": Architecture("<s>", "</s>", "<s> $A </s> </s> $B </s>"),
    "modernbert": Architecture("[CLS]", "[SEP]", "[CLS] $A [SEP] $B [SEP]"),
}


def _tokenizer(architecture: Architecture, texts: list[str]) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    first, separator = architecture.first, architecture.separator
    inner = Tokenizer(models.WordLevel(unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    # RoBERTa and MPNet count positions from their padding token, which is number 1.
    inner.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=[first, "<pad>", separator, "<unk>"]))
    inner.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {separator}",
        pair=architecture.pair,
        special_tokens=[(token, inner.token_to_id(token)) for token in (first, separator)],
    )
    names = ["input_ids", "token_type_ids", "attention_mask"] if architecture.token_types else None
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, cls_token=first, sep_token=separator, pad_token="<pad>", unk_token="<unk>",
        model_input_names=names or ["input_ids", "attention_mask"],
    )  # fmt: skip


@pytest.fixture(scope="module", params=list(ARCHITECTURES))
def backbone(request: pytest.FixtureRequest, separable: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a randomly initialised encoder of one family, with a tokeniser laid out like that family's."""
    import torch
    from transformers import AutoConfig, AutoModel

    name = request.param
    folder: Path = tmp_path_factory.mktemp(name)
    tokenizer = _tokenizer(ARCHITECTURES[name], [f"{q.question} {q.answer} {q.passage}" for q in separable[0]])
    own = {"type_vocab_size": 1} if name == "roberta" else {}
    ends = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "cls_token_id": 0, "sep_token_id": 2}
    config = AutoConfig.for_model(
        name, vocab_size=len(tokenizer), max_position_embeddings=80, initializer_range=0.2, **SIZE, **own, **ends
    )  # fmt: skip
    torch.manual_seed(1)
    AutoModel.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("head", ["pooled", "standard"])
def test_two_steps_then_saved_and_loaded_by_transformers(
    backbone: Path, head: str, separable: Any, train_tiny: Any
) -> None:
    from transformers import AutoModelForSequenceClassification, pipeline

    questions, labels = separable[0][:16], separable[1][:16]
    examples = [Example(q, (s,)) for q, s in zip(questions, labels, strict=True)]
    folder, _ = train_tiny("identifier", examples, head=head, epochs=1, start=backbone)  # 16 in batches of 8
    ours = Identifier.load(folder).predict_probabilities(questions)
    assert ours.std(axis=0).max() > 1e-4
    expected = "PooledEncoder" if head == "pooled" else "ForSequenceClassification"
    assert type(AutoModelForSequenceClassification.from_pretrained(folder)).__name__.endswith(expected)
    pipe = pipeline("text-classification", model=str(folder), top_k=None, function_to_apply="sigmoid")
    separator = pipe.tokenizer.sep_token
    replies = pipe([{"text": f"{q.question} {separator} {q.answer}", "text_pair": q.passage} for q in questions])
    theirs = np.array(
        [[{one["label"]: one["score"] for one in reply}[t.value] for t in ALL_TYPES] for reply in replies]
    )
    np.testing.assert_allclose(theirs, ours, atol=1e-5)


@pytest.mark.parametrize("head", ["pooled", "standard"])
def test_a_verifier_of_any_encoder(backbone: Path, head: str, separable: Any, train_tiny: Any) -> None:
    questions, labels = separable[0][:8], separable[1][:8]
    examples = verifier_examples(questions, labels, 1, np.random.default_rng(0))
    folder, _ = train_tiny("verifier", examples, head=head, epochs=1, start=backbone)
    found = Verifier.load(folder).predict(questions, labels)
    assert found.shape == (8,)
    assert np.isfinite(found).all()


def test_question_answer_and_passage_are_told_apart(backbone: Path, separable: Any) -> None:
    """By the words themselves: what each mask covers reads as the question, the answer and the passage."""
    from transformers import AutoTokenizer

    from erreval.diagnosis.batches import pad

    tokenizer = AutoTokenizer.from_pretrained(backbone)
    model, _ = build_classifier(backbone, "identifier", "pooled", 0)
    questions = separable[0][:6]
    batch = pad(encode(tokenizer, questions, 64), tokenizer.pad_token_id)
    masks = model.segments(batch["input_ids"], batch["attention_mask"])
    for row, question in enumerate(questions):
        for mask, text in zip(masks, (question.question, question.answer, question.passage), strict=True):
            covered = batch["input_ids"][row][mask[row]].tolist()
            assert covered == tokenizer(text, add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize("head", ["pooled", "standard"])
def test_the_lower_layers_of_any_encoder_freeze(backbone: Path, head: str) -> None:
    model, _ = build_classifier(backbone, "identifier", head, 1)
    frozen = {name for name, parameter in model.base_model.named_parameters() if not parameter.requires_grad}
    assert {name.split(".")[0] for name in frozen} >= {"embeddings"}
    of_layers = {name for name in frozen if "layer" in name.split(".")[0] or "layer" in name.split(".")[1]}
    assert of_layers
    numbers = {part for name in of_layers for part in name.split(".") if part.isdigit()}
    assert numbers == {"0"}
    learning = [name for name, parameter in model.base_model.named_parameters() if parameter.requires_grad]
    assert any(".1." in f".{name}" for name in learning)


def test_no_attention_dropout_on_a_cpu(backbone: Path) -> None:
    import torch

    from erreval.diagnosis.training import without_attention_dropout

    model, _ = build_classifier(backbone, "identifier", "pooled", 0)
    without_attention_dropout(model)
    left = {
        name: module.p
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Dropout) and "attention" in name
    }
    assert set(left.values()) <= {0.0}
    assert all(getattr(module, "attention_dropout", 0.0) == 0.0 for module in model.modules())
