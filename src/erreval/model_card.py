"""The card of a released model, in the hub's format. Every figure is read from the results files, none is typed."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from erreval.data.outputs import read_output
from erreval.data.sources import load_sources
from erreval.finished import FinishedEvaluation, FinishedRefinement, by_dimension
from erreval.settings import Settings
from erreval.taxonomy import DEFINITIONS, ErrorType

_STATISTICS = ("micro_f1", "macro_f1", "weighted_f1", "exact_match", "over_prediction_rate")
_OWN = "passages written by this project (data/sample), CC0"


def model_card(root: Path, settings: Settings, refinement: FinishedRefinement, evaluation: FinishedEvaluation) -> str:
    """Write the card of a refinement's champion as Markdown with a YAML head.

    Args:
        root: The project, for the training set.
        settings: Those of params.yaml.
        refinement: What the model came from and reaches on labelled questions.
        evaluation: How its diagnosis agrees with people.
    """
    best = refinement.best
    sides: Mapping[str, Any] = best.assessment["identifier"]
    sources = _training_sources(root / best.training.path)
    parts = [
        _head(refinement, sides),
        f"# Error Identifier of erreval, profile {refinement.profile}, round {best.name}",
        "Names the errors of a generated question, given its passage and answer: ten error types and No Error.",
        "## Use",
        _USE,
        "## Classes",
        _table(("class", "definition"), ((t.value, DEFINITIONS[t]) for t in ErrorType)),
        "## Data",
        f"Pretrained encoder: `{settings.encoder.backbone}` ({_licence_of(settings.encoder.backbone)}), at most "
        f"{settings.encoder.max_tokens} tokens of question, answer and passage.",
        f"Trained on {best.training.size} questions (by origin: {_counts(best.training.origins)}). "
        "Errors were injected by rule into questions that people wrote; no passage of a benchmark is among them.",
        _table(("source", "questions", "licence", "citation"), (_source_row(s, n) for s, n in sources.items())),
        "By label: " + _counts(best.training.labels) + ".",
        "## Figures",
        f"From `results/{refinement.profile}/identifier.json` and `evaluate.json` of the run that made this model. "
        "The floor of label sets always says No Error, that of correlations is the best trivial feature. "
        "`dev` chose the round; `test` decided nothing.",
        *(_side(name, block) for name, block in sides.items()),
        *_agreement(evaluation),
        "## Limits",
        _limits(settings, sides),
        "## Licence",
        "Apache-2.0, for what this project made. The encoder and the data above come under the licences named there.",
    ]
    return "\n\n".join(parts) + "\n"


_USE = """\
```
erreval models pull ARCHIVE.zip --sha256 …
erreval diagnose --model NAME --question "Who wrote it?" --passage "Ann wrote the book." --answer "Ann"
```

```python
import erreval  # registers the head with the Auto classes; weights are safetensors
from transformers import pipeline

identify = pipeline("text-classification", model="FOLDER/encoder", top_k=None, function_to_apply="sigmoid")
identify({"text": "Who wrote it? [SEP] Ann", "text_pair": "Ann wrote the book."})
```"""


def _head(refinement: FinishedRefinement, sides: Mapping[str, Any]) -> str:
    results = [
        {
            "task": {"type": "text-classification", "name": "Multi-label error identification"},
            "dataset": {"type": f"erreval-{name}", "name": f"{name}, {block['n']} questions"},
            "metrics": [
                {"type": "f1", "name": f"{key} ({what})", "value": value}
                for what, row in (("model", block), ("floor", block["floor"]))
                for key in ("micro_f1",)
                if (value := row[key]) is not None
            ],
        }
        for name, block in sides.items()
    ]
    head = {
        "license": "apache-2.0",
        "language": ["en"],
        "library_name": "transformers",
        "pipeline_tag": "text-classification",
        "tags": ["erreval", "question-generation", "evaluation"],
        "model-index": [{"name": f"erreval-identifier-{refinement.profile}", "results": results}],
    }
    text = io.StringIO()
    yaml = YAML()
    yaml.width = 120
    yaml.dump(head, text)
    return f"---\n{text.getvalue()}---"


def _training_sources(path: Path) -> dict[str, int]:
    """Questions of a training set by the data set that they were made from."""
    named = read_output(path, ["source"])["source"].str.removeprefix("injected/")
    return {str(name): int(count) for name, count in named.value_counts().sort_index().items()}


def _source_row(name: str, count: int) -> tuple[object, ...]:
    source = load_sources().get(name)
    if source is None:
        return name, count, _OWN if name == "sample" else "unknown", ""
    return f"[{source.title}]({source.homepage})", count, source.licence, source.citation


def _licence_of(backbone: str) -> str:
    kind, _, name = backbone.partition(":")
    if kind != "package":
        return "see its own card for the licence"
    try:
        about = metadata(name)
    except PackageNotFoundError:
        return "licence unknown: the package is not installed here"
    stated = next((about[field] for field in ("License-Expression", "License") if field in about), "unknown")
    return f"licence {stated}"


def _side(name: str, block: Mapping[str, Any]) -> str:
    """One labelled set: headline figures beside the floor, then each type with its count."""
    head = _table(
        (f"{name}, n = {block['n']}", *_STATISTICS),
        (
            ("model", *(_number(block.get(key)) for key in _STATISTICS)),
            ("floor", *(_number(block["floor"].get(key)) for key in _STATISTICS)),
        ),
    )
    types = _table(
        (f"{name}, by type", "count", "F1", "AUROC"),
        ((row["type"], row["count"], _number(row.get("f1")), _number(row.get("auroc"))) for row in block["types"]),
    )
    return f"### {name}\n\n{head}\n\n{types}"


def _agreement(evaluation: FinishedEvaluation) -> Iterable[str]:
    """Pearson's r with people, on all rows and outside the development set."""
    result = evaluation.result
    if not by_dimension(result):
        yield f"Agreement with people is unknown: {result.get('reason', 'nobody has scored the benchmark')}."
        return
    for title, rows in (("all rows", result), ("rows outside the dev passages", result.get("outside_dev") or {})):
        found = by_dimension(rows)
        if found:
            columns = (
                *("dimension", "n", "Pearson", "95 % interval", "without the 1 % of items that carry it"),
                *("floor", "one annotator"),
            )
            yield f"### {result['benchmark']}, {title}\n\n" + _table(
                columns,
                (
                    (
                        name.replace("_", " "),
                        row.get("n"),
                        _number(row.get("pearson")),
                        _interval(row.get("interval")),
                        _number(row.get("without_influential")),
                        f"{_number(row.get('floor'))} ({row.get('floor_feature', 'unknown')})",
                        _number(row.get("one_annotator")),
                    )
                    for name, row in found.items()
                ),
            )


def _limits(settings: Settings, sides: Mapping[str, Any]) -> str:
    lines = [
        "English only.",
        f"Reads {settings.encoder.max_tokens} tokens; of a longer passage it sees the window that holds the answer.",
        "Most of its training errors were injected by rule; those that question generators really make differ.",
        "A probability is the model's, not calibrated on your questions; where nothing is said about a type's count "
        "above, or it is small, its figures say little.",
    ]
    for name, block in sides.items():
        own, floor = block.get("micro_f1"), block["floor"].get("micro_f1")
        if own is not None and floor is not None and own <= floor:
            lines.append(f"On `{name}` its micro-F1 ({_number(own)}) does not pass the floor ({_number(floor)}).")
    return "\n".join(f"- {line}" for line in lines)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"


def _interval(value: Sequence[float | None] | None) -> str:
    return "unknown" if not value else f"{_number(value[0])} to {_number(value[1])}"
