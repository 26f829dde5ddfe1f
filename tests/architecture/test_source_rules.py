"""Rules of the source that no linter knows, and the contracts that one does."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from erreval.taxonomy import ALL_TYPES, ErrorType

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(p for top in ("src/erreval", "pipelines", "flows") for p in (ROOT / top).rglob("*.py"))
LONGEST = 400


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    """Every module of the product, parsed."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}


def test_import_contracts_hold() -> None:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout
    assert " 0 broken" in ended.stdout


def test_no_module_is_longer_than_can_be_read() -> None:
    long = {name_of(p): n for p in SOURCES if (n := len(p.read_text(encoding="utf-8").splitlines())) > LONGEST}
    assert not long


def test_modules_say_what_they_are_and_none_is_a_drawer(trees: dict[Path, ast.Module]) -> None:
    assert not [name_of(path) for path, tree in trees.items() if not ast.get_docstring(tree)]
    assert not [name_of(path) for path in SOURCES if path.stem in {"utils", "util", "helpers", "misc", "common"}]


def test_no_error_is_swallowed_whole(trees: dict[Path, ast.Module]) -> None:
    """No ``except Exception: pass`` in any spelling."""
    found = []
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ExceptHandler) and _is_everything(node.type) and _does_nothing(node.body):
                found.append(f"{name_of(path)}:{node.lineno}")
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") == "suppress"
                and any(map(_is_everything, node.args))
            ):
                found.append(f"{name_of(path)}:{node.lineno}")
    assert not found


def _is_everything(caught: ast.expr | None) -> bool:
    return caught is None or any(getattr(n, "id", "") in {"Exception", "BaseException"} for n in ast.walk(caught))


def _does_nothing(body: list[ast.stmt]) -> bool:
    idle = (ast.Pass, ast.Continue)
    return all(isinstance(n, idle) or isinstance(getattr(n, "value", None), ast.Constant) for n in body)


def _texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every text of a module with its line, docstrings and bare texts left out."""
    bare = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.lineno, node.value


def test_error_types_are_spelled_once(trees: dict[Path, ast.Module]) -> None:
    """Only taxonomy.py spells a label, apart from messages and prompts, which are sentences and no labels."""
    labels = {t.value for t in ALL_TYPES}
    distinctive = labels - {ErrorType.VAGUE.value, ErrorType.INCOMPLETE.value, ErrorType.NO_ERROR.value}
    found = [
        f"{name_of(path)}:{line}: {text!r}"
        for path, tree in trees.items()
        if path.name not in {"taxonomy.py", "prompts.py"} and "prompts" not in path.parts
        for line, text in _texts(tree)
        if text in labels or any(label in text and len(text) < len(label) + 12 for label in distinctive)
    ]
    assert not found


def test_nothing_is_unpickled(trees: dict[Path, ast.Module]) -> None:
    """No pickle, joblib, dill or torch.load."""
    found = []
    for path, tree in trees.items():
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if {name.split(".")[0] for name in names} & {"pickle", "joblib", "dill", "cloudpickle", "shelve"}:
                found.append(f"{name_of(path)}:{node.lineno}")
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {"torch.load", "pd.read_pickle"}:
                found.append(f"{name_of(path)}:{node.lineno}")
    assert not found
