"""An answer names what it was made from, and asked again with that it is the same, whatever came since."""

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from serving import local
from xerte.api.imports import import_events
from xerte.api.service import Service
from xerte.api.versions import DatasetVersions
from xerte.app.served import Served
from xerte.app.settings import ServerSettings
from xerte.data import compaction, store

QUESTION = {"subject": "Ann", "relation": "visits", "time": "2024-02-01", "top": 5}


@pytest.fixture
def mine(tmp_path: Path, own_home: Path) -> Path:
    rows = [f"Ann,visits,{('Ben', 'Cid')[day % 2]},2024-01-{day:02}" for day in range(1, 21)]
    (tmp_path / "e.csv").write_text("\n".join(["subject,relation,object,time", *rows]))
    import_events(tmp_path / "e.csv", "mine")
    return own_home / "datasets" / "mine"


def test_a_version_is_known_without_keeping_what_a_compaction_replaced(mine: Path) -> None:
    versions, first = DatasetVersions(), store.open_dataset(mine)
    version, there = versions.of(first), weakref.ref(first)
    del first
    gc.collect()
    assert there() is None, "its files would fill the disk until the server ends"
    assert versions.of(store.open_dataset(mine)) == version


def again(client: TestClient, answer: dict[str, Any], route: str = "forecast") -> dict[str, Any]:
    said = client.post(f"/api/v1/{route}", json={**QUESTION, "versions": answer["versions"]})
    assert said.status_code == 200, said.text
    body: dict[str, Any] = said.json()
    return body


def test_an_answer_can_be_asked_again_after_appends_corrections_and_compaction(mine: Path) -> None:
    def asked(client: TestClient) -> dict[str, Any]:
        body: dict[str, Any] = client.post("/api/v1/forecast", json=QUESTION).json()
        return body

    event = {"subject": "Ann", "relation": "visits", "object": "Dee", "time": "2024-01-25", "id": "1"}
    with local(Served(Service("cpu"), "mine", "recurrence"), ServerSettings(write=True)) as client:
        answers = [asked(client)]
        why = client.post("/api/v1/explain", json=QUESTION).json()
        other = {**event, "object": "Fay", "id": "9"}
        for more in (event, {**event, "object": "Eve", "action": "correct"}, {"id": "1", "action": "retract"}, other):
            store.open_dataset(mine).append([more])
            answers.append(asked(client))
        assert len({str(one["answers"]) for one in answers}) == 4, "what is retracted is as if it had never come"
        assert len({one["versions"]["dataset"] for one in answers}) == 5
        assert [again(client, one) for one in answers] == answers
        assert again(client, why, "explain") == why
    compaction.compact(mine, lambda dataset, kept: None)
    assert store.describe(mine)["version"] == store.GROWN
    with local(Served(Service("cpu"), "mine", "recurrence"), ServerSettings(write=True)) as client:
        assert [again(client, one) for one in answers] == answers
        sent = client.post("/api/v1/events", json=[{**event, "id": "2", "relation": "warns", "subject": "Zoë"}])
        assert sent.json()["stored"] == 1
        assert [again(client, one) for one in answers] == answers
        assert asked(client)["versions"]["dataset"].startswith(answers[0]["versions"]["dataset"] + "+")


def test_a_what_if_names_the_data_without_what_was_supposed(mine: Path) -> None:
    fact = {"subject": "Ann", "relation": "visits", "object": "Ben", "time": "2024-01-30"}
    asked = QUESTION | {"given": [fact], "without": [fact | {"object": "Cid", "time": "2024-01-19"}]}
    with local(Served(Service("cpu"), "mine", "recurrence")) as client:
        plain = client.post("/api/v1/forecast", json=QUESTION).json()
        for route in ("forecast", "explain"):
            first = client.post(f"/api/v1/{route}", json=asked).json()
            assert first["versions"] == plain["versions"]
            again = client.post(f"/api/v1/{route}", json=asked | {"versions": first["versions"]})
            assert again.json() == first


def test_comparisons_likelihoods_and_scans_can_be_asked_again_too(mine: Path) -> None:
    likely = {"subject": "Ann", "relation": "visits", "object": "?", "within": "3d"}
    compared = QUESTION | {"models": ["recurrence"]}

    def asked(client: TestClient, then: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
        of = [one["versions"] for one in then or []]
        more = [{"versions": one} for one in of] or [{}, {}]
        said = [
            client.post("/api/v1/compare", json=compared | more[0]),
            client.post("/api/v1/ask", json=likely | more[1]),
            client.get("/api/v1/scan", params={"top": 3} | ({"version": of[2]["dataset"]} if of else {})),
        ]
        assert [one.status_code for one in said] == [200] * 3, [one.text for one in said]
        return [one.json() for one in said]

    event = {"subject": "Ann", "relation": "visits", "object": "Cid", "time": "2024-01-22"}
    first: list[dict[str, Any]] = []
    with local(Served(Service("cpu"), "mine", "recurrence"), ServerSettings(write=True, timeout_s=120)) as client:
        first = asked(client)
        assert client.post("/api/v1/events", json=[event]).json()["stored"] == 1
        second = asked(client)
        assert all(one != other for one, other in zip(first, second, strict=True))
        assert client.post("/api/v1/events", json=[event | {"object": "Ben"}]).json()["stored"] == 1
        assert asked(client, first) == first
        assert asked(client, second) == second
    with local(Served(Service("cpu"), "mine", "recurrence"), ServerSettings(timeout_s=120)) as client:
        assert asked(client, first) == first
        assert asked(client, second) == second


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"dataset": "0" * 16}, "mine cannot be had at version"),
        ({"dataset": "<script>"}, "mine cannot be had at version"),
        ({"dataset": "+9"}, "holds 0 appended rows, not 9"),
        ({"model": "gone"}, "no model here has the version"),
    ],
)
def test_a_version_that_cannot_be_had_is_one_sentence(mine: Path, change: dict[str, str], problem: str) -> None:
    with local(Served(Service("cpu"), "mine", "recurrence")) as client:
        versions = client.post("/api/v1/forecast", json=QUESTION).json()["versions"]
        if change.get("dataset", "").startswith("+"):
            change = {"dataset": versions["dataset"] + change["dataset"]}
        said = client.post("/api/v1/forecast", json={**QUESTION, "versions": versions | change})
    assert (said.status_code, said.json()["code"]) == (404, "unknown_version")
    assert problem in said.json()["message"]
