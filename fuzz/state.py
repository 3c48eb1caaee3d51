"""Stored state, damaged: datasets, indexes, logs, models, rates, backups, tokens: noticed, remade, or harmless."""

import json
import os
import random
import shutil
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from fuzz.judge import Record, WrongError, judge
from fuzz.mutate import SPICE
from xerte.api import datasets, live, signing
from xerte.api.imports import import_events
from xerte.api.model import Model
from xerte.app.access import Scope, add_token, read_tokens, tokens_file
from xerte.data.dataset import Dataset
from xerte.data.frame import Frame
from xerte.data.lineage import Lineage
from xerte.errors import RemadeWarning
from xerte.experiment.saved import save_model
from xerte.model import XERTE
from xerte.rates import stored as rates
from xerte.rates.counts import Counts
from xerte.rates.fitting import fit
from xerte.rates.model import RateModel
from xerte.settings import ModelSettings

NAMES = ["Ada", "Ben", "Cem", "Dora Lund"]
QUESTIONS = [("Ada", "visits", "2022-03-01"), ("Ben", "helps", "2022-03-01"), ("Cem", "visits", "2022-02-10")]
Reading = Callable[[Path], object]


def run(record: Record, rng: random.Random, folder: Path) -> None:
    """One damage."""
    place, kept = folder / "home", stored()
    shutil.copytree(kept.home, place)
    os.environ["XERTE_HOME"] = str(place)
    kind = rng.choice(list(_READINGS))
    files = sorted(path for path in place.rglob("*") if path.is_file() and _kind(path.relative_to(place)) == kind)
    path = rng.choice(files)
    said = f"{path.relative_to(place)}: {_damage(rng, path, files)}"
    try:
        judge(record, said, lambda: _unchanged(kind, place, kept.answers[kind]))
    finally:
        _writable(place)
        shutil.rmtree(place)


def _unchanged(kind: str, place: Path, expected: object) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = _READINGS[kind](place)
    if found != expected:
        raise WrongError(f"{str(found)[:180]} … instead of {str(expected)[:180]}")
    return "remade" if any(issubclass(one.category, RemadeWarning) for one in caught) else "result"


# What is read of each kind of state, and must be as it was


def facts_of(dataset: Dataset) -> object:
    """Everything a dataset says."""
    columns = [column.tolist() for column in dataset.facts[:].columns()]
    extras = {name: [column[row] for row in range(len(dataset.facts))] for name, column in dataset.extras.items()}
    names = [list(dataset.entities), list(dataset.relations), dict(dataset.entities.aliases)]
    return [dataset.name, columns, extras, names, list(dataset.sizes), dataset.calendar.to_json()]


def _dataset(place: Path, name: str = "mine") -> object:
    folder = place / "datasets" / name
    dataset = datasets.load(folder)
    answers = [forecast.to_json() for forecast in Model.load("recurrence", dataset).forecast_many(QUESTIONS)]
    datasets.check(str(folder))
    return [facts_of(dataset), answers]


def _grown(place: Path) -> object:
    return _dataset(place, "grown")


def _model(place: Path) -> object:
    dataset = datasets.load(place / "datasets" / "mine")
    model = Model.load(place / "runs" / "model", dataset)
    signing.verify(str(place / "runs" / "model"))
    return [forecast.to_json() for forecast in model.forecast_many(QUESTIONS)]


def _rates(place: Path) -> object:
    dataset = datasets.load(place / "datasets" / "mine")
    return Model.load("recurrence", dataset).ask("Ada", "visits", "Ben", within="10d").to_json()


def _backup(place: Path) -> object:
    live.restore(place / "mine.tar", "again")
    return _dataset(place, "again")[0][1:]  # type: ignore[index]  # but for its name


def _tokens(place: Path) -> object:
    read_tokens(tokens_file(place))
    return None  # who may edit the file may edit what it says


_READINGS: dict[str, Reading] = {
    "dataset": _dataset, "index": _dataset, "base": _grown, "log": _grown, "model": _model, "rates": _rates,
    "backup": _backup, "tokens": _tokens,
}  # fmt: skip


def _kind(path: Path) -> str:
    if "grown" in path.parts:
        return "log" if path.name.startswith("events.sqlite") else "base"
    kinds = {"runs": "model", "rates": "rates", "mine.tar": "backup", "tokens.json": "tokens"}
    return kinds.get(path.parts[0], "index" if "index" in path.parts else "dataset")


# Damage


