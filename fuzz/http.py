"""Requests of every kind that the server describes, with words, numbers and bodies it does not expect."""

import json
import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fuzz.judge import Record, WrongError, judge
from fuzz.mutate import mutated, odd_text
from xerte.api.imports import import_events
from xerte.api.service import Service
from xerte.app.served import Served
from xerte.app.server import create_app
from xerte.app.settings import ServerSettings
from xerte.errors import LONGEST_MESSAGE, escaped

KNOWN = ["Ada", "Ben", "visits", "2022-10-20", "?", "*", "10d", "mine", "recurrence", "valid", "1", "0", "-1", "true"]
WORDS = (
    "subject", "relation", "object", "time", "questions", "top", "model", "models", "within", "at", "when", "as_of",
    "how_often", "without", "given", "among", "known_before", "answer", "id", "events", "coverage", "above", "url",
)  # fmt: skip
TABLE = b"subject,relation,object,time\nAda,visits,Ben,2022-10-01\nBen,helps,Cem,2022-10-02\n"
_LASTING = {"wait"}
"""Parameters that let a request wait when they are right."""


def run(record: Record, rng: random.Random, _: Path) -> None:
    """One request."""
    method, path, names, kind = rng.choice(_OPERATIONS)
    query = "&".join(f"{quote(name)}={_quoted(_word(rng))}" for name in names if rng.random() < 0.5)
    path = path.replace("{id}", _quoted(_word(rng)) or "0")
    body = _body(rng, kind) if kind else rng.choice([b"", b"", mutated(rng, b"{}")])
    headers = {"content-type": (kind or "text/plain").encode()}
    if rng.random() < 0.1:
        extra = rng.choice(["content-type", "accept", "if-none-match", "authorization", "origin", "range", "cookie"])
        headers[extra] = odd_text(rng).encode(errors="ignore")[:500].translate(None, b"\0\r\n")
    address = f"{path}?{query}" if query else path
    said = f"{method} {address} {headers} {body!r}"
    judge(record, said, lambda: _answered(method, address, headers, body))


def _answered(method: str, address: str, headers: dict[str, bytes], body: bytes) -> str:
    answer = _CLIENT[-1].request(method, address, headers=headers, content=body)
    if answer.status_code >= 500 and answer.status_code != 503:
        raise WrongError(f"{answer.status_code}: {answer.text:.300}")
    if answer.status_code < 400:
        if answer.headers.get("content-type", "").startswith("application/json"):
            json.loads(answer.text, parse_constant=_refused)
        return "result"
    told = answer.json()
    if not {"code", "message", "hint"} <= set(told):
        raise WrongError(f"{answer.status_code} without a sentence: {answer.text:.300}")
    for text in (told["message"], told["hint"]):
        if len(text) > LONGEST_MESSAGE or escaped(text) != text or len(text.splitlines()) > 1:
            raise WrongError(f"no short sentence: {text!r:.400}")
    return "sentence"


def _refused(text: str) -> None:
    raise WrongError(f"{text} is no JSON")


def _word(rng: random.Random) -> str:
    return rng.choice(KNOWN) if rng.random() < 0.6 else odd_text(rng)


def _quoted(word: str) -> str:
    return quote(word.encode(errors="surrogateescape")[:2000], safe="")


def _body(rng: random.Random, kind: str) -> bytes:
    if kind != "application/json":
        return mutated(rng, TABLE) if rng.random() < 0.8 else TABLE
    if rng.random() < 0.05:
        return b"[" * 5000 + b"9" * 5000
    made = json.dumps(_value(rng, 0)).encode()
    return mutated(rng, made, 2) if rng.random() < 0.2 else made


def _value(rng: random.Random, depth: int) -> Any:
    """JSON with words that requests have, and values they do not."""
    if depth == 0 or (depth < 3 and rng.random() < 0.3):
        if depth and rng.random() < 0.5:
            return [_value(rng, depth + 1) for _ in range(rng.choice((0, 1, 4)))]
        keys = [word for word in WORDS if rng.random() < 0.3] + ["subject", "relation", "time"] * (rng.random() < 0.5)
        one = {key: _value(rng, depth + 1) for key in keys}
        return [one] if depth == 0 and rng.random() < 0.2 else one
    odd: list[Any] = [None, True, 0, -1, 1.5, 1e308, 10**30, "", [], {}]
    return rng.choice([rng.choice(KNOWN), rng.choice(KNOWN), rng.choice(odd), _text(rng)])


def _text(rng: random.Random) -> str:
    return odd_text(rng)


_CLIENT: list[Any] = []
_OPERATIONS: list[tuple[str, str, list[str], str]] = []


@contextmanager
def prepared() -> Iterator[None]:
    """A server of a dataset `mine` that takes events, in process."""
    import tempfile

    from fuzz.commands import EVENTS

    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from starlette.testclient import TestClient

        table = Path(folder) / "e.csv"
        table.write_text(EVENTS, "utf-8")
        import_events(table, "mine")
        served = Served(Service("cpu"), "mine", "recurrence")
        app = create_app(served, ServerSettings(write=True, max_body=1 << 20))
        with TestClient(app, client=("127.0.0.1", 5000), base_url="http://127.0.0.1") as client:
            _CLIENT.append(client)
            for path, operations in client.get("/openapi.json").json()["paths"].items():
                for method, one in operations.items():
                    names = [each["name"] for each in one.get("parameters", []) if each["in"] == "query"]
                    kind = next(iter(one.get("requestBody", {}).get("content", {})), "")
                    _OPERATIONS.append((method.upper(), path, [name for name in names if name not in _LASTING], kind))
            try:
                yield
            finally:
                _OPERATIONS.clear()
                _CLIENT.pop()
