"""Alerts: one crossing, one delivery, signed, tried again until it is taken, and never to where it must not go."""

import base64
import hashlib
import hmac
import json
import socket
import sqlite3
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from serving import local
from xerte.api.imports import import_events
from xerte.api.service import Service
from xerte.app import alerts, webhooks
from xerte.app.access import Scope, add_token, tokens_file
from xerte.app.alerts import AlertStore, alerts_file
from xerte.app.served import Served
from xerte.app.settings import ServerSettings
from xerte.app.watching import Watcher
from xerte.errors import InputError

LOCAL = ("127.0.0.1",)


class Receiver:
    """Keeps what it is sent; answers with the statuses it is given, then with 204."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.got: list[tuple[dict[str, str], str]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                receiver.got.append(({key.lower(): value for key, value in self.headers.items()}, body))
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/alerts"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    one = Receiver()
    yield one
    one.server.shutdown()
    one.server.server_close()


@pytest.fixture
def served(tmp_path: Path) -> Served:
    rows = [f"Ann,visits,Cid,2024-01-{day:02}" for day in range(1, 29, 3)]
    rows += [f"Ann,visits,Ben,2024-02-{day:02}" for day in range(1, 29)]
    (tmp_path / "e.csv").write_text("\n".join(["subject,relation,object,time", *rows]))
    import_events(tmp_path / "e.csv", "mine")
    return Served(Service("cpu"), "mine", "recurrence")


def watch(store: AlertStore, url: str, threshold: float) -> tuple[str, str]:
    made, secret = store.add("mine", "Ann", "visits", "Dan", "3d", threshold, url)
    return made.id, secret


def probability(served: Served) -> float:
    with served.rates() as model:
        found = model.ask("Ann", "visits", "Dan", within="3d").answers
    return found[0].probability if found else 0.0


def test_a_crossing_is_told_once_however_often_it_is_asked(served: Served, receiver: Receiver) -> None:
    served.dataset.append([("Eve", "visits", "Dan", "2024-02-28")])  # Dan is somebody
    store = AlertStore(alerts_file())
    watcher = Watcher(served, store, LOCAL)
    before = probability(served)
    id, secret = watch(store, receiver.url, (1 + before) / 2)
    watcher.turn()
    assert receiver.got == []
    served.dataset.append([("Ann", "visits", "Dan", f"2024-03-{day:02}") for day in range(1, 9)])
    assert probability(served) > (1 + before) / 2
    for _ in range(3):
        watcher.turn()
    Watcher(served, AlertStore(alerts_file()), LOCAL).turn()  # as after a new start
    assert len(receiver.got) == 1
    headers, body = receiver.got[0]
    assert json.loads(body)["data"]["watch"] == id
    assert json.loads(body)["data"]["probability"] == pytest.approx(probability(served))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}".encode()
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"


def test_a_receiver_that_fails_is_tried_again_later_with_the_same_id(
    served: Served, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1e9]
    monkeypatch.setattr("xerte.app.watching.time.time", lambda: now[0])
    store = AlertStore(alerts_file())
    made, _ = store.add("mine", "Ann", "visits", "Ben", "3d", 0.01, receiver.url)
    receiver.statuses = [500, 302]
    watcher = Watcher(served, store, LOCAL)
    for pause, attempts in ((0, 1), (4, 1), (2, 2), (9, 2), (2, 3), (10_000, 3)):
        now[0] += pause
        watcher.turn()
        assert len(receiver.got) == attempts
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1
    assert [(one.state, one.attempts, one.watch) for one in store.alerts()] == [("sent", 3, made.id)]


def test_an_attempt_whose_process_was_killed_is_made_again_and_nobody_shares_one() -> None:
    store, other = AlertStore(alerts_file()), AlertStore(alerts_file())
    made, _ = store.add("mine", "Ann", "visits", "Ben", "3d", 0.5, "https://example.org")
    assert store.note(made, 0.6, "v1", {}, 100.0)
    assert not other.note(made, 0.7, "v1", {}, 100.0)
    taken = store.take_due(100.0)
    assert taken is not None
    assert other.take_due(101.0) is None
    again = other.take_due(100.0 + alerts.LEASE_S)
    assert again is not None
    assert again.id == taken.id
    other.failed(again._replace(attempts=alerts.MOST_ATTEMPTS), "nobody there", 200.0)
    assert [one.state for one in store.alerts()] == ["given up"]
    assert store.take_due(1e12) is None


def test_below_and_above_again_is_another_alert() -> None:
    store = AlertStore(alerts_file())
    made, _ = store.add("mine", "Ann", "visits", "Ben", "3d", 0.5, "https://example.org")
    assert [store.note(made, p, f"v{p}", {}, 0.0) for p in (0.4, 0.5, 0.9, 0.1, 0.6)] == [
        False,
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://10.0.0.7:8080/x",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://0.0.0.0/",
        "http://192.168.1.1",
        "ftp://example.org",
        "file:///etc/passwd",
        "https://user:word@example.org/",
        "https://example.org/\r\nx: y",
        "http://",
        "nonsense",
    ],
)
def test_some_addresses_are_not_called(url: str) -> None:
    with pytest.raises(InputError):
        webhooks.check_url(url)


def test_a_name_that_stands_for_a_private_address_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, 80)) for ip in ("93.184.216.34", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with pytest.raises(InputError, match="private network"):
        webhooks.post("http://rebinding.example/", "whsec_AAAA", "msg_1", 0, "{}")


def test_watches_are_managed_with_an_admin_token(served: Served) -> None:
    asked = {"subject": "Ann", "relation": "visits", "object": "Ben", "within": "3d", "threshold": 0.5}
    url = {"url": "https://example.org/alerts"}
    with local(served, ServerSettings(write=True)) as client:
        refused = client.get("/api/v1/watches")
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        admin = {"authorization": f"Bearer {add_token('boss', Scope.ADMIN, tokens_file())}"}
        made = client.post("/api/v1/watches", json=asked | url, headers=admin).json()
        assert made["secret"].startswith("whsec_")
        (listed,) = client.get("/api/v1/watches", headers=admin).json()
        assert "secret" not in listed
        assert listed["id"] == made["id"]
        _refuses(client, admin, asked | {"url": "http://localhost.example:0/"}, 422)
        _refuses(client, admin, asked | {"url": "http://127.0.0.1/"}, 422)
        _refuses(client, admin, asked | url | {"subject": "An"}, 404)
        _refuses(client, admin, asked | url | {"within": "soon"}, 422)
        _refuses(client, admin, asked | url | {"threshold": 1}, 422)
        assert client.get("/api/v1/alerts", headers=admin).status_code == 200
        assert client.delete(f"/api/v1/watches/{made['id']}", headers=admin).status_code == 204
        assert client.delete(f"/api/v1/watches/{made['id']}", headers=admin).status_code == 404
    assert alerts_file().stat().st_mode & 0o077 == 0


def _refuses(client: TestClient, headers: dict[str, str], body: Any, status: int) -> None:
    response = client.post("/api/v1/watches", json=body, headers=headers)
    assert (response.status_code, set(response.json())) == (status, {"code", "message", "hint"}), response.text


def test_closing_waits_for_the_statement_of_another_thread(tmp_path: Path) -> None:
    """A server that stops does not wait for the watcher's thread, and SQLite under its feet ended the process."""
    store = AlertStore(tmp_path / "alerts.sqlite")
    closing = threading.Thread(target=store.close)
    with store._transaction():
        closing.start()
        closing.join(0.2)
        assert closing.is_alive()
    closing.join(10)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        store.watches()
