"""Faithfulness: what hiding, keeping and matching facts gives, by hand; what trials say together; the command."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from xerte.api.faithfulness import faithfulness
from xerte.api.model import Model
from xerte.cli import app
from xerte.data import store
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import InputError
from xerte.evaluation.filters import Filters
from xerte.experiment.trace import Trace
from xerte.explanation.controls import Place, matched, places
from xerte.explanation.faithfulness import Case, Examiner, Standing, Trial
from xerte.explanation.faithfulness_report import Curves, Ratio, Stability
from xerte.forecaster import Part, Queries, Scores
from xerte.graph.evidence import Evidence, evidence
from xerte.graph.index import TemporalIndex
from xerte.graph.inference_graph import StepEdges
from xerte.model import XERTE
from xerte.settings import ModelSettings

A, B, C, D = range(4)
STRONG, WEAK = 1, 0


def edges(*rows: tuple[int, int, int, float], time: Sequence[int]) -> StepEdges:
    """(source, target, fact, contribution) of one step."""
    source, target, fact, weight = zip(*rows, strict=True)
    number, amount, nothing = torch.tensor(fact), torch.tensor(weight, dtype=torch.float64), torch.zeros(len(rows))
    return StepEdges(
        source=torch.tensor(source),
        target=torch.tensor(target),
        relation=nothing.long(),
        entity=nothing.long(),
        time=torch.tensor(time),
        fact=number,
        attention=amount,
        contribution=amount,
        kept=torch.tensor(target) >= 0,
    )


class Tally:
    """Gives every earlier fact of the subject its relation's weight (3 or 1), and says so in a graph of one step."""

    name = "tally"

    def __init__(self, seed: int = 0) -> None:
        self.seed, self.asked = seed, 0

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
        self.asked += 1
        scores = torch.zeros(len(queries), history.num_entities, dtype=torch.float64)
        entity, query, rows, times = queries.subject.tolist(), list(range(len(queries))), [], []
        attention = [0.0] * len(queries)
        for place, (subject, time) in enumerate(zip(queries.subject, queries.time, strict=True)):
            start, stop = history.prior(subject[None], time[None])
            found = history.edges(torch.arange(int(start), int(stop)))
            weight = torch.where(found.relation // 2 == STRONG, 3.0, 1.0).double()
            weight = weight / weight.sum()
            for fact, object, when, share in zip(found.fact, found.object, found.time, weight, strict=True):
                rows.append((place, len(entity), int(fact), float(share)))
                times.append(int(when))
                entity.append(int(object))
                query.append(place)
                attention.append(float(share))
                scores[place, object] += share
        nodes = SimpleNamespace(query=torch.tensor(query), entity=torch.tensor(entity))
        nodes.step = torch.tensor([0] * len(queries) + [1] * len(rows))
        step = edges(*rows or [(0, -1, -1, 0.0)], time=times or [0])
        graph: Any = SizedGraph(nodes, torch.tensor([attention], dtype=torch.float64), (step,))

        def named(row: int, candidate: int) -> Evidence:
            found = evidence(graph, row, candidate)
            return Evidence(found.fact, found.weight * scores[row, candidate])

        return Scores((Part("tally", scores, named, graph),), scores > 0)


class SizedGraph:
    """What evidence and controls read of an inference graph."""

    def __init__(self, nodes: SimpleNamespace, attention: torch.Tensor, steps: tuple[StepEdges, ...]) -> None:
        self.nodes = type("Sized", (SimpleNamespace,), {"__len__": lambda self: len(self.query)})(**vars(nodes))
        self.node_attention, self.steps = attention, steps
        self.graph = self


FACTS = Facts.of([(A, STRONG, B, 1), (A, WEAK, D, 1), (A, WEAK, B, 2), (A, WEAK, C, 2), (A, WEAK, B, 5)])
"""Of the question (A, WEAK, ?, 5), answered with B: evidence 0 (3/6), then 2 (1/6); the others are 1 and 3."""


def examined(ks: Sequence[int] = (1, 2, 5)) -> tuple[Case, Trial, Tally]:
    calendar = Calendar(Tick.DAY, "2024-01-01", Tick.DAY)
    names, relations = Vocabulary.of(["a", "b", "c", "d"]), Relations.of(["weak", "strong"])
    data = Dataset("tally", FACTS, (4, 0, 1), names, relations, calendar)
    tally, history = Tally(), TemporalIndex.build(FACTS, 4, 2)
    examiner = Examiner(tally, history, FACTS, Filters.of(data))
    query = Queries.at(*(torch.tensor([value]) for value in (A, WEAK, 5)))
    (case,) = examiner.cases(query, torch.tensor([B]))
    return case, examiner.trial(case, ks), tally


def test_a_case_has_its_evidence_and_where_the_graph_holds_it() -> None:
    case, _, _ = examined()
    assert case.facts == (0, 2)
    assert case.shares == pytest.approx((0.75, 0.25))
    assert vars(case.standing) == pytest.approx({"score": 4 / 6, "rank": 1})
    assert case.pool == {0: (0, 1, A, 1), 1: (1, 1, A, 1), 2: (2, 1, A, 2), 3: (3, 1, A, 2)}


def test_hiding_and_keeping_by_hand() -> None:
    """Controls: 1 for 0 and 3 for 2, by their times. B, C and D are left even when 0 is hidden: mean rank 2."""
    _, trial, tally = examined()
    assert trial.hidden.tolist() == [[pytest.approx(1 / 3), 2], [0, 4], [0, 4]]
    assert trial.hidden_control.tolist() == [[pytest.approx(4 / 5), 1], [pytest.approx(1), 1], [pytest.approx(1), 1]]
    assert trial.kept.tolist() == [[1, 1]] * 3
    assert trial.kept_control.tolist() == [[0, 4]] * 3
    assert trial.paired.all()
    assert (trial.same_entity, trial.apart, trial.relation) == (2, (0, 0), WEAK)
    assert tally.asked == 1 + 4 * 2  # k = 5 asks nothing that k = 2 has not


def test_a_fact_without_a_control_ends_the_comparison() -> None:
    case, _, _ = examined()
    pool = {fact: place._replace(hop=2) if fact == 3 else place for fact, place in case.pool.items()}
    assert [one and one.fact for one in matched((0, 2), pool)] == [1, None]


@given(st.lists(st.tuples(st.integers(1, 2), st.integers(0, 2), st.integers(0, 6)), min_size=1, max_size=9), st.data())
@settings(max_examples=60)
def test_controls_are_like_their_facts_and_no_evidence(rows: list[tuple[int, int, int]], data: st.DataObject) -> None:
    pool = {fact: Place(fact, *row) for fact, row in enumerate(rows)}
    chosen = data.draw(st.lists(st.sampled_from(sorted(pool)), unique=True))
    taken: set[int] = set()
    for fact, control in zip(chosen, matched(chosen, pool), strict=True):
        mine = pool[fact]
        like = [
            one for one in pool.values() if one.hop == mine.hop and one.fact not in taken and one.fact not in chosen
        ]
        if control is None:
            assert not like
            continue
        assert control in like
        of_entity = [one for one in like if one.entity == mine.entity] or like
        assert control in of_entity
        assert abs(control.time - mine.time) == min(abs(one.time - mine.time) for one in of_entity)
        taken.add(control.fact)


def test_hops_are_counted_in_facts_not_in_steps() -> None:
    """Node 2 is first reached by two facts, at step 2; at step 3 one fact leads there from the question itself.

    Fact 7 then lies two hops away, though step 3 came to it by three facts.
    """
    nodes = SimpleNamespace(query=torch.zeros(4, dtype=torch.int64), entity=torch.tensor([A, B, C, D]))
    nodes.step = torch.tensor([0, 1, 2, 3])
    steps = (
        edges((0, 1, 5, 0.5), (0, 0, -1, 0.5), (0, -1, 9, 0.0), time=[3, 4, 3]),
        edges((1, 2, 6, 0.5), (0, 0, -1, 0.5), time=[2, 4]),
        edges((2, 3, 7, 0.4), (0, 2, 8, 0.4), (0, 1, 5, 0.1), time=[1, 2, 3]),
    )
    graph: Any = SizedGraph(nodes, torch.zeros(1, 4), steps)
    assert places(graph) == [{5: (5, 1, A, 3), 6: (6, 2, B, 2), 7: (7, 2, C, 1), 8: (8, 1, A, 2)}]


def trial(relation: int, score: float, hidden: float, control: float, rank: float = 1.0, fair: bool = True) -> Trial:
    """One k; the evidence hidden gives rank `rank`, the control never costs the first place."""
    rows = [np.array([[value, place]]) for value, place in ((hidden, rank), (control, 1.0), (0.9, 1.0), (0.1, 4.0))]
    return Trial(relation, Standing(score, 1.0), rows[0], rows[1], rows[2], rows[3], np.array([fair]), 1, (0,))


def test_curves_areas_and_ratios_by_hand() -> None:
    trials = [trial(0, 0.8, 0.2, 0.7, 4.0), trial(0, 0.6, 0.4, 0.5, 2.0), trial(1, 1.0, 0.0, 0.0, 9.0, fair=False)]
    curves = Curves.of(trials, (5,))
    assert curves.questions == (2,)
    assert curves.score == pytest.approx((0.7,))
    assert curves.score_fall == pytest.approx((0.4,))
    assert curves.score_fall_control == pytest.approx((0.1,))
    assert curves.mrr_fall == pytest.approx((62.5,))
    assert (curves.first, curves.first_control) == ((0.0,), (100.0,))
    assert (*curves.kept_score, *curves.kept_mrr_control) == pytest.approx((0.9, 25))
    assert curves.area("score_fall") == pytest.approx(0.4 / 2)  # a straight line from nothing at k = 0
    ratio = Ratio.of(trials, 0, 5)
    assert ratio.score == pytest.approx(4)
    assert ratio.score_interval.low == pytest.approx(2)  # both draws the second question
    assert ratio.score_interval.high == pytest.approx(6)
    assert ratio.mrr == np.inf  # no control cost a rank
    risen = Ratio.of([trial(0, 0.5, 0.1, 0.6)], 0, 5)
    assert (risen.score, risen.change) == pytest.approx((np.inf, 4))  # the control made it 0.1 better, not worse
    assert ratio.to_json()["mrr"] is None
    only_unfair = Curves.of(trials[2:], (5,)).to_json()
    assert (only_unfair["questions"], only_unfair["score_fall"], only_unfair["areas"]["mrr_fall"]) == (
        [0],
        [None],
        None,
    )


def test_the_area_is_that_of_the_trapezoids() -> None:
    curves = SimpleNamespace(ks=(1, 3), score_fall=(0.2, 0.4))
    assert Curves.area(curves, "score_fall") == pytest.approx((0.1 + 2 * 0.3) / 3)  # type: ignore[arg-type]


def test_stability_by_hand() -> None:
    case, _, _ = examined()

    def told(facts: dict[int, float], rank: float = 1.0) -> Case:
        return Case(case.query, B, Standing(0.5, rank), tuple(facts), tuple(facts.values()), tuple(facts))

    cases = [told({0: 0.75, 2: 0.25}), told({1: 1.0}), told({1: 0.6, 2: 0.4})]
    again = [told({0: 1.0, 3: 1.0}), told({1: 1.0}), told({}, 3.0)]  # the facts of a path have its whole share each
    found = Stability.of(cases, again, k=2)
    assert found.questions == 3
    assert found.first == pytest.approx(200 / 3)
    assert found.same_best == pytest.approx(200 / 3)
    assert found.overlap == pytest.approx(100 * (1 / 3 + 1 + 0) / 3)
    assert found.shares == pytest.approx(100 * (0.75 / 2 + 1 + 0) / 3)


@pytest.fixture
def model() -> Model:
    """An untrained model; everybody has done everything to somebody before."""
    rng = np.random.default_rng(5)
    rows = sorted(
        {(int(s), int(p), int(o), int(t)) for s, p, o, t in rng.integers([6, 2, 6, 20], size=(150, 4)) if s != o}
    )
    facts, calendar = Facts.of(rows).in_time_order(), Calendar(Tick.DAY, "2024-01-01", Tick.DAY)
    names = Vocabulary.of(["Ann", "Ben", "Cid", "Dan", "Eve", "Fay"])
    data = Dataset("tiny", facts, (len(facts) - 30, 10, 20), names, Relations.of(["visits", "calls"]), calendar)
    torch.manual_seed(0)
    settings = ModelSettings(steps=2, n=5, k=8, dims=(8, 6), static_dim=4, time_dim=4)
    return Model(XERTE(settings, data.num_entities, data.num_relations), data)


def test_correct_answers_are_examined(model: Model) -> None:
    ranks = model.evaluate("test").rank()
    found = faithfulness(model, questions=1000, ks=(1, 3))
    assert found.looked_at == len(ranks) == 40
    assert found.correct + found.unexplained == (ranks == 1).sum()
    assert found.correct > 3
    assert (
        sum(len(curves.questions) and curves.questions[0] for curves in found.by_relation.values())
        == (found.curves.questions[0])
    )
    assert found.causes is None
    few = faithfulness(model, questions=2, ks=(1, 3))
    assert few.correct == 2
    assert few.looked_at < 40
    assert faithfulness(model, questions=2, ks=(1, 3), seed=1).to_json()["curves"] != few.to_json()["curves"]
    body = few.to_json() | {"seconds": 0}
    assert faithfulness(model, questions=2, ks=(1, 3)).to_json() | {"seconds": 0} == body  # asks alike, is told alike


def test_another_seed_is_compared(model: Model) -> None:
    assert isinstance(model.forecaster, XERTE)
    found = faithfulness(model, questions=1000, ks=(1,)).stability
    assert found is not None
    assert 0 < found.shares < 100  # five of many edges are drawn
    assert model.forecaster.seed == 0


def test_the_command(model: Model, tmp_path: Path) -> None:
    store.save(model.dataset, tmp_path / "tiny")
    model.save(tmp_path / "model")
    asked = ["faithfulness", str(tmp_path / "tiny"), "--questions", "4", "--k", "2", "--k", "1", "--device", "cpu"]
    trained = [*asked, "--model", str(tmp_path / "model")]
    result = CliRunner().invoke(app, [*trained, "--json", "--trace", str(tmp_path / "trace.json")])
    assert result.exit_code == 0, result.output
    body = json.loads(result.stdout)
    assert body["curves"]["ks"] == [1, 2]
    trace = Trace.read(tmp_path / "trace.json")
    assert trace.details == body
    assert trace.queries == 4
    assert trace.command.endswith("--questions 4 --seed 0 --k 2 --k 1")
    text = CliRunner().invoke(app, [*trained, "--by-relation"]).stdout
    assert "4 questions answered right" in text
    assert "Areas under the falls, by relation" in text
    assert f"{body['stability']['first']:.1f} % still first" in text
    counted = CliRunner().invoke(app, [*asked, "--model", "recurrence", "--json"])
    assert counted.exit_code == 0, counted.output
    assert json.loads(counted.stdout)["stability"] is None  # it draws nothing


def test_mistakes_are_told(model: Model) -> None:
    with pytest.raises(InputError, match="at least one question"):
        faithfulness(model, questions=0)
    with pytest.raises(InputError, match="ascending numbers"):
        faithfulness(model, ks=(3, 1))
