"""Questions of likelihood in names and dates."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import xerte
from test_contract import small_dataset
from xerte.api.ask import Asker
from xerte.api.durations import parse_duration
from xerte.api.grammar import chosen
from xerte.api.knowing import Knowing
from xerte.api.plots import lines_plot
from xerte.api.questions import read_names
from xerte.baselines.recurrence import Recurrence
from xerte.data import store
from xerte.data.calendar import Calendar, Tick
from xerte.data.facts import Facts
from xerte.data.text import TextColumn
from xerte.errors import InputError, UnknownNameError
from xerte.evaluation.situation import distribution
from xerte.forecaster import Forecaster, Queries, Scores, ask
from xerte.graph.index import TemporalIndex
from xerte.graph.stored import index_of
from xerte.rates.blended import Blended, Ranking, left_out
from xerte.rates.blending import fit_blend, start
from xerte.rates.counts import Counts, Triples
from xerte.rates.fitting import fit
from xerte.rates.predictor import Counted, happening

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
    among = next(one for one in reply.answers if (one.relation, one.object) == ("likes", "e4"))
    assert (alone.probability, alone.reliability) == pytest.approx((among.probability, among.reliability))
    whom = asker.ask("e3", "likes", "?", at="2024-02-25", as_of="2024-02-20", top=3)
    assert [one.relation for one in whom.answers] == ["likes"] * 3
    assert whom.to_json()["until"] == "2024-02-26"


def test_members_of_a_group_that_the_dataset_does_not_know_are_told(asker: Asker) -> None:
    groups = {"some": ["e4", "e5", "Atlantis"], "all": ["e4", "e*"]}
    reply = asker.ask("e3", "likes", "@some", within="7d", as_of="2024-02-20", groups=groups)
    assert [note for note in reply.notes if "Atlantis" in note] == ["@some names what is no entity here: Atlantis"]
    without = asker.ask("e3", "likes", "e4 | e5", within="7d", as_of="2024-02-20")
    assert reply.answers[0].probability == pytest.approx(without.answers[0].probability)
    assert not asker.ask("e3", "likes", "@all", within="7d", as_of="2024-02-20", groups=groups).notes


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
    any_of_them = often["answers"][0]["probability"]
    cumulative = sum(-np.log(1 - one.probability) for one in members)
    assert any_of_them == pytest.approx(-np.expm1(-cumulative))  # one of independent events
    assert often["expected"] >= sum(one.probability for one in members)
    each = [
        asker.ask("e3", "likes", one.object, how_often="14d", as_of="2024-02-20").more["expected"] for one in members
    ]
    assert often["expected"] == pytest.approx(sum(each))


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
        (("e3", "likes", "e4"), {}, "ask exactly one of these"),
        (("e3", "likes", "e4"), {"within": "7d", "when": True}, "ask exactly one of these"),
        (("e3", "likes", "e4"), {"within": "0d"}, "'0d' is empty: an interval ends after"),
        (("e3", "likes", "e4"), {"within": "-3d"}, "'-3d' would end before it starts"),
        (("e3", "likes", "e4"), {"at": "2024-01-05", "as_of": "2024-02-01"}, "lies before 2024-02-01"),
        (("e3", "likes", "e4"), {"within": "7d", "top": 0}, "at least one answer"),
        (("e3", "hates*", "e4"), {"within": "7d"}, "no relation is like"),
        (("", "likes", "e4"), {"within": "7d"}, "the entity is empty"),
        (("e3", " | likes", "e4"), {"within": "7d"}, "the relation is empty"),
    ],
)
def test_mistakes_are_one_sentence(asker: Asker, words: tuple[str, str, str], more: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        asker.ask(*words, **more)
    with pytest.raises(UnknownNameError):
        asker.ask("e33", "likes", "e4", within="7d")


def test_one_of_these_or_any_is_any(asker: Asker) -> None:
    any_, mixed = (asker.ask("e3", word, "e4", within="7d").answers[0] for word in ("*", "likes | *"))
    assert mixed.probability == any_.probability


def test_notes_tell_how_far_an_answer_can_be_trusted(asker: Asker) -> None:
    far = asker.ask("e3", "likes", "e4", within="900d", as_of="2024-02-20")
    assert any("never tested so far ahead" in note for note in far.notes)
    assert far.answers[0].reliability is None  # nothing of the kind was ever seen
    assert asker.ask("e3", "likes", "e4", within="7d", as_of="2024-02-20").answers[0].reliability is not None
    early = asker.ask("e3", "likes", "e4", within="7d", as_of="2023-01-01")
    assert any("nothing is known before 2023-01-01" in note for note in early.notes)
    assert early.evidence == ()
    late = asker.ask("e3", "likes", "e4", within="7d", as_of="2025-01-01")
    assert any("the facts end before" in note for note in late.notes)
    assert any("the facts end before" in note for note in asker.scan("7d", as_of="2025-01-01").notes)


def test_a_stray_late_fact_does_not_pass_for_the_present(asker: Asker) -> None:
    """The last of YAGO's facts lies in 2844: asked without a day, nothing seemed likely, and nothing said why."""
    data = asker.dataset
    first = data.facts[np.array([0])]
    unit = data.calendar.ticks_per_unit
    moved = Facts(*first.columns()[:3], np.array([data.last_time + 800 * unit], np.int32))
    far = replace(data, facts=Facts.concat([data.facts, moved]), sizes=(*data.sizes[:2], data.sizes[2] + 1))
    notes = Asker(far).ask("e3", "likes", "e4", within="7d").notes
    assert any(note.startswith("all but 1 fact happened before 20") for note in notes), notes
    assert any(note.startswith("all but 1 fact happened before 20") for note in Asker(far).scan("7d").notes)
    assert not any("all but" in note for note in asker.ask("e3", "likes", "e4", within="7d").notes)
    between = data.calendar.format(data.last_time + 400 * unit)
    gap = f"no fact from {data.calendar.format(data.last_time + unit)} to {between} is known"
    assert gap in Asker(far).ask("e3", "likes", "e4", within="7d", as_of=between).notes


