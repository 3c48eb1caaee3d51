"""Many processes learn the model that one learns: the same losses, also after a stop, a death, or on another number."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DRIVER = Path(__file__).with_name("processes_driver.py")


def run(out: Path, processes: int, *options: str) -> dict[str, Any]:
    """What the driver found, run under torchrun where there are several processes."""
    out.mkdir(exist_ok=True)
    torchrun = [
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        str(processes),
        "--max-restarts",
        "1",
    ]
    command = [sys.executable, *(torchrun if processes > 1 else []), str(DRIVER), str(out), *options]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads((out / "found.json").read_text())
    return found


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(tmp_path_factory.mktemp("alone"), 1)


def test_two_processes_of_which_one_dies_learn_what_one_learns(tmp_path: Path, alone: dict[str, Any]) -> None:
    found = run(tmp_path / "two", 2, "--kill", "12")
    rest = alone["graph"]["losses"][10:]  # both begin again with the checkpoint after step 10
    assert found["graph"]["losses"] == pytest.approx(rest, abs=1e-4)
    assert found["best"]["losses"] == pytest.approx(alone["best"]["losses"], abs=1e-5)
    assert found["best"]["valid"] == pytest.approx(alone["best"]["valid"], abs=0.01)


def test_what_three_processes_began_one_ends(tmp_path: Path, alone: dict[str, Any]) -> None:
    begun = run(tmp_path / "three", 3, "--stop", "10")  # 61 questions in a batch: parts of 21, 20 and 20
    ended = run(tmp_path / "three", 1)
    for model, tolerance in (("graph", 1e-4), ("best", 1e-5)):
        losses = begun[model]["losses"] + ended[model]["losses"]
        assert losses == pytest.approx(alone[model]["losses"], abs=tolerance)
