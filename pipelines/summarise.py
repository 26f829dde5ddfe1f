"""Stage summarise: every round's metrics in one place, and the champion.

The champion's headlines stand on top as numbers; all else stands in lists, which `dvc metrics show` leaves out.
"""

from __future__ import annotations

import json
from typing import Any

from pipelines.context import open_context, write_json
from pipelines.supervision import run, stage

PARAMS = ("rounds",)
SIDES = ("dev", "test")


def main() -> None:
    """Write results/<profile>/identifier.json and verifier.json, and name the round that is best on dev."""
    here = open_context("summarise", PARAMS)
    layout = here.layout
    outputs = [layout.results / "identifier.json", layout.results / "verifier.json", layout.champion]
    with stage(here.name, outputs, profile=here.settings.profile) as work:
        rounds = {key: json.loads(layout.assessment(key).read_text(encoding="utf-8")) for key in here.settings.rounds}
        champion = max(rounds, key=lambda key: (rounds[key]["identifier"]["dev"]["micro_f1"], -int(key[1:])))
        identifier = {key: _without(found["identifier"], "confusion") for key, found in rounds.items()}
        verifier = {key: found["verifier"] for key, found in rounds.items()}
        perturbed = {side: found["perturbed"] for side, found in verifier[champion].items()}
        write_json(_result(champion, identifier, identifier[champion], "micro_f1"), work.path(outputs[0]))
        write_json(_result(champion, verifier, perturbed, "accuracy"), work.path(outputs[1]))
        write_json({"round": champion}, work.path(outputs[2]))


def _result(champion: str, rounds: dict[str, Any], headlines: dict[str, Any], metric: str) -> dict[str, Any]:
    sides = {side: {metric: headlines[side][metric], "floor": headlines[side]["floor"][metric]} for side in SIDES}
    return {"champion": champion, **sides, "rounds": [{"round": key, **found} for key, found in rounds.items()]}


def _without(sides: dict[str, Any], key: str) -> dict[str, Any]:
    return {side: {name: value for name, value in found.items() if name != key} for side, found in sides.items()}


if __name__ == "__main__":
    run(main)
