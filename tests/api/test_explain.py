"""Explanations in names: forecasts that explain themselves, exports, what if, and `xerte explain`."""

import copy
import json
import re
import sys
from dataclasses import asdict, replace
from pathlib import Path
from xml.etree import ElementTree as ET

import networkx as nx
import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import xerte
from xerte.api.explain import Explanation
from xerte.api.model import Model
from xerte.api.whatif import _percent
from xerte.cli import app
from xerte.cli.explain import print_tree
from xerte.cli.ranking import standing
from xerte.data import store
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.data.words import readable
from xerte.errors import InputError, UnknownNameError
from xerte.explanation.named import Edge, Fact, Graph, Node
from xerte.forecaster import Queries, Scores
from xerte.graph.index import TemporalIndex
from xerte.model import XERTE
from xerte.settings import ModelSettings

NAMES = ["Ann", "Ben", "Cid", "Dan", "<Eve_Ash>", "Fay"]


@pytest.fixture
def data() -> Dataset:
    rng = np.random.default_rng(3)
    drawn = {tuple(row) for row in rng.integers([len(NAMES), 2, len(NAMES)], size=(60, 3)).tolist()}
    rows = sorted((s, p, o, i % 12) for i, (s, p, o) in enumerate(sorted(drawn)) if s != o)
    facts = Facts.of(rows).in_time_order()
    calendar = Calendar(Tick.DAY, "2024-01-01", Tick.DAY)
    sizes = (len(facts) - 10, 5, 5)
    return Dataset("tiny", facts, sizes, Vocabulary.of(NAMES), Relations.of(["visits", "sends gifts to"]), calendar)


class Counting:
    """A forecaster that counts how often it is asked."""

    name = "xerte"

    def __init__(self, inner: XERTE) -> None:
        self.inner, self.calls = inner, 0

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
        self.calls += 1
        return self.inner.forecast(history, queries)


class Opaque:
    """Scores without reasons."""

    name = "opaque"

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
        ones = torch.ones(len(queries), len(NAMES))
        return Scores.ranking(ones, ones > 0)


def untrained(data: Dataset) -> XERTE:
    torch.manual_seed(0)
    settings = ModelSettings(steps=3, n=5, k=8, dims=(8, 6, 4), static_dim=4, time_dim=4)
    return XERTE(settings, data.num_entities, data.num_relations)


@pytest.fixture
def model(data: Dataset) -> Model:
    return Model(untrained(data), data)


ASKED = ("Ann", "visits", "2024-01-12")


def test_a_forecast_explains_itself_without_asking_again(data: Dataset) -> None:
    counting = Counting(untrained(data))
    model = Model(counting, data)
    forecast = model.forecast(*ASKED)
    told = [forecast.explain(answer.entity) for answer in forecast.answers]
    assert counting.calls == 1
    assert forecast.explain() == told[0]
    many = model.forecast_many([xerte.Question("Ben", "visits", "2024-01-11"), xerte.Question(*ASKED)])
    again = [many[1].explain(answer.entity) for answer in forecast.answers]
    assert [(one.evidence, one.paths) for one in again] == [(one.evidence, one.paths) for one in told]
    assert counting.calls == 2 + len(told)


def test_evidence_paths_and_sentences(model: Model, data: Dataset) -> None:
    happened = {
        (data.entities[s], data.relations[p], data.entities[o], data.calendar.format(t))
        for s, p, o, t in zip(*(column.tolist() for column in data.facts.columns()), strict=True)
    }
    forecast = model.forecast(*ASKED)
    assert len(forecast.answers) > 3
    for answer in forecast.answers:
        told = forecast.explain(answer.entity, most=None)
        assert sum(path.share for path in told.paths) == pytest.approx(1, abs=1e-5)
        assert told.rest == pytest.approx(0, abs=1e-5)
        assert told.sentences == tuple(path.sentence for path in told.paths)
        for fact in told.evidence:
            assert (fact.subject, fact.relation, fact.object, fact.time) in happened
            assert fact.time < ASKED[2]
            assert fact.sentence.startswith(f"On {fact.time}, ")
            mass = sum(path.share for path in told.paths if fact in path.facts)
            same = [p for p in told.paths if any(_names(fact) == _names(other) for other in p.facts)]
            assert mass <= fact.share + 1e-6
            assert fact.share == pytest.approx(sum(path.share for path in same), abs=1e-6)
        for path in told.paths:
            times = [fact.time for fact in path.facts]
            assert times == sorted(times)
            ends = {name for fact in path.facts for name in (fact.subject, fact.object)} or {"Ann"}
            assert {"Ann", answer.entity} <= ends


