"""Health, metrics, limits and tokens."""

import asyncio
import copy
import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient
from uvicorn import Config
from uvicorn.server import ServerState

from serving import local, server
from xerte.api.forecast import Forecast, Question
from xerte.api.model import Model
from xerte.api.service import Service
from xerte.app.access import Scope, add_token, find_token, read_tokens, remove_token, tokens_file
from xerte.app.batching import Batcher
from xerte.app.errors import RefusedError
from xerte.app.protocol import Protocol
from xerte.app.requests import unless_gone
from xerte.app.served import Served
from xerte.app.server import create_app
from xerte.app.settings import ServerSettings
from xerte.errors import InputError, UnknownNameError

QUESTION = {"subject": "Wenoravrin", "relation": "condemns", "time": "2022-10-20"}


def test_health_and_metrics(client: TestClient) -> None:
    assert client.get("/health/live").json() == {"status": "live"}
    assert client.get("/health/ready").json() == {"status": "ready"}
    client.post("/api/v1/forecast", json=QUESTION)
    text = client.get("/metrics").text
    assert 'xerte_requests_total{method="POST",route="/api/v1/forecast",status="200"} 1.0' in text
    assert "xerte_batch_questions_count 1.0" in text


def test_before_it_starts_it_is_not_ready(served: Served) -> None:
    response = TestClient(create_app(served), client=("127.0.0.1", 1)).get("/health/ready")
    assert (response.status_code, response.json()["code"]) == (503, "not_ready")


def test_a_large_body_is_refused_whether_or_not_it_says_so(served: Served) -> None:
    with local(served, ServerSettings(max_body=100)) as client:
        for content in (b"x" * 101, iter([b"x" * 60, b"x" * 60])):
            response = client.post("/api/v1/forecast", content=content, headers={"content-type": "application/json"})
            assert (response.status_code, response.json()["code"]) == (413, "too_large")
        assert 'xerte_refused_total{code="too_large"}' in client.get("/metrics").text


def test_a_client_that_sends_all_before_it_listens_hears_why_it_is_refused(tmp_path: Path) -> None:
    with server("--model", "recurrence", home=tmp_path) as address:
        request = urllib.request.Request(
            f"{address}/api/v1/forecast", b"x" * (16 << 20), {"Content-Type": "application/json"}
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=60)
    assert (refused.value.code, json.load(refused.value)["code"]) == (413, "too_large")


ENDLESS = [b"x" * 6000] * 20
LONG_ADDRESS = b"GET /api/v1/entities?search=" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "pieces",
    [
        [b"no HTTP at all\r\n\r\n"],
        [LONG_ADDRESS],
        [b"GET /", *ENDLESS],
        [b"GET / HTTP/1.1\r\n", *(b"a: %b\r\n" % piece for piece in ENDLESS)],
        [b"GET / HTTP/1.1\r\n" + b"".join(b"a: %b\r\n" % piece for piece in ENDLESS) + b"\r\n"],
        [b"GET / HTTP/1.1\r\na: ", *ENDLESS],
        [CHUNKED + b"0\r\n", *(b"a: %b\r\n" % piece for piece in ENDLESS)],
        [CHUNKED + b"0\r\na: ", *ENDLESS],
        [CHUNKED, b"1;", *ENDLESS],
    ],
    ids=["none", "address", "endless address", "headers", "at once", "header", "trailers", "trailer", "extension"],
)
def test_what_is_no_http_or_has_no_end_is_refused_in_the_shape_of_every_error(pieces: list[bytes]) -> None:
    sent = _sent(pieces)
    head, _, body = sent[0].partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-length: %d" % len(body) in head
    assert json.loads(body)["code"] == "bad_http"
    assert sent[1:] == [b""], "it hangs up"


