"""A client of `xerte serve`, with the methods of `Model`; needs the extra `serve`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import sleep
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

from xerte.api import schemas
from xerte.api.forecast import UNKNOWN, Asked, Question, Time, written
from xerte.errors import InputError, XerteError

if TYPE_CHECKING:
    from xerte.api.whatif import FactInNames

Document = TypeVar("Document")
_AT_ONCE = 64
"""So many questions are open at once."""


class ServerError(XerteError):
    """What a server answered instead of a document; `code`, `message` and `hint` are its own."""

    code = "server_error"

    def __init__(self, status: int, error: schemas.Error) -> None:
        self.status = status
        super().__init__(error.message, hint=error.hint, code=error.code)


class Client:
    """Asks a server.

    `with xerte.Client("http://127.0.0.1:8000") as client: client.forecast("Ada Lund", "visits", "2024-05-01")`

    Args:
        address: the server's.
        token: where it needs one.
        timeout_s: how long to wait for an answer.
    """

    def __init__(self, address: str = "http://127.0.0.1:8000", token: str | None = None, timeout_s: float = 60) -> None:
        try:
            import httpx2
        except ImportError:
            raise InputError("a client needs a further package, httpx2", hint="install xerte[serve]") from None
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self._http: httpx2.Client = httpx2.Client(base_url=address, headers=headers, timeout=timeout_s)

    def forecast(
        self,
        subject: str,
        relation: str,
        time: Time,
        top: int = 10,
        *,
        object: str = UNKNOWN,
        without: "Sequence[FactInNames]" = (),
        given: "Sequence[FactInNames]" = (),
        coverage: float | None = None,
        model: str | None = None,
        versions: schemas.Versions | None = None,
    ) -> schemas.Forecast:
        """As `Model.forecast`; with the versions of an earlier answer, from what was read then."""
        question = _question(subject, relation, time, object, top, model, without, given)
        if coverage is not None:
            question["coverage"] = coverage
        if versions is not None:
            question["versions"] = versions.to_json()
        return self._post("forecast", question, schemas.Forecast)

    def forecast_many(
        self, questions: Iterable[Asked], top: int = 10, *, coverage: float | None = None, model: str | None = None
    ) -> list[schemas.Forecast]:
        """As `Model.forecast_many`; many are asked at once, and the server answers them together."""

        def one(asked: Question) -> schemas.Forecast:
            words = asked.subject, asked.relation, asked.time, top
            return self.forecast(*words, object=asked.object, coverage=coverage, model=model)

        with ThreadPoolExecutor(_AT_ONCE) as threads:
            return list(threads.map(one, [Question.asked(words) for words in questions]))

    def explain(
        self,
        subject: str,
        relation: str,
        time: Time,
        top: int = 10,
        *,
        object: str = UNKNOWN,
        answer: str | None = None,
        most: int = 10,
        without: "Sequence[FactInNames]" = (),
        given: "Sequence[FactInNames]" = (),
        model: str | None = None,
    ) -> schemas.Explanation:
        """As `Model.forecast(…).explain(…)`."""
        question = _question(subject, relation, time, object, top, model, without, given)
        more = {"paths": most} | ({} if answer is None else {"answer": answer})
        return self._post("explain", question | more, schemas.Explanation)

    def compare(
        self, subject: str, relation: str, time: Time, models: Sequence[str], *, object: str = UNKNOWN, top: int = 5
    ) -> schemas.Comparison:
        """As `xerte.api.compare.compare`."""
        question = {"subject": subject, "relation": relation, "time": written(time), "object": object, "top": top}
        return self._post("compare", question | {"models": list(models)}, schemas.Comparison)

    def ask(
        self,
        subject: str,
        relation: str,
        object: str,
        *,
        at: Time | None = None,
        within: str | int | None = None,
        when: bool = False,
        how_often: str | int | None = None,
        as_of: Time | None = None,
        top: int = 10,
        groups: Mapping[str, Sequence[str]] | None = None,
        versions: schemas.Versions | None = None,
    ) -> schemas.Reply:
        """As `Model.ask`; with the versions of an earlier answer, from what was read then."""
        question: dict[str, Any] = {"subject": subject, "relation": relation, "object": object, "when": when}
        times = {"at": at, "within": within, "how_often": how_often, "as_of": as_of}
        question |= {name: written(time) for name, time in times.items() if time is not None}
        if groups is not None:
            question["groups"] = {name: [*names] for name, names in groups.items()}
        if versions is not None:
            question["versions"] = versions.to_json()
        return self._post("ask", question | {"top": top}, schemas.Reply)

    def scan(
        self, next: str | int = 1, as_of: Time | None = None, top: int = 20, watch: Iterable[str] | None = None
    ) -> schemas.Scan:
        """As `Model.scan`."""
        asked: dict[str, Any] = {"within": str(next), "top": str(top)}
        asked |= ({} if as_of is None else {"as_of": written(as_of)}) | ({} if watch is None else {"watch": [*watch]})
        return self._get("scan", schemas.Scan, asked)

    def evaluate(self, split: str = "test", model: str | None = None) -> schemas.Evaluation:
        """As `Model.evaluate`: waits for the server, which measures once and keeps the result.

        Raises:
            InputError: it failed.
        """
        asked = {"split": split} | ({} if model is None else {"model": model})
        state = self._read("POST", "evaluation", schemas.EvaluationState, params=asked)
        while state.state == "running":
            sleep(1)
            state = self._get("evaluation", schemas.EvaluationState, asked)
        if state.evaluation is None:
            raise InputError(f"the evaluation failed: {state.problem}")
        return state.evaluation

    def reliability(self) -> list[schemas.Level]:
        """As `Model.reliability`."""
        return self._get("reliability", schemas.Reliability).levels

    def card(self, model: str | None = None) -> schemas.Card:
        """What a model was trained on, its scores, calibration and limits."""
        return self._get("card", schemas.Card, {} if model is None else {"model": model})

    def entity(self, name: str, before: Time | None = None) -> schemas.AboutEntity:
        """How busy an entity was, with whom and with what."""
        return self._get("entity", schemas.AboutEntity, {"entity": name} | _before(before))

    def events(self, wait_s: float = 20) -> Iterator[schemas.Event]:
        """Events as they come in, without end."""
        page = self._get("events", schemas.Feed)
        while True:
            yield from page.events
            page = self._get("events", schemas.Feed, {"next": str(page.next), "wait": str(wait_s), "limit": "1000"})

    def append(self, events: "Iterable[Mapping[str, Any] | FactInNames]") -> schemas.Taken:
        """Sends events, as `Dataset.append` takes them; what is wrong is refused, the rest is stored."""
        rows = [dict(event) if isinstance(event, Mapping) else _fact(event) for event in events]
        return self._post("events", rows, schemas.Taken)

    def datasets(self) -> list[schemas.Dataset]:
        """The datasets of the server's machine."""
        return self._get("datasets", list[schemas.Dataset])

    def models(self) -> list[schemas.TrainedModel]:
        """The models that can answer, the default one first."""
        return self._get("models", list[schemas.TrainedModel])

    def statistics(self) -> schemas.Statistics:
        """The sizes of the dataset."""
        return self._get("statistics", schemas.Statistics)

    def entities(self, search: str = "") -> Iterator[schemas.Match]:
        """Entities by parts of their names, busiest first; further pages are fetched as they are needed."""
        return self._names("entities", search)

    def relations(self, search: str = "") -> Iterator[schemas.Match]:
        """Relations by parts of their names, busiest first."""
        return self._names("relations", search)

    def history(self, entity: str, before: Time | None = None) -> Iterator[schemas.Event]:
        """What happened to an entity, newest first."""
        asked = {"entity": entity} | _before(before)
        for page in self._pages("history", asked, schemas.History):
            yield from page.events

    def close(self) -> None:
        """Closes the connection."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _names(self, route: str, search: str) -> Iterator[schemas.Match]:
        for page in self._pages(route, {"search": search}, schemas.Found):
            yield from page.names

    def _pages(self, route: str, asked: dict[str, str], kind: type[Document]) -> Iterator[Document]:
        page: Any = self._get(route, kind, asked | {"limit": "200"})
        yield page
        while page.next:
            page = self._get(route, kind, asked | {"limit": "200", "next": page.next})
            yield page

    def _get(self, route: str, kind: type[Document], asked: dict[str, Any] | None = None) -> Document:
        return self._read("GET", route, kind, params=asked or {})

    def _post(self, route: str, body: Any, kind: type[Document]) -> Document:
        return self._read("POST", route, kind, json=body)

    def _read(self, method: str, route: str, kind: type[Document], **more: Any) -> Document:
        import httpx2

        try:
            response = self._http.request(method, f"/api/v1/{route}", **more)
        except httpx2.TransportError as error:
            raise InputError(
                f"{self._http.base_url} does not answer ({error})", hint="is the server running?", code="no_server"
            ) from None
        if response.status_code != 200:
            try:
                raise ServerError(response.status_code, schemas.Error.model_validate_json(response.content))
            except ValidationError:
                raise InputError(
                    f"{self._http.base_url} answered {response.status_code}, and is not a xerte server"
                ) from None
        return TypeAdapter(kind).validate_json(response.content)


def _question(
    subject: str,
    relation: str,
    time: Time,
    object: str,
    top: int,
    model: str | None,
    without: "Iterable[FactInNames]",
    given: "Iterable[FactInNames]",
) -> dict[str, Any]:
    changed = {"without": [_fact(fact) for fact in without], "given": [_fact(fact) for fact in given]}
    body: dict[str, Any] = {"subject": subject, "relation": relation, "time": written(time), "object": object}
    return (
        body
        | {"top": top}
        | {key: facts for key, facts in changed.items() if facts}
        | ({"model": model} if model else {})
    )


def _before(time: Time | None) -> dict[str, str]:
    return {} if time is None else {"before": written(time)}


def _fact(fact: "FactInNames") -> dict[str, str]:
    subject, relation, object, time = fact
    return {"subject": subject, "relation": relation, "object": object, "time": written(time)}