@pytest.mark.parametrize(
    ("text", "calendar", "ticks"),
    [
        ("30d", DAYS, 30), ("2w", DAYS, 14), ("7", DAYS, 7), (3, DAYS, 3), ("2 weeks", DAYS, 14),
        ("3 Months", DAYS, 90), ("48hours", DAYS, 2), ("120 mins", HOURS, 2), ("1y", DAYS, 365),
        ("30d", HOURS, 720), ("12h", HOURS, 12), ("2", HOURS, 48), ("3y", YEARS, 3), ("24m", YEARS, 2),
        ("10", STEPS, 10),
    ],
)  # fmt: skip
def test_durations(text: str | int, calendar: Calendar, ticks: int) -> None:
    assert parse_duration(text, calendar) == ticks


@pytest.mark.parametrize(
    ("text", "calendar"),
    [
        ("12h", DAYS),
        ("30d", YEARS),
        ("6m", YEARS),
        ("3d", STEPS),
        ("soon", DAYS),
        ("", DAYS),
        ("0", DAYS),
        ("30q", DAYS),
        ("3 dogs", DAYS),
        ("5ms", DAYS),
        ("-3d", DAYS),
    ],
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
    body = asker.backtest(every="2d", horizon="3d", questions=150).to_json()
    assert (body["dataset"], body["model"], body["horizon"], body["unit"]) == ("small", "rates", 3, "day")
    assert body["times"] == ["2024-02-20", "2024-02-22", "2024-02-24", "2024-02-26"]
    assert set(body["questions"]) == {"pairs that met", "everything", "events seen"}
    assert list(body["questions"]["events seen"]["folds"]) == body["times"]
    with pytest.raises(InputError, match="up to which rates learned"):
        asker.backtest("2024-02-01", horizon="3d")
    with pytest.raises(InputError, match="can be followed for 90 days: the facts end before 20"):
        asker.backtest(horizon="90d")


def test_a_backtest_goes_on_where_it_stopped_and_refuses_another(asker: Asker, tmp_path: Path) -> None:
    folder = tmp_path / "test"
    how: dict[str, Any] = {"every": "2d", "horizon": "3d", "questions": 20, "out": folder}
    whole = asker.backtest(**how).to_json()
    files = sorted((folder / "folds").iterdir())
    assert len(files) == len(whole["times"])
    files[1].write_text("{}")
    asked: list[tuple[int, int]] = []
    again = asker.backtest(**how, progress=lambda *done: asked.append(done), workers=2)
    assert again.to_json() == whole
    assert asked == [(4, 4)]  # only the damaged fold
    assert json.loads((folder / "trace.json").read_text())["questions"] == json.loads(json.dumps(whole["questions"]))
    page = (folder / "report.html").read_text()
    assert page.count("<svg") == 4
    assert "where it fails" in page
    assert "prefers-color-scheme:dark" in page
    assert 'name="viewport"' in page
    with pytest.raises(InputError, match="holds another backtest"):
        asker.backtest(**how | {"questions": 30})
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="is not empty"):
        asker.backtest(**how | {"out": tmp_path / "mine"})


