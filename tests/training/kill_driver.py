"""Trains, killing the training with SIGKILL at chosen and at random instants until it is finished: a program.

`python kill_driver.py FOLDER SEED` prints one JSON document. torch is loaded once; every training runs in a child,
forked from here, and dies in one of these ways:

    write      half of a file's bytes are written, then SIGKILL
    fsync      the bytes are written but not synced
    replace    the new file lies complete under its temporary name
    replaced   the new file has its name; the old state's files are not removed yet
    unlink     while old files are being removed
    wait       at a random moment, from outside

After every death whatever state the folder holds must be whole: it is read and checked against its hashes.
"""

import json
import os
import pathlib
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import torch

from xerte.data.dataset import Dataset
from xerte.data.world import generate
from xerte.experiment.preset import resolve
from xerte.experiment.train import train
from xerte.training.checkpoint import has_state, read_metadata, read_tensors

INSTANTS = ["write"] * 3 + ["fsync"] * 2 + ["replace"] * 3 + ["replaced"] * 2 + ["unlink"] * 2 + ["wait"] * 8
SETTINGS: dict[str, Any] = {
    "dims": [8, 8], "static_dim": 8, "time_dim": 8, "steps": 2, "n": 4, "k": 8, "loss": "nll",
    "epochs": 3, "batch_size": 128, "lr": 1e-2, "start": 60, "checkpoint_every": 2,
}  # fmt: skip


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Countdown:
    """Counts calls; the last one is deadly."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def over(self) -> bool:
        self.left -= 1
        return self.left == 0


class HalfWritten:
    """A file that dies in the middle of its last write."""

    def __init__(self, file: Any, countdown: Countdown) -> None:
        self.file, self.countdown = file, countdown

    def __enter__(self) -> "HalfWritten":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def write(self, content: bytes) -> None:
        if self.countdown.over():
            self.file.write(content[: len(content) // 2])
            self.file.flush()
            die()
        self.file.write(content)


def set_trap(instant: str, calls: int) -> None:
    """Makes the calls-th call of a kind the last thing this process does."""
    countdown = Countdown(calls)
    if instant == "write":
        opened: Any = pathlib.Path.open

        def open_trapped(path: Path, *how: Any, **options: Any) -> Any:
            file = opened(path, *how, **options)
            return HalfWritten(file, countdown) if how == ("wb",) else file

        pathlib.Path.open = open_trapped  # type: ignore[method-assign, assignment]
    elif instant not in ("wait", "never"):
        name = "replace" if instant == "replaced" else instant
        real: Any = getattr(os, name)

        def deadly(*arguments: Any, **options: Any) -> Any:
            last = countdown.over()
            if last and instant != "replaced":
                die()
            result = real(*arguments, **options)
            if last:
                die()
            return result

        setattr(os, name, deadly)


def child(dataset: Dataset, folder: Path, instant: str, calls: int, ready: int) -> None:
    try:
        set_trap(instant, calls)
        os.write(ready, b"!")
        train(dataset, resolve("world", dataset, SETTINGS), "cpu", 0, folder)
        os._exit(0)
    except BaseException as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        os._exit(1)


def attempt(dataset: Dataset, folder: Path, instant: str, rng: random.Random) -> bool:
    """Trains in a child that is to die at this instant; whether it did."""
    listen, ready = os.pipe()
    calls = rng.randint(1, 12)
    pid = os.fork()
    if pid == 0:
        child(dataset, folder, instant, calls, ready)
    os.close(ready)
    os.read(listen, 1)
    if instant == "wait":
        time.sleep(rng.uniform(0, 0.25))
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(listen)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    if status:
        sys.exit(f"training failed after {instant}: status {status}")
    return False


def check_whole(folder: Path) -> str:
    """Reads every state there is; says where training stands."""
    for state in (folder, folder / "checkpoint"):
        if has_state(state):
            for part in read_metadata(state)["files"]:
                read_tensors(state, part)
    if has_state(folder):
        return "finished"
    if not has_state(folder / "checkpoint"):
        return "nothing"
    place = read_metadata(folder / "checkpoint")["place"]
    return f"epoch {len(place['epochs'])}, step {place['step']}"


def digest(folder: Path) -> str:
    return str(read_metadata(folder)["files"]["weights"]["sha256"])


def main(folder: Path, seed: int) -> None:
    torch.set_num_threads(1)
    rng, dataset = random.Random(seed), generate(1000).dataset
    train(dataset, resolve("world", dataset, SETTINGS), "cpu", 0, folder / "whole")
    kills: list[tuple[str, str]] = []
    digests: list[str] = []
    plan = rng.sample(INSTANTS, len(INSTANTS))
    while plan:
        place = folder / f"killed-{len(digests)}"
        finished = False
        while not finished:
            instant = plan[0] if plan else "never"
            if attempt(dataset, place, instant, rng):
                kills.append((instant, check_whole(place)))
                plan.pop(0)
            else:
                finished = True
        digests.append(digest(place))
        left = [path.name for path in place.iterdir() if path.name == "checkpoint" or ".part-" in path.name]
        if left:
            sys.exit(f"left behind: {left}")
    sys.stdout.write(json.dumps({"whole": digest(folder / "whole"), "killed": digests, "kills": kills}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
