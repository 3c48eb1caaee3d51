"""Questions per second over HTTP, beside what `xerte evaluate` does on the same cores in the same run.

`python -m benchmarks.serving icews14 --model icews14-paper`; needs wrk (Debian: `apt install wrk`). Every question of a
run is another one, and the server keeps no answers.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

from xerte import api
from xerte.data.dataset import Dataset
from xerte.experiment.trace import commit, device_name, versions
from xerte.files import write_text
from xerte.types import Split

_SCRIPT = Path(__file__).with_name("questions.lua")
_KIB = 1024


def main(arguments: list[str] | None = None) -> int:
    """Measures, prints and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset")
    parser.add_argument("--model", default="recurrence")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--save", type=Path, help="Write the record to this file.")
    asked = parser.parse_args(arguments)
    if shutil.which("wrk") is None:
        sys.stderr.write("wrk is not here: install it (Debian: apt install wrk)\n")
        return 2
    record = measure(asked.dataset, asked.model, asked.seconds, asked.connections, asked.port)
    text = json.dumps(record, indent=1) + "\n"
    sys.stdout.write(text)
    if asked.save is not None:
        write_text(asked.save, text)
    return 0


def measure(dataset: str, model: str, seconds: int, connections: int, port: int) -> dict[str, Any]:
    """One run: the server under load, one client alone, then the evaluation."""
    data = api.load(dataset)
    with tempfile.TemporaryDirectory() as folder:
        questions = Path(folder) / "questions.jsonl"
        count = write_questions(data, questions)
        begun = time.perf_counter()
        command = [sys.executable, "-m", "xerte", "serve", dataset, "--model", model, "--port", str(port)]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603
        try:
            first = first_answer(port, questions.read_text("utf-8").splitlines()[0], begun)
            alone = load(port, questions, 1, max(5, seconds // 6))
            before = memory(server.pid)
            many = load(port, questions, connections, seconds)
            after = memory(server.pid)
        finally:
            server.terminate()
            code = server.wait(30)
    chosen = api.Model.load(model, data)
    verdict = chosen.evaluate(Split.TEST)
    evaluated = len(verdict) / verdict.seconds
    return {
        "dataset": dataset,
        "model": model,
        "distinct_questions": count,
        "connections": connections,
        "served": many,
        "alone": alone,
        "evaluate_per_second": round(evaluated, 1),
        "share_of_evaluate": round(many["per_second"] / evaluated, 3),
        "start_to_first_answer_s": round(first, 2),
        "memory_mib": {"before": before, "after": after},
        "stopped_with": code,
        "device": device_name(chosen.device),
        "cores": os.cpu_count(),
        "load_average": [round(one, 2) for one in os.getloadavg()],
        "versions": versions(),
        "commit": commit(),
    }


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


def first_answer(port: int, question: str, begun: float) -> float:
    """Seconds from the start of the process to its first answer."""
    request = urllib.request.Request(  # our own server
        f"http://127.0.0.1:{port}/api/v1/forecast", question.encode(), {"Content-Type": "application/json"}
    )
    while time.perf_counter() - begun < 60:
        try:
            with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
                response.read()
            return time.perf_counter() - begun
        except OSError:
            time.sleep(0.02)
    raise TimeoutError("the server does not answer")


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


def memory(process: int) -> float:
    """Resident memory of a process, in MiB."""
    text = Path(f"/proc/{process}/status").read_text("utf-8")
    line = next(line for line in text.splitlines() if line.startswith("VmRSS"))
    return round(int(line.split()[1]) / _KIB, 1)


if __name__ == "__main__":
    sys.exit(main())
