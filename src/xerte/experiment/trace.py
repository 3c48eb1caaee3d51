"""The trace of a run: one JSON file that says what was measured, by what, where and how. Tables are made from these."""

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from xerte import __version__
from xerte.files import read_json, write_json

FORMAT = "xerte trace 1"
_PACKAGES = ("torch", "numpy")


@dataclass(frozen=True)
class Trace:
    """One run.

    Attributes:
        dataset, model, split: what was judged on what.
        metrics: filter -> metric -> percent.
        protocol: how ranks were made: filter, ties, rank of unreached answers, history.
        queries: how many questions were ranked.
        command: what to type to do it again.
        settings: of the model, as it ran.
        seconds: wall-clock time by phase.
        seed: the run's seed; training-free models have none.
        device, versions, commit: where it ran and with what; a commit ends in "+changes" where files differed from it.
        details: whatever else the run reports, such as metrics by group.
    """

    dataset: str
    model: str
    split: str
    metrics: Mapping[str, Mapping[str, float]]
    protocol: Mapping[str, Any]
    queries: int
    command: str
    settings: Mapping[str, Any]
    seconds: Mapping[str, float]
    seed: int | None
    device: str
    versions: Mapping[str, str]
    commit: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Writes the file, whole or not at all.

        Raises:
            InputError: nothing can be written there.
        """
        write_json(path, {"format": FORMAT, **asdict(self)})

    @staticmethod
    def read(path: Path) -> "Trace":
        """The trace in this file.

        Raises:
            InputError: it is not one.
        """
        return read_json(path, FORMAT, "a trace of a run", lambda body: Trace(**body))


def device_name(device: torch.device) -> str:
    """The accelerator's name, or how many cores the processor lends."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type}, {torch.get_num_threads()} threads"


def cost(model: object, device: torch.device) -> dict[str, int]:
    """How many numbers a model learned, and the most memory this process has held so far, in MiB (0: not known)."""
    peak = torch.cuda.max_memory_allocated(device) >> 20 if device.type == "cuda" else _peak_memory()
    learned = sum(p.numel() for p in model.parameters()) if isinstance(model, torch.nn.Module) else 0
    return {"parameters": learned, "peak MiB": peak}


def _peak_memory() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def versions() -> dict[str, str]:
    """Python and the packages that numbers depend on."""
    packages = {package: version(package) for package in _PACKAGES}
    return {"python": platform.python_version(), "xerte": __version__, **packages}


def commit(*also: Path) -> str:
    """The commit this source is at, "+changes" behind it where its files, or those in other folders, differ from it.

    Where no checkout tracks this source, as a copy of it, the commit is what $XERTE_COMMIT says, or empty.
    """
    source = Path(__file__).parent
    git = shutil.which("git")
    given = os.environ.get("XERTE_COMMIT", "")
    if git is None:
        return given

    def ask(*arguments: str) -> str | None:
        command = [git, "-C", str(source), *arguments]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        return answer.stdout.strip() if answer.returncode == 0 else None

    head = ask("rev-parse", "HEAD")
    if not head or not ask("ls-files", "--", Path(__file__).name):
        return given
    return head + ("+changes" if ask("status", "--porcelain", "--", "..", *map(str, also)) else "")