def test_the_questions_own_entity_answers_only_where_it_did_before(data: Dataset) -> None:
    """Attention starts at it, so much of it often stays there, which speaks for nobody."""
    forecaster, queries = untrained(data), Queries.at(*(torch.tensor([number]) for number in (0, 0, 11)))
    raw = forecaster.forecast(Model(forecaster, data).history, queries)
    assert bool(raw.reached[0, 0])
    assert float(raw.scores[0, 0]) > 0
    forecast = Model(forecaster, data).forecast(*ASKED)
    assert [one.entity for one in forecast.answers if one.entity == "Ann"] == []
    told = forecast.explain("Ann")
    assert (told.score, told.rank) == (None, None)
    assert told.verdict.startswith("Ann is the question’s own entity, and nothing")
    many = Model(forecaster, data).forecast_many(
        [xerte.Question(*ASKED), xerte.Question("Ben", "visits", "2024-01-11")]
    )
    for own, one in zip(("Ann", "Ben"), many, strict=True):
        assert own not in [answer.entity for answer in one.answers]
    rows = list(zip(*(column.tolist() for column in data.facts.columns()), strict=True))
    for loop, was in (((0, 0, 0, 3), True), ((5, 0, 5, 3), False), ((0, 1, 0, 3), False), ((0, 0, 0, 11), False)):
        looped = replace(data, facts=Facts.of([*rows, loop]).in_time_order(), sizes=(len(rows) - 9, 5, 5))
        again = Model(forecaster, looped).forecast(*ASKED)
        assert ("Ann" in [answer.entity for answer in again.answers]) == was, loop


def _names(fact: Fact) -> tuple[str, str, str, str]:
    return fact.subject, fact.relation, fact.object, fact.time


def test_the_graph_has_what_was_kept_and_on_demand_what_was_pruned(model: Model) -> None:
    told = model.forecast(*ASKED).explain()
    kept, whole = told.graph, told.whole_graph
    assert (kept.nodes[0].entity, kept.nodes[0].time, kept.nodes[0].step) == ("Ann", ASKED[2], 0)
    assert kept.nodes[0].attention[0] == 1
    for after in range(4):
        assert sum(node.attention[after] for node in kept.nodes) == pytest.approx(1, abs=1e-5)
    assert [edge for edge in whole.edges if edge.kept] == list(kept.edges)
    assert len([edge for edge in kept.edges if edge.step == 3]) == 8
    assert len(whole.edges) > len(kept.edges)
    assert whole.nodes[: len(kept.nodes)] == kept.nodes
    assert not any(node.kept or any(node.attention) for node in whole.nodes[len(kept.nodes) :])
    for edge in whole.edges:
        source, target = whole.nodes[edge.source], whole.nodes[edge.target]
        if edge.relation is None:
            assert source == target
            assert edge.sentence == ""
        else:
            assert {source.entity, target.entity} == {edge.subject, edge.object}
            assert edge.time == target.time < source.time
    for step in (1, 2, 3):
        assert sum(edge.share for edge in kept.edges if edge.step == step) == pytest.approx(1, abs=1e-5)


def test_what_was_dismissed_can_be_asked_for(model: Model) -> None:
    told = model.forecast(*ASKED).explain()
    used = {_names(fact) for fact in told.evidence}
    gone = [(one.subject, one.relation, one.object, one.time) for one in told.dismissed]
    assert gone
    assert used.isdisjoint(gone)
    assert len(set(gone)) == len(gone)
    seen = {(e.subject, e.relation, e.object, e.time) for e in told.whole_graph.edges if e.relation}
    assert used | set(gone) == seen
    assert any(one.pruned for one in told.dismissed)
    contributions = [one.contribution for one in told.dismissed]
    assert contributions == sorted(contributions, reverse=True)


def test_json_has_exactly_the_promised_shape(model: Model) -> None:
    body = json.loads(json.dumps(model.forecast(*ASKED).explain().to_json()))
    promised = ["query", "answers", "answer", "score", "notes", "evidence", "paths", "graph"]
    assert list(body) == [*promised, "rank", "rest", "parts", "reasons", "verdict"]
    assert list(body["reasons"][0]) == ["share", "sentence", "part", "times"]
    assert list(body["evidence"][0]) == ["subject", "relation", "object", "time", "share", "sentence", "source"]
    assert list(body["paths"][0]) == ["share", "sentence", "facts", "part"]
    assert list(body["graph"]) == ["nodes", "edges"]
    assert list(body["graph"]["nodes"][0]) == ["id", "entity", "time", "step", "attention", "kept"]
    assert body["answer"] == body["answers"][0]["entity"]
    assert body["query"]["subject"] == "Ann"


