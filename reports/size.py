"""How large the package is: files, lines and public names, now and at an earlier commit."""

import ast
import subprocess
from collections.abc import Iterable
from pathlib import Path

from reports.table import Table

SOURCE = "src/xerte"


def table(root: Path, base: str) -> Table:
    """The package at a commit and in the working tree."""
    columns = ("package", "files", "lines", "public names")
    rows = ((base, *counted(_at(root, base))), ("now", *counted(_now(root))))
    return Table(columns, [(name, *(f"{count:,}" for count in counts)) for name, *counts in rows])


def counted(sources: Iterable[str]) -> tuple[int, int, int]:
    """Files, lines, and classes and functions at the top of a module whose names do not begin with `_`."""
    texts = list(sources)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    tops = [node for text in texts for node in ast.parse(text).body if isinstance(node, kinds)]
    public = sum(not node.name.startswith("_") for node in tops)
    return len(texts), sum(len(text.splitlines()) for text in texts), public


def _now(root: Path) -> Iterable[str]:
    return (file.read_text("utf-8") for file in (root / SOURCE).rglob("*.py"))


def _at(root: Path, commit: str) -> Iterable[str]:
    names = _git(root, "ls-tree", "-r", "--name-only", commit, SOURCE).splitlines()
    return (_git(root, "show", f"{commit}:{name}") for name in names if name.endswith(".py"))


def _git(root: Path, *words: str) -> str:
    run = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True)  # noqa: S603, S607
    return run.stdout
