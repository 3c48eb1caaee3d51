"""Work on a cluster: the same results as in one process, whichever workers die on the way."""

import logging
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pytest

from xerte.api import spread
from xerte.api.backtest import Plan
from xerte.api.experiments import Experiment, Outcome, Ran, Runner
from xerte.api.faithfulness import faithfulness
from xerte.api.model import Model
from xerte.api.service import Service
from xerte.api.spread import Source, evaluate_on, forecast_parts, run_on
from xerte.cluster import Cluster, _told_plainly, _unheard
from xerte.data import live, store
from xerte.data.world import generate
from xerte.errors import InputError, XerteError
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
    with pytest.raises(InputError, match=r"out holds answers of another model, or .*: choose another folder or remove"):
        forecast_parts(model, tmp_path / "in", tmp_path / "out", top=4)
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
    assert not list((tmp_path / "out").glob("*.parquet"))


def test_a_backtest_is_the_same_on_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    asker = Service("cpu").asker("world", "rates")
    how: dict[str, Any] = {"every": "60d", "horizon": "7d", "questions": 60}
    alone = asker.backtest(**how)
    assert len(alone.times) > 1
    found = asker.backtest(**how, out=tmp_path / "folds", cluster="auto")
    assert found.to_json() == alone.to_json()
    with pytest.raises(InputError, match="learns online learns fold by fold: leave the cluster out"):
        asker.backtest(**how, retrain="online", cluster="auto")


def test_folds_that_share_what_they_learned_stay_together(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, ...]] = []

    class Nobody:
        def __init__(self, address: str) -> None:
            assert address == "here"

        def map(self, task: object, items: list[tuple[Any, ...]], done: object) -> None:
            asked.extend(item[-1] for item in items)

    monkeypatch.setattr(spread, "Cluster", Nobody)
    asker = Service("cpu").asker("world", "rates")
    for retrain, groups in (("every:3", [(1, 2), (3, 5)]), ("never", [(1,), (2,), (3,), (5,)])):
        asked.clear()
        plan = Plan((1, 2, 3, 4, 5, 6), 7, 10, 0, retrain)
        spread.ask_folds_on("here", asker, plan, [1, 2, 3, 5], lambda *_: None)
        assert asked == groups


def test_faithfulness_is_the_same_on_a_cluster(cluster: Cluster, model: Model) -> None:
    alone = faithfulness(model, Split.VALID, 20, (1, 3)).to_json()
    told: list[tuple[int, int]] = []
    found = faithfulness(
        model, Split.VALID, 20, (1, 3), progress=lambda *some: told.append(some), cluster="auto"
    ).to_json()
    assert {**found, "seconds": 0} == {**alone, "seconds": 0}
    assert told[-1] == (20, 20)


def test_experiments_are_trained_by_workers_as_at_home(cluster: Cluster, tmp_path: Path) -> None:
    small = {"dims": [4, 4], "static_dim": 4, "time_dim": 4, "steps": 2, "n": 3, "k": 4, "epochs": 2, "start": 540}
    todo = [(Experiment(name, "world", "xerte", "world", overrides=small), 4, "typed") for name in ("one", "other")]
    there = Runner(tmp_path / "there", tmp_path / "runs there", "cpu")
    told: list[Ran] = []
    with Killer(1):
        ran = run_on("auto", there, todo, Split.VALID, told.append)
    alone = Runner(tmp_path / "here", tmp_path / "runs here", "cpu").run(*todo[0], Split.VALID)
    assert [one.outcome for one in ran] == [Outcome.DONE, Outcome.DONE]
    assert {one.experiment.name for one in told} == {"one", "other"}
    assert ran[0].metrics() == pytest.approx(alone.metrics(), rel=1e-3)
    assert [one.outcome for one in run_on("auto", there, todo, Split.VALID, told.append)] == 2 * [Outcome.BEFORE]


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
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        address = f"127.0.0.1:{somebody.getsockname()[1]}"
        with pytest.raises(InputError, match=rf"^the cluster {address} cannot be joined: Failed to connect to"):
            Cluster(address)
    monkeypatch.setattr(ray, "init", lambda **_: pytest.fail("Ray would try for minutes"))
    for silent in (address, f"ray://{address}", "nowhere.invalid:6379", "127.0.0.1:99999"):
        with pytest.raises(InputError, match=rf"^the cluster {silent} cannot be joined: nobody answers there"):
            Cluster(silent)


