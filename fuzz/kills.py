"""`python -m fuzz.kills`: appending, compacting and following, killed again and again.

Every victim is a process of its own that gets SIGKILL: after a random while, or aimed, right before a change of the
disk that `storage` announces. After each kill the dataset is opened and every byte of it checked: what was acknowledged
is there, nothing is there twice, and a batch is there as a whole.
"""

import json
import os
import random
import select
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from fuzz import postgres
from xerte import storage
from xerte.api.follow import Directory, Lines, Source, follow
from xerte.data import compaction, live, store
from xerte.data.appending import Report
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import InputError

Job = Callable[[Callable[[int], None]], None]
"""What a victim does; it is given what to call with the number of events that were acknowledged."""

SOURCES = ("append", "directory", "stdin", "postgres")
BATCH = 3
_AT_ONCE = 60
_CHANGES = {"compact": 40, "append": 9, "directory": 4, "stdin": 4, "postgres": 4}
"""About so many changes of the disk a victim makes before it has nothing left to do."""


@dataclass
class Kills:
    """A dataset under attack.

    Attributes:
        place: an empty folder.
        rng: draws everything.
        address: of PostgreSQL, where there is one.
        made, stored: of every source, how many events it has told so far, and how many were there at the last look.
        killed: how many victims of each kind.
    """

    place: Path
    rng: random.Random
    address: str = ""
    made: Counter[str] = field(default_factory=Counter)
    stored: Counter[str] = field(default_factory=Counter)
    killed: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.folder, self.inbox = self.place / "small", self.place / "inbox"
        self.inbox.mkdir()
        names = Vocabulary.of(["Ann", "Ben"]), Relations.of(["calls"])
        calendar = Calendar(Tick.DAY, "2024-01-01", Tick.DAY)
        store.save(Dataset("small", Facts.of([(0, 0, 1, 0)]), (1, 0, 0), *names, calendar), self.folder)

        def first(acknowledge: Callable[[int], None]) -> None:
            store.open_dataset(self.folder).append([_event("first", 0)])
            acknowledge(1)
            if self.address:
                self._sql(
                    "CREATE TABLE events (id text PRIMARY KEY, subject text, relation text, object text, time date)"
                )

        assert self._finish(first) == 1

    def round(self) -> None:
        """Kills one victim, maybe beside another process, and looks at what is left."""
        sources = SOURCES if self.address else SOURCES[:-1]
        what = self.rng.choice(("compact", *sources))
        aimed = self.rng.random() < 0.5
        beside = self.rng.choice(sources) if what == "compact" else self.rng.choice(("compact", ""))
        for source in (what, beside):
            if source in SOURCES[1:]:
                self._produce(source)
        helper = _Process(self._job(beside)) if beside else None
        victim = _Process(self._job(what), self.rng.randint(1, _CHANGES[what]) if aimed else None)
        victim.wait(5.0 if aimed else self.rng.uniform(0.0, 0.4))
        acknowledged = {what: victim.kill()}
        if helper is not None:
            helper.wait(self.rng.uniform(0.0, 0.05))
            acknowledged[beside] = helper.kill()
        self.killed[f"{what}, {'aimed' if victim.aimed else 'random'}"] += 1
        self._check(acknowledged)

    def finish(self) -> None:
        """Everything that sources told comes in, once, and a compaction changes nothing."""
        for source in SOURCES[1:] if self.address else SOURCES[1:-1]:
            self._finish(self._job(source, once=True))
        self._check({})
        assert self.stored == +self.made, (self.stored, self.made)
        self._finish(lambda acknowledge: self._compact(acknowledge, once=True))
        self._check({})

    # What is done

    def _job(self, what: str, *, once: bool = False) -> Job:
        if what == "append":
            return self._append
        if what == "compact":
            return self._compact
        return lambda acknowledge: self._follow(what, acknowledge, once=once)

    def _append(self, acknowledge: Callable[[int], None]) -> None:
        appender, number = live.appender(store.open_dataset(self.folder)), self.stored["append"]
        while True:
            appender.append(live.rows_of(_event("append", n) for n in range(number, number + BATCH)))
            number += BATCH
            acknowledge(BATCH)

    def _compact(self, acknowledge: Callable[[int], None], *, once: bool = False) -> None:
        while True:
            compaction.compact(self.folder, lambda *_: None)
            if once:
                return acknowledge(0)

    def _follow(self, what: str, acknowledge: Callable[[int], None], *, once: bool) -> None:
        def done(report: Report) -> None:
            acknowledge(report.stored + report.repeated)

        def tell(problem: InputError) -> None:
            raise AssertionError(str(problem))

        follow(str(self.folder), self._source(what, tell), once=once, poll=0.01, on_batch=done, on_problem=tell)

    def _source(self, what: str, tell: Callable[[InputError], None]) -> Source:
        if what == "directory":
            return Directory(self.inbox, 0.0)
        if what == "stdin":  # a producer that sends all it is not sure of again
            first = max(0, self.stored["stdin"] - 5)
            return Lines([_line("stdin", n) for n in range(first, self.made["stdin"])], tell)
        from xerte.api.follow_postgres import PostgresTable

        return PostgresTable(self.address, "events")

    def _produce(self, source: str) -> None:
        """A source has something new to tell: a file grows or is new, a table has more rows."""
        first = self.made[source]
        self.made[source] += self.rng.randint(1, _AT_ONCE)
        if source == "directory":
            with (self.inbox / f"{self.rng.randint(0, len(list(self.inbox.iterdir())))}.jsonl").open("a") as file:
                file.writelines(_line(source, n) for n in range(first, self.made[source]))
        elif source == "postgres":
            rows = ",".join(f"('postgres {n}', 'postgres {n}', 'calls', 'Ann', '2024-02-01')"
                            for n in range(first, self.made[source]))  # fmt: skip
            self._finish(lambda _: self._sql(f"INSERT INTO events VALUES {rows}"))  # noqa: S608

    def _sql(self, command: str) -> None:
        import psycopg

        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(command)

    # What is found

    def _finish(self, job: Job) -> int:
        """Lets a process do its work to the end: this one never opens the log, which no fork may carry along."""
        process = _Process(job)
        process.wait(600)
        assert process.ended_well(), "a process that nobody killed has failed"
        return process.kill()

    def _check(self, acknowledged: dict[str, int]) -> None:
        file = self.place / "found.json"

        def look(acknowledge: Callable[[int], None]) -> None:
            dataset = store.verify(self.folder)
            subject = dataset.facts[dataset.appended].subject
            file.write_text(json.dumps([dataset.entities[int(id)] for id in subject]))
            acknowledge(0)

        self._finish(look)
        found = json.loads(file.read_text())
        assert len(found) == len(set(found)), "one is there twice"
        before = self.stored
        self.stored = Counter(name.partition(" ")[0] for name in found if name != "first 0")
        for source in SOURCES:
            numbers = sorted(int(name.partition(" ")[2]) for name in found if name.startswith(f"{source} "))
            if source == "append":
                self.made[source] = len(numbers)
                assert len(numbers) % BATCH == 0, "a batch is in or out as a whole"
            if source in ("append", "stdin"):
                assert numbers == list(range(len(numbers))), "one that was sent before another is missing"
            assert not numbers or numbers[-1] < self.made[source]
            told = acknowledged.get(source, 0) - (min(5, before[source]) if source == "stdin" else 0)
            assert len(numbers) >= before[source] + told, f"what was acknowledged is lost: {source}"