def _damage(rng: random.Random, path: Path, files: list[Path]) -> str:
    kinds = ["bit", "bit", "bits", "cut", "zeros", "zeros", "swap", "grow", "remove", "special", "text"]
    kind = rng.choice([*kinds, "json", "json", "json"] if path.suffix == ".json" else kinds)
    content = bytearray(path.read_bytes())
    at = rng.randrange(len(content)) if content else 0
    if kind in ("bit", "bits") and content:
        for _ in range(1 if kind == "bit" else rng.randint(2, 50)):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        del content[at:]
    elif kind == "zeros":
        at = 0 if rng.random() < 0.3 else at
        content[at : at + 64] = bytes(len(content[at : at + 64]))
    elif kind == "grow":
        content += bytes(rng.choice([1, 64, 5000]))
    elif kind == "text":
        content[at:at] = rng.choice(SPICE)
    elif kind == "json":
        content = bytearray(_edited(rng, bytes(content)))
    elif kind == "swap":
        other = rng.choice(files)
        path.write_bytes(other.read_bytes())
        other.write_bytes(content)
        return f"swapped with {other.name}"
    elif kind in ("remove", "special"):
        path.unlink()
        return "removed" if kind == "remove" else _special(rng, path)
    stat = path.stat()
    path.write_bytes(content)
    if rng.random() < 0.5:  # as a failing disk or rsync -t would
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    return f"{kind} at {at}"


def _special(rng: random.Random, path: Path) -> str:
    kind = rng.choice(["pipe", "folder", "zero", "nowhere", "full"])
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to({"zero": "/dev/zero", "full": "/dev/full", "nowhere": "nowhere"}[kind])
    return kind


def _edited(rng: random.Random, content: bytes) -> bytes:
    """The JSON with one value that is another."""
    body = json.loads(content)
    where, key = rng.choice(list(_places(body)))
    where[key] = rng.choice(
        [None, True, 0, -1, 1, 3, 41, 1e30, 10**40, "", "x", "../../x", [], {}, [[]] * 3, 2.5, where[key]]
    )
    return json.dumps(body).encode()


def _places(body: Any) -> Iterator[tuple[Any, Any]]:
    items = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for key, value in items:
        yield body, key
        yield from _places(value)


def _writable(place: Path) -> None:
    for path in place.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)


# Preparation


def _save_model(folder: Path, dataset: Dataset) -> None:
    torch.manual_seed(0)
    model = XERTE(
        ModelSettings(dims=(4, 4), static_dim=4, time_dim=4, steps=2), dataset.num_entities, dataset.num_relations
    )
    model.frame, model.lineage = Frame.of(dataset), Lineage.of(dataset)
    save_model(folder, model, dataset)


class Stored:
    """A home with one of everything, and what is read of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        os.environ["XERTE_HOME"] = str(self.home)
        rng = random.Random(1)  # noqa: S311
        table = folder / "events.csv"
        rows = [
            f"{rng.choice(NAMES)},{rng.choice(['visits', 'helps'])},{rng.choice(NAMES)},"
            f"2022-{1 + day // 28:02}-{1 + day % 28:02},note {day}"
            for day in range(56)
            for _ in range(3)
        ]
        table.write_text("\n".join(["subject,relation,object,time,note", *rows]), "utf-8")
        import_events(table, "mine", keep=["note"])
        import_events(table, "grown", keep=["note"])
        _save_model(self.home / "runs" / "model", datasets.load("mine"))
        one = {"subject": "Ada", "relation": "visits", "object": "Ben", "time": "2022-03-01", "note": "n"}
        more = [one | {"id": str(number)} for number in range(20)]
        live.append_events("grown", more[:10])
        live.compact("grown")
        live.append_events("grown", more[10:])
        add_token("reader", Scope.READ, tokens_file(self.home))
        _rates(self.home)
        live.backup("grown", self.home / "mine.tar")
        self._at_rest()
        shutil.copytree(self.home, folder / "read")
        os.environ["XERTE_HOME"] = str(folder / "read")
        self.answers = {kind: reading(folder / "read") for kind, reading in _READINGS.items()}

    def _at_rest(self) -> None:
        """As a process leaves it that ends well: what SQLite still has in its WAL goes to the log.

        A WAL is left only by a process that was killed. SQLite drops what is behind a damaged place in it, as if it had
        never been written: this is not damaged here.
        """
        for log in self.home.rglob("events.sqlite"):
            with closing(sqlite3.connect(log)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            for beside in log.parent.glob("events.sqlite-*"):
                beside.unlink()


_CURRENT: list[Stored] = []


def stored() -> Stored:
    """What `prepared` made."""
    return _CURRENT[-1]


@contextmanager
def prepared() -> Iterator[None]:
    """One of everything."""
    fitted: dict[str, RateModel] = {}

    def fit_once(dataset: Dataset, counts: Counts) -> RateModel:
        if dataset.name not in fitted:  # takes seconds, and always gives the same
            fitted[dataset.name] = fit(dataset, counts)
        return fitted[dataset.name]

    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, mock.patch.object(rates, "fit", fit_once):
        _CURRENT.append(Stored(Path(folder)))
        try:
            yield
        finally:
            _CURRENT.pop()
