"""Passages with questions and answers: FairytaleQA, QED, and everything in SQuAD's or HotpotQA's format."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from erreval.data.files import is_folder, read_bytes
from erreval.data.readers.frames import Pairs, pair_frame, read_columns
from erreval.data.text_formats import decode
from erreval.errors import TableError

STORY, ENCYCLOPAEDIC = "story", "encyclopaedic"
"""Registers: what kind of text a passage is."""

SECTION_BREAK = "\n\n"
"""What stands between the sections of a story where a question is about several."""


def find_span(passage: str, answer: str) -> int:
    """Where the answer begins in the passage, or -1. A line break counts as a space: stories have hard line ends."""
    return passage.replace("\n", " ").find(answer.replace("\n", " "))


def read_fairytaleqa(folder: Path) -> Pairs:
    """8,548 questions on the sections of 232 stories. The answer is the first one; its wording may be free."""
    rows: list[dict[str, Any]] = []
    paths = sorted((folder / "questions").glob("*.csv"))
    if not paths:
        raise TableError(f"{folder / 'questions'}: no CSV files; lay the source fairytaleqa out again")
    for path in paths:
        story_path = folder / "section-stories" / path.name.replace("-questions.csv", "-story.csv")
        story = read_columns(story_path, ("section", "text"))
        sections = dict(zip(story["section"], story["text"], strict=True))
        frame = read_columns(path, ("cor_section", "question", "answer1", "attribute1", "ex-or-im1"))
        for i, row in enumerate(frame.to_dict("records")):
            names = [name.strip() for name in (row["cor_section"] or "").split(",")]
            unknown = [name for name in names if not sections.get(name)]
            if unknown:
                raise TableError(
                    f"{path}, row {i + 1}, column 'cor_section': no section {unknown[0]!r} in {story_path.name}"
                )
            passage = SECTION_BREAK.join(sections[name] for name in names)
            rows.append(
                {
                    "passage": passage,
                    "question": row["question"],
                    "answer": row["answer1"],
                    "answer_start": find_span(passage, row["answer1"]),
                    "source": "fairytaleqa",
                    "register": STORY,
                    "title": path.name.removesuffix("-questions.csv"),
                    "attribute": row["attribute1"],
                    "explicit": row["ex-or-im1"] == "explicit",
                }
            )
    return Pairs("fairytaleqa", pair_frame(rows, ("title", "attribute", "explicit")))


def read_xquad(folder: Path) -> Pairs:
    """1,190 questions on 240 encyclopaedia paragraphs. Some are benchmark passages: filter by ``overlap``."""
    return Pairs("xquad", pair_frame(_squad_rows(folder / "xquad.en.json", "xquad"), ("title", "is_impossible")))


def read_qed(folder: Path) -> Pairs:
    """1,355 natural questions on tokenised encyclopaedia paragraphs: lower case, without question marks.

    The answer is the first single span among the published alternatives; where every alternative has several spans,
    those of the first, joined by commas. ``explanation_type`` is "none" where QED's annotators found that the paragraph
    does not answer the question after all.
    """
    path = folder / "qed-dev.jsonlines"
    needed = ("question_text", "paragraph_text", "original_nq_answers", "annotation", "title_text")
    rows = []
    for i, record in enumerate(_json_lines(path)):
        lacking = [name for name in needed if name not in record]
        if lacking:
            raise TableError(f"{path}, line {i + 1}: no key {lacking[0]!r}; fetch the file again")
        answer, start = _qed_answer(record["original_nq_answers"])
        rows.append(
            {
                "passage": record["paragraph_text"],
                "question": record["question_text"],
                "answer": answer,
                "answer_start": start,
                "source": "qed",
                "register": ENCYCLOPAEDIC,
                "title": record["title_text"],
                "explanation_type": record["annotation"]["explanation_type"],
            }
        )
    return Pairs("qed", pair_frame(rows, ("title", "explanation_type")))


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(decode(path, read_bytes(path), "utf-8").split("\n"), start=1):
        if line.strip():
            try:
                yield json.loads(line)
            except json.JSONDecodeError as error:
                raise TableError(f"{path}, line {number}: not a whole JSON object ({error.msg})") from None


def _qed_answer(alternatives: list[list[dict[str, Any]]]) -> tuple[str, int]:
    for spans in alternatives:
        if len(spans) == 1:
            return spans[0]["string"], spans[0]["start"]
    return ", ".join(span["string"] for span in alternatives[0]), -1


def read_squad(place: Path) -> Pairs:
    """SQuAD v1.1 or v2.0: one JSON file, or a folder of them. The answer is the one that most annotators gave.

    An unanswerable question (v2.0) has no answer and ``is_impossible`` true.
    """
    rows = [row for path in _json_files(place) for row in _squad_rows(path, "squad")]
    return Pairs("squad", pair_frame(rows, ("title", "is_impossible")))


def _squad_rows(path: Path, source: str) -> Iterator[dict[str, Any]]:
    document = _json(path)
    try:
        for article in document["data"]:
            for paragraph in article["paragraphs"]:
                for item in paragraph["qas"]:
                    text, start = _most_common(item.get("answers") or [])
                    yield {
                        "passage": paragraph["context"],
                        "question": item["question"],
                        "answer": text,
                        "answer_start": start,
                        "source": source,
                        "register": ENCYCLOPAEDIC,
                        "title": article.get("title", ""),
                        "is_impossible": bool(item.get("is_impossible", False)),
                    }
    except (KeyError, TypeError, AttributeError) as error:
        raise TableError(
            f"{path}: not in SQuAD's format ({type(error).__name__}: {error}); it needs data, paragraphs, context, qas"
        ) from None


def _most_common(answers: list[dict[str, Any]]) -> tuple[str | None, int]:
    if not answers:
        return None, -1
    text = Counter(answer["text"] for answer in answers).most_common(1)[0][0]
    return text, next(answer["answer_start"] for answer in answers if answer["text"] == text)


def read_hotpotqa(place: Path) -> Pairs:
    """HotpotQA (distractor): one JSON file, or a folder of them.

    The passage is built as QGEval and ErrEval do: the paragraphs with supporting facts, their sentences joined by a
    space, the paragraphs by a line break. They leave the order of paragraphs to chance; here it is that of the facts.
    """
    rows = [row for path in _json_files(place) for row in _hotpot_rows(path)]
    return Pairs("hotpotqa", pair_frame(rows, ("type", "level")))


def _hotpot_rows(path: Path) -> Iterator[dict[str, Any]]:
    document = _json(path)
    if not isinstance(document, list):
        raise TableError(f"{path}: not in HotpotQA's format; it needs an array of questions")
    for i, item in enumerate(document):
        try:
            paragraphs = {title: " ".join(sentences) for title, sentences in item["context"]}
            titles = dict.fromkeys(title for title, _ in item["supporting_facts"])
            passage = "\n".join(paragraphs[title] for title in titles)
            yield {
                "passage": passage,
                "question": item["question"],
                "answer": item["answer"],
                "answer_start": find_span(passage, item["answer"]),
                "source": "hotpotqa",
                "register": ENCYCLOPAEDIC,
                "type": item.get("type", ""),
                "level": item.get("level", ""),
            }
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TableError(
                f"{path}, question {i + 1}: not in HotpotQA's distractor format ({type(error).__name__}: {error}); "
                "it needs context, supporting_facts, question and answer"
            ) from None


def _json(path: Path) -> Any:
    try:
        return json.loads(decode(path, read_bytes(path), "utf-8"))
    except json.JSONDecodeError as error:
        raise TableError(f"{path}, line {error.lineno}: not JSON ({error.msg}); fetch the file again") from None


def _json_files(place: Path) -> list[Path]:
    if not is_folder(place):
        return [place]
    paths = sorted(place.glob("*.json"))
    if not paths:
        raise TableError(f"{place}: no .json files in this folder")
    return paths