def test_bodies_however_long_and_in_however_small_pieces_are_no_head() -> None:
    body = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in ENDLESS]
    small = [b"1\r\nx\r\n"] * 30_000
    plain = b"POST / HTTP/1.1\r\ncontent-length: 120000\r\n\r\n"
    for pieces in ([CHUNKED, *body, b"0\r\n\r\n"], [CHUNKED, b"".join(small), b"0\r\n\r\n"], [plain, *ENDLESS]):
        assert _sent([*pieces, *pieces]) == []


def _sent(pieces: Sequence[bytes]) -> list[bytes]:
    """What a connection answers by itself to what comes piece by piece, b"" where it is closed."""
    sent: list[bytes] = []

    class Transport(asyncio.Transport):
        def write(self, data: bytes | bytearray | memoryview) -> None:
            sent.append(bytes(data))

        def close(self) -> None:
            sent.append(b"")

        def is_closing(self) -> bool:
            return b"" in sent

        def pause_reading(self) -> None:
            pass

    async def ask() -> list[bytes]:
        protocol = Protocol(Config(create_nothing, log_config=None), ServerState(), {})
        protocol.connection_made(Transport())
        for piece in pieces:
            if b"" not in sent:
                protocol.data_received(piece)
        return list(sent)  # the application has not run yet

    return asyncio.run(ask())


async def create_nothing(scope: Any, receive: Any, send: Any) -> None:
    """An application that nothing reaches."""


def test_what_takes_too_long_is_cut_off(served: Served) -> None:
    with local(served, ServerSettings(timeout_s=0.0001)) as client:
        response = client.post("/api/v1/explain", json=QUESTION)
        assert (response.status_code, response.json()["code"]) == (503, "timeout")
        assert response.headers["retry-after"] == "1"


@pytest.mark.parametrize(("limits", "status"), [({"max_waiting": 0}, 503), ({"max_per_client": 0}, 429)])
def test_too_many_are_told_to_come_back(served: Served, limits: dict[str, int], status: int) -> None:
    with local(served, ServerSettings(**limits)) as client:  # type: ignore[arg-type]
        response = client.post("/api/v1/forecast", json=QUESTION)
        assert (response.status_code, response.headers["retry-after"]) == (status, "1")
        assert client.get("/health/live").status_code == 200


def test_beyond_this_machine_a_token_with_the_scope_is_needed(served: Served) -> None:
    text = add_token("dashboard", Scope.READ, tokens_file())
    with TestClient(create_app(served, ServerSettings(host="0.0.0.0")), client=("10.0.0.7", 1)) as client:
        assert client.get("/health/ready").status_code == 200
        refused = client.get("/api/v1/models")
        assert (refused.status_code, refused.json()["code"]) == (401, "no_token")
        wrong = client.get("/api/v1/models", headers={"authorization": "Bearer xerte_wrong"})
        assert (wrong.status_code, wrong.json()["code"]) == (401, "bad_token")
        assert client.get("/metrics").status_code == 401
        assert client.get("/api/v1/models", headers={"authorization": f"Bearer {text}"}).status_code == 200


def test_only_hashes_of_tokens_are_kept(own_home: Path) -> None:
    file = tokens_file()
    text = add_token("feed", Scope.WRITE, file)
    assert text not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    found = find_token(text, read_tokens(file))
    assert found is not None
    assert found.scope.allows(Scope.READ)
    assert not found.scope.allows(Scope.ADMIN)
    with pytest.raises(InputError, match="a token called feed already"):
        add_token("feed", Scope.READ, file)
    remove_token("feed", file)
    assert find_token(text, read_tokens(file)) is None


def test_a_model_that_is_being_opened_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    there = Served(Service("cpu"), "world", "recurrence")
    known, begun, go = there.model(None), Event(), Event()

    def load(*_: object) -> Model:
        begun.set()
        assert go.wait(60)
        return known

    monkeypatch.setattr(Model, "load", load)
    with ThreadPoolExecutor(2) as pool:
        opened = pool.submit(there.service.model, "world", "another")
        assert begun.wait(60)
        try:
            assert pool.submit(lambda: (there.model(None), there.dataset)).result(60) == (known, known.dataset)
        finally:
            go.set()
        assert opened.result(60) is known