def test_no_answer_no_reason(model: Model) -> None:
    with pytest.raises(UnknownNameError, match="did you mean Ann"):
        model.forecast(*ASKED).explain("Anne")
    nothing = xerte.Forecast(xerte.Question("Ann", "visits", "2024-01-12"), "x", ())
    with pytest.raises(InputError, match="not made by a model"):
        nothing.explain()
    early = Model.load("recurrence", model.dataset).forecast("Ann", "visits", "2024-01-01")
    assert early.answers == ()
    assert early.explain().answer is None
    assert early.explain().to_json()["graph"] == {"nodes": [], "edges": []}


def test_recurrence_explains_by_the_facts_it_counted(data: Dataset) -> None:
    forecast = Model.load("recurrence", data).forecast("?", "visits", "2024-01-12", object="Ben")
    told = forecast.explain()
    assert sum(fact.share for fact in told.evidence) == pytest.approx(1)
    past = [path.facts for path in told.paths if path.part == "past"]
    assert past == [(fact,) for fact in told.evidence if fact.subject == told.answer and fact.object == "Ben"]
    assert [part.name for part in told.parts] == ["past", "prior"]
    assert sum(part.share for part in told.parts) == pytest.approx(1)
    first = told.evidence[0]
    assert (first.object, first.sentence) == ("Ben", f"On {first.time}, {told.answer} visited Ben.")
    assert told.graph.nodes == ()
    assert told.dismissed == ()


def test_graphml_is_what_networkx_makes(model: Model, tmp_path: Path) -> None:
    told = model.forecast(*ASKED).explain()
    text = told.to_graphml(tmp_path / "graph.xml", dismissed=True)
    assert ET.fromstring(text).tag.endswith("graphml")
    read = nx.read_graphml(tmp_path / "graph.xml", force_multigraph=True)
    made = told.to_networkx(dismissed=True)
    assert [read.nodes[f"n{id}"] for id in made] == [dict(values) for _, values in made.nodes(data=True)]
    ours = [(f"n{a}", f"n{b}", values) for a, b, values in made.edges(data=True)]
    theirs = [(a, b, {k: v for k, v in values.items() if k != "id"}) for a, b, values in read.edges(data=True)]
    key = lambda edge: json.dumps(edge, sort_keys=True)  # noqa: E731
    assert [{"sentence": ""} | e[2] for e in sorted(theirs, key=key)] == [e[2] for e in sorted(ours, key=key)]
    with pytest.raises(InputError, match=r"cannot be written: .* is not a folder"):
        told.to_graphml(tmp_path / "graph.xml" / "graph.xml")


def test_a_candidate_that_is_not_among_the_best_has_its_score_too(model: Model) -> None:
    every = model.forecast(*ASKED, top=model.dataset.num_entities)
    last = next(one for one in reversed(every.answers) if one.reached)
    told = model.forecast(*ASKED, top=1).explain(last.entity)
    assert told.score == pytest.approx(last.score)
    assert told.to_json()["score"] == told.score
    shown = {one["entity"]: one["score"] for one in told.picture["answers"]}
    assert shown == {every.answers[0].entity: every.answers[0].score, last.entity: told.score}
    best = every.explain()
    assert best.score == every.answers[0].score
    assert best.picture["answers"] == [asdict(one) for one in every.answers]
    assert model.forecast("Ann", "visits", "2023-12-01").explain("Ben").score is None


@pytest.mark.parametrize("among", [None, ["Ann", "Ben"]])
@pytest.mark.parametrize("company", [0, 1])
def test_the_subject_of_a_graph_without_facts_is_no_answer(model: Model, among: list[str] | None, company: int) -> None:
    early = xerte.Question("Ann", "visits", "2023-12-01")
    forecast = model.forecast_many([early] + [xerte.Question(*ASKED)] * company, among=among)[0]
    for entity in ("Ann", "Ben"):
        told = forecast.explain(entity)
        assert (told.score, told.evidence, told.paths, told.rest) == (None, (), (), 0.0)
        assert told.to_json()["score"] is None
        shown = {one["entity"]: (one["score"], one["reached"]) for one in told.picture["answers"]}
        assert shown == dict.fromkeys(among or [entity], (0.0, False))