def test_a_backtest_may_begin_earlier_if_all_is_learned_anew(asker: Asker) -> None:
    how: dict[str, Any] = {"first": "2024-02-10", "every": "4d", "horizon": "3d", "questions": 20}
    assert asker.backtest(**how, retrain="every:2").times[0] == "2024-02-10"
    for retrain in ("never", "online"):
        with pytest.raises(InputError, match="lies before 2024-02-19"):
            asker.backtest(**how, retrain=retrain)
    with pytest.raises(InputError, match="choose never, every:N"):
        asker.backtest(retrain="every:0")
    never, online = (asker.backtest(every="2d", horizon="3d", questions=50, retrain=one) for one in ("never", "online"))
    assert never.judged["everything"].happened == online.judged["everything"].happened
    assert never.judged["everything"].brier != online.judged["everything"].brier


def test_what_was_reported_late_is_not_read_before(asker: Asker) -> None:
    late = ["2024-02-25" if time == 45 else "" for time in DATA.facts.time.tolist()]
    data = replace(DATA, extras={"known_at": TextColumn.of(late)})
    counts = Counts.of(data)
    hidden = [Counts(DATA.facts[DATA.facts.time != 45], DATA.num_entities, DATA.num_relations, DATA.calendar), counts]
    event = counts.events[counts.time == 45][:3]
    for date, expected in zip(("2024-02-20", "2024-02-26"), hidden, strict=True):
        time = DATA.calendar.parse(date)
        found = Knowing(data).before(counts, time).of(event)
        np.testing.assert_allclose(found, expected.before(time).of(event))


