"""Compiled loops against the plain code they stand for, and when they are loaded."""

import ast
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from threading import enumerate as threads
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from xerte import kernels
from xerte.graph.counting import Bits
from xerte.graph.slots import NOBODY, Slots
from xerte.nn.execution import EAGER
from xerte.segment import first_alike, largest

pytestmark = pytest.mark.skipif(find_spec("numba") is None, reason="Numba is not installed")


def loops(name: str) -> Any:
    """The module, compiled."""
    kernels.compiled(name, kernels.MANY)
    found = kernels.compiled(name)
    assert found is not None
    return found


@pytest.mark.parametrize("rows", [1, 300])
def test_slots_are_found_alike(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    compiled = loops("graph.slots_compiled")
    monkeypatch.setattr(kernels, "compiled", lambda name, rows=0: None)
    key = torch.randint(-40, 40, (rows, 50))
    held = torch.where(
        torch.rand(rows, 30) < 0.8, torch.stack([torch.randperm(99)[:30] - 50 for _ in range(rows)]), NOBODY
    )
    slots, wanted = Slots.of(held, torch.zeros(rows, dtype=torch.int64)), torch.where(key > 35, NOBODY, key)
    assert torch.equal(compiled.find(slots.ordered, slots.order, wanted), slots.find(wanted))
    assert bool((slots.find(wanted) >= 0).any())
    assert torch.equal(compiled.first_alike(key), first_alike(key))


def test_bits_are_counted_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    bits, asked = Bits(np.sort(rng.choice(5000, 3000, replace=False)), 5000), rng.permutation(5001).reshape(3, -1)
    count, found = loops("graph.slots_compiled").bits(bits._table, asked)
    for beyond in (-1, 64 * len(bits._table)):
        with pytest.raises(IndexError, match="not among the 5056"):
            loops("graph.slots_compiled").bits(bits._table, np.array([0, beyond]))
    monkeypatch.setattr(kernels, "compiled", lambda name, rows=0: None)
    for mine, plain in zip((count, found), bits.find(asked), strict=True):
        assert (mine == plain).all()


@pytest.mark.parametrize("size", [1, 7, 40, 99])
def test_the_largest_are_kept_alike(size: int) -> None:
    """With many equal ones, and what is no number."""
    torch.manual_seed(size)
    values = torch.randint(-1, 9, (200, 60)).float()
    values[5, 30], values[6] = torch.nan, torch.nan
    assert torch.equal(loops("nn.edge_compiled").largest(values, size), largest(values, size))


def test_nodes_are_told_apart_and_summed_alike() -> None:
    torch.manual_seed(0)
    compiled, count = loops("nn.node_compiled"), 3000
    entity, clock = torch.randint(0, 50, (count,)), torch.randint(-9, 1, (count,)) * 7
    entities, clocks, place = compiled.distinct(entity, clock)
    assert torch.equal(entities[place], entity)
    assert torch.equal(clocks[place], clock)
    assert len(entities) == len(set(zip(entity.tolist(), clock.tolist(), strict=True)))
    rows, known, of_clocks = torch.randn(40, 33), torch.arange(-63, 1, 7), torch.randn(10, 33)
    plain = rows[entity.clamp(max=39)] + of_clocks[torch.searchsorted(known, clock)]
    for slope in (0.01, 1.0):
        expected = torch.nn.functional.leaky_relu(plain, slope)
        assert torch.equal(compiled.summed(rows, of_clocks, known, entity, clock, slope), expected)
    assert compiled.summed(rows, of_clocks, known, entity, clock - (entity == 7).long(), 1.0) is None
    assert [len(one) for one in EAGER.distinct_nodes(entity[:0], clock[:0])] == [0, 0, 0]


LOADING = """
import sys, types

def exchange():
    sys.stdout, sys.stderr = open("/dev/null", "w"), open("/dev/null", "w")

class Plain:
    def __getattr__(self, name):
        return ""

colorama = types.ModuleType("colorama")
colorama.__version__, colorama.Fore, colorama.Style = "0.4.6", Plain(), Plain()
colorama.init = colorama.reinit = colorama.deinit = exchange
sys.modules["colorama"] = colorama
streams = sys.stdout, sys.stderr
from xerte import kernels
kernels._load()
assert kernels._loaded
from numba.core.errors import termcolor
assert termcolor().errmsg("wrong").endswith("wrong")
assert streams == (sys.stdout, sys.stderr)
"""


def test_loading_leaves_the_streams_alone() -> None:
    """What others write meanwhile would be lost, or come out elsewhere."""
    subprocess.run([sys.executable, "-c", LOADING], check=True)


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A process that has loaded nothing yet; and what it loads."""
    for thread in [one for one in threads() if one.name == "compiling"]:
        thread.join()  # begun by an earlier test: it would load into what follows
    asked: list[str] = []

    def load(name: str) -> ModuleType:
        asked.append(name)
        return sys

    for name, value in {"_loaded": {}, "_asked": [0], "_failed": [], "import_module": load}.items():
        monkeypatch.setattr(kernels, name, value)
    return asked


@torch.no_grad()
def test_a_first_answer_does_not_wait_for_loops(unloaded: list[str]) -> None:
    name = "graph.race_compiled"
    assert kernels.compiled(name) is None
    for _ in range(2):
        assert kernels.compiled(name, kernels.MANY // 2 - 1) is None
    assert unloaded == []
    kernels.compiled(name, 2)  # many in all: beside other work
    for thread in [one for one in threads() if one.name == "compiling"]:
        thread.join()
    assert f"xerte.{name}" in unloaded
    assert kernels.compiled(name) is sys


def test_many_rows_wait_for_loops(unloaded: list[str]) -> None:
    with torch.no_grad():
        assert kernels.compiled("graph.race_compiled", kernels.MANY) is sys
    assert len(unloaded) == len(kernels._LOOPS)


def test_learning_waits_for_loops(unloaded: list[str]) -> None:
    assert kernels.compiled("graph.race_compiled", 1) is sys
    assert len(unloaded) == len(kernels._LOOPS)


def test_a_compiler_that_fails_leaves_the_plain_code(unloaded: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> ModuleType:
        unloaded.append(name)
        raise RuntimeError("cannot cache function")

    monkeypatch.setattr(kernels, "import_module", refuse)
    for _ in range(3):
        assert kernels.compiled("graph.race_compiled", kernels.MANY) is None
    assert len(unloaded) == 1


def test_machine_code_is_kept_by_all_that_it_is_made_from(tmp_path: Path) -> None:
    """Numba would take what was compiled before a constant changed."""
    from numba.core import config as settings

    config: Any = settings
    package, before = tmp_path / "xerte", config.CACHE_DIR
    shutil.copytree(Path(kernels.__file__).parent, package, ignore=shutil.ignore_patterns("viewer", "__pycache__"))
    places = []
    for change in ("", "FLOOR = 2.0\n", ""):
        with (package / "graph" / "weights.py").open("a") as file:
            file.write(change)
        with kernels._kept_by_content(package):
            places.append(config.CACHE_DIR)
        assert before == config.CACHE_DIR
    assert places[0] != places[1] == places[2]


def test_all_that_becomes_part_of_loops_is_known() -> None:
    """But for what their plain functions call."""
    package, used = Path(kernels.__file__).parent, set[str]()
    for name in (*kernels._LOOPS, *kernels._PARTS):
        tree = ast.parse((package / f"{name.replace('.', '/')}.py").read_text("utf-8"))
        for one in tree.body:
            if isinstance(one, ast.ImportFrom) and one.module and one.module.startswith("xerte."):
                module = one.module.removeprefix("xerte.")
                inside = (package / module.replace(".", "/")).is_dir()
                used |= {f"{module}.{alias.name}" for alias in one.names} if inside else {module}
    assert used - {*kernels._PARTS} == {"graph.added", "graph.index", "kernels"}