@pytest.mark.parametrize("kind", ["xerte", "recurrence"])
def test_a_candidate_that_was_named_but_not_reached_has_no_score(model: Model, kind: str) -> None:
    asked = model if kind == "xerte" else Model.load(kind, model.dataset)
    late = ("Ann", "visits", "2024-01-03")
    forecast = asked.forecast(*late, among=NAMES)
    unreached = [one.entity for one in forecast.answers if not one.reached]
    assert 0 < len(unreached) < len(NAMES)
    assert [forecast.explain(entity).score for entity in unreached] == [None] * len(unreached)
    reached = next(one for one in forecast.answers if one.reached)
    assert forecast.explain(reached.entity).score == reached.score


def test_what_a_reader_should_know_goes_with_the_explanation(model: Model) -> None:
    hidden = model.forecast(*ASKED).explain().evidence[0]
    forecast = model.forecast(*ASKED, without=[(hidden.subject, hidden.relation, hidden.object, hidden.time)])
    told = forecast.explain()
    assert any(note.startswith("hidden: ") for note in forecast.notes)
    assert told.to_json()["notes"] == told.picture["notes"] == list(forecast.notes)


def test_evidence_as_a_table(model: Model) -> None:
    told = model.forecast(*ASKED).explain()
    table = told.to_dataframe()
    assert list(table.columns) == ["subject", "relation", "object", "time", "share", "sentence", "source"]
    assert table.to_dict("records") == told.to_json()["evidence"]
    assert len(table) == len(told.evidence) > 1


