"""A sequence classifier on mean-pooled segments, registered with transformers' Auto classes.

Small sentence encoders (MiniLM and its kin) carry what they know in the mean of their token states; their CLS pooler
does not learn this task. Question, answer and passage are pooled apart and compared:
``[q, max q, a, p, q*p, |q-p|, q*a, |q-a|]`` goes through one hidden layer. The Verifier reads the label set as an
extra eleven-dimensional input that is compared with the hidden layer. The segments follow from the separators, not
from token types, which most encoders lack, so the input is that of ``encoding.encode`` without labels for any encoder,
and ``"question [SEP] answer"`` (with the encoder's own separator) with the passage as pair in a transformers pipeline.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    MODEL_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForSequenceClassification,
    PreTrainedConfig,
    PreTrainedModel,
)
from transformers.modeling_outputs import SequenceClassifierOutput

from erreval.diagnosis.backbone import Task
from erreval.diagnosis.losses import Objective

_FEATURES = 8


class PooledEncoderConfig(PreTrainedConfig):
    """Configuration: the encoder's own configuration, and what the head needs."""

    model_type = "erreval-pooled"

    encoder: dict[str, Any] | None = None
    separator_id: int = 102
    hidden: int = 256
    label_set_size: int = 0


class PooledEncoder(PreTrainedModel):
    """The classifier. Given labels it returns the plain loss of its task; training may use another."""

    config_class = PooledEncoderConfig
    base_model_prefix = "encoder"
    supports_gradient_checkpointing = False
    _supports_sdpa = True
    accepts_loss_kwargs = False  # else Trainer scales the loss by accumulation steps and processes

    def __init__(self, config: PooledEncoderConfig) -> None:
        super().__init__(config)
        inner = AutoConfig.for_model(**dict(config.encoder or {}))
        self.encoder = AutoModel.from_config(inner, **without_pooler(inner))
        self._takes_token_types = "token_type_ids" in inspect.signature(self.encoder.forward).parameters
        width = _FEATURES * inner.hidden_size
        self.hidden = nn.Linear(width, config.hidden)
        self.label_set = nn.Linear(config.label_set_size, config.hidden) if config.label_set_size else None
        self.classifier = nn.Linear(config.hidden * (3 if config.label_set_size else 1), config.num_labels)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        label_set: Tensor | None = None,
        labels: Tensor | None = None,
        **_: Any,
    ) -> SequenceClassifierOutput:
        """Classify a batch.

        Args:
            input_ids: (batch, tokens).
            attention_mask: (batch, tokens), 1 where there is a token.
            token_type_ids: (batch, tokens); an encoder that has no token types is not given them.
            label_set: The label sets to verify, as zeros and ones; see ``head``.
            labels: (batch, num_labels) for multi-label, (batch,) or (batch, k) of class indices for the Verifier.
        """
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        logits = self.head(self.features(input_ids, attention_mask, token_type_ids), label_set)
        task: Task = "identifier" if self.config.problem_type == "multi_label_classification" else "verifier"
        loss = None if labels is None else Objective(task, "plain")(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)

    def head(self, features: Tensor, label_set: Tensor | None = None) -> Tensor:
        """Logits from pooled features.

        Args:
            features: (batch, features) as ``features`` gives them.
            label_set: (batch, label_set_size), or (batch, k, label_set_size) to verify k sets of each question.

        Returns:
            (batch, num_labels), or (batch, k, num_labels).
        """
        hidden = nn.functional.gelu(self.hidden(features))
        if self.label_set is not None:
            if label_set is None:
                raise ValueError("this model verifies label sets: give label_set")
            said = torch.tanh(self.label_set(label_set.to(hidden.dtype)))
            if said.dim() > hidden.dim():
                hidden = hidden.unsqueeze(1).expand_as(said)
            hidden = torch.cat([hidden, said, hidden * said], dim=-1)
        logits: Tensor = self.classifier(hidden)
        return logits

    def features(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """The pooled segments and their comparisons, (batch, 8 * width of the encoder)."""
        types = {"token_type_ids": token_type_ids} if self._takes_token_types else {}
        states = self.encoder(input_ids, attention_mask=attention_mask, **types)[0]
        masks = [mask.unsqueeze(-1) for mask in self.segments(input_ids, attention_mask)]
        q, a, p = ((states * mask).sum(1) / mask.sum(1).clamp(min=1).to(states.dtype) for mask in masks)
        highest = states.masked_fill(~masks[0], -1e4).amax(1)
        highest = torch.where(masks[0].any(1), highest, torch.zeros_like(highest))
        return torch.cat([q, highest, a, p, q * p, (q - p).abs(), q * a, (q - a).abs()], dim=-1)

    def segments(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Where question, answer and passage stand, (batch, tokens) of truth values each.

        Separators tell, not token types, which most encoders do not have. The passage is what comes after the second
        separator, or after the second and third (``<s> A </s></s> B </s>``, the pairs of RoBERTa and MPNet).
        """
        is_separator = input_ids == self.config.separator_id
        segment = torch.cumsum(is_separator, dim=1) - is_separator.long()
        content = attention_mask.bool() & ~is_separator
        content[:, 0] = False  # the classification token
        return content & (segment == 0), content & (segment == 1), content & (segment >= 2)


def without_pooler(config: PreTrainedConfig) -> dict[str, bool]:
    """How an encoder is asked to leave out its own pooler; those that never had one do not know the argument."""
    parameters = inspect.signature(MODEL_MAPPING[type(config)].__init__).parameters
    return {"add_pooling_layer": False} if "add_pooling_layer" in parameters else {}


# Importing this module is what makes AutoModelForSequenceClassification know the pooled encoder.
AutoConfig.register(PooledEncoderConfig.model_type, PooledEncoderConfig, exist_ok=True)
AutoModelForSequenceClassification.register(PooledEncoderConfig, PooledEncoder, exist_ok=True)
