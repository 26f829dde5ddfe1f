"""Does a field give the human score away by something that is not its content?

A judge that is shown the answer of SQuAD-1k need not read it: it is empty exactly where the question is unanswerable.
The same goes for a placeholder, such as "N/A", in place of an empty cell. What is tested: whether a field is there, how
long it is, whether it is the value that most rows have, whether it equals another field, where the row stands, and
which source it is from. The question's own text may of course predict its score and is not tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from erreval.data.gates import GateReport, Rule, load_great_expectations, run_gate
from erreval.data.readers.frames import Benchmark
from erreval.errors import GateError

LEAK_COLUMNS = ("dimension", "field", "feature", "statistic", "strength", "n")
THRESHOLD = 0.9
MINIMUM = 10
"""The fewest low and high scores for which an AUROC is taken."""

_FIELDS = ("passage", "answer", "reference")
MASKABLE = (*_FIELDS, "source", "position")
"""What can be hidden from a judge: the position by putting the rows into another order."""
_TEXTS = (*_FIELDS, "question")

_WORDS = {
    "present": "whether it is there",
    "length": "its length",
    "commonest": "whether it is the commonest value",
    "position": "the order of the rows",
    "source": "which source it is",
}
"""What the features are, for a sentence."""

Floats = NDArray[np.float64]


def measure_leaks(benchmark: Benchmark, *, masked: Collection[str] = ()) -> pd.DataFrame:
    """How strongly each such feature goes with the mean human score of each dimension.

    Args:
        benchmark: With published mean scores.
        masked: Fields that no judge will be shown.

    Returns:
        ``LEAK_COLUMNS``, strongest first. The strength is the larger of ``|r|`` and ``|2 AUROC - 1|``, the latter for
        scores above the middle of the scale against the others; features that never vary are left out.
    """
    questions = benchmark.questions.reset_index(drop=True)
    wide = benchmark.wide_scores()
    features = list(_features(questions, masked))
    rows = []
    for dimension, (low, high) in benchmark.scales.items():
        if dimension not in wide:
            continue
        scores = wide[dimension].to_numpy(dtype=np.float64)
        known = ~np.isnan(scores)
        y = scores[known]
        above = y > (low + high) / 2
        for field, feature, values in features:
            statistic, strength = _strength(values[known], y, above)
            if strength is not None:
                rows.append((dimension, field, feature, statistic, round(strength, 4), len(y)))
        if "source" not in masked:
            strength = _group_strength(questions["source"].to_numpy()[known], y)
            if strength is not None:
                rows.append((dimension, "source", "source", "r", round(strength, 4), len(y)))
    frame = pd.DataFrame(rows, columns=list(LEAK_COLUMNS))
    return frame.sort_values("strength", ascending=False, kind="stable", ignore_index=True)


def _features(questions: pd.DataFrame, masked: Collection[str]) -> Iterator[tuple[str, str, Floats]]:
    """Field, name and value a row of everything that is tested, but for the source."""
    texts = {name: [cell if isinstance(cell, str) else "" for cell in questions[name]] for name in _TEXTS}
    tested: list[tuple[str, str, list[float]]] = []
    for name in _FIELDS:
        if name not in masked:
            tested.append((name, f"{name} present", [float(bool(text.strip())) for text in texts[name]]))
            tested.append((name, f"{name} length", [float(len(text)) for text in texts[name]]))
            tested.append((name, f"{name} commonest", _is_commonest(texts[name])))
    for one, other in combinations(_TEXTS, 2):
        if one not in masked and other not in masked:
            pairs = zip(texts[one], texts[other], strict=True)
            equal = [float(bool(a.strip()) and a.strip().casefold() == b.strip().casefold()) for a, b in pairs]
            tested.append((one, f"{one} equals {other}", equal))
    if "position" not in masked:
        tested.append(("position", "position", [float(i) for i in range(len(questions))]))
    for field, feature, values in tested:
        yield field, feature, np.array(values, dtype=np.float64)


def _is_commonest(cells: Sequence[str]) -> list[float]:
    """1 where a cell has the value that more rows have than any other: "N/A" for what has no answer, say."""
    values = [cell.strip().casefold() for cell in cells]
    commonest = {value for value, times in Counter(filter(None, values)).most_common(1) if times > 1}
    return [float(value in commonest) for value in values]


def _strength(x: Floats, y: Floats, above: NDArray[np.bool_]) -> tuple[str, float | None]:
    if len(y) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return "r", None
    r = abs(float(np.corrcoef(x, y)[0, 1]))
    if min(above.sum(), (~above).sum()) < MINIMUM:
        return "r", r
    from sklearn.metrics import roc_auc_score

    separation = abs(2 * float(roc_auc_score(above, x)) - 1)
    return ("2 AUROC - 1", separation) if separation > r else ("r", r)


def _group_strength(groups: NDArray[np.object_], y: Floats) -> float | None:
    """Correlation of the scores with the mean of the *other* rows of the same source, so small groups prove nothing."""
    frame = pd.DataFrame({"group": groups, "y": y})
    size = frame.groupby("group")["y"].transform("size")
    total = frame.groupby("group")["y"].transform("sum")
    kept = size > 1
    others = ((total - frame["y"]) / (size - 1))[kept]
    own = frame["y"][kept]
    if frame["group"].nunique() < 2 or len(own) < 2 or np.ptp(own) == 0 or np.ptp(others) == 0:
        return None
    return max(0.0, float(np.corrcoef(others, own)[0, 1]))


def check_leaks(benchmark: Benchmark, *, threshold: float = THRESHOLD, masked: Collection[str] = ()) -> GateReport:
    """The gate before a judge sees a benchmark: stops it where a field gives the score away.

    Args:
        benchmark: With published mean scores.
        threshold: The strength above which a feature all but decides the score.
        masked: Fields that no judge will be shown.
    """
    measured = measure_leaks(benchmark, masked=masked)
    return leak_report(measured, place=benchmark.name, threshold=threshold, masked=masked)


def leak_report(
    measured: pd.DataFrame, *, place: str, threshold: float = THRESHOLD, masked: Collection[str] = ()
) -> GateReport:
    """``check_leaks`` of what was measured before.

    Args:
        measured: From ``measure_leaks``.
        place: The file or benchmark.
        threshold: See ``check_leaks``.
        masked: Likewise.
    """
    gxe = load_great_expectations().expectations
    leaking = list(dict.fromkeys(measured.loc[measured["strength"] > threshold, "field"]))
    note = ""
    if leaking:
        note = f"a judge could score without reading: hide it with {' '.join(f'--mask {f}' for f in leaking)}"
    elif measured.empty:
        note = "nothing to test: there are no scores that vary"
    elif masked:
        note = f"masked: {', '.join(sorted(masked))}"
    rule = Rule(
        "leak",
        f"nothing about a field but its content decides the human score (strength at most {threshold:g})",
        [gxe.ExpectColumnValuesToBeBetween(column="strength", max_value=threshold)],
        note=note,
    )
    return run_gate(measured, [rule], name=f"{place} leaks", show=("feature", "dimension", "statistic"))


def explain_leaks(
    measured: pd.DataFrame, *, place: str, threshold: float = THRESHOLD, columns: Mapping[str, str] | None = None
) -> str:
    """What gives scores away and how to hide it, in one line; "" where nothing does.

    Args:
        measured: From ``measure_leaks``.
        place: The file or benchmark.
        threshold: See ``check_leaks``.
        columns: Field to column of the file, where they differ.
    """
    strongest = measured[measured["strength"] > threshold].drop_duplicates("field")
    if strongest.empty:
        return ""
    found = []
    for row in strongest.itertuples():
        field, what = str(row.field), str(row.feature).removeprefix(f"{row.field} ")
        where = "" if field == "position" else f", column {(columns or {}).get(field, field)!r}"
        how = _WORDS.get(what) or f"whether it {what.replace('equals ', 'equals the ')}"
        found.append(f"{place}{where}: {how} decides {row.dimension!r} ({row.strength})")
    return f"{'; '.join(found)}; hide it with {' '.join(f'--mask {field}' for field in strongest['field'])}"


def ready_to_judge(benchmark: Benchmark, *, masked: Collection[str] = (), threshold: float = THRESHOLD) -> Benchmark:
    """What a judge may see: every judge calls this before it runs.

    Args:
        benchmark: With published mean scores.
        masked: Fields to hide; see ``MASKABLE``. The source stays in the table, since it is half of a row's key, and
            must not stand in a prompt.
        threshold: See ``check_leaks``.

    Returns:
        The benchmark with these fields empty. Ids stay those of the unmasked texts, so scores still join.

    Raises:
        GateError: Something about a field that is not hidden gives the score away.
        ValueError: A field cannot be hidden.
    """
    questions = mask(benchmark.questions, [name for name in masked if name != "source"])
    leaks = explain_leaks(measure_leaks(benchmark, masked=masked), place=benchmark.name, threshold=threshold)
    if leaks:
        raise GateError(leaks)
    return replace(benchmark, questions=questions)


def mask(questions: pd.DataFrame, fields: Collection[str]) -> pd.DataFrame:
    """Hide fields from whoever sees the questions. Ids stay those of the unmasked texts.

    Args:
        questions: Has question_id and the fields.
        fields: Of ``MASKABLE``; "position" puts the rows into the order of their ids, which says nothing.

    Raises:
        ValueError: A field cannot be hidden.
    """
    unknown = [name for name in fields if name not in MASKABLE]
    if unknown:
        raise ValueError(f"cannot mask {unknown[0]!r}; choose from {', '.join(MASKABLE)}")
    hidden = {name: "" if name in {"passage", "source"} else None for name in fields if name != "position"}
    masked = questions.copy()
    for name, value in hidden.items():
        masked[name] = pd.Series([value] * len(masked), index=masked.index, dtype=object)
    return masked.sort_values("question_id", kind="stable", ignore_index=True) if "position" in fields else masked
