"""Questions of likelihood in names and dates."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xerte
from test_contract import small_dataset
from xerte.api.ask import Asker
from xerte.api.durations import parse_duration
from xerte.api.grammar import chosen
from xerte.data.calendar import Calendar, Tick
from xerte.errors import InputError, UnknownNameError

DATA = small_dataset()
DAYS, HOURS = DATA.calendar, Calendar(Tick.HOUR, "2014-01-01", Tick.DAY, 24)
YEARS, STEPS = Calendar(Tick.YEAR, "1830", Tick.YEAR), Calendar(Tick.STEP, "", Tick.STEP)


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Asker:
    home: Path = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XERTE_HOME", str(home))
        made = Asker(DATA)
        assert made.rates.longest > 1
        assert len(list((home / "rates").iterdir())) == 1
        assert Asker(DATA).rates.to_json() == made.rates.to_json()
    return made


def test_the_document_is_as_promised(asker: Asker) -> None:
    body = asker.ask("e3", "likes", "e4", within="7d", as_of="2024-02-20").to_json()
    assert {"question", "kind", "as_of", "model", "answers", "evidence"} <= set(body)
    assert (body["kind"], body["as_of"], body["model"]) == ("within", "2024-02-20", "rates")
    assert (body["from"], body["until"]) == ("2024-02-20", "2024-02-27")
    (answer,) = body["answers"]
    assert set(answer) == {"subject", "relation", "object", "probability", "reliability"}
    assert (answer["subject"], answer["relation"], answer["object"]) == ("e3", "likes", "e4")
    assert 0 < answer["probability"] < 1
    assert all(one["time"] < "2024-02-20" and 0 < one["share"] <= 1 for one in body["evidence"])


def test_longer_is_likelier_and_sets_are_likelier_than_their_members(asker: Asker) -> None:
    def chance(relation: str, object: str, within: str) -> float:
        return asker.ask("e3", relation, object, within=within, as_of="2024-02-20").answers[0].probability

    assert chance("likes", "e4", "1d") < chance("likes", "e4", "7d") < chance("likes", "e4", "14d")
    alone, any_relation = chance("likes", "e4", "7d"), chance("*", "e4", "7d")
    assert alone < chance("likes | meets", "e4", "7d") < any_relation < chance("*", "*", "7d")
    assert chance("like*", "e4", "7d") == pytest.approx(alone)


def test_what_is_asked_for_is_ranked(asker: Asker) -> None:
    reply = asker.ask("e3", "?", "?", within="7d", as_of="2024-02-20", top=500)
    told = [one.probability for one in reply.answers]
    assert told == sorted(told, reverse=True)
    assert len(told) == 4 * 29
    alone = asker.ask("e3", "likes", "e4", within="7d", as_of="2024-02-20").answers[0]
    assert alone in reply.answers
    whom = asker.ask("e3", "likes", "?", at="2024-02-25", as_of="2024-02-20", top=3)
    assert [one.relation for one in whom.answers] == ["likes"] * 3
    assert whom.to_json()["until"] == "2024-02-26"


def test_when_and_how_often_agree_with_how_likely(asker: Asker) -> None:
    when = asker.ask("e3", "*", "*", when=True, as_of="2024-02-20").to_json()
    assert list(when["quantiles"]) == ["0.1", "0.25", "0.5", "0.75", "0.9"]
    dates = [date for date in when["quantiles"].values() if date]
    assert dates == sorted(dates)
    within = dict(when["curve"])
    assert when["median"] == next((d for d, p in within.items() if p >= 0.5), None)
    assert when["beyond"] == pytest.approx(1 - when["curve"][-1][1])
    day = asker.ask("e3", "*", "*", within="1d", as_of="2024-02-20").answers[0].probability
    assert when["curve"][0][1] == pytest.approx(day)
    often = asker.ask("e3", "likes", "*", how_often="14d", as_of="2024-02-20").to_json()
    members = asker.ask("e3", "likes", "?", how_often="14d", as_of="2024-02-20", top=99).answers
    rates = asker.rates
    assert sum(-np.log(1 - one.probability) for one in members) <= often["expected"] * (1 + 1e-9)
    assert rates.happening(np.array([often["expected"]]))[0] == pytest.approx(often["answers"][0]["probability"])


def test_nothing_at_or_after_the_day_is_read(asker: Asker) -> None:
    time = DATA.calendar.parse("2024-02-20")
    other = np.where(DATA.facts.time >= time, (DATA.facts.object + 1) % 28, DATA.facts.object).astype(np.int32)
    changed = Asker(replace(DATA, facts=replace(DATA.facts, object=other)))
    vars(changed)["rates"] = asker.rates
    asked: dict[str, Any] = {"within": "7d", "as_of": "2024-02-20", "top": 50}
    assert changed.ask("e3", "?", "?", **asked) == asker.ask("e3", "?", "?", **asked)


def test_a_scan_lists_likely_and_unusual_events(asker: Asker) -> None:
    body = asker.scan("7d", "2024-02-20", 5).to_json()
    assert (body["as_of"], body["until"], len(body["likely"])) == ("2024-02-20", "2024-02-27", 5)
    told = [one["probability"] for one in body["likely"]]
    assert told == sorted(told, reverse=True)
    first = body["likely"][0]
    alone = asker.ask(first["subject"], first["relation"], first["object"], within="7d", as_of="2024-02-20")
    assert alone.answers[0].probability == pytest.approx(first["probability"])
    strange = [one["surprise"] for one in body["surprising"]]
    assert strange == sorted(strange, reverse=True)


def test_a_model_asks_too(asker: Asker) -> None:
    model = xerte.Model.load("recurrence", DATA)
    vars(model)["_asker"] = asker
    assert model.ask("e3", "likes", "e4", within="7d") == asker.ask("e3", "likes", "e4", within="7d")
    assert model.scan("1d", top=2) == asker.scan("1d", top=2)


@pytest.mark.parametrize(
    ("words", "more", "why"),
    [
        (("e3", "likes", "e4"), {}, "ask about one of these"),
        (("e3", "likes", "e4"), {"within": "7d", "when": True}, "ask about one of these"),
        (("e3", "likes", "e4"), {"within": "0d"}, "not an interval to ask about"),
        (("e3", "likes", "e4"), {"within": "-3d"}, "not a length of time"),
        (("e3", "likes", "e4"), {"at": "2024-01-05", "as_of": "2024-02-01"}, "lies before 2024-02-01"),
        (("e3", "likes", "e4"), {"within": "7d", "top": 0}, "at least one answer"),
        (("e3", "hates*", "e4"), {"within": "7d"}, "no relation is like"),
    ],
)
def test_mistakes_are_one_sentence(asker: Asker, words: tuple[str, str, str], more: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        asker.ask(*words, **more)
    with pytest.raises(UnknownNameError):
        asker.ask("e33", "likes", "e4", within="7d")


def test_notes_tell_how_far_an_answer_can_be_trusted(asker: Asker) -> None:
    far = asker.ask("e3", "likes", "e4", within="900d", as_of="2024-02-20")
    assert any("never tested so far ahead" in note for note in far.notes)
    early = asker.ask("e3", "likes", "e4", within="7d", as_of="2023-01-01")
    assert any("nothing is known before 2023-01-01" in note for note in early.notes)
    assert early.evidence == ()
    late = asker.ask("e3", "likes", "e4", within="7d", as_of="2025-01-01")
    assert any("the facts end before" in note for note in late.notes)


@pytest.mark.parametrize(
    ("text", "calendar", "ticks"),
    [
        ("30d", DAYS, 30), ("2w", DAYS, 14), ("7", DAYS, 7), (3, DAYS, 3), ("2 weeks", DAYS, 14), ("1y", DAYS, 365),
        ("30d", HOURS, 720), ("12h", HOURS, 12), ("2", HOURS, 48), ("3y", YEARS, 3), ("24m", YEARS, 2),
        ("10", STEPS, 10),
    ],
)  # fmt: skip
def test_durations(text: str | int, calendar: Calendar, ticks: int) -> None:
    assert parse_duration(text, calendar) == ticks


@pytest.mark.parametrize(
    ("text", "calendar"),
    [("12h", DAYS), ("30d", YEARS), ("6m", YEARS), ("3d", STEPS), ("soon", DAYS), ("", DAYS), ("0", DAYS)],
)
def test_what_is_no_duration(text: str, calendar: Calendar) -> None:
    with pytest.raises(InputError):
        parse_duration(text, calendar)


def test_words_stand_for_names() -> None:
    assert chosen("?", DATA.entities) is None
    assert chosen("e3 | e5", DATA.entities).tolist() == [3, 5]  # type: ignore[union-attr]
    assert chosen("*e2", DATA.entities).tolist() == [2]  # type: ignore[union-attr]
    assert chosen("E1*", DATA.entities).tolist() == [1, *range(10, 20)]  # type: ignore[union-attr]


def test_a_backtest_in_dates(asker: Asker) -> None:
    body = asker.backtest(every="2d", horizon="3d", questions=20).to_json()
    assert (body["dataset"], body["model"], body["horizon"], body["unit"]) == ("small", "rates", 3, "day")
    assert body["times"] == ["2024-02-20", "2024-02-22", "2024-02-24", "2024-02-26"]
    assert set(body["questions"]) == {"pairs that met", "everything", "events seen"}
    assert list(body["questions"]["everything"]["folds"]) == body["times"]
    with pytest.raises(InputError, match="up to which the rates were fitted"):
        asker.backtest("2024-02-01", horizon="3d")
    with pytest.raises(InputError, match="can be followed so far"):
        asker.backtest(horizon="90d")
