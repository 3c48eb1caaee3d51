"""An import within a budget: the same dataset, in less memory."""

import filecmp
import os
import subprocess
import sys
import time
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xerte import storage
from xerte.data import budget, store
from xerte.data.budget import Budget, ascends, parse_memory
from xerte.data.events import read_events
from xerte.data.splits import split_by_fraction
from xerte.errors import InputError


@pytest.mark.parametrize(
    ("text", "size"), [("4GiB", 4 << 30), ("4 gb", 4 << 30), ("1.5g", 3 << 29), ("800M", 800 << 20), ("1t", 1 << 40)]
)
def test_memory_is_written_in_powers_of_two(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "much", "-4GiB", "4 apples", "1e9", "511MiB", "0"])
def test_other_amounts_are_one_sentence(text: str) -> None:
    with pytest.raises(InputError, match=r"write it like 4GiB or 800MiB|give at least 512MiB"):
        parse_memory(text)


def test_order_is_found_across_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for at_once in (1, 2, 3, 100):
        monkeypatch.setattr(budget.parts, "__defaults__", (at_once,))
        for last in range(8):
            values = np.array([0, 1, 1, 2, 5, 5, 7, last], np.int32)
            assert ascends(values) == (last >= 7)
            assert not ascends(values[::-1])
        assert ascends(values[:0])
        assert ascends(values[:1])


def events_file(path: Path, rows: int) -> Path:
    """Rows in no order, some of them twice, bad, without an object or an end."""
    random = np.random.default_rng(0)
    start = np.datetime64("2020-01-01") + random.integers(0, 90, rows)
    end = np.where(random.random(rows) < 0.8, (start + random.integers(-1, 4, rows)).astype(str), "")
    who = np.char.add("name ", random.integers(0, 40, (2, rows)).astype(str))
    who[1][random.random(rows) < 0.1] = ""
    what = np.where(random.random(rows) < 0.01, "", np.char.add("r", random.integers(0, 5, rows).astype(str)))
    note = np.char.add("näher ", random.integers(0, 10**6, rows).astype(str))
    lines = [",".join(row) for row in zip(who[0], what, who[1], start.astype(str), end, note, strict=True)]
    path.write_text("\n".join(["subject,relation,object,time,end,note", *lines, *lines[:50]]) + "\n")
    return path


@pytest.mark.parametrize(
    "options",
    [
        {"ends": "end", "missing_object": "=nobody"},
        {"ends": "end", "lasting": "both", "missing_object": "skip"},
        {"missing_object": "skip", "unit": "month"},
        {},
    ],
)
def test_a_budget_changes_nothing(options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = events_file(tmp_path / "events.csv", 600)
    options = {"keep": ["note"], "bad_rows": "skip", "rejects": tmp_path / "bad.csv", "force": True, **options}
    found, sizes, mapped = [], list[int](), storage.scratch_map

    def noted(folder: Path, size: int) -> mmap:
        sizes.append(size)
        return mapped(folder, size)

    for memory in (None, 4096):
        if memory is not None:
            monkeypatch.setattr(Budget, "block", lambda *_: 1009)
            monkeypatch.setattr(budget, "_SMALL", 64)
            monkeypatch.setattr(budget.parts, "__defaults__", (211,))
            monkeypatch.setattr(storage, "scratch_map", noted)
        log = read_events(file, memory=memory, **options)
        store.save(split_by_fraction(log, "mine"), tmp_path / str(memory))
        found.append((log.report, (tmp_path / "bad.csv").read_bytes()))
    assert found[0] == found[1]
    assert len(sizes) > 10
    same = filecmp.dircmp(tmp_path / "None", tmp_path / "4096")
    assert not same.diff_files
    assert not same.left_only
    assert not same.right_only
    assert not same.subdirs["facts"].diff_files
    assert not same.subdirs["extras"].diff_files


MEMORY = """
import sys
from xerte.api.imports import import_events
from xerte.graph.index import TemporalIndex  # loads torch, whose size is no matter of the import's
from xerte.data.events import read_events
import duckdb

print("ready", flush=True)
sys.stdin.readline()
import_events(sys.argv[1], "grown", memory=eval(sys.argv[2]))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell what memory is a file's")
def test_memory_stays_within_the_budget(tmp_path: Path) -> None:
    import duckdb

    rows = 2_000_000
    query = f"""SELECT 'actor ' || hash(4 * i) % 1000 AS subject, 'r' || hash(4 * i + 1) % 9 AS relation,
        'actor ' || hash(4 * i + 2) % 1000 AS object, DATE '2020-01-01' + (hash(4 * i + 3) % 3000)::INTEGER AS time
        FROM range({rows}) AS numbers(i)"""
    file = tmp_path / "events.parquet"
    duckdb.connect().execute(f"COPY ({query}) TO '{file}'")
    assert taken(tmp_path, file, 256 << 20) < 256 << 20  # more than 300 MiB without it


def taken(folder: Path, file: Path, memory: int | None) -> int:
    """The most memory of its own, no file's, that an import takes beside what the program itself takes."""
    home = {**os.environ, "XERTE_HOME": str(folder / str(memory)), "OMP_NUM_THREADS": "1", "TMPDIR": str(folder)}
    with subprocess.Popen(
        [sys.executable, "-c", MEMORY, str(file), str(memory)],
        env=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        before, most = own(process.pid), 0
        process.stdin.write("\n")
        process.stdin.flush()
        while process.poll() is None:
            most = max(most, own(process.pid))
            time.sleep(0.002)
    assert process.returncode == 0
    return most - before


def own(process: int) -> int:
    """Bytes of a process that are no file's."""
    found = [line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("RssAnon")]
    return int(found[0].split()[1]) << 10 if found else 0
