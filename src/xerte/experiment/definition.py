"""Experiment files: what is trained on what, with which settings.

    dataset = "icews14"                 # what is learned
    model = "xerte"
    preset = "paper"
    set = { sampling = "last" }         # settings that differ from the preset's; may be left out
    wanted = [0, 1, 2]                  # the seeds `xerte experiment run` runs by default; left out, [0]
    seeds = [0]                         # those whose traces are kept and count

What was published of an experiment may stand in the same file; the reports of a clone read that.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xerte.errors import InputError

METRICS = ("mrr", "hits@1", "hits@3", "hits@10")
_FIELDS = {"dataset", "model", "preset", "set", "wanted", "seeds", "published", "published_seen_raw", "misses"}


@dataclass(frozen=True)
class Experiment:
    """What is run.

    Attributes:
        name: its file's, which traces carry too.
        dataset, model, preset: what is trained on what, with which settings.
        seeds: of the runs whose traces are kept and count.
        overrides: settings that differ from the preset's.
        wanted: the seeds that are run.
    """

    name: str
    dataset: str
    model: str
    preset: str
    seeds: tuple[int, ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)
    wanted: tuple[int, ...] = (0,)

    def run_name(self, seed: int) -> str:
        """What its run with this seed is called."""
        return f"{Path(self.dataset).name}-{self.name}-seed{seed}"


def files_of(places: Iterable[Path]) -> list[Path]:
    """The experiment files among these files and, at any depth, in these folders; each once.

    Raises:
        InputError: a place is not there, or a folder holds none.
    """
    found: dict[Path, None] = {}
    for place in places:
        inside = [place] if place.is_file() else sorted(place.rglob("*.toml"))
        if not inside:
            raise InputError(f"there is no experiment {place}: name a .toml file, or a folder that holds some")
        found |= dict.fromkeys(inside)
    return list(found)


def read_experiment(file: Path) -> Experiment:
    """The experiment in a file.

    Raises:
        InputError: it is not one.
    """
    try:
        body = tomllib.loads(file.read_text("utf-8"))
        texts, overrides = (body["dataset"], body["model"], body["preset"]), body.get("set", {})
        if unknown := set(body) - _FIELDS:
            raise ValueError(f"it has a part {min(unknown)}; known are {', '.join(sorted(_FIELDS))}")
        if not all(isinstance(text, str) for text in texts) or not isinstance(overrides, dict):
            raise TypeError("dataset, model and preset are words, set is a table")
        return Experiment(file.stem, *texts, _seeds(body["seeds"]), overrides, _seeds(body.get("wanted", [0])))
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise InputError(f"{file} is not an experiment: {error}") from None


def _seeds(numbers: Any) -> tuple[int, ...]:
    if not isinstance(numbers, list) or not all(type(seed) is int for seed in numbers):
        raise TypeError("seeds are whole numbers")
    return tuple(numbers)
