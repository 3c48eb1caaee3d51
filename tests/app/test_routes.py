"""The API over the embedded world: what comes back, and what is refused."""

import json
from typing import Any
from unittest.mock import patch

import pytest
from starlette.testclient import TestClient

import xerte
from xerte.api.service import Service
from xerte.app.served import Served

QUESTION = {"subject": "Wenoravrin", "relation": "condemns", "time": "2022-10-20", "top": 3}
FACT = {"subject": "Wenoravrin", "relation": "condemns", "object": "Druerugard", "time": "2022-10-19"}


def post(client: TestClient, route: str, body: Any) -> Any:
    response = client.post(f"/api/v1/{route}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def test_a_forecast_is_what_json_prints(client: TestClient, served: Served) -> None:
    body = post(client, "forecast", QUESTION)
    printed = served.model(None).forecast("Wenoravrin", "condemns", "2022-10-20", 3).to_json()
    assert {key: body[key] for key in printed} == printed
    assert set(body) - set(printed) == {"source", "versions"}
    assert post(client, "forecast", QUESTION) == body


@pytest.mark.parametrize("fact", [FACT, list(FACT.values()), "|".join(FACT.values())])
def test_a_supposed_fact_is_written_in_three_ways(client: TestClient, fact: Any) -> None:
    body = post(client, "forecast", QUESTION | {"given": [fact]})
    assert body["answers"][0]["entity"] == "Druerugard"
    assert body["original"][0]["entity"] != "Druerugard"
    assert body["changes"][0]["place"] == 1


def test_a_set_that_holds_the_answer_so_often_is_asked_for_by_its_coverage(client: TestClient, served: Served) -> None:
    small, large = (post(client, "forecast", QUESTION | {"coverage": share}) for share in (0.5, 0.9))
    expected = served.model(None).forecast("Wenoravrin", "condemns", "2022-10-20", coverage=0.9)
    assert [one["entity"] for one in large["answers"]] == [one.entity for one in expected.answers]
    assert expected.coverage is not None
    assert large["coverage"]["mean_size"] == pytest.approx(expected.coverage.mean_size)
    assert large["coverage"]["coverage"] == 0.9
    assert len(small["answers"]) < len(large["answers"])
    for wrong in (0, 1, "much"):
        said = client.post("/api/v1/forecast", json=QUESTION | {"coverage": wrong})
        assert (said.status_code, said.json()["code"]) == (422, "bad_request")


def test_a_relation_may_be_read_backwards(client: TestClient, served: Served) -> None:
    words = "Wenoravrin", "inverse of condemns", "2022-10-20"
    body = client.post("/api/v1/forecast", json=dict(zip(("subject", "relation", "time"), words, strict=True))).json()
    expected = served.model(None).forecast(*words)
    assert [one["entity"] for one in body["answers"]] == [one.entity for one in expected.answers]
    wrong = client.post("/api/v1/forecast", json=QUESTION | {"relation": "inverse of condems"})
    assert (wrong.status_code, wrong.json()["hint"]) == (404, "did you mean condemns?")


def test_the_subject_may_be_asked_for(client: TestClient) -> None:
    body = post(client, "forecast", QUESTION | {"subject": "?", "object": "Druerugard"})
    assert body["query"]["subject"] == "?"
    assert len(body["answers"]) == 3


def test_an_explanation_names_facts_and_on_request_a_picture(client: TestClient) -> None:
    body = post(client, "explain", QUESTION)
    assert body["answer"] == body["answers"][0]["entity"]
    assert body["evidence"][0]["share"] > 0
    assert "picture" not in body
    assert post(client, "explain?picture=true", QUESTION)["picture"]


def test_models_are_compared(client: TestClient) -> None:
    body = post(client, "compare", {**QUESTION, "models": ["recurrence", "oracle"]})
    assert [one["model"] for one in body["models"]] == ["recurrence", "oracle"]


def test_likelihoods_are_those_of_the_model(client: TestClient, served: Served) -> None:
    asked = {"subject": "Wenoravrin", "relation": "condemns", "object": "?"}
    body = post(client, "ask", asked | {"within": "30d", "top": 2})
    printed = served.model(None).ask("Wenoravrin", "condemns", "?", within="30d", top=2).to_json()
    said, meant = ([*one.pop("evidence"), *one.pop("answers")] for one in (body, printed))
    assert {key: body[key] for key in printed} == printed
    for mine, theirs in zip(said, meant, strict=True):  # a sum's last digit depends on the number of threads
        assert mine == {
            key: pytest.approx(value) if isinstance(value, float) else value for key, value in theirs.items()
        }
    assert body["versions"]["dataset"]
    none = client.post("/api/v1/ask", json=asked)
    assert (none.status_code, none.json()["code"]) == (422, "bad_input")
    scan = client.get("/api/v1/scan", params={"top": 3}).json()
    assert len(scan["likely"]) == 3
    watched = client.get("/api/v1/scan", params={"top": 3, "watch": ["Wenoravrin", "Velavrin"]}).json()
    assert len(watched["likely"]) == 3
    assert all({one["subject"], one["object"]} & {"Wenoravrin", "Velavrin"} for one in watched["likely"])
    wrong = client.get("/api/v1/scan", params={"watch": "Wenoravrim"}).json()
    assert (wrong["code"], wrong["hint"]) == ("unknown_name", "did you mean Wenoravrin?")


def test_groups_of_names_are_asked_about_as_anywhere(client: TestClient) -> None:
    asked = {"subject": "Wenoravrin", "relation": "@harsh", "object": "Druerugard", "within": "30d"}
    answers = client.post("/api/v1/ask", json=asked | {"groups": {"harsh": ["condemns", "threat*"]}}).json()["answers"]
    either = client.post("/api/v1/ask", json=asked | {"relation": "condemns | threat*"}).json()["answers"]
    assert answers[0]["probability"] == either[0]["probability"] > 0
    empty: dict[str, list[str]] = {"harsh": []}
    for groups in ({"mild": ["praises"]}, empty):
        assert client.post("/api/v1/ask", json=asked | {"groups": groups}).json()["code"] == "bad_input"


def test_lists(client: TestClient) -> None:
    here = [one for one in client.get("/api/v1/datasets").json() if one["served"]]
    version = client.get("/api/v1/statistics").json()["version"]
    assert [(one["name"], one["version"]) for one in here] == [("world", version)]
    assert [client.get(f"/api/v1/{names}").json()["version"] for names in ("entities", "relations")] == [version] * 2
    assert client.get("/api/v1/models").json()[0]["name"] == "recurrence"
    assert client.get("/api/v1/models").json()[0]["folder"] is None
    assert client.get("/api/v1/statistics").json()["last"] == "2022-12-31"


def test_pages_of_names_follow_each_other(client: TestClient) -> None:
    whole = client.get("/api/v1/entities", params={"search": "ministry", "limit": 50}).json()["names"]
    found, page = [], client.get("/api/v1/entities", params={"search": "ministry", "limit": 7}).json()
    found += page["names"]
    while page["next"]:
        page = client.get("/api/v1/entities", params={"search": "ministry", "limit": 7, "next": page["next"]}).json()
        found += page["names"]
    assert found[:50] == whole
    assert [one["facts"] for one in found] == sorted((one["facts"] for one in found), reverse=True)


def test_pages_of_a_history_follow_each_other(client: TestClient) -> None:
    asked = {"entity": "Wenoravrin", "before": "2022-10-20"}
    first = client.get("/api/v1/history", params=asked | {"limit": "3"}).json()
    second = client.get("/api/v1/history", params=asked | {"limit": "3", "next": first["next"]}).json()
    both = client.get("/api/v1/history", params=asked | {"limit": "6"}).json()
    assert first["events"] + second["events"] == both["events"]
    assert both["events"][0]["time"] < "2022-10-20"


def test_what_the_client_has_is_not_sent_again(client: TestClient) -> None:
    tag = client.get("/api/v1/relations").headers["etag"]
    again = client.get("/api/v1/relations", headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/api/v1/relations", headers={"if-none-match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "code", "words"),
    [
        ('{"subject": ', 400, "bad_json", "the body is not JSON"),
        ("[]", 422, "bad_request", "the body: "),
        ({"subject": 5, **dict.fromkeys(("relation", "time"), "x")}, 422, "bad_request", "subject: "),
        (QUESTION | {"tpo": 3}, 422, "bad_request", "tpo: nothing of this name is known"),
        (QUESTION | {"top": 0}, 422, "bad_request", "top: "),
        (QUESTION | {"subject": "Wenoravrn"}, 404, "unknown_name", "no entity is called Wenoravrn"),
        (QUESTION | {"relation": "condems"}, 404, "unknown_name", "no relation is called condems"),
        (QUESTION | {"time": "tomorrow"}, 422, "bad_input", "'tomorrow' is not a date"),
        (QUESTION | {"time": "9999-12-31"}, 200, "", ""),
        (QUESTION | {"object": "Druerugard"}, 422, "bad_input", "a question has '?' for either"),
        (QUESTION | {"model": "../../etc"}, 404, "unknown_model", "no model is called ../../etc"),
        (QUESTION | {"given": ["a|b"]}, 422, "bad_request", "given.0: "),
        (QUESTION | {"subject": "<img src=x onerror=alert(1)>\u202e\0" * 50}, 404, "unknown_name", "no entity"),
        (QUESTION | {"subject": "x" * 10_001}, 422, "bad_request", "subject: "),
    ],
)
def test_bad_requests_have_one_shape(client: TestClient, body: Any, status: int, code: str, words: str) -> None:
    content = body if isinstance(body, str) else json.dumps(body)
    response = client.post("/api/v1/forecast", content=content, headers={"content-type": "application/json"})
    assert response.status_code == status, response.text
    if code:
        assert set(response.json()) == {"code", "message", "hint"}
        assert response.json()["code"] == code
        assert response.json()["message"].startswith(words)


