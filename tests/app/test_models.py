"""How a model did, over HTTP."""

import time
from pathlib import Path

from starlette.testclient import TestClient

from serving import local
from xerte.api.evaluations import Evaluations
from xerte.api.imports import import_events
from xerte.api.service import Service
from xerte.app.served import Served


def test_an_evaluation_is_asked_for_once_and_kept(tmp_path: Path, own_home: Path) -> None:
    rows = [f"Ann,visits,{('Ben', 'Cid')[day % 2]},2024-01-{day:02}" for day in range(1, 21)]
    (tmp_path / "e.csv").write_text("\n".join(["subject,relation,object,time", *rows]))
    import_events(tmp_path / "e.csv", "mine")
    served = Served(Service("cpu"), "mine", "recurrence")
    with local(served) as client:
        assert client.get("/api/v1/evaluation").json()["state"] == "none"
        assert client.post("/api/v1/evaluation").json()["state"] == "running"
        for _ in range(6000):  # it gives way to everybody else
            state = client.get("/api/v1/evaluation").json()
            if state["state"] != "running":
                break
            time.sleep(0.1)
        assert state["state"] == "done", state
        expected = served.model(None).evaluate().metrics().mrr
        assert abs(state["evaluation"]["metrics"]["time-aware"]["mrr"] - expected) < 0.01
        served.evaluations = Evaluations()  # as after a new start
        assert client.get("/api/v1/evaluation").json() == state
        assert client.get("/api/v1/evaluation", params={"model": "nobody"}).status_code == 404


def test_reliability_is_that_of_the_rates(client: TestClient, served: Served) -> None:
    body = client.get("/api/v1/reliability").json()
    assert [one["count"] for one in body["levels"]] == [one.count for one in served.model(None).reliability()]
    assert all(one["least"] <= one["mean"] <= one["most"] for one in body["levels"])
    assert body["versions"]["model"] == "rates"


def test_the_card_of_a_model(client: TestClient, served: Served) -> None:
    body = client.get("/api/v1/card").json()
    assert body["text"].startswith("# recurrence")
    assert (body["name"], body["trained_on"], body["versions"]["model"].partition("-")[0]) == (
        "recurrence",
        {},
        "recurrence",
    )
    assert body["calibration"]["questions"] > 0
    assert client.get("/api/v1/card", params={"model": "nobody"}).status_code == 404
