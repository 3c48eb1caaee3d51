"""Disks that fail: at every write, rename and sync of everything that writes, by an error or by the end of the process.

Afterwards there is the old or the new, whole, and the same again succeeds and leaves nothing behind.
"""

import errno
import os
import random
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from fuzz.judge import Record, WrongError, judge
from fuzz.state import Stored, facts_of, stored
from fuzz.state import prepared as prepared_state
from xerte import storage
from xerte.api import datasets, live, manage, signing
from xerte.api.imports import import_events
from xerte.api.model import Model
from xerte.api.questions import write_answers
from xerte.app.access import Scope, add_token, read_tokens, tokens_file
from xerte.errors import CheckpointError, DatasetError, InputError
from xerte.files import write_json
from xerte.storage import Operation
from xerte.training.checkpoint import has_state, read_metadata, read_tensors, write_state

ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EACCES)
KILLED = 77
_EVENT = {"subject": "Ada", "relation": "visits", "object": "Zoë", "time": "2022-03-02", "note": "x"}


class Fault:
    """Fails at the n-th change of the disk; n = 0 only counts them."""

    def __init__(self, at: int, number: int | None) -> None:
        self.at, self.number, self.seen = at, number, 0

    def __call__(self, _: Operation, path: Path) -> None:
        """As `storage.fault`."""
        self.seen += 1
        if self.seen == self.at:
            if self.number is None:
                os._exit(KILLED)
            raise OSError(self.number, os.strerror(self.number), str(path))


def run(record: Record, rng: random.Random, folder: Path) -> None:
    """One fault, at one change of the disk that one command makes."""
    place = folder / "home"
    shutil.copytree(stored().home, place)
    os.environ["XERTE_HOME"] = str(place)
    name = rng.choice(list(COMMANDS))
    command = COMMANDS[name]
    before, after, changes = _EXPECTED[name]
    number = None if rng.random() < 0.3 else rng.choice(ERRORS)
    fault = Fault(rng.randint(1, changes), number)
    said = f"{name}, change {fault.at} of {changes}: {'killed' if number is None else os.strerror(number)}"
    try:
        judge(record, said, lambda: _survives(command, place, fault, before, after))
    finally:
        shutil.rmtree(place)


def _survives(command: "Command", place: Path, fault: Fault, before: object, after: object) -> None:
    problem: Exception | None = None
    if fault.number is None:
        _in_child(command, place, fault)
    else:
        try:
            with mock.patch.object(storage, "fault", fault):
                command.run(place)
        except Exception as error:
            problem = error
    found = command.look(place)
    if found not in (before, after):
        raise WrongError(f"half: {str(found)[:150]} … neither {str(before)[:100]} nor {str(after)[:100]}")
    if fault.number is not None and problem is None and found != after:
        raise WrongError("it said nothing and did nothing")
    if found != after:
        command.run(place)
        if command.look(place) != after:
            raise WrongError("the same again does not do it")
    if found == after:
        import_events(stored().folder / "events.csv", "next")  # whoever comes next sweeps, too
    litter = [path for path in place.rglob(".*") if ".part-" in path.name or ".new-" in path.name]
    temporary = list(Path(tempfile.gettempdir()).glob(".xerte-scratch*"))
    if fault.number is not None and (litter or temporary):
        raise WrongError(f"left behind: {[path.name for path in (*litter, *temporary)]}")
    for path in temporary:
        shutil.rmtree(path, ignore_errors=True)
    if problem is not None:
        _sentence(problem)


def _sentence(problem: Exception) -> None:
    """Raises what the command line makes one sentence of; anything else is a traceback."""
    if isinstance(problem, OSError) and problem.filename is not None:
        raise InputError(f"{problem.filename} cannot be used: {problem.strerror}")
    raise problem


