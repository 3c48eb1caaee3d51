"""Training on several processes: what travels per step, and how a model of the speed-up compares with what is measured.

The model: a step of a batch of B questions on P processes takes

    t(P) = (a + c · B / P) · max(1, P / cores) + s(P),

a and c from steps of one process on B, B/2 and B/4 questions, s(P) the time of one sum over P processes of as many
numbers as are sent, measured alone. The ring that sums moves 2 (P - 1) / P times these bytes through every process.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from benchmarks.record import Machine
from xerte.data import catalog
from xerte.data.frame import Frame
from xerte.errors import InputError
from xerte.experiment.preset import resolve
from xerte.experiment.registry import learner
from xerte.graph.stored import index_of
from xerte.training.loop import Trainer
from xerte.training.processes import Processes

FORMAT = "xerte processes 1"
_WARM, _COMPARED, _NEAR = 3, 20, 1e-4
"""Steps that are not timed; steps whose losses are compared with those of one process, and how near they must be."""


def measure(
    dataset: str, preset: str, counts: Sequence[int], steps: int, command: str, on_stage: Callable[[str], None]
) -> dict[str, Any]:
    """The record: one entry per number of processes, with measured and modelled seconds of a step.

    Args:
        dataset: by name.
        preset: of what is trained.
        counts: of processes; 1 is among them.
        steps: that are timed.
        command: what the user typed.
        on_stage: called with what begins.
    """
    found = {}
    for count in counts:
        on_stage(f"{dataset}, {preset}: {count} processes")
        found[count] = _run(dataset, preset, count, steps)
    alone, cores = found[1], len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    sizes = np.array([float(size) for size in alone["step_s"]])
    slope, start = np.polyfit(sizes, np.array(list(alone["step_s"].values())), 1)
    rows = []
    for count, body in found.items():
        step = body["step_s"][str(body["batch"])]
        modelled = (start + slope * body["batch"] / count) * max(1, count / cores) + body["sum_s"]
        words = {"processes": count, "step_s": step, "modelled_s": float(modelled), "sum_s": body["sum_s"]}
        rows.append({**words, "steps": len(body["losses"]), "alike": _alike(body["losses"], alone["losses"])})
    sent = {key: alone[key] for key in ("parameters", "tables", "touched", "adam_s", "batch")} | {
        "bytes": found[max(found)]["bytes"]
    }
    machine = asdict(Machine.of(torch.device("cpu")))
    named = {"format": FORMAT, "dataset": dataset, "preset": preset, "cores": cores, "steps": steps}
    return named | sent | {"counts": rows, "machine": machine, "command": command}


def _alike(losses: Sequence[float], alone: Sequence[float]) -> int:
    """How many steps pass before a loss differs from that of one process by more than 1e-4."""
    apart = (abs(one - other) > _NEAR for one, other in zip(losses, alone, strict=True))
    return next((step for step, far in enumerate(apart) if far), len(losses))


def _run(dataset: str, preset: str, count: int, steps: int) -> dict[str, Any]:
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count)]
    with tempfile.TemporaryDirectory(prefix="xerte-") as folder:
        out = Path(folder) / "found.json"
        program = [sys.executable, *(torchrun if count > 1 else []), "-m", "benchmarks.processes"]
        done = subprocess.run(  # noqa: S603
            [*program, dataset, preset, str(steps), str(out)],
            capture_output=True, text=True, check=False, env=os.environ | {"OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        if done.returncode:
            raise InputError(f"training on {count} processes failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
        body: dict[str, Any] = json.loads(out.read_text())
        return body


class Counted:
    """Counts what the processes sum, in bytes, while it is open."""

    def __enter__(self) -> "Counted":
        self.bytes, self._sum = 0, dist.all_reduce

        def counting(values: torch.Tensor, *some: Any, **named: Any) -> Any:
            self.bytes += values.numel() * values.element_size()
            return self._sum(values, *some, **named)

        dist.all_reduce = counting  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        dist.all_reduce = self._sum


def worker(dataset_name: str, preset: str, steps: int, out: Path) -> None:
    """One process: times steps, counts what is summed, and sums as much alone."""
    torch.set_num_threads(1)
    processes, dataset = Processes.joined(torch.device("cpu")), catalog.load(dataset_name)
    settings = resolve(preset, dataset)
    torch.manual_seed(0)
    model = learner(settings.learner)[1](settings.model, Frame.of(dataset), 0)
    trainer = Trainer(model, dataset, index_of(dataset), settings.training, processes=processes)
    trainer.step.pretrain()
    model.train()
    whole = settings.training.batch_size
    sizes = [whole] if processes.size > 1 else [whole, whole // 2, whole // 4]
    order = torch.from_numpy(np.random.default_rng(0).permutation(len(trainer.batches.queries)))
    seconds, losses, bytes_a_step = {}, list[float](), 0
    for size in sizes:
        times, most = list[float](), max(_WARM + steps, _COMPARED if size == whole else 0)
        for rows in torch.split(order[: size * most], size):
            processes.wait()
            started = perf_counter()
            with Counted() as counted:
                loss = trainer.step(rows, 1)
            times.append(perf_counter() - started)
            bytes_a_step = counted.bytes
            if size == whole:
                losses.append(float(loss))
        seconds[str(size)] = median(times[_WARM:])
    sums = []
    values = torch.zeros(max(1, bytes_a_step // 4))
    for _ in range(_WARM + steps if processes.size > 1 else 0):
        processes.wait()
        started = perf_counter()
        processes.sum(values)
        sums.append(perf_counter() - started)
    if processes.first:
        tables = [p for p in model.parameters() if p.ndim > 1 and len(p) >= dataset.num_entities]
        found = {
            "step_s": seconds, "batch": whole, "bytes": bytes_a_step, "losses": losses[:_COMPARED],
            "sum_s": median(sums[_WARM:]) if sums else 0.0,
            "parameters": sum(p.numel() for p in model.parameters()),
            "tables": sum(p.numel() for p in tables),
            "touched": [int(p.grad.any(dim=1).sum()) / len(p) for p in tables if p.grad is not None],
            "adam_s": _adam(),
        }  # fmt: skip
        out.write_text(json.dumps(found))


def _adam(numbers: int = 1 << 22) -> float:
    """Seconds that Adam takes for one number of a large table."""
    table = torch.zeros(numbers, requires_grad=True)
    table.grad = torch.ones(numbers)
    optimiser, times = torch.optim.Adam([table], fused=True), []
    for _ in range(5):
        started = perf_counter()
        optimiser.step()
        times.append(perf_counter() - started)
    return median(times) / numbers


if __name__ == "__main__":
    worker(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