def test_close_names_are_in_the_hint(client: TestClient) -> None:
    error = client.post("/api/v1/forecast", json=QUESTION | {"subject": "Wenoravrn"}).json()
    assert error["hint"] == "did you mean Wenoravrin?"


@pytest.mark.parametrize(
    ("path", "status"), [("/nowhere", 404), ("/api/v1/forecast", 405), ("/api/v1/entities?next=!", 422)]
)
def test_wrong_addresses_have_the_same_shape(client: TestClient, path: str, status: int) -> None:
    response = client.get(path)
    assert (response.status_code, set(response.json())) == (status, {"code", "message", "hint"})


@pytest.mark.parametrize(
    ("path", "methods"), [("events", "GET, HEAD, POST"), ("scan", "GET, HEAD"), ("forecast", "POST")]
)
def test_a_method_that_is_not_taken_is_told_all_that_are(client: TestClient, path: str, methods: str) -> None:
    response = client.put(f"/api/v1/{path}")
    assert (response.status_code, response.headers["allow"]) == (405, methods)


@pytest.mark.parametrize("path", ["/", "/openapi.json", "/metrics", "/health/ready", "/api/v1/entities?search=a"])
def test_a_head_is_the_answer_without_its_body(client: TestClient, path: str) -> None:
    head, whole = client.head(path), client.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers.get("etag") == whole.headers.get("etag")
    if path != "/metrics":  # it counts itself
        assert head.headers["content-length"] == whole.headers["content-length"]


