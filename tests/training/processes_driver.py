"""Trains small models, alone or under torchrun, and writes every step's loss to OUT/found.json.

--stop: after so many steps of each; --kill: the second process dies in the first model's step N, once.
"""

import json
import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from xerte.data.world import generate
from xerte.experiment.preset import resolve
from xerte.experiment.train import train
from xerte.training.processes import is_first
from xerte.training.step import TrainingStep

SMALL: dict[str, dict[str, Any]] = {
    "graph": {
        "dims": [8, 8], "static_dim": 8, "time_dim": 8, "steps": 2, "n": 4, "k": 8, "loss": "nll",
        "epochs": 1, "batch_size": 61, "lr": 1e-3, "start": 90, "checkpoint_every": 5,
    },
    "best": {"epochs": 1, "batch_size": 61, "start": 90, "checkpoint_every": 5},
}  # fmt: skip


def main(out: Path, stop: int | None, kill: int | None) -> None:
    """Trains each model to its end or its stop."""
    torch.set_num_threads(1)
    losses: list[float] = []
    dies = kill if os.environ.get("RANK") == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" else None
    learn = TrainingStep.__call__

    def learn_and_note(step: TrainingStep, rows: Tensor, seed: int) -> Tensor:
        if len(losses) == dies:
            os._exit(9)
        loss = learn(step, rows, seed)
        losses.append(float(loss))
        return loss

    TrainingStep.__call__ = learn_and_note  # type: ignore[method-assign, assignment]
    world, found = generate(1000).dataset, {}
    for preset, overrides in SMALL.items():
        losses.clear()
        until = None if stop is None else lambda: len(losses) >= stop
        trained = train(world, resolve(preset, world, overrides), "cpu", folder=out / preset, until=until)
        epochs = [epoch["valid"]["mrr"] for epoch in trained.metadata["epochs"]]
        found[preset] = {"losses": list(losses), "valid": epochs}
    if is_first():
        (out / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    arguments = ArgumentParser()
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--stop", type=int)
    arguments.add_argument("--kill", type=int)
    main(**vars(arguments.parse_args()))
