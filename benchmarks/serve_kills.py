"""Random kill -9 of a server while events are sent and questions are asked.

`python -m benchmarks.serve_kills --kills 200 --seed 0 --save results/serving/kills.json`. After every kill the server
starts again, and what it acknowledged is looked for in the log: nothing may be missing, nothing there twice. A sender
repeats what was not acknowledged, under the same id, as a real one would.
"""

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any

from xerte.api.imports import import_events
from xerte.data import catalog
from xerte.data.eventstore import EventStore
from xerte.experiment.trace import commit, versions
from xerte.files import write_text

_NAME = "kills"
_START_S = 60.0
_QUESTION = {"subject": "Ann", "relation": "visits", "time": "2024-03-01"}


@dataclass
class Sender:
    """Sends events in lists, each until it is acknowledged.

    Attributes:
        port: the server's.
        name: begins the ids.
        acknowledged: ids that a server said were stored, or stored before.
        waiting: the list that is to be sent next, or again.
        stored: as counted by the server.
    """

    port: int
    name: str
    seed: int
    acknowledged: set[str] = field(default_factory=set)
    waiting: list[dict[str, str]] = field(default_factory=list)
    count: int = 0
    answered: int = 0

    def run(self, stop: threading.Event) -> None:
        """Sends and asks until it is told to stop or the server is gone."""
        draw = random.Random(f"{self.seed} {self.count}")  # noqa: S311 - a test, not a secret
        while not stop.is_set():
            if not self.waiting:
                self.waiting = [self._event(draw) for _ in range(draw.choice((1, 3, 20, 200)))]
            try:
                taken = call(self.port, "events", self.waiting)
                if taken["refused"]:
                    raise AssertionError(taken["reasons"][0])
                self.acknowledged.update(event["id"] for event in self.waiting)
                self.waiting = []
                call(self.port, "forecast", _QUESTION)
                self.answered += 1
            except (OSError, ValueError, HTTPException):  # killed
                return

    def _event(self, draw: random.Random) -> dict[str, str]:
        self.count += 1
        who = draw.choice(("Ann", "Ben", "Cid", f"newcomer {draw.randrange(1000)}"))
        day = f"2024-02-{draw.randrange(1, 29):02}"
        return {"subject": who, "relation": "visits", "object": "Dan", "time": day, "id": f"{self.name}-{self.count}"}


def call(port: int, route: str, body: Any) -> Any:
    """What the server answers."""
    content, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/v1/{route}", content, headers)
    with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310 - our own server
        return json.load(response)


def start(port: int) -> "subprocess.Popen[bytes]":
    """A server in a process of its own."""
    command = [sys.executable, "-m", "xerte", "serve", _NAME, "--model", "recurrence", "--write", "--port", str(port)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # noqa: S603


def ready(process: "subprocess.Popen[bytes]", port: int) -> float:
    """Seconds until the server answers.

    Raises:
        RuntimeError: it does not start.
    """
    begun = time.perf_counter()
    while time.perf_counter() - begun < _START_S:
        if process.poll() is not None:
            assert process.stderr is not None
            raise RuntimeError(f"it did not start again: {process.stderr.read().decode()[-2000:]}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=5):
                return time.perf_counter() - begun
        except (OSError, urllib.error.URLError):
            time.sleep(0.02)
    raise RuntimeError("it did not start again")


def run(kills: int, seed: int, senders: int = 3) -> dict[str, Any]:
    """Kills a server again and again; the record of it.

    Raises:
        AssertionError: an acknowledged event is missing, or one is there twice.
        RuntimeError: the server does not start again.
    """
    draw = random.Random(seed)  # noqa: S311
    folder = _new_dataset()
    port = _free_port()
    sending = [Sender(port, f"s{number}", seed + number) for number in range(senders)]
    starts, begun, early = list[float](), time.perf_counter(), 0
    for _ in range(kills):
        process = start(port)
        if draw.random() < 0.1:  # while it starts
            early += 1
            time.sleep(draw.uniform(0, 2))
        else:
            starts.append(ready(process, port))
            stop = threading.Event()
            threads = [threading.Thread(target=one.run, args=(stop,)) for one in sending]
            for thread in threads:
                thread.start()
            time.sleep(draw.uniform(0.01, 1.0))
            process.send_signal(signal.SIGKILL)
            stop.set()
            for thread in threads:
                thread.join()
        process.kill()
        process.communicate()
        check(folder, sending)
    process = start(port)
    starts.append(ready(process, port))
    process.terminate()
    process.communicate(timeout=30)
    found = check(folder, sending)
    return {
        "kills": kills,
        "while_starting": early,
        "seed": seed,
        "senders": senders,
        "acknowledged": sum(len(one.acknowledged) for one in sending),
        "stored": found,
        "lost": 0,
        "twice": 0,
        "questions_answered": sum(one.answered for one in sending),
        "started_again": len(starts),
        "start_s": {"median": round(sorted(starts)[len(starts) // 2], 2), "most": round(max(starts), 2)},
        "stopped_with": process.returncode,
        "seconds": round(time.perf_counter() - begun, 1),
        "versions": versions(),
        "commit": commit(),
    }


def check(folder: Path, sending: list[Sender]) -> int:
    """Reads the log as the next start will; how many events it holds.

    Raises:
        AssertionError: an acknowledged event is missing, or one is there twice.
    """
    if not (folder / "events.sqlite").exists():
        assert not any(one.acknowledged for one in sending), "the log is gone"
        return 0
    store = EventStore(folder)
    store.check()
    last = store.last()
    there = Counter(version.id for version in store.versions(range(1, last + 1)))
    store.close()
    missing = set().union(*(one.acknowledged for one in sending)) - set(there)
    twice = [id for id, count in there.items() if count > 1]
    assert not missing, f"{len(missing)} acknowledged events are lost, like {min(missing)}"
    assert not twice, f"{len(twice)} events are there twice, like {twice[0]}"
    return len(there)


def _new_dataset() -> Path:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "events.csv"
        rows = [f"{who},visits,Dan,2024-01-{day:02}" for day in range(1, 29) for who in ("Ann", "Ben", "Cid")]
        file.write_text("\n".join(["subject,relation,object,time", *rows]), "utf-8")
        import_events(file, _NAME)
    return catalog.dataset_folder(_NAME)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def main(arguments: list[str] | None = None) -> int:
    """Kills, prints and writes the record; in a home of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, help="Write the record to this file.")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as home:
        os.environ["XERTE_HOME"] = home
        record = run(asked.kills, asked.seed)
    text = json.dumps(record, indent=1) + "\n"
    sys.stdout.write(text)
    if asked.save is not None:
        write_text(asked.save, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
