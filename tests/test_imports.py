"""The table in ARCHITECTURE.md is the law; this reads every import statement, those inside functions too."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "xerte"
FOR_EVERYBODY = {"errors", "types", "segment"}
BESIDE = ("benchmarks", "reports")
"""Folders beside the package: they need a clone."""


def table() -> dict[str, set[str]]:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8").split("| room | may import |\n|---|---|\n")[1].split("\n\n")[0]
    cells = [[cell.strip() for cell in line.split("|")[1:3]] for line in text.splitlines()]
    return {room: {other.strip() for other in others.split(",") if other.strip()} for room, others in cells}


def rooms() -> set[str]:
    packages = {file.parent.name for file in SOURCE.glob("*/__init__.py")}
    return packages | {file.stem for file in SOURCE.glob("*.py")} - {"__init__", "__main__"}


def imported(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """(line, module) of every import that runs, at any depth; a relative one is made absolute."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for branch in node.orelse:
                yield from imported(branch, package)
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*package.split(".")[: len(package.split(".")) - node.level + 1], base]).rstrip(".")
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        yield from imported(node, package)


def crossings(file: Path) -> Iterator[tuple[str, str]]:
    """(where, room) of every import from another room of the package."""
    inside = file.is_relative_to(SOURCE)
    parts = file.relative_to(SOURCE.parent if inside else ROOT).with_suffix("").parts
    here = parts[1] if inside else parts[0]
    for line, module in imported(ast.parse(file.read_text("utf-8")), ".".join(parts[:-1])):
        names = module.split(".")
        room = names[1] if names[0] == "xerte" and len(names) > 1 else names[0]
        if room in rooms().union(BESIDE) - {here}:
            yield f"{file.relative_to(ROOT)}:{line}", room


def test_every_room_has_a_line_in_the_table() -> None:
    assert rooms().union(BESIDE) <= table().keys()


def test_the_package_works_without_a_clone() -> None:
    law = table()
    assert [room for room in rooms() if law[room].intersection(BESIDE)] == []


def test_the_table_has_no_cycle() -> None:
    law, done = table(), set(FOR_EVERYBODY)
    while remaining := law.keys() - done:
        free = {room for room in remaining if law[room] <= done}
        assert free, f"these rooms import each other in a circle: {sorted(remaining)}"
        done |= free


def test_every_import_is_allowed() -> None:
    law, broken = table(), []
    files = [(file, file.relative_to(SOURCE).with_suffix("").parts[0]) for file in SOURCE.rglob("*.py")]
    files += [(file, room) for room in BESIDE for file in (ROOT / room).rglob("*.py")]
    for file, here in sorted(files):
        if here in {"__init__", "__main__"}:
            continue
        broken += [
            f"{where} imports {room}, which {here} may not"
            for where, room in crossings(file)
            if room not in law[here] | FOR_EVERYBODY
        ]
    assert broken == []


def test_imports_inside_functions_and_relative_ones_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "src" / "xerte" / "data"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package.parent / "api.py").touch()
    bad = package / "bad.py"
    bad.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import xerte.api\n"
        "def f():\n    from xerte import api\n    from ..api import load\n    from . import bad\n"
    )
    beside = tmp_path / "reports" / "good.py"
    beside.parent.mkdir()
    beside.write_text("from xerte import api\nfrom benchmarks.record import Record\nfrom reports import good\n")
    (package / "worse.py").write_text("import reports.good\n")
    monkeypatch.setattr(f"{__name__}.SOURCE", package.parent)
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    assert list(crossings(bad)) == [("src/xerte/data/bad.py:5", "api"), ("src/xerte/data/bad.py:6", "api")]
    assert list(crossings(beside)) == [("reports/good.py:1", "api"), ("reports/good.py:2", "benchmarks")]
    assert list(crossings(package / "worse.py")) == [("src/xerte/data/worse.py:1", "reports")]


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import xerte", {"torch", "duckdb", "numpy", "rich", "typer"}),
        ("import xerte.cli", {"torch", "duckdb", "numpy"}),
        ("import xerte.data.store, xerte.data.catalog", {"torch", "duckdb", "rich", "typer"}),
        ("import xerte; xerte.load, xerte.read_events", {"torch", "duckdb", "rich", "typer"}),
        (
            "from xerte.api.service import Service; from xerte.api.schemas import Forecast",
            {"duckdb", "rich", "xerte.api.ask", "xerte.rates.model", "xerte.api.schemas.serving"},
        ),
    ],
)
def test_what_is_heavy_is_loaded_late(code: str, absent: set[str]) -> None:
    program = f"import sys\n{code}\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert absent.isdisjoint(loaded)


def test_waiting_threads_sleep_unless_the_user_says_otherwise() -> None:
    program = (
        "import sys, os, xerte\nxerte.load\nassert 'torch' not in sys.modules\nprint(os.environ['OMP_WAIT_POLICY'])"
    )
    for given, expected in (({}, "passive"), ({"OMP_WAIT_POLICY": "active"}, "active")):
        bare = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
        found = subprocess.run(
            [sys.executable, "-c", program], env=bare | given, capture_output=True, text=True, check=True
        )
        assert found.stdout.strip() == expected
