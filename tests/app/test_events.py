"""Events over HTTP: stored once, refused with a reason, and known to the next question."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from serving import local
from xerte import storage
from xerte.api.imports import import_events
from xerte.api.service import Service
from xerte.app.served import Served
from xerte.app.settings import ServerSettings
from xerte.data.dataset import Dataset

VISIT = {"subject": "Ann", "relation": "visits", "object": "Ben", "time": "2024-01-10"}
QUESTION = {"subject": "Ann", "relation": "visits", "time": "2024-01-21"}


@pytest.fixture
def served(tmp_path: Path) -> Served:
    rows = [f"{name},visits,{other},2024-01-{day:02}" for day in range(1, 19) for name, other in (("Ann", "Cid"),)]
    (tmp_path / "e.csv").write_text("subject,relation,object,time\n" + "\n".join([*rows, "Ben,helps,Cid,2024-01-19"]))
    import_events(tmp_path / "e.csv", "mine")
    return Served(Service("cpu"), "mine", "recurrence")


@pytest.fixture
def client(served: Served) -> Iterator[TestClient]:
    with local(served, ServerSettings(write=True)) as one:
        yield one


def send(client: TestClient, *events: Any) -> Any:
    response = client.post("/api/v1/events", json=list(events))
    assert response.status_code == 200, response.text
    return response.json()


def test_an_event_is_stored_once_and_the_next_answer_knows_it(client: TestClient) -> None:
    before = client.post("/api/v1/forecast", json=QUESTION).json()
    assert [one["entity"] for one in before["answers"]] == ["Cid"]
    event = VISIT | {"object": "Newcomer", "time": "2024-01-20", "id": "a1", "source": "a wire"}
    taken = send(client, event)
    nothing = {"corrected": 0, "retracted": 0, "repeated": 0, "refused": 0, "reasons": []}
    assert taken == {"stored": 1, **nothing, "version": taken["version"]}
    assert send(client, event) == taken | {"stored": 0, "repeated": 1}
    after = client.post("/api/v1/forecast", json=QUESTION).json()
    assert "Newcomer" in [one["entity"] for one in after["answers"]]
    assert after["versions"]["dataset"] == taken["version"] != before["versions"]["dataset"]
    assert client.get("/api/v1/entities", params={"search": "newc"}).json()["names"][0]["name"] == "Newcomer"
    newest = client.get("/api/v1/history", params={"entity": "Newcomer"}).json()["events"][0]
    assert newest["extras"] == {"source": "a wire", "id": "a1"}
    assert 'xerte_events_total{outcome="repeated"} 1.0' in client.get("/metrics").text


def test_what_is_wrong_is_refused_and_the_rest_is_stored(client: TestClient) -> None:
    wrong = VISIT | {"time": "tomorrow"}
    found = send(client, VISIT, wrong, VISIT | {"time": "2024-01-11"}, VISIT | {"time": "2999-01-01"})
    assert (found["stored"], found["refused"]) == (2, 2)
    assert [one["event"] for one in found["reasons"]] == [2, 4]
    assert found["reasons"][0]["message"].startswith("'tomorrow' is not a date")
    assert found["reasons"][1]["hint"].startswith("is the year right?")
    asking = send(client, VISIT | {"subject": "?"})
    assert (asking["stored"], asking["reasons"][0]["message"]) == (
        0,
        "the subject is '?', which stands for what is asked",
    )


def test_a_list_is_one_transaction_whatever_is_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[Path] = []
    full = False

    def fault(operation: storage.Operation, path: Path) -> None:
        if operation == "write" and path.name == "events.sqlite":
            writes.append(path)
            if full:
                raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage, "fault", fault)
    send(client, VISIT | {"id": "1"})
    writes.clear()
    other, wrong = VISIT | {"id": "1", "object": "Nobody"}, VISIT | {"time": "soon"}
    found = send(client, VISIT | {"id": "2"}, other, VISIT | {"id": "3"}, wrong, VISIT | {"id": "1"})
    assert (found["stored"], found["repeated"], len(writes)) == (2, 1, 1)
    told = [(one["event"], one["code"], one["message"][:20]) for one in found["reasons"]]
    assert told[0] == (2, "other_content", "the id 1 stands for ")
    assert [(number, message) for number, _, message in told[1:]] == [(4, "'soon' is not a date")]
    assert not client.get("/api/v1/entities", params={"search": "Nobody"}).json()["names"]
    full = True
    found = send(client, VISIT | {"id": "4"}, VISIT | {"id": "5"})
    assert [one["message"].rpartition(": ")[2] for one in found["reasons"]] == [
        "No space left on device; nothing of the batch was stored"
    ] * 2


def test_events_are_corrected_and_retracted_by_what_they_say(client: TestClient) -> None:
    send(client, VISIT, VISIT | {"time": "2024-01-11"})
    said = [VISIT[name] for name in ("subject", "relation", "object", "time")]
    gone = {"action": "retract", "time": "2024-01-11"}
    found = send(client, VISIT | {"action": "correct", "was": said, "object": "Cy"}, VISIT | gone, VISIT | gone)
    assert (found["corrected"], found["retracted"], found["repeated"], found["refused"]) == (1, 1, 1, 0)
    events = client.get("/api/v1/events").json()["events"]
    assert [(one["object"], one["time"]) for one in events] == [("Cy", VISIT["time"])]
    found = send(client, VISIT | {"action": "retract", "object": "Zoe"})
    assert "there is no fact" in found["reasons"][0]["message"]


def test_the_limits_of_a_list(served: Served) -> None:
    with local(served, ServerSettings(write=True, max_batch=1)) as client:
        response = client.post("/api/v1/events", json=[VISIT, VISIT])
        assert (response.status_code, response.json()["code"]) == (413, "too_large")
    with local(served) as client:
        response = client.post("/api/v1/events", json=[VISIT])
        assert (response.status_code, response.json()["code"]) == (403, "forbidden")


def test_nothing_is_appended_to_the_embedded_world() -> None:
    with local(Served(Service("cpu"), "world", "recurrence"), ServerSettings(write=True)) as client:
        response = client.post("/api/v1/events", json=[VISIT])
        assert (response.status_code, response.json()["code"]) == (422, "bad_input")


def test_events_are_told_in_the_order_in_which_they_came(client: TestClient) -> None:
    def feed(**asked: Any) -> Any:
        return client.get("/api/v1/events", params=asked).json()

    assert feed()["events"] == []
    first = feed()["next"]
    for day in (12, 11, 13):
        send(client, VISIT | {"time": f"2024-01-{day}", "id": str(day)})
    assert [one["time"][-2:] for one in feed(next=first)["events"]] == ["12", "11", "13"]
    assert [one["time"][-2:] for one in feed(limit=2)["events"]] == ["11", "13"]
    page = feed(next=first, limit=2)
    assert [one["time"][-2:] for one in page["events"]] == ["12", "11"]
    assert [one["time"][-2:] for one in feed(next=page["next"])["events"]] == ["13"]
    retraction = [{"action": "retract", "id": "11"}]
    client.app.state.served.own.dataset.append(retraction)  # type: ignore[attr-defined]
    assert [one["time"][-2:] for one in feed(next=first)["events"]] == ["12", "13"]


def test_a_client_may_wait_for_the_next_event(served: Served) -> None:
    with local(served, ServerSettings(write=True)) as client:
        place = client.get("/api/v1/events").json()["next"]
        with ThreadPoolExecutor(1) as other:
            waiting = other.submit(client.get, "/api/v1/events", params={"next": place, "wait": 20})
            time.sleep(0.3)
            send(client, VISIT)
            assert [one["object"] for one in waiting.result(120).json()["events"]] == ["Ben"]


def test_a_version_without_an_event_does_not_end_the_wait(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with local(served, ServerSettings(write=True)) as client:
        place = client.get("/api/v1/events").json()["next"]
        looks = count()
        version_of = served.service.version_of

        def another(dataset: Dataset) -> str:
            """As when a dataset gets its log, some looks before the first event is in it."""
            if (look := next(looks)) == 3:
                dataset.append([VISIT])
            return f"{version_of(dataset)}-{look}"

        monkeypatch.setattr(served.service, "version_of", another)
        answer = client.get("/api/v1/events", params={"next": place, "wait": 20}).json()
        assert [one["object"] for one in answer["events"]] == ["Ben"]


def test_events_from_a_time_on_are_told_as_they_happened(client: TestClient) -> None:
    first = client.get("/api/v1/events", params={"since": "2024-01-17", "limit": 2}).json()
    rest = client.get("/api/v1/events", params={"since": "2024-01-17", "next": first["next"]}).json()
    assert [one["time"][-2:] for one in first["events"] + rest["events"]] == ["17", "18", "19"]
    assert rest["next"] is None