def test_missing_extras_are_named(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    told = model.forecast(*ASKED).explain()
    monkeypatch.setitem(sys.modules, "networkx", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"networkx is not installed: pip install 'xerte\[explain\]'"):
        told.to_networkx()
    with pytest.raises(InputError, match=r"pandas is not installed: .* in a clone pip install -e '\.\[explain\]'"):
        told.to_dataframe()


def test_what_if_answers_like_a_rebuilt_history(model: Model, data: Dataset) -> None:
    original = model.forecast(*ASKED)
    first = original.explain().evidence[0]
    hidden, given = _names(first), ("Fay", "visits", "Ann", "2024-01-11")
    forecast = model.forecast(*ASKED, without=[hidden], given=[given])
    row = [(data.entities.id("Fay"), 0, data.entities.id("Ann"), 10)]
    keep = np.array([_names_of(data, i) != hidden for i in range(len(data.facts))])
    facts = Facts.concat([data.facts[keep], Facts.of(row)]).in_time_order()
    rebuilt = Model(
        model.forecaster, Dataset("r", facts, (len(facts), 0, 0), data.entities, data.relations, data.calendar)
    )
    assert forecast.answers == rebuilt.forecast(*ASKED).answers
    assert forecast.original is not None
    assert forecast.original.answers == original.answers
    told = forecast.explain(forecast.answers[0].entity, most=None)
    assert hidden not in {_names(fact) for fact in told.evidence}
    assert any(
        note.startswith("hidden: ") and note.endswith(f"of the score of {readable(original.answers[0].entity)}.")
        for note in forecast.notes
    )
    change = forecast.changes[0]
    assert (change.entity, change.place) == (forecast.answers[0].entity, 1)
    before = {answer.entity: (place, answer.score) for place, answer in enumerate(original.answers, 1)}
    assert (change.original_place, change.original_score) == before[change.entity]
    assert change.difference == pytest.approx(change.score - change.original_score)
    assert set(forecast.to_json()) >= {"original", "changes"}
    assert "original" not in original.to_json()


def _names_of(data: Dataset, row: int) -> tuple[str, str, str, str]:
    s, p, o, t = (int(column[row]) for column in data.facts.columns())
    return data.entities[s], data.relations[p], data.entities[o], data.calendar.format(t)


def test_a_supposed_fact_is_evidence(data: Dataset) -> None:
    model = Model.load("recurrence", data)
    forecast = model.forecast(*ASKED, given=[("Fay", "inverse of visits", "Ann", "2024-01-11")] * 2)
    told = forecast.explain("Fay")
    assert told.evidence[0].sentence == "On 2024-01-11, Ann visited Fay."
    share = forecast.explain().evidence[0].share
    assert forecast.answers[0].entity == "Fay"
    assert forecast.notes == (
        f"given: On 2024-01-11, Ann visited Fay. It carries {100 * share:.0f} % of the score of Fay.",
    )
    before = model.forecast(*ASKED).explain("Fay")
    assert len(told.evidence) == len(before.evidence) + 1


def test_what_has_no_effect_is_said(model: Model, data: Dataset) -> None:
    original = model.forecast(*ASKED)
    late = model.forecast(*ASKED, given=[("Ann", "visits", "Fay", "2024-01-12")])
    assert late.answers == original.answers
    assert late.notes == ("(Ann, visits, Fay, 2024-01-12) has no effect: only what happened before 2024-01-12 is read",)
    old = model.forecast(*ASKED, given=[_names_of(data, 0)])
    assert old.answers == original.answers
    assert old.notes[0].endswith("is in the history already")
    with pytest.raises(InputError, match=r"\(Ann, visits, Ann, 2024-01-02\) cannot be hidden: it is not"):
        model.forecast(*ASKED, without=[("Ann", "visits", "Ann", "2024-01-02")])
    with pytest.raises(InputError, match="at once"):
        model.forecast(*ASKED, without=[_names_of(data, 0)], given=[_names_of(data, 0)])


def test_what_carried_nothing_is_said_too(data: Dataset, model: Model) -> None:
    given = ("Cid", "inverse of visits", "Dan", "2024-01-11")
    forecast = Model.load("recurrence", data).forecast(*ASKED, given=[given])
    best = forecast.answers[0].entity
    assert forecast.notes == (
        f"given: On 2024-01-11, Dan visited Cid. It carries 0 % of the score of {readable(best)}.",
    )
    told = model.forecast(*ASKED).explain()
    carried = {_names(fact) for fact in told.evidence}
    idle = next(row for row in (_names_of(data, i) for i in range(len(data.facts))) if row not in carried)
    (note,) = model.forecast(*ASKED, without=[idle]).notes
    assert note.startswith(f"hidden: On {idle[3]}, ")
    assert note.endswith(f"It carried 0 % of the score of {readable(str(told.answer))}.")


def test_what_is_not_known_of_a_fact_is_said(data: Dataset, model: Model) -> None:
    early = model.forecast("Ann", "visits", "2024-01-01", given=[("Cid", "visits", "Dan", "2023-12-31")])
    assert early.notes[-1] == "given: On 2023-12-31, Cid visited Dan. There is no answer that it carries."
    opaque = Model(Opaque(), data).forecast(*ASKED, given=[("Cid", "visits", "Dan", "2024-01-11")])
    assert opaque.notes == ("given: On 2024-01-11, Cid visited Dan. opaque does not tell what a fact carries.",)


def test_a_share_too_small_to_tell_is_not_nothing(model: Model) -> None:
    told = model.forecast(*ASKED).explain()
    one = told.evidence[0]
    shares = [_percent(replace(one, share=share), told) for share in (0.7, 0.01, 0.004)]
    assert shares == ["70 %", "1 %", "less than 1 %"]
    assert told.case is not None
    vars(cut := copy.copy(told.case.attribution))["all_named"] = False
    vars(case := copy.copy(told.case))["attribution"] = cut
    assert [_percent(None, told), _percent(None, replace(told, case=case))] == ["0 %", "less than 1 %"]


@pytest.fixture
def folder(data: Dataset, tmp_path: Path) -> str:
    store.save(data, tmp_path / "tiny")
    return str(tmp_path / "tiny")


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command_tells_why(folder: str, model: Model, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    trained = ("--model", str(tmp_path / "model"), "--device", "cpu")
    forecast = model.forecast(*ASKED)
    second = next(one.entity for one in forecast.answers[1:] if forecast.explain(one.entity).evidence)
    asked = ("explain", folder, *ASKED, *trained, "--answer", second)
    told = forecast.explain(second)
    text = run(*asked, "--dismissed", "--graphml", str(tmp_path / "g"))
    assert told.verdict in text
    label = second.strip("<>").replace("_", " ")  # as the sentences tell it
    assert f"Why {label}? What speaks for it, 100 % in all:" in text
    assert f"  {told.evidence[0].share:>6.1%}  {told.evidence[0].sentence}\n" in text
    assert f"  {told.reasons[0].share:>6.1%}  {told.reasons[0].sentence}\n" in text
    assert "Ann, 2024-01-12: the question" in text
    assert "Seen, but carried nothing to this answer:" in text
    assert "█" * 24 in text
    assert "\x1b" not in text
    assert len(nx.read_graphml(tmp_path / "g", force_multigraph=True)) == len(told.whole_graph.nodes)
    body = json.loads(run(*asked, "--json"))
    assert body == json.loads(json.dumps(told.to_json()))


def test_the_tree_shows_what_lies_behind_a_node_once_below_its_heaviest_fact(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def edge(source: int, target: int, share: float, contribution: float, text: str) -> Edge:
        return Edge(source, target, "s", "p", "o", "t", 1, contribution, contribution, share, True, text)

    nodes = tuple(Node(id, "ABC"[id], "day", 0, (1.0,), True) for id in range(3))
    edges = (
        edge(0, 0, 0.3, 0.3, ""),
        edge(0, 1, 0.0, 0.9, "Noticed most."),
        edge(0, 1, 0.2, 0.1, "Carried."),
        edge(0, 1, 0.5, 0.2, "Carried."),
        edge(1, 2, 0.7, 0.00001, "Behind."),
        edge(1, 2, 0.0, 0.00001, "Faint."),
    )
    print_tree(Graph(nodes, edges))
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()[1:]] == [
        "A, day: the question",
        "├──  70.0%  Carried.  (0.2000)",
        "│   ├──  70.0%  Behind.  (< 0.0001)",
        "│   └── and 1 more",
        "└──      –  Noticed most.  (0.9000)  goes on under a heavier fact",
    ]


def test_an_answer_beyond_the_best_is_told_its_place(folder: str, model: Model, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    asked = ("explain", folder, *ASKED, "--model", str(tmp_path / "model"), "--device", "cpu", "--top", "1")
    answers = model.forecast(*ASKED).answers
    third = answers[2]
    text = run(*asked, "--answer", third.entity)
    assert f"{third.entity} stands at place 3 of {len(answers)}, with score {third.score:.4f}.\n" in text
    assert "stands at place" not in run(*asked, "--answer", answers[0].entity)
    assert "stands at place" not in run(*asked)
    few = replace(model.forecast(*ASKED), answers=answers[:2])
    assert standing(few, third.entity) == f"{third.entity} was not reached: it stands behind the 2 that were."


def test_the_commands_suppose(folder: str, data: Dataset) -> None:
    fact = "|".join(("Ann", "visits", "Fay", "2024-01-11"))
    body = json.loads(run("forecast", folder, *ASKED, "--given", fact, "--json"))
    assert {"original", "changes"} <= set(body)
    assert json.loads(run("explain", folder, *ASKED, "--given", fact, "--json"))["changes"] == body["changes"]
    fay = next(change for change in body["changes"] if change["entity"] == "Fay")
    assert fay["difference"] > 0
    text = run("explain", folder, *ASKED, "--given", fact, "--answer", "Fay")
    assert "originally" in text
    assert "On 2024-01-11, Ann visited Fay." in text
    bad = CliRunner().invoke(app, ["forecast", folder, *ASKED, "--without", "Ann|visits"])
    assert bad.exit_code == 2
    assert "write subject|relation|object|date" in bad.stderr


def test_what_nobody_speaks_for_is_said(folder: str) -> None:
    assert "There is no answer: nothing" in run("explain", folder, "Ann", "visits", "2024-01-01")
    text = run("explain", folder, "Ann", "visits", "2024-01-01", "--answer", "Dan")
    assert "Dan was not reached: nothing the model read leads to it." in text


def test_the_text_of_an_explanation(model: Model) -> None:
    told: Explanation = model.forecast(*ASKED).explain()
    lines = str(told).splitlines()
    assert lines[0] == f"(Ann, visits, ?, 2024-01-12): {told.answer}"
    assert lines[1].endswith(told.reasons[0].sentence)


def test_the_verdict_tells_the_probability_and_never_the_score_as_one(model: Model) -> None:
    """A reader saw 55 % in the ranking and 40 % in the sentence below it, which was the share of the score."""
    forecast = model.forecast(*ASKED)
    best = replace(forecast.answers[0], probability=0.551)
    likely = replace(forecast, answers=(best, *forecast.answers[1:])).explain().verdict
    assert likely.startswith(f"{best.entity}, 55 % likely: ")
    bare = replace(forecast, answers=tuple(replace(one, probability=None) for one in forecast.answers))
    assert re.match(rf"{re.escape(best.entity)}, [\w ]+ % of the score: ", bare.explain().verdict)
