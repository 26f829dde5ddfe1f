"""A causal language model with a LoRA adapter as Error Identifier (Hu et al. 2021; ErrEval, Table 5).

Sequence classification on the causal backbone: the eleven logits are read at the last token, after the model has seen
question, answer and passage. Only the adapter and the classification layer are trained and saved (safetensors).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from erreval.diagnosis.backbone import locate_backbone
from erreval.diagnosis.encoding import Encoded, answer_window
from erreval.diagnosis.identifier import DEFAULT_THRESHOLD, label_sets
from erreval.diagnosis.inference import best_device, logits
from erreval.diagnosis.interface import Report
from erreval.errors import ErrevalError
from erreval.records import Question
from erreval.taxonomy import ALL_TYPES, ErrorType

SIDE_FILE = "erreval_lora.json"
"""Beside the adapter: the backbone as it was named, the token limit, the threshold."""

_CAUSAL = ("CausalLM", "LMHeadModel")


@dataclass(frozen=True)
class LoraSettings:
    """How an adapter is trained."""

    backbone: str
    """``hub:NAME``, ``folder:PATH`` or ``package:NAME`` of a causal language model."""
    rank: int = 16
    alpha: int = 32
    dropout: float = 0.05
    epochs: int = 3
    batch_size: int = 8
    learning_rate: float = 2e-4
    max_tokens: int = 512
    threshold: float = DEFAULT_THRESHOLD


def encode_for_causal(tokenizer: Any, questions: Sequence[Question], max_tokens: int) -> list[Encoded]:
    """``Question: … Answer: … Passage: … Errors:`` as tokens; the passage is cut first, around the answer.

    Args:
        tokenizer: A fast tokeniser of a causal model.
        questions: What to encode.
        max_tokens: Upper bound for one example. Where question and answer alone are longer, their end is cut.
    """
    first = [tokenizer.bos_token_id] if tokenizer.bos_token_id is not None else []
    ending = tokenizer("\nErrors:", add_special_tokens=False)["input_ids"]
    encoded = []
    for question in questions:
        text = f"Question: {question.question}\nAnswer: {question.answer or ''}\nPassage: "
        head = first + tokenizer(text, add_special_tokens=False, split_special_tokens=True, verbose=False)["input_ids"]
        passage = tokenizer(
            question.passage,
            add_special_tokens=False,
            split_special_tokens=True,
            return_offsets_mapping=True,
            verbose=False,
        )
        kept = head[: max_tokens - len(ending)]
        window = answer_window(passage["offset_mapping"], question, max_tokens - len(ending) - len(kept))
        body = passage["input_ids"][window]
        cut = len(kept) < len(head) or len(body) < len(passage["input_ids"])
        encoded.append(Encoded(kept + body + ending, None, truncated=cut))
    return encoded


class LoraIdentifier:
    """A trained adapter on its backbone."""

    def __init__(self, model: Any, tokenizer: Any, name: str, threshold: float, max_tokens: int) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self.name = name
        self.threshold = threshold
        self.max_tokens = max_tokens

    @classmethod
    def load(cls, folder: Path | str) -> LoraIdentifier:
        """Load what ``train_lora`` wrote; its backbone must be at hand.

        Raises:
            ErrevalError: There is no adapter in the folder, or its backbone cannot be loaded.
        """
        folder = Path(folder)
        try:
            side = json.loads((folder / SIDE_FILE).read_text(encoding="utf-8"))
            backbone, max_tokens, threshold = side["backbone"], int(side["max_tokens"]), float(side["threshold"])
        except FileNotFoundError:
            raise ErrevalError(f"{folder}: there is no LoRA adapter in this folder; name one of train-lora") from None
        except (ValueError, KeyError, TypeError):
            raise ErrevalError(f"{folder / SIDE_FILE}: is damaged; train the adapter again") from None
        if not (folder / "adapter_model.safetensors").is_file():  # the library would fall back to a pickle
            raise ErrevalError(f"{folder}: there are no adapter weights as safetensors; train the adapter again")
        from peft import PeftModel

        model, tokenizer = _backbone(backbone)
        try:
            adapted = PeftModel.from_pretrained(model, str(folder))
        except (OSError, ValueError, RuntimeError) as error:
            why = " ".join(str(error).split())[:200]
            raise ErrevalError(f"{folder}: the adapter does not fit its backbone {backbone} ({why})") from error
        return cls(adapted.to(best_device()).eval(), tokenizer, f"lora:{folder}", threshold, max_tokens)

    def predict_probabilities(self, questions: Sequence[Question], report: Report | None = None) -> np.ndarray:
        """Probabilities of the eleven types, (n, 11)."""
        if not questions:
            return np.zeros((0, len(ALL_TYPES)), dtype=np.float32)
        encoded = encode_for_causal(self._tokenizer, questions, self.max_tokens)
        raw = logits(self._model, encoded, self._tokenizer.pad_token_id, report=report)
        probabilities: np.ndarray = 1.0 / (1.0 + np.exp(-raw))
        return probabilities

    def decide(self, probabilities: np.ndarray) -> list[frozenset[ErrorType]]:
        """The label sets that follow, by the one threshold of the training."""
        return label_sets(probabilities, self.threshold)

    def truncated(self, questions: Sequence[Question]) -> list[bool]:
        """Whether the model sees only part of each question's text."""
        return [item.truncated for item in encode_for_causal(self._tokenizer, questions, self.max_tokens)]