def missing(_: int) -> None:
    """Of a module that workers do not have."""


missing.__module__ = "a_module_nobody_has"


def fails(kind: str) -> None:
    if kind == "memory":
        raise MemoryError
    Path("/nowhere/at/all").write_text("")


def test_workers_with_another_xerte_are_told_apart(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as other:
        other.setattr("xerte.cluster.__version__", "0.9")
        with pytest.raises(InputError, match=r"^the worker on .+ has xerte 1\..+, not 0\.9: install the same on every"):
            cluster.map(fails, [("memory",)])
    module = ModuleType(missing.__module__)
    vars(module)["missing"] = missing
    monkeypatch.setitem(sys.modules, missing.__module__, module)
    with pytest.raises(XerteError, match=r"^workers lack this xerte .+: install the same .+No module named"):
        cluster.map(missing, [(1,)])


def test_what_a_machine_refuses_a_worker_is_told_as_at_home(cluster: Cluster) -> None:
    with pytest.raises(MemoryError) as raised:
        cluster.map(fails, [("memory",)])
    assert not isinstance(raised.value, ray.exceptions.RayError)  # no traceback of another machine in it
    with pytest.raises(FileNotFoundError) as refused:
        cluster.map(fails, [("a file",)])
    assert refused.value.filename == "/nowhere/at/all"


def test_what_ray_says_of_dead_workers_stays_out_of_the_output(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    said = {"lines": ["Task failed"], "pid": "raylet", "is_err": False}
    ray._private.worker.print_to_stdstream(said, ignore_prefix=False)
    logging.getLogger("ray.any").error("Unhandled error: Traceback of a second task that failed")
    assert capsys.readouterr() == ("", "")


def test_a_node_that_does_not_start_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**_: Any) -> None:
        raise Exception("The current node timed out during startup.\nThis could happen because")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(InputError, match=r"^the cluster auto cannot be joined: The current node timed out during"):
        Cluster()


def test_a_node_that_is_lost_here_is_one_sentence() -> None:
    with pytest.raises(XerteError, match=r"^Ray died on this machine: repeat the command"), _told_plainly(ray):
        raise ray.exceptions.LocalRayletDiedError


def test_what_ray_writes_while_it_starts_stays_out_of_the_output(capfd: pytest.CaptureFixture[str]) -> None:
    with _unheard():
        os.write(2, b"Set ray log level")
    os.write(2, b"heard")
    assert capfd.readouterr() == ("", "heard")


def test_a_worker_that_finds_other_facts_or_weights_answers_nothing(model: Model) -> None:
    source = Source.of(model.dataset, model)
    assert source.open_model().dataset.sizes == model.dataset.sizes
    with pytest.raises(InputError, match=r"^the worker on .+: world cannot be had at version"):
        replace(source, facts="0" * 16).open_model()
    with pytest.raises(InputError, match=r"^the worker on .+ finds other weights in recurrence than were read here"):
        replace(source, weights="0" * 16).open_model()


def test_workers_read_a_growing_dataset_as_it_was(tmp_path: Path) -> None:
    store.save(generate(1000).dataset, tmp_path / "mine")
    before = store.open_dataset(tmp_path / "mine")
    source = Source.of(before, None)
    names = {"subject": "Ann", "relation": before.relations[0], "object": "Ben", "time": "2023-01-02"}
    live.appender(before).append([("event", names)])
    after = store.open_dataset(tmp_path / "mine")
    assert (len(after.facts), len(source.open_dataset().facts)) == (len(before.facts) + 1, len(before.facts))
    assert len(Source.of(after, None).open_dataset().facts) == len(after.facts)


def test_a_task_without_memory_is_not_tried_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    variable, retries = "RAY_task_oom_retries", list[str]()
    monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(ray, "init", lambda **_: retries.append(os.environ[variable]))
    Cluster("auto")
    assert int(retries[0]) > 0  # -1 is Ray's own: for ever
    monkeypatch.setenv(variable, "3")
    Cluster("auto")
    assert retries[1] == "3"


def test_without_ray_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(InputError, match=r"pip install 'xerte\[cluster\]'"):
        Cluster("auto")
