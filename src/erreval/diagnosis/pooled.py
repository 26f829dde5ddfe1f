"""A sequence classifier on mean-pooled segments, registered with transformers' Auto classes.

Small sentence encoders (MiniLM and its kin) carry what they know in the mean of their token states; their CLS pooler
does not learn this task. Question, answer and passage are pooled apart and compared:
``[q, max q, a, p, q*p, |q-p|, q*a, |q-a|]`` goes through one hidden layer. The Verifier reads the label set as an
extra eleven-dimensional input that is compared with the hidden layer. The segments follow from the separators, so
the input is that of ``encoding.encode`` without labels, and ``"question [SEP] answer"`` with the passage as pair in
a transformers pipeline.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

_FEATURES = 8


class PooledEncoderConfig(PreTrainedConfig):
    """Configuration: the encoder's own configuration, and what the head needs."""

    model_type = "erreval-pooled"

    encoder: dict[str, Any] | None = None
    separator_id: int = 102
    hidden: int = 256
    label_set_size: int = 0
    positive_weight: list[float] | None = None
    class_weight: list[float] | None = None


class PooledEncoder(PreTrainedModel):
    """The classifier. ``problem_type`` decides the loss as everywhere in transformers."""

    config_class = PooledEncoderConfig
    base_model_prefix = "encoder"
    supports_gradient_checkpointing = False
    _supports_sdpa = True
    accepts_loss_kwargs = False  # else Trainer scales the loss by accumulation steps and processes

    def __init__(self, config: PooledEncoderConfig) -> None:
        super().__init__(config)
        inner = AutoConfig.for_model(**dict(config.encoder or {}))
        self.encoder = AutoModel.from_config(inner, add_pooling_layer=False)
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
            token_type_ids: (batch, tokens), as the encoder wants them.
            label_set: The label sets to verify, as zeros and ones; see ``head``.
            labels: (batch, num_labels) for multi-label, (batch,) or (batch, k) of class indices for the Verifier.
        """
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        logits = self.head(self.features(input_ids, attention_mask, token_type_ids), label_set)
        return SequenceClassifierOutput(loss=None if labels is None else self.loss(logits, labels), logits=logits)

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
        states = self.encoder(input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)[0]
        is_separator = input_ids == self.config.separator_id
        segment = torch.cumsum(is_separator, dim=1) - is_separator.long()
        content = attention_mask.bool() & ~is_separator
        content[:, 0] = False  # the classification token
        # The passage is what comes after the second separator, or after the second and third (RoBERTa's pairs).
        masks = [(content & mine).unsqueeze(-1) for mine in (segment == 0, segment == 1, segment >= 2)]
        q, a, p = ((states * mask).sum(1) / mask.sum(1).clamp(min=1).to(states.dtype) for mask in masks)
        highest = states.masked_fill(~masks[0], -1e4).amax(1)
        highest = torch.where(masks[0].any(1), highest, torch.zeros_like(highest))
        return torch.cat([q, highest, a, p, q * p, (q - p).abs(), q * a, (q - a).abs()], dim=-1)

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss of a batch: weighted binary cross-entropy for the identifier, cross-entropy for the Verifier.

        Label sets that only fill up a batch have the label -100 and count nothing.
        """
        if self.config.problem_type == "multi_label_classification":
            return nn.functional.binary_cross_entropy_with_logits(
                logits.float(), labels.float(), pos_weight=self._weight(self.config.positive_weight, logits)
            )
        return nn.functional.cross_entropy(
            logits.float().flatten(0, -2), labels.flatten(), weight=self._weight(self.config.class_weight, logits)
        )

    @staticmethod
    def _weight(values: list[float] | None, logits: Tensor) -> Tensor | None:
        return None if values is None else torch.tensor(values, device=logits.device)


# Importing this module is what makes AutoModelForSequenceClassification know the pooled encoder.
AutoConfig.register(PooledEncoderConfig.model_type, PooledEncoderConfig, exist_ok=True)
AutoModelForSequenceClassification.register(PooledEncoderConfig, PooledEncoder, exist_ok=True)
