"""Work on a cluster: the same results as in one process, whichever workers die on the way."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pytest

from xerte.api.model import Model
from xerte.api.spread import evaluate_on, forecast_parts
from xerte.cluster import Cluster
from xerte.data.world import generate
from xerte.errors import InputError
from xerte.types import Split

ray = pytest.importorskip("ray", reason="Ray is not installed: the extra `cluster` brings it")
psutil = pytest.importorskip("psutil", reason="workers are found with psutil")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    try:
        made = Cluster("local")  # workers that are ours to kill
    except InputError as error:
        if "timed out during startup" in str(error):
            pytest.skip("Ray did not start within its 30 s: this machine is too busy")
        raise
    yield made
    ray.shutdown()


@pytest.fixture
def model() -> Model:
    return Model.load("recurrence", "world")


class Killer:
    """Kills workers of this process's cluster while it is open, one now and then."""

    def __init__(self, most: int) -> None:
        self.killed, self._most, self._over = 0, most, threading.Event()
        self._thread = threading.Thread(target=self._kill)

    def __enter__(self) -> "Killer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _kill(self) -> None:
        while not self._over.wait(0.05) and self.killed < self._most:
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):  # it has ended meanwhile
                    if process.name().startswith("ray::_"):  # a worker at work carries the name of its task
                        process.kill()
                        self.killed += 1
                        break


def test_an_evaluation_is_the_same_though_workers_die(cluster: Cluster, model: Model) -> None:
    alone = model.evaluate("valid").to_json()
    with Killer(1) as killer:
        spread = evaluate_on("auto", model, Split.VALID).to_json()
    assert killer.killed == 1
    assert {**spread, "seconds": 0} == {**alone, "seconds": 0}


def rows_of(file: Path) -> list[dict[str, Any]]:
    table = duckdb.connect().read_parquet(str(file))
    return [dict(zip(table.columns, row, strict=True)) for row in table.fetchall()]


def test_parts_of_questions_are_answered_once(cluster: Cluster, model: Model, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for part, day in enumerate(("2022-10-20", "2022-10-21", "2022-10-22")):
        rows = f"subject,relation,time\nWenoravrin,condemns,{day}\nDruerugard,visits,{day}\n"
        (tmp_path / "in" / f"part-{part}.csv").write_text(rows)
    assert forecast_parts(model, tmp_path / "in", tmp_path / "alone", top=3) == (3, 0)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "part-1.parquet").write_bytes((tmp_path / "alone" / "part-1.parquet").read_bytes())
    assert forecast_parts(model, tmp_path / "in", tmp_path / "out", top=3, address="auto") == (2, 1)
    for part in range(3):
        alone, spread = (rows_of(tmp_path / folder / f"part-{part}.parquet") for folder in ("alone", "out"))
        assert len(alone) == 6
        for one, other in zip(alone, spread, strict=True):
            numbers = ("score", "probability")
            assert [one.pop(name) for name in numbers] == pytest.approx([other.pop(name) for name in numbers], rel=1e-6)
            assert one == other


def test_a_mistake_on_a_worker_is_told_as_at_home(cluster: Cluster, model: Model, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "q.csv").write_text("subject,relation,time\nNobody Here,condemns,2022-10-20\n")
    with pytest.raises(InputError, match="Nobody Here"):
        forecast_parts(model, tmp_path / "in", tmp_path / "out", address="auto")
    assert not list((tmp_path / "out").iterdir())


def test_a_dataset_in_memory_cannot_be_spread(cluster: Cluster) -> None:
    mine = generate(1000).dataset
    object.__setattr__(mine, "name", "mine")
    with pytest.raises(InputError, match="mine lies in this process's memory only: import it"):
        evaluate_on("auto", Model.load("recurrence", mine))


def test_an_address_where_nobody_answers_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)

    def nobody(**_: object) -> None:
        raise ConnectionError("Failed to connect to\nRay cluster at 10.0.0.1:6379.")

    monkeypatch.setattr(ray, "init", nobody)
    with pytest.raises(InputError, match=r"^the cluster 10\.0\.0\.1:6379 cannot be joined: Failed to connect to"):
        Cluster("10.0.0.1:6379")


def test_without_ray_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'xerte\[cluster\]'"):
        Cluster("auto")
