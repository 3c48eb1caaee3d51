"""A client against a real server in a process of its own."""

from collections.abc import Iterator

import pytest

import xerte
from serving import server, until_learned
from xerte.api.client import ServerError


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[xerte.Client]:
    with server("--model", "recurrence", home=tmp_path_factory.mktemp("home")) as address, xerte.Client(address) as one:
        until_learned(address)
        yield one


def test_the_answers_are_those_of_the_model(client: xerte.Client) -> None:
    asked = ("Wenoravrin", "condemns", "2022-10-20", 3)
    model = xerte.Model.load("recurrence", "world")
    given = [("Wenoravrin", "condemns", "Druerugard", "2022-10-19")]
    for more in ({}, {"given": given}):
        there, here = client.forecast(*asked, **more), model.forecast(*asked, **more)  # type: ignore[arg-type]
        assert [one.model_dump() for one in there.answers] == here.to_json()["answers"]
    reasons = client.explain(*asked)
    assert [fact.sentence for fact in reasons.evidence] == [
        one.sentence for one in model.forecast(*asked).explain().evidence
    ]
    assert client.compare(*asked[:3], models=["recurrence"]).models[0].model == "recurrence"


def test_many_questions_are_answered_in_their_order(client: xerte.Client) -> None:
    asked = [("Wenoravrin", "condemns", f"2022-10-{day}") for day in range(10, 30)]
    asked.append(("?", "condemns", "2022-10-20", "Druerugard"))  # type: ignore[arg-type]
    there, here = client.forecast_many(asked, 3), xerte.Model.load("recurrence", "world").forecast_many(asked, 3)
    assert [one.query.time for one in there] == [one.question.time for one in here]
    assert [[a.entity for a in one.answers] for one in there] == [[a.entity for a in one.answers] for one in here]
    half = client.forecast(*asked[0][:3], coverage=0.5)
    assert half.coverage is not None
    assert half.coverage.coverage == 0.5


def test_lists_go_on_over_pages(client: xerte.Client) -> None:
    assert len(list(client.entities())) == client.statistics().entities
    events = list(client.history("Wenoravrin", before="2022-10-20"))
    assert len(events) > 200
    assert [one.time for one in events] == sorted((one.time for one in events), reverse=True)
    assert next(iter(client.relations("conde"))).name == "condemns"
    assert client.models()[0].name == "recurrence"
    assert [one.name for one in client.datasets() if one.served] == ["world"]


def test_an_error_has_the_servers_words(client: xerte.Client) -> None:
    with pytest.raises(ServerError, match=r"no entity is called Wenoravrn: did you mean Wenoravrin\?") as caught:
        client.forecast("Wenoravrn", "condemns", "2022-10-20")
    assert (caught.value.status, caught.value.code) == (404, "unknown_name")


def test_no_server_is_one_sentence() -> None:
    with xerte.Client("http://127.0.0.1:9") as client, pytest.raises(xerte.InputError, match="does not answer"):
        client.models()


def test_rates_and_entities_are_those_of_the_model(client: xerte.Client) -> None:
    model = xerte.Model.load("recurrence", "world")
    mine, theirs = model.scan(7, top=3), client.scan(7, top=3)
    assert [one.probability for one in theirs.likely] == [one.probability for one in mine.likely]
    assert (
        client.scan(7, top=3, watch=["Velavrin"]).events
        == model.scan(7, top=3, watch=["Velavrin"]).events
        < theirs.events
    )
    assert [one.count for one in client.reliability()] == [one.count for one in model.reliability()]
    assert client.entity("Wenoravrin").facts == 739
    assert client.evaluate("valid").queries == 2 * model.dataset.sizes[1]
    assert client.card().name == "recurrence"