def _backbone(spec: str) -> tuple[Any, Any]:
    """A causal model with a new classification layer, and its tokeniser; padding has an id."""
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

    kind, _, name = spec.partition(":")
    if kind not in ("hub", "folder", "package") or not name:
        raise ErrevalError(f"the backbone {spec!r}: write hub:NAME or folder:PATH")
    place = locate_backbone(spec)
    try:
        architectures = AutoConfig.from_pretrained(place).architectures or []
        if not any(architecture.endswith(_CAUSAL) for architecture in architectures):
            raise ErrevalError(
                f"the backbone {spec} is no causal language model ({', '.join(architectures) or 'it names none'}); "
                "name one whose config.json has an architecture that ends in " + " or ".join(_CAUSAL)
            )
        tokenizer = AutoTokenizer.from_pretrained(place)
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        model = AutoModelForSequenceClassification.from_pretrained(
            place,
            num_labels=len(ALL_TYPES),
            id2label={k: t.value for k, t in enumerate(ALL_TYPES)},
            label2id={t.value: k for k, t in enumerate(ALL_TYPES)},
            problem_type="multi_label_classification",
            pad_token_id=tokenizer.pad_token_id,
        )
    except (OSError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        raise ErrevalError(f"the backbone {spec} cannot be loaded ({why})") from error
    return model, tokenizer


def train_lora(
    questions: Sequence[Question],
    label_sets_: Sequence[frozenset[ErrorType]],
    settings: LoraSettings,
    *,
    seed: int,
    output: Path,
    work: Path,
    report: Callable[[str], None] = print,
) -> None:
    """Train an adapter on a labelled set and save it.

    The loss is the ``weighted`` one of the encoder: positives weigh more where they are rare.

    Args:
        questions: Of the labelled set.
        label_sets_: Their label sets.
        settings: How to train.
        seed: Seeds initialisation, order and dropout.
        output: Folder to write, by the main process.
        work: Scratch folder.
        report: Gets one line of progress at a time.

    Raises:
        ErrevalError: The backbone is no causal model or cannot be loaded.
    """
    import torch
    from peft import LoraConfig, TaskType, get_peft_model
    from transformers import PrinterCallback, TrainingArguments, set_seed

    from erreval.diagnosis.examples import Example, multi_hot
    from erreval.diagnosis.losses import Objective
    from erreval.diagnosis.trainer import ObjectiveTrainer, Progress, common_arguments

    set_seed(seed)
    base, tokenizer = _backbone(settings.backbone)
    adapter = LoraConfig(
        task_type=TaskType.SEQ_CLS,
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules="all-linear",
    )
    model = get_peft_model(base, adapter)
    hot = multi_hot(label_sets_)
    encoded = encode_for_causal(tokenizer, questions, settings.max_tokens)
    rows = [{"encoded": item, "input_ids": item.input_ids, "labels": hot[k]} for k, item in enumerate(encoded)]
    trainer = ObjectiveTrainer(
        objective=Objective.of(
            "identifier", "weighted", [Example(q, (s,)) for q, s in zip(questions, label_sets_, strict=True)]
        ),
        model=model,
        args=TrainingArguments(
            **common_arguments(work, seed),
            num_train_epochs=settings.epochs,
            per_device_train_batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
            save_strategy="no",
            dataloader_pin_memory=torch.cuda.is_available(),
        ),
        train_dataset=rows,
        data_collator=partial(_collate, pad_id=tokenizer.pad_token_id),
        processing_class=tokenizer,
        callbacks=[Progress(report)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    if trainer.is_world_process_zero():
        model.save_pretrained(str(output))
        side = {"backbone": settings.backbone, "max_tokens": settings.max_tokens, "threshold": settings.threshold}
        (output / SIDE_FILE).write_text(json.dumps(side, indent=2) + "\n", encoding="utf-8")


def _collate(batch: Sequence[dict[str, Any]], pad_id: int) -> dict[str, Any]:
    import torch

    from erreval.diagnosis.batches import pad

    return {
        **pad([row["encoded"] for row in batch], pad_id),
        "labels": torch.tensor(np.array([r["labels"] for r in batch])),
    }
