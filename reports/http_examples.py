"""The answers shown in the description of the API, from a server of the embedded world."""

from typing import Any

from starlette.testclient import TestClient

from benchmarks.serving import own_home
from xerte.api.service import Service
from xerte.app.access import Scope, add_token, tokens_file
from xerte.app.requests import PREFIX
from xerte.app.served import Served
from xerte.app.server import create_app
from xerte.app.settings import ServerSettings
from xerte.data.catalog import WORLD

_WHO = {"subject": "Wenoravrin", "relation": "condemns"}
_QUESTION = _WHO | {"time": "2022-10-20", "top": 2}
_TABLE = "who,did,whom,day\nAnn,visits,Ben,2024-01-10\nBen,thanks,Ann,2024-01-11\nAnn,visits,Cid,2024-01-12\n"
_COLUMNS = {"name": "mine", "subject": "who", "relation": "did", "object": "whom", "time": "day"}
_EVENT = {"subject": "Ann", "relation": "visits", "object": "Dee", "time": "2024-01-13", "id": "wire-1"}
_WATCH = _WHO | {"object": "Druerugard", "within": "7d", "threshold": 0.5, "url": "https://8.8.8.8/alerts"}
_ASKED: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/forecast", {"json": _QUESTION}),
    ("POST", "/explain", {"json": _QUESTION | {"paths": 1}}),
    ("POST", "/compare", {"json": _QUESTION | {"models": ["recurrence", "oracle"]}}),
    ("POST", "/ask", {"json": _WHO | {"object": "?", "within": "30d", "top": 2}}),
    ("GET", "/scan", {"params": {"within": "7d", "top": 1}}),
    ("GET", "/datasets", {}),
    ("GET", "/statistics", {}),
    ("GET", "/entities", {"params": {"search": "weno", "limit": 2}}),
    ("GET", "/relations", {"params": {"search": "con", "limit": 2}}),
    ("GET", "/history", {"params": {"entity": "Wenoravrin", "limit": 2}}),
    ("GET", "/entity", {"params": {"entity": "Wenoravrin"}}),
    ("GET", "/models", {}),
    ("GET", "/evaluation", {}),
    ("GET", "/card", {}),
    ("GET", "/reliability", {}),
    ("POST", "/imports/preview", {"content": _TABLE, "headers": {"content-type": "text/csv"}}),
    ("POST", "/watches", {"json": _WATCH}),
]
_ADDED: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/imports", {"content": _TABLE, "headers": {"content-type": "text/csv"}, "params": _COLUMNS}),
    ("POST", "/events", {"json": [_EVENT], "params": {"dataset": "mine"}}),
    ("GET", "/events", {"params": {"dataset": "mine", "limit": 1}}),
]
_OTHER_EACH_TIME = {"id", "made", "secret", "known_at"}
"""Keys whose values are drawn or tell the time: the example says what stands there."""
_UNASKED = {"above": False, "probability": None, "version": None}
_LONG = 3
"""So much of a list is shown."""


def answers(served: Served | None = None) -> dict[str, Any]:
    """What a server of the embedded world answers, by method and path; long lists cut, numbers rounded.

    Args:
        served: the world where it is at hand; nothing is added to it.
    """
    found: dict[str, Any] = {}
    with own_home(WORLD):
        for asked, there in ((_ASKED, served or _world()), (_ADDED, _world())):
            token = add_token(f"examples-{len(found)}", Scope.ADMIN, tokens_file())
            app = create_app(there, ServerSettings(write=True, timeout_s=600))
            with TestClient(app, client=("127.0.0.1", 5000), headers={"authorization": f"Bearer {token}"}) as client:
                for method, path, words in asked:
                    said = client.request(method, PREFIX + path, **words)
                    assert said.status_code == 200, f"{method} {path}: {said.text}"
                    answer = _shown(said.json())
                    if path == "/watches":  # the watcher may have been there already, or not
                        answer |= _UNASKED
                    found[f"{method} {PREFIX}{path}"] = answer
    return found


def _world() -> Served:
    return Served(Service("cpu"), WORLD, "recurrence")


def _shown(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _shown(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_shown(one) for one in value[:_LONG]]
    if isinstance(value, float):
        return float(f"{value:.4g}")
    return f"<{key}>" if key in _OTHER_EACH_TIME and isinstance(value, str) else value
