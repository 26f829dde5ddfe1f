"""Which modules each DVC stage imports: checks dvc.yaml, or writes it (--write).

A stage whose deps miss a module goes stale in silence; one that depends on all of src retrains on every edit. So the
deps are computed from the import graph, function-level imports included, with the packages' ``__init__`` modules.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import grimp
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parent.parent
_FOLDERS = {"erreval": ROOT / "src" / "erreval", "pipelines": ROOT / "pipelines"}

_NAMED_BY_PATH = {"publish_refinement": "erreval.served_model"}
"""Modules that a stage hands on as a file, which no import shows."""


def module_files(stages: list[str]) -> dict[str, list[str]]:
    """For each stage, the files of ``pipelines.<stage>`` and of every project module it imports, sorted."""
    graph = grimp.build_graph("erreval", "pipelines", exclude_type_checking_imports=True, cache_dir=None)
    found = {}
    for stage in stages:
        module = f"pipelines.{stage}"
        modules = {module, *graph.find_upstream_modules(module)}
        if stage in _NAMED_BY_PATH:
            modules.add(_NAMED_BY_PATH[stage])
        for name in tuple(modules):
            parts = name.split(".")
            modules |= {".".join(parts[:k]) for k in range(1, len(parts))}
        found[stage] = sorted(str(_file(name).relative_to(ROOT)) for name in modules)
    return found


def _file(module: str) -> Path:
    top, *rest = module.split(".")
    base = _FOLDERS[top].joinpath(*rest)
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def _is_module(dep: object) -> bool:
    return isinstance(dep, str) and re.fullmatch(r"(src/erreval|pipelines)/.*\.py", dep) is not None


def main() -> int:
    """Compare or write; the exit status says whether dvc.yaml is right."""
    yaml = YAML()
    yaml.width = 120
    yaml.indent(mapping=2, sequence=4, offset=2)
    path = ROOT / "dvc.yaml"
    document = yaml.load(path.read_text(encoding="utf-8"))
    wrong = []
    for name, files in module_files(list(document["stages"])).items():
        stage = document["stages"][name]
        stage = stage.get("do", stage)
        deps = stage.get("deps", [])
        others = [dep for dep in deps if not _is_module(dep)]
        if sorted(dep for dep in deps if _is_module(dep)) != files:
            wrong.append(name)
            stage["deps"] = [*others, *files]
    if wrong and "--write" in sys.argv:
        with path.open("w", encoding="utf-8") as stream:
            yaml.dump(document, stream)
        print(f"dvc.yaml: wrote the module deps of {', '.join(wrong)}")
        return 0
    if wrong:
        print(f"dvc.yaml: the module deps of {', '.join(wrong)} are not what they import; run `make deps`")
        return 1
    print("dvc.yaml: every stage depends on the modules that it imports")
    return 0


if __name__ == "__main__":
    sys.exit(main())
