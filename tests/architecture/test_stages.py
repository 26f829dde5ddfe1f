"""dvc.yaml says what the stages really do: the modules they import, the parameters they read, the paths they write."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ruamel.yaml import YAML

from erreval.layout import Layout
from erreval.sections import ExtensionPlan, RoundPlan
from erreval.settings import load_settings, round_plan

ROOT = Path(__file__).resolve().parents[2]
ALWAYS = {"profile", "seed"}
PLAN = round_plan(3, warm_start=True)
# Three rounds, whatever the working copy's params.yaml says now: a run may have changed it.
SETTINGS = load_settings(ROOT / "params.yaml").model_copy(
    update={
        "rounds": {k: RoundPlan(**v) for k, v in PLAN["rounds"].items()},
        "extensions": {k: ExtensionPlan(**v) for k, v in PLAN["extensions"].items()},
    }
)
STAGES: dict[str, Any] = YAML(typ="safe").load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]


def rendered(text: str, key: str = "", item: Any = None) -> str:
    """A template of dvc.yaml, filled in as DVC does."""
    values = {"profile": SETTINGS.profile, "key": key} | {f"item.{k}": v for k, v in (item or {}).items()}
    return re.sub(r"\$\{([\w.]+)\}", lambda found: str(values.get(found[1], found[0])), text)


def variants(name: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """A stage, once for every key of its ``foreach``: (key, item, definition)."""
    stage = STAGES[name]
    if "foreach" not in stage:
        yield "", {}, stage
        return
    section = getattr(SETTINGS, stage["foreach"].removeprefix("${").removesuffix("}"))
    for key, item in section.items():
        yield key, item.model_dump(), stage["do"]


def paths(name: str, kinds: tuple[str, ...]) -> set[str]:
    """The rendered paths that a stage lists under ``kinds``."""
    found = set()
    for key, item, stage in variants(name):
        for entry in itertools.chain.from_iterable(stage.get(kind, []) for kind in kinds):
            found.add(rendered(entry if isinstance(entry, str) else next(iter(entry)), key, item))
    return found


# Which modules a stage imports.


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """tools/stage_deps.py; what it reads off the import graph is kept for the whole module."""
    spec = importlib.util.spec_from_file_location("stage_deps", ROOT / "tools" / "stage_deps.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.module_files(list(STAGES))
    module.module_files = lambda stages: {stage: found[stage] for stage in stages}
    return module


def test_each_stage_depends_on_the_modules_it_imports(tool: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main() == 0, capsys.readouterr().out


@pytest.mark.parametrize("change", ["a missing module", "a module too many"])
def test_a_wrong_list_of_modules_is_noticed(
    tool: ModuleType, change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (ROOT / "dvc.yaml").read_text(encoding="utf-8").splitlines()
    at = next(k for k, line in enumerate(lines) if line.strip() == "- src/erreval/data/splits.py")
    lines[at : at + 1] = [] if change == "a missing module" else [lines[at], lines[at].replace("splits", "leaks")]
    (tmp_path / "dvc.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    assert tool.main() == 1
    assert re.search(r"module deps of .*\bprepare\b.* are not what they import", capsys.readouterr().out)


@pytest.mark.parametrize("stage", ["train_identifier", "prepare", "evaluate"])
def test_what_the_tool_finds_is_what_python_imports(tool: ModuleType, stage: str) -> None:
    """The import graph against the modules that are in memory once the stage's module has been imported."""
    code = f"import sys, pipelines.{stage}; print(*sorted(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    ours = {name for name in ended.stdout.split() if name.split(".")[0] in {"erreval", "pipelines"}}
    listed = set(tool.module_files([stage])[stage])
    files = {str(tool._file(name).relative_to(ROOT)) for name in ours}
    assert files <= listed


# Which parameters a stage reads.


def declared(name: str) -> list[str]:
    return sorted({rendered(p, key, item) for key, item, stage in variants(name) for p in stage.get("params", [])})


@pytest.mark.parametrize("name", STAGES)
def test_parameters_are_those_of_the_module(name: str) -> None:
    module = importlib.import_module(f"pipelines.{name}")
    top = {parameter.split(".")[0] for parameter in declared(name)}
    assert "profile" in top
    assert top - ALWAYS == set(getattr(module, "PARAMS", ()))


@pytest.mark.parametrize("name", STAGES)
def test_what_a_stage_reads_of_a_section_is_declared(name: str) -> None:
    """A dotted parameter covers the field it names and no other; drawing at random needs the seed."""
    source = (ROOT / "pipelines" / f"{name}.py").read_text(encoding="utf-8")
    found = {parameter for _, _, stage in variants(name) for parameter in stage["params"]}
    for section, field in re.findall(r"\bsettings\.(\w+)(?:\.(\w+))?", source):
        if section not in ALWAYS and section in type(SETTINGS).model_fields:
            assert found & {section, f"{section}.{field}", f"{section}.${{key}}"}, (section, field)
    if ".rng()" in source or "pipelines.training" in source:
        assert "seed" in found


# Which paths a stage writes and reads.


def test_paths_are_those_of_the_layout() -> None:
    layout = Layout(SETTINGS.profile)
    rounds, extensions = list(SETTINGS.rounds), SETTINGS.extensions
    expected = {
        layout.raw,
        layout.backbone,
        layout.prepared,
        layout.champion,
        layout.diagnosis,
        layout.gate("prepare"),
        *(layout.gate(f"extend-{k}") for k in extensions),
        *(layout.gate(f"label_noise-{k}") for k in rounds),
        *(layout.label_noise(k) for k in rounds),
        *(layout.training_set(k).parent for k in rounds),
        *(layout.model(kind, k) for kind in ("identifier", "fused", "verifier") for k in rounds),
        *(layout.cross_fitted(k) for k in rounds),
        *(layout.assessment(k) for k in rounds),
        *(f(k) for f in (layout.predictions, layout.selection, layout.queue, layout.labels) for k in extensions),
        *(layout.results / f"{name}.json" for name in ("identifier", "verifier", "evaluate")),
        *(layout.published(what) for what in ("refinement", "evaluation")),
    }
    written = set().union(*(paths(name, ("outs", "metrics")) for name in STAGES))
    assert written == {str(path) for path in expected}


def test_no_two_stages_write_the_same_and_profiles_do_not_meet() -> None:
    outs = [path for name in STAGES for path in paths(name, ("outs", "metrics"))]
    assert len(outs) == len(set(outs))
    assert all(f"/{SETTINGS.profile}/" in path for path in outs)
    for a, b in itertools.permutations(outs, 2):
        assert not a.startswith(f"{b}/"), f"{a} lies inside {b}"


@pytest.mark.parametrize("name", STAGES)
def test_what_a_stage_reads_is_made_by_another_or_lies_in_git(name: str) -> None:
    outs = {path for other in STAGES for path in paths(other, ("outs", "metrics"))}
    for path in paths(name, ("deps",)):
        made = any(path == out or path.startswith(f"{out}/") or out.startswith(f"{path}/") for out in outs)
        assert made or (ROOT / path).exists(), path
        assert made != path.startswith(("src/", "pipelines/", "data/sample")), path


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_runs_its_module(name: str) -> None:
    for key, item, stage in variants(name):
        command = rendered(stage["cmd"], key, item)
        assert f"-m pipelines.{name}" in command
        assert command.endswith(key)
        assert stage["desc"]
