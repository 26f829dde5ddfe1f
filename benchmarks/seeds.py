"""How much the figures depend on the seed: the main job with one round, once a seed, as mean and standard deviation.

    python benchmarks/seeds.py 20240 1 2

Each seed has a copy of the project of its own in a temporary folder; the downloaded files come from the usual cache.
The seed draws the injected errors, the order of training, the folds and the resamples.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from erreval.layout import Layout
from erreval.settings import apply_changes

ROOT = Path(__file__).parents[1]
NEEDED = ("dvc.yaml", "params.yaml", "profiles", "src", "pipelines", "data/sample")


def main() -> None:
    """Run every seed, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", type=int, nargs="+")
    seeds = parser.parse_args().seeds
    found = []
    for seed in seeds:
        print(f"seed {seed} …", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            found.append(figures(Path(folder), seed))
        print("   " + "  ".join(f"{name} {value:.3f}" for name, value in found[-1].items()), flush=True)
    print(f"\nmean ± standard deviation over {len(seeds)} seeds")
    for name in found[0]:
        values = np.array([one[name] for one in found])
        spread = f"{values.std(ddof=1):.3f}" if len(values) > 1 else "unknown"
        print(f"{name:52} {values.mean():.3f} ± {spread}")


def figures(project: Path, seed: int) -> dict[str, float]:
    """The headline figures of the main job with this seed."""
    for name in NEEDED:
        place = project / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy2(ROOT / name, place)
    settings = apply_changes(project / "params.yaml", {"seed": seed, "rounds": 1})
    environment = {**os.environ, "PYTHONPATH": f"{project}:{project / 'src'}", "DVC_NO_ANALYTICS": "1"}
    for command in (["init", "--no-scm", "-q"], ["repro", "evaluate"]):
        subprocess.run(
            [sys.executable, "-m", "dvc", *command], cwd=project, env=environment, check=True, stdout=subprocess.DEVNULL
        )
    results = Layout(settings.profile, project).results
    (one,) = json.loads((results / "identifier.json").read_text())["rounds"]
    return {**_identified(one), **_evaluated(json.loads((results / "evaluate.json").read_text()))}


def _identified(found: dict[str, Any]) -> dict[str, float]:
    types = {side: {row["type"]: row for row in found[side]["types"]} for side in ("test", "cross_fitted")}
    named = ("Unnecessary Copy from Passage", "Off Target Answer")
    return {
        "pilot test: micro-F1 minus floor": found["test"]["gain"]["micro_f1"],
        "pilot cross-fitted: micro-F1 minus floor": found["cross_fitted"]["gain"]["micro_f1"],
        "pilot cross-fitted: lower end of its interval": found["cross_fitted"]["gain"]["low"],
        **{f"{side}: AUROC {name}": types[side][name]["auroc"] for side in types for name in named},
    }


def _evaluated(found: dict[str, Any]) -> dict[str, float]:
    if not found["scored"]:
        return {}
    figures = {
        "QGEval: mean r of six": found["mean_pearson_six"],
        "QGEval: mean r of seven": found["mean_pearson"],
        "QGEval outside dev: mean r of six": found["outside_dev"]["mean_pearson_six"],
        "QGEval outside dev: mean r of seven": found["outside_dev"]["mean_pearson"],
        **{f"QGEval: r {name}": row["pearson"] for name, row in found["dimensions"].items()},
    }
    for row in found["with_judges"]:
        for name in ("pearson", "overestimation", "penalised"):
            figures[f"with {row['judge']}, {row['dimension']}: {name}"] = row[name]
    return figures


if __name__ == "__main__":
    main()