def test_a_head_is_counted_by_its_route_and_refused_where_there_is_no_get(client: TestClient) -> None:
    assert client.head("/api/v1/models").status_code == 200
    assert 'method="HEAD",route="/api/v1/models",status="200"' in client.get("/metrics").text
    assert client.head("/api/v1/forecast").status_code == 405
    known = client.get("/api/v1/models").headers["etag"]
    assert client.head("/api/v1/models", headers={"if-none-match": known}).status_code == 304


def test_where_a_model_lies_on_the_disk_is_not_told(client: TestClient, served: Served) -> None:
    with patch.object(served.model(None), "source", "/srv/models/mine"):
        assert post(client, "forecast", QUESTION)["source"] == "mine"
        assert post(client, "explain", QUESTION)["source"] == "mine"


def test_only_json_is_taken(client: TestClient) -> None:
    response = client.post("/api/v1/forecast", content=json.dumps(QUESTION), headers={"content-type": "text/plain"})
    assert (response.status_code, response.json()["code"]) == (415, "not_json")


def test_another_host_name_is_refused(client: TestClient) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "[evil", ""):
        refused = client.get("/api/v1/models", headers={"host": host})
        assert (refused.status_code, refused.json()["code"]) == (400, "bad_host")
    for host in ("localhost:8000", "127.0.0.1", "[::1]:8000", "LOCALHOST"):
        assert client.get("/api/v1/models", headers={"host": host}).status_code == 200


def test_the_description_has_examples_and_every_stable_route(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    for path in ("forecast", "explain", "ask", "events", "datasets", "entities", "relations", "models"):
        assert f"/api/v1/{path}" in document["paths"]
    assert document["components"]["schemas"]["ForecastRequest"]["examples"]
    fields = document["components"]["schemas"]["Forecast"]["properties"]
    assert fields["notes"]["description"].startswith("What a reader should know")


def test_the_default_model_is_the_newest_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    served = Served(Service("cpu"), "world")
    assert (served.default, served.trained) == ("recurrence", False)


def test_the_version_of_the_package_is_told(client: TestClient) -> None:
    assert client.get("/openapi.json").json()["info"]["version"] == xerte.__version__