class _Process:
    """A fork that does a job and says when something is acknowledged.

    Args:
        job: what it does.
        aim: it kills itself right before its so-many-th change of the disk.
    """

    def __init__(self, job: Job, aim: int | None = None) -> None:
        self._output, write = os.pipe()
        self._said, self.aimed = b"", False
        self.pid = os.fork()
        if self.pid:
            os.close(write)
            return
        code = 1
        try:
            if aim is not None:
                storage.fault = _Aimed(aim)

            def acknowledge(count: int) -> None:
                os.write(write, b"%d\n" % count)

            job(acknowledge)
            code = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)

    def wait(self, seconds: float) -> None:
        """Reads what it says, until it ends or so long."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and select.select([self._output], [], [], left)[0]:
            said = os.read(self._output, 1 << 16)
            if not said:
                return
            self._said += said

    def ended_well(self) -> bool:
        """Whether it came to its end by itself."""
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return status == 0

    def kill(self) -> int:
        """Kills it, unless its own aim did; how many events it said were acknowledged."""
        if self.pid:
            dead, status = os.waitpid(self.pid, os.WNOHANG)
            self.aimed = bool(dead)
            if not dead:
                os.kill(self.pid, signal.SIGKILL)
                _, status = os.waitpid(self.pid, 0)
            assert os.WIFSIGNALED(status) or status == 0, "it failed before it was killed"
        while said := os.read(self._output, 1 << 16):
            self._said += said
        os.close(self._output)
        return sum(int(number) for number in self._said.split())


class _Aimed:
    def __init__(self, left: int) -> None:
        self._left = left

    def __call__(self, operation: storage.Operation, path: Path) -> None:  # noqa: ARG002
        self._left -= 1
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)


def attack(kills: int, seed: int) -> dict[str, Any]:
    """Kills so many victims; what was done, for a record.

    Raises:
        AssertionError: something was lost, there twice, or could not be opened.
    """
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="xerte-kills-") as place,
        postgres.server() if postgres.installed() else nullcontext("") as address,
    ):
        attacked = Kills(Path(place), random.Random(seed), address)  # noqa: S311
        for _ in range(kills):
            attacked.round()
        attacked.finish()
    return {
        "kills": sum(attacked.killed.values()),
        "killed": dict(sorted(attacked.killed.items())),
        "events": dict(attacked.stored),
        "lost": 0,
        "twice": 0,
        "seconds": round(time.monotonic() - started, 1),
    }


def main(
    kills: Annotated[int, typer.Option(min=1, help="How many victims.")] = 500,
    seed: Annotated[int, typer.Option(help="Draws victims and moments.")] = 0,
    save: Annotated[Path | None, typer.Option(help="Keep what was done in this JSON file.")] = None,
) -> None:
    """Kills processes that append, compact and follow; fails where an acknowledged event is lost or there twice."""
    from xerte.experiment.trace import commit

    done = attack(kills, seed)
    body = {"format": "xerte kills 1", "seed": seed, **done, "commit": commit(Path(__file__).parent)}
    typer.echo(json.dumps(body, indent=1))
    if save is not None:
        save.parent.mkdir(parents=True, exist_ok=True)
        save.write_text(json.dumps(body, indent=1) + "\n", "utf-8")


def _event(source: str, number: int) -> dict[str, str]:
    name = f"{source} {number}"
    return {"subject": name, "relation": "calls", "object": "Ann", "time": "2024-02-01", "id": name}


def _line(source: str, number: int) -> str:
    return json.dumps(_event(source, number)) + "\n"


if __name__ == "__main__":
    typer.run(main)