def test_who_waits_for_rates_takes_no_thread_from_others() -> None:
    go = Event()

    async def many_wait() -> None:
        batcher = Batcher()
        waiting = [asyncio.create_task(batcher.counted(lambda: go.wait(600))) for _ in range(100)]
        await asyncio.sleep(0)
        try:
            assert await asyncio.wait_for(asyncio.to_thread(lambda: "free"), 60) == "free"
        finally:
            go.set()
        assert all(await asyncio.gather(*waiting))
        await batcher.stop()

    asyncio.run(many_wait())


@pytest.mark.parametrize("at_once", [1, 3])
def test_company_changes_no_answer_and_one_mistake_spoils_nothing(served: Served, at_once: int) -> None:
    model, sizes = served.model(None), list[int]()
    names = [one.name for one in served.entities.search("", limit=20)]
    asked = [Question(name, "condemns", "2022-10-20") for name in names]
    asked.insert(5, Question("Nobody at all", "condemns", "2022-10-20"))

    async def together() -> list[object]:
        batcher = Batcher(7, sizes.append, at_once)
        answers = [batcher.ask(model, question, 1 + place % 4) for place, question in enumerate(asked)]
        found = await asyncio.gather(*answers, return_exceptions=True)
        await batcher.stop()
        return list(found)

    found = asyncio.run(together())
    assert max(sizes) > 1
    assert isinstance(found.pop(5), UnknownNameError)
    del asked[5]
    tops = [1 + place % 4 for place in range(21) if place != 5]
    for one, question, top in zip(found, asked, tops, strict=True):
        assert isinstance(one, Forecast)
        alone = model.forecast_many([question], top)[0]
        assert (one.question, [at.entity for at in one.answers]) == (question, [at.entity for at in alone.answers])
        for here, there in zip(one.answers, alone.answers, strict=True):
            assert (here.score, here.probability) == pytest.approx((there.score, there.probability), rel=1e-12)


def test_so_many_batches_are_answered_at_once(served: Served) -> None:
    """Each waits until the other is there, too: one after the other they would wait for ever."""
    both, model = Barrier(2, timeout=60), copy.copy(served.model(None))

    def meet(*words: Any) -> list[Forecast]:
        both.wait()
        return Model.forecast_many(model, *words)

    model.forecast_many = meet  # type: ignore[method-assign,assignment]
    question = Question("Wenoravrin", "condemns", "2022-10-20")

    async def together() -> list[object]:
        batcher = Batcher(largest=1, at_once=2)
        found = await asyncio.gather(*(batcher.ask(model, question, 3) for _ in range(4)))
        await batcher.stop()
        return list(found)

    assert asyncio.run(together()) == [served.model(None).forecast_many([question], 3)[0]] * 4


def test_work_ends_when_its_client_hangs_up_however_late() -> None:
    async def leave() -> None:
        gone = asyncio.Event()

        async def receive() -> dict[str, str]:
            await gone.wait()
            return {"type": "http.disconnect"}

        work = asyncio.get_running_loop().create_future()
        answer = asyncio.create_task(unless_gone(Request({"type": "http"}, receive), work))
        await asyncio.sleep(0.2)
        assert not answer.done()
        gone.set()
        with pytest.raises(RefusedError, match="the client has gone"):
            await answer
        assert work.cancelled()

    asyncio.run(leave())


def test_a_question_whose_client_has_gone_is_not_asked(served: Served) -> None:
    sizes = list[int]()

    async def leave() -> None:
        batcher = Batcher(observe=sizes.append)
        question = Question("Wenoravrin", "condemns", "2022-10-20")
        waiting = [asyncio.create_task(batcher.ask(served.model(None), question, 1)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[1].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await batcher.stop()

    asyncio.run(leave())
    assert sizes == [2]