def test_nothing_appended_is_read_before_it_was_known_and_what_was_retracted_since_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Facts that were appended with known_at were read from the day they happened on."""
    monkeypatch.setenv("XERTE_HOME", str(tmp_path))
    store.save(DATA, tmp_path / "mine")
    event = {"subject": "e3", "relation": "likes", "object": "e28"}
    rows = [
        {**event, "time": f"2024-02-{day}", "id": f"a{day}", "known_at": "2024-02-25T08:00"} for day in range(10, 20)
    ]
    wrong = {**event, "object": "e29", "time": "2024-02-01", "id": "wrong", "known_at": "2024-02-02"}
    live = store.open_dataset(tmp_path / "mine").append([*rows, wrong]).retract("wrong", known_at="2024-02-22")
    now, before = Asker(live), Asker(DATA)
    vars(now)["rates"] = vars(before)["rates"] = fit(DATA, questions=50)
    asked: dict[str, Any] = {"within": "7d", "as_of": "2024-02-24"}
    early = now.ask("e3", "likes", "e28", **asked)
    assert early.answers == before.ask("e3", "likes", "e28", **asked).answers
    assert "10 facts became known only at 2024-02-24 or later: not read" in early.notes
    assert early.evidence == before.ask("e3", "likes", "e28", **asked).evidence
    assert not any("became known" in note for note in now.ask("e3", "likes", "e28", at="2024-01-10").notes)
    first = now.ask("e3", "likes", "e28", within="7d", as_of="2023-12-01")
    assert "nothing is known before 2023-12-01: every answer is a guess" in first.notes
    late = now.ask("e3", "likes", "e28", **asked | {"as_of": "2024-02-26"})
    assert late.answers[0].probability > 2 * early.answers[0].probability
    assert {one.time for one in late.evidence} <= {f"2024-02-{day}" for day in range(10, 20)}
    believed = [now.ask("e3", "likes", "e29", **asked | {"as_of": f"2024-02-{day}"}).evidence for day in (21, 23)]
    assert "2024-02-01" in {one.time for one in believed[0]}
    assert "2024-02-01" not in {one.time for one in believed[1]}
    knowing = Knowing(live)
    assert len(knowing.late(live.calendar.parse("2024-02-24")).hidden) == 10
    assert not knowing.late(live.calendar.parse("2024-02-26"))
    assert knowing.late_at_once().sum() == 10
    fold = now.backtest("2024-02-20", "2d", "3d", 20)
    assert fold.times[0] == "2024-02-20"
    ranking = Ranking(Recurrence.fit(DATA), index_of(live))
    reading = knowing.reading(Blended(now.rates, ranking, start(), (), "test"), live.calendar.parse("2024-02-24"))
    assert isinstance(reading, Blended)
    event_ids = Triples(np.array([3]), np.array([live.relations.id("likes")]), np.array([28]))
    day = live.calendar.parse("2024-02-24")
    plain = Ranking(Recurrence.fit(DATA), index_of(DATA)).shares(event_ids, day)
    np.testing.assert_allclose(reading.ranking.shares(event_ids, day), plain)
    assert (ranking.shares(event_ids, day) != plain).any()


def test_a_resumed_backtest_that_learns_is_the_one_that_ran_through(asker: Asker, tmp_path: Path) -> None:
    """Where it went on, it learned anew at once, not at the last fold at which it would have."""
    how: dict[str, Any] = {"first": "2024-02-10", "every": "2d", "horizon": "3d", "questions": 20}
    for retrain, first in (("every:3", "2024-02-10"), ("online", "2024-02-20")):
        folder = tmp_path / retrain.replace(":", "-")
        asked = how | {"retrain": retrain, "first": first, "out": folder}
        whole = asker.backtest(**asked).to_json()
        files = sorted((folder / "folds").iterdir())
        for file in files[1:]:
            file.unlink()
        assert asker.backtest(**asked).to_json() == whole
        with pytest.raises(InputError, match="holds another backtest"):
            asker.backtest(**asked | {"every": "3d"})


def test_rates_listen_to_a_model_that_knows_better() -> None:
    """A model that knows who is next makes those likelier; weights at their start leave the rates as they are."""
    counts, history = Counts.of(DATA), index_of(DATA)
    base, known = fit(DATA, counts, questions=100), counts.before(50)
    ranking = Ranking(Recurrence.fit(DATA), history)
    asked = counts.events[:40]
    shares = ranking.shares(asked, 50)
    columns = (torch.tensor([int(x)]) for x in (asked.subject[3], 2 * asked.relation[3], 50))
    scores = ask(ranking.forecaster, history, Queries.at(*columns))
    assert shares[3, 0] == pytest.approx(float(distribution(scores)[0, asked.object[3]]))
    plain, same = Counted(base), Blended(base, ranking, start(), (), "test")
    odds = base.expected(known.reasons(asked), asked.relation, np.full(40, 7.0))
    np.testing.assert_allclose(happening(same.expected(known, asked, 7.0)), odds / (1 + odds), rtol=1e-6)
    assert plain.expected(known, asked, 0.0).tolist() == same.expected(known, asked, 0.0).tolist() == [0.0] * 40
    louder = start()
    louder[[2, len(louder) // 2 + 2]] = 1.0
    more = Blended(base, ranking, louder, (), "test").expected(known, asked, 7.0)
    assert (np.argsort(more) != np.argsort(plain.expected(known, asked, 7.0))).any()
    weight, levels = fit_blend(DATA, counts, base, ranking)
    assert np.isfinite(weight).all()
    assert levels[0].least >= 0


def test_a_model_is_asked_about_all_or_it_is_said_and_its_own_favourites_are_among_them() -> None:
    """A cap that nobody was told of left out what only the model holds for likely."""
    counts, history = Counts.of(DATA), index_of(DATA)
    known, ranking = counts.before(50), Ranking(Recurrence.fit(DATA), history)
    every = Blended(fit(DATA, counts, questions=50), ranking, start(), (), "test", most=None)
    asked = Triples(np.full(30, 3), np.full(30, 1), np.arange(30))
    few = replace(every, most=4)
    whole, part = (one.expected(known, asked, 7.0) for one in (every, few))
    plain = Counted(every.base).expected(known, asked, 7.0)
    of_model = np.flatnonzero(part != plain)
    assert len(of_model) <= 4
    np.testing.assert_allclose(part[of_model], whole[of_model])
    assert int(ranking.forward_shares(asked, 50).argmax()) in of_model
    assert int(plain.argmax()) in of_model
    assert left_out(every, 30) is None is left_out(few, 4) is left_out(Counted(every.base), 1 << 40)
    assert left_out(few, 30) == (
        "test was asked about the 4 likeliest of 30 events; rates of past events answer for the others"
    )


def test_a_model_is_asked_once_whatever_the_horizon(monkeypatch: pytest.MonkeyPatch) -> None:
    """--when asked it again for each of sixteen horizons."""
    calls: list[int] = []

    def counting(forecaster: Forecaster, history: TemporalIndex, queries: Queries) -> Scores:
        calls.append(len(queries))
        return ask(forecaster, history, queries)

    monkeypatch.setattr("xerte.rates.blended.ask", counting)
    counts = Counts.of(DATA)
    ranking = Ranking(Recurrence.fit(DATA), index_of(DATA))
    listening = Blended(fit(DATA, counts, questions=50), ranking, start(), (), "test")
    known, asked = counts.before(50), counts.events[:5]
    soon, late = (listening.expected(known, asked, horizon) for horizon in (1.0, 14.0))
    assert len(calls) == 2  # who, and by whom
    assert (soon < late).all()
    assert ranking.shares(asked, 40).tolist() != ranking.shares(asked, 50).tolist()
    assert not replace(ranking, history=index_of(DATA))._kept


def test_a_watch_list_that_names_nobody_or_is_not_there_is_told(asker: Asker, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the watch list names nobody"):
        asker.scan("7d", watch=[])
    with pytest.raises(InputError, match=r"watch\.txt does not exist: give a file with one name per line"):
        read_names(tmp_path / "watch.txt")


def test_a_plot_over_time_puts_every_value_at_its_date() -> None:
    """A line without values at some dates was stretched over all of them, and its dates were written."""
    dates = ["2024-01-01", "2024-01-02", "2024-01-03"]
    drawn = lines_plot({"few": [("2024-01-02", 0.3)], "all": list(zip(dates, (0.1, 0.2, 0.4), strict=True))}, dates, "")
    of_all = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', drawn)]
    assert of_all[0] == of_all[2]
    assert of_all[1] < of_all[2] < of_all[3]
    assert drawn.count("2024-01-01</text>") == drawn.count("2024-01-03</text>") == 1
