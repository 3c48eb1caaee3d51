"""What a server takes, beside what `xerte evaluate` does on the same cores in the same run.

`python -m benchmarks.serving icews14 --model icews14-paper`; needs wrk (Debian: `apt install wrk`). Every question of
the main phase is another one, and the server keeps no answers. The dataset is copied to a home of its own, so that the
events sent here stay nowhere. With ten minutes of memory a run takes about 14 minutes, with `--memory 0` about 4.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from xerte import api
from xerte.data import catalog
from xerte.data.dataset import Dataset
from xerte.experiment.trace import commit, device_name, versions
from xerte.files import write_text
from xerte.types import Split

_SCRIPT = Path(__file__).with_name("questions.lua")
_KIB = 1024
_EVENTS_AT_ONCE = 500
GOALS = {
    "share_of_evaluate": (">=", 0.40),
    "p99_ms": ("<=", 400.0),
    "errors": ("<=", 0),
    "alone_p50_ms": ("<=", 25.0),
    "events_per_second": (">=", 5000.0),
    "start_to_first_answer_s": ("<=", 4.0),
    "memory_mib_per_hour": ("<=", 64.0),
    "stopped_with": ("<=", 0),
}
"""What is to be reached on two quiet cores; memory is flat where an hour adds less than a few tens of MiB."""


def main(arguments: list[str] | None = None) -> int:
    """Measures, prints and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset")
    parser.add_argument("--model", default="recurrence")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--memory", type=int, default=600, help="Seconds of load over which memory is watched.")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--save", type=Path, help="Write the record to this file.")
    asked = parser.parse_args(arguments)
    if shutil.which("wrk") is None:
        sys.stderr.write("wrk is not here: install it (Debian: apt install wrk)\n")
        return 2
    with own_home(asked.dataset):
        record = measure(asked.dataset, asked.model, asked.seconds, asked.memory, asked.connections, asked.port)
    text = json.dumps(record, indent=1) + "\n"
    sys.stdout.write(text)
    if asked.save is not None:
        write_text(asked.save, text)
    return 0


@contextmanager
def own_home(dataset: str) -> Iterator[None]:
    """A home with a copy of the dataset: what is sent there is gone afterwards."""
    with tempfile.TemporaryDirectory() as home:
        if dataset != catalog.WORLD:
            shutil.copytree(catalog.find(dataset), Path(home) / "datasets" / dataset)
        before = os.environ.get("XERTE_HOME")
        os.environ["XERTE_HOME"] = home
        try:
            yield
        finally:
            os.environ.pop("XERTE_HOME")
            if before is not None:
                os.environ["XERTE_HOME"] = before