def _in_child(command: "Command", place: Path, fault: Fault) -> None:
    """Runs it in a process of its own, which ends at the fault as if it were killed: nothing is tidied up."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            storage.fault = fault
            command.run(place)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) not in (0, KILLED):
        raise WrongError(f"exit code {os.waitstatus_to_exitcode(status)}")


# What writes, and what is there afterwards


class Command:
    """Something that writes, and a look at what it may have changed."""

    def __init__(self, run: Callable[[Path], object], look: Callable[[Path], object]) -> None:
        self.run, self.look = run, look


def _dataset(name: str) -> Callable[[Path], object]:
    def look(_: Path) -> object:
        try:
            dataset = datasets.load(name)
        except (InputError, DatasetError) as error:
            if error.code in ("unknown_dataset", "bad_input"):
                return None
            raise
        return facts_of(dataset)

    return look


def _file(name: str) -> Callable[[Path], object]:
    return lambda place: (place / name).read_bytes() if (place / name).exists() else None


def _answers() -> list[Any]:
    return Model.load("recurrence", datasets.load("mine")).forecast_many([("Ada", "visits", "2022-03-01")])


def _weights(place: Path) -> object:
    folder = place / "runs" / "new"
    if not has_state(folder):
        return None
    return [read_metadata(folder)["seed"], {k: v.tolist() for k, v in read_tensors(folder, "weights").items()}]


def _train(place: Path) -> None:
    """What training does at the end of every epoch."""
    for epoch in range(3):
        write_state(place / "runs" / "new", {"weights": {"a": torch.full((4,), 9.0)}}, {"seed": epoch})


def _weights_of_an_epoch(place: Path) -> object:
    """Any finished epoch is whole."""
    found: Any = _weights(place)
    return None if found is None else found[1]


def _rates(place: Path) -> None:
    shutil.rmtree(place / "rates", ignore_errors=True)
    Model.load("recurrence", datasets.load("mine")).ask("Ada", "visits", "Ben", within="10d")


def _signed(place: Path) -> object:
    try:
        return signing.verify(str(place / "runs" / "model"), stored().folder / "key.pub")["key"]
    except (CheckpointError, InputError):
        return None


def _tokens(place: Path) -> object:
    return [token.name for token in read_tokens(tokens_file(place))]


def _add_token(place: Path) -> None:
    add_token("writer", Scope.WRITE, tokens_file(place))


def _import(_: Path) -> None:
    import_events(stored().folder / "events.csv", "fresh", keep=["note"])


def _bad_import(place: Path) -> None:
    table = place / "bad.csv"
    table.write_text((stored().folder / "events.csv").read_text("utf-8") + "\nAda,visits\n", "utf-8")
    for leftover in place.glob("bad.csv.rejects*"):
        leftover.unlink()
    import_events(table, "mine", keep=["note"], bad_rows="skip", replace=True)


COMMANDS: dict[str, Command] = {
    "import": Command(_import, _dataset("fresh")),
    "import over": Command(_bad_import, _dataset("mine")),
    "append": Command(lambda _: live.append_events("grown", [{**_EVENT, "id": "new"}]), _dataset("grown")),
    "first append": Command(lambda _: live.append_events("mine", [_EVENT | {"id": "1"}]), _dataset("mine")),
    "compact": Command(lambda _: live.compact("grown"), _dataset("grown")),
    "merge": Command(lambda _: manage.merge("mine", {"Cem": "Ben"}), _dataset("mine")),
    "rename": Command(lambda _: manage.rename("mine", "other"), _dataset("other")),
    "remove": Command(lambda _: manage.remove("mine"), _dataset("mine")),
    "backup": Command(lambda place: live.backup("mine", place / "new.tar"), lambda place: (place / "new.tar").exists()),
    "restore": Command(lambda place: live.restore(place / "mine.tar", "again"), _dataset("again")),
    "train": Command(_train, _weights_of_an_epoch),
    "sign": Command(lambda place: signing.sign(str(place / "runs" / "model"), stored().folder / "key"), _signed),
    "token": Command(_add_token, _tokens),
    "export csv": Command(lambda place: write_answers(place / "a.csv", _answers()), _file("a.csv")),
    "export jsonl": Command(lambda place: write_answers(place / "a.jsonl", _answers()), _file("a.jsonl")),
    "trace": Command(lambda place: write_json(place / "t.json", {"format": "x", "n": 1}), _file("t.json")),
}
_EXPECTED: dict[str, tuple[object, object, int]] = {}
"""Of every command: what there is before it, after it, and how many changes of the disk it makes."""


def _prepare(state: Stored) -> None:
    for name, command in COMMANDS.items():
        place = state.folder / "files" / "once"
        shutil.copytree(state.home, place)
        os.environ["XERTE_HOME"] = str(place)
        before, counting = command.look(place), Fault(0, None)
        with mock.patch.object(storage, "fault", counting):
            command.run(place)
        _EXPECTED[name] = before, command.look(place), counting.seen
        shutil.rmtree(place)


@contextmanager
def prepared() -> Iterator[None]:
    """A home with one of everything, and what every command makes of it."""
    with prepared_state(), tempfile.TemporaryDirectory(prefix="fuzz-") as temporary:
        before = tempfile.tempdir
        tempfile.tempdir = temporary
        try:
            signing.new_key(stored().folder / "key")
            _prepare(stored())
            yield
        finally:
            tempfile.tempdir = before
