"""Plain questions take a way of their own, and are answered as the routes would."""

import json
from unittest.mock import patch

import pytest
from starlette.testclient import TestClient

from xerte.app.access import Scope, add_token, tokens_file
from xerte.app.batching import Batcher
from xerte.app.served import Served
from xerte.app.server import create_app
from xerte.app.settings import ServerSettings

GOOD = {"subject": "Wenoravrin", "relation": "condemns", "time": "2022-10-20"}
ADDRESS = "/api/v1/forecast"
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    "body",
    [
        GOOD,
        GOOD | {"top": 3},
        GOOD | {"top": 0},
        GOOD | {"top": "3"},
        GOOD | {"subject": "?", "object": "Wenoravrin"},
        GOOD | {"object": "Wenoravrin"},
        GOOD | {"subject": "?"},
        GOOD | {"relation": "inverse of condemns"},
        GOOD | {"subject": "Wenoravri"},
        GOOD | {"relation": "condemn"},
        GOOD | {"time": "yesterday"},
        GOOD | {"time": 20221020},
        GOOD | {"time": ""},
        GOOD | {"coverage": 0.5},
        GOOD | {"model": "recurrence"},
        GOOD | {"nonsense": 1},
        {"subject": "Wenoravrin"},
        [GOOD],
        "Wenoravrin",
        None,
    ],
)
def test_what_is_said_is_what_the_routes_say(client: TestClient, body: object) -> None:
    here = client.post(ADDRESS, json=body)
    there = client.post(f"{ADDRESS}?dataset=world", json=body)
    assert (here.status_code, here.json()) == (there.status_code, there.json())
    assert here.headers.get("etag") == there.headers.get("etag")


@pytest.mark.parametrize("content", [b"", b"{", b'{"subject": "\xff"}', b'{"subject": NaN}', b"[" * 5000])
def test_what_is_no_json_is_refused_alike(client: TestClient, content: bytes) -> None:
    here = client.post(ADDRESS, content=content, headers=JSON)
    there = client.post(f"{ADDRESS}?dataset=world", content=content, headers=JSON)
    assert (here.status_code, here.json()) == (there.status_code, there.json())
    assert here.status_code in (400, 422)


def test_it_is_taken_for_plain_questions_only_and_counted_as_the_route_is(client: TestClient) -> None:
    with patch.object(Batcher, "ask", side_effect=AssertionError("the route was taken")):
        assert client.post(ADDRESS, json=GOOD).status_code == 200
        with pytest.raises(AssertionError):
            client.post(f"{ADDRESS}?dataset=world", json=GOOD)
    assert 'route="/api/v1/forecast",status="200"} 1.0' in client.get("/metrics").text


def test_a_body_in_pieces_and_one_that_is_not_said_to_be_json_are_the_routes_business(client: TestClient) -> None:
    content = json.dumps(GOOD).encode()
    assert client.post(ADDRESS, content=iter([content[:20], content[20:]]), headers=JSON).status_code == 200
    plain = client.post(ADDRESS, content=content, headers={"content-type": "text/plain"})
    assert (plain.status_code, plain.json()["code"]) == (415, "not_json")


def test_who_may_not_ask_is_refused_as_by_the_routes(served: Served) -> None:
    text = add_token("dashboard", Scope.READ, tokens_file())
    tokens = {"": 401, "Bearer xerte_wrong": 401, f"Bearer {text}": 200}
    with TestClient(create_app(served, ServerSettings(host="0.0.0.0")), client=("10.0.0.7", 1)) as client:
        for token, status in tokens.items():
            headers = {"authorization": token} if token else {}
            here = client.post(ADDRESS, json=GOOD, headers=headers)
            there = client.post(f"{ADDRESS}?dataset=world", json=GOOD, headers=headers)
            assert (here.status_code, here.json()) == (status, there.json())