def measure(dataset: str, model: str, seconds: int, memory_s: int, connections: int, port: int) -> dict[str, Any]:
    """One run: the server under load, one client alone, with events, for long; then the evaluation."""
    data = api.load(dataset)
    with tempfile.TemporaryDirectory() as folder:
        questions = Path(folder) / "questions.jsonl"
        count = write_questions(data, questions)
        one = questions.read_text("utf-8").splitlines()[0]
        with serving(dataset, model, port) as server:  # what is made once, like a calibration, is made here
            first_ever = first_answer(port, one, server.begun)
            until_fitted(port)
        with serving(dataset, model, port) as server:
            first = first_answer(port, one, server.begun)
            load(port, questions, connections, 5)  # warm
            alone = load(port, questions, 1, max(5, seconds // 6))
            many = load(port, questions, connections, seconds)
            slope = watch_memory(server.pid, port, questions, connections, memory_s) if memory_s else None
            taken = events_under_load(data, port, questions, max(5, seconds // 3)) if dataset != "world" else None
        code = server.code
    chosen = api.Model.load(model, data)
    verdict = chosen.evaluate(Split.TEST)
    evaluated = len(verdict) / verdict.seconds
    found = {
        "share_of_evaluate": round(many["per_second"] / evaluated, 3),
        "p99_ms": many["p99_ms"],
        "errors": many["errors"] + alone["errors"],
        "alone_p50_ms": alone["p50_ms"],
        "events_per_second": None if taken is None else taken["per_second"],
        "start_to_first_answer_s": round(first, 2),
        "memory_mib_per_hour": None if slope is None else slope["mib_per_hour"],
        "stopped_with": code,
    }
    return {
        "dataset": dataset,
        "model": model,
        "goals": {name: judged(name, value) for name, value in found.items() if value is not None},
        "distinct_questions": count,
        "connections": connections,
        "served": many,
        "alone": alone,
        "events": taken,
        "memory": slope,
        "evaluate_per_second": round(evaluated, 1),
        "first_start_ever_s": round(first_ever, 2),
        "device": device_name(chosen.device),
        "cores": os.cpu_count(),
        "load_average": [round(value, 2) for value in os.getloadavg()],
        "versions": versions(),
        "commit": commit(),
    }


def judged(name: str, value: float) -> dict[str, Any]:
    """A figure beside its goal."""
    sign, goal = GOALS[name]
    return {"measured": value, "goal": f"{sign} {goal:g}", "met": value >= goal if sign == ">=" else value <= goal}


class Server:
    """A server in a process of its own."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.begun, self.pid, self.code = time.perf_counter(), process.pid, -1


@contextmanager
def serving(dataset: str, model: str, port: int) -> Iterator[Server]:
    """A server while the block runs; its exit code afterwards."""
    command = [sys.executable, "-m", "xerte", "serve", dataset, "--model", model, "--write", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603
    server = Server(process)
    try:
        yield server
    finally:
        process.terminate()
        server.code = process.wait(30)


def write_questions(data: Dataset, file: Path) -> int:
    """Two questions for every fact of test, each once, in random order."""
    asked: dict[str, None] = {}
    for row in zip(*data.split(Split.TEST).columns(), strict=True):
        subject, relation, object, time_ = (int(value) for value in row)
        names = data.entities[subject], data.relations[relation], data.entities[object]
        when = data.calendar.format(time_)
        for known, unknown in ((("subject", names[0]), "object"), (("object", names[2]), "subject")):
            asked[json.dumps({known[0]: known[1], unknown: "?", "relation": names[1], "time": when})] = None
    lines = list(asked)
    np.random.default_rng(0).shuffle(lines)
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return len(lines)


def post(port: int, route: str, body: bytes) -> Any:
    """What the server answers."""
    request = urllib.request.Request(  # our own server
        f"http://127.0.0.1:{port}/api/v1/{route}", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
        return json.load(response)


def first_answer(port: int, question: str, begun: float) -> float:
    """Seconds from the start of the process to its first answer."""
    while time.perf_counter() - begun < 120:
        try:
            post(port, "forecast", question.encode())
            return time.perf_counter() - begun
        except OSError:
            time.sleep(0.02)
    raise TimeoutError("the server does not answer")


def until_fitted(port: int) -> None:
    """Waits for the rates, fitted in the background once for a dataset: the load is not measured beside that."""
    begun = time.perf_counter()
    while time.perf_counter() - begun < 300:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/reliability", timeout=60):
                return
        except OSError:
            time.sleep(0.5)
    raise TimeoutError("the rates are not fitted")


def load(port: int, questions: Path, connections: int, seconds: int) -> dict[str, Any]:
    """What wrk measured."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-s", str(_SCRIPT)]
    found = subprocess.run(  # noqa: S603
        [*command, f"http://127.0.0.1:{port}"],
        env=os.environ | {"QUESTIONS": str(questions), "THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    body = json.loads(found.stdout.splitlines()[-1])
    return {
        "seconds": round(body["microseconds"] / 1e6, 1),
        "requests": body["requests"],
        "errors": body["errors"],
        "per_second": round(body["requests"] / body["microseconds"] * 1e6, 1),
        "p50_ms": body["p50"] / 1000,
        "p99_ms": body["p99"] / 1000,
        "most_ms": body["most"] / 1000,
    }


def events_under_load(data: Dataset, port: int, questions: Path, seconds: int) -> dict[str, Any]:
    """Events that are taken in, list by list, while 8 connections ask."""
    rows = list(zip(*data.split(Split.TEST).columns(), strict=True))
    lists = []
    for start in range(0, 40 * _EVENTS_AT_ONCE, _EVENTS_AT_ONCE):
        part = [rows[place % len(rows)] for place in range(start, start + _EVENTS_AT_ONCE)]
        lists.append(json.dumps([_event(data, row, start + place) for place, row in enumerate(part)]).encode())
    asked: dict[str, Any] = {}
    asking = threading.Thread(target=lambda: asked.update(load(port, questions, 8, seconds)))
    asking.start()
    stored, begun, place = 0, time.perf_counter(), 0
    while asking.is_alive():
        taken = post(port, "events", lists[place % len(lists)].replace(b'"id": "', f'"id": "{place}-'.encode()))
        stored += taken["stored"]
        place += 1
    passed = time.perf_counter() - begun
    return {"stored": stored, "per_second": round(stored / passed, 1), "at_once": _EVENTS_AT_ONCE, "questions": asked}


def _event(data: Dataset, row: Any, number: int) -> dict[str, str]:
    subject, relation, object, time_ = (int(value) for value in row)
    names = data.entities[subject], data.relations[relation], data.entities[object]
    words = dict(zip(("subject", "relation", "object"), names, strict=True))
    return words | {"time": data.calendar.format(time_), "id": str(number)}


def watch_memory(process: int, port: int, questions: Path, connections: int, seconds: int) -> dict[str, Any]:
    """The slope of resident memory under load, by least squares; the first fifth, in which caches fill, left out."""
    done = threading.Event()
    samples: list[tuple[float, float]] = []

    def sample() -> None:
        begun = time.perf_counter()
        while not done.wait(2.0):
            samples.append((time.perf_counter() - begun, memory(process)))

    sampling = threading.Thread(target=sample)
    sampling.start()
    asked = load(port, questions, connections, seconds)
    done.set()
    sampling.join()
    times, sizes = np.array([one for one in samples if one[0] > seconds / 5]).T
    slope = float(np.polyfit(times, sizes, 1)[0])
    return {
        "seconds": seconds,
        "first_mib": samples[0][1],
        "last_mib": samples[-1][1],
        "mib_per_hour": round(3600 * slope, 1),
        "requests": asked["requests"],
        "errors": asked["errors"],
    }


def memory(process: int) -> float:
    """Resident memory of a process, in MiB."""
    text = Path(f"/proc/{process}/status").read_text("utf-8")
    line = next(line for line in text.splitlines() if line.startswith("VmRSS"))
    return round(int(line.split()[1]) / _KIB, 1)


if __name__ == "__main__":
    sys.exit(main())
