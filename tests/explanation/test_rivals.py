"""Hard controls and rival attributions, by hand and by numbers."""

import math

import numpy as np
import pytest
import torch

from xerte.data.facts import Facts
from xerte.explanation.contest_report import Fidelity, goals_of, rivals_of
from xerte.explanation.faithfulness import EVIDENCE, Contest, Standing
from xerte.explanation.rivals import BETWEEN, GRADIENT, RANDOM, SUBJECT, at_random, gradient, latest, slopes
from xerte.forecaster import Queries
from xerte.graph.index import TemporalIndex
from xerte.graph.inference_graph import InferenceGraph, Nodes, StepEdges

A, B, C = range(3)


def test_the_latest_facts_are_those_before_the_question_and_filled_up_alike() -> None:
    facts = Facts.of([(A, 0, B, 1), (A, 0, C, 2), (B, 0, A, 3), (A, 0, C, 4), (A, 0, B, 9)])
    history = TemporalIndex.build(facts, 3, 1)
    query = Queries.at(*(torch.tensor([value]) for value in (A, 0, 9)))
    assert latest(history, query, B, 3) == {SUBJECT: (3, 2, 1), BETWEEN: (2, 0, 3)}
    assert latest(history, query, B, 1) == {SUBJECT: (3,), BETWEEN: (2,)}


def test_random_evidence_is_evidence_and_the_same_for_the_same_seed() -> None:
    facts = tuple(range(50, 90))
    some = at_random(facts, 10, 3)
    assert some == at_random(facts, 10, 3) != at_random(facts, 10, 4)
    assert len(set(some)) == 10
    assert set(some) < set(facts)


def grown(alpha: list[list[float]]) -> InferenceGraph:
    """(A, 3) leads to (B, 2) by fact 0 and to (C, 2) by fact 1, then to B again; B to (C, 1) by fact 2; and loops."""
    ends = [[(0, 1, 0), (0, 2, 1), (0, 0, -1)], [(0, 1, 0), (1, 3, 2), (1, 1, -1), (2, 2, -1), (0, 0, -1)]]
    nodes = Nodes(*(torch.tensor(column) for column in ([0] * 4, [A, B, C, C], [3, 2, 2, 1], [0, 1, 1, 2])))
    score, attention, steps = [1.0, 0.0, 0.0, 0.0], [[1.0, 0.0, 0.0, 0.0]], []
    for edges, weights in zip(ends, alpha, strict=True):
        brought = [weight * score[source] for (source, _, _), weight in zip(edges, weights, strict=True)]
        after = [sum(c for (_, target, _), c in zip(edges, brought, strict=True) if target == v) for v in range(4)]
        score = [value / sum(after) for value in after]
        attention.append(score)
        source, target, fact = (torch.tensor(column) for column in zip(*edges, strict=True))
        none, amount = torch.zeros_like(source), torch.tensor(brought, dtype=torch.float64)
        steps.append(StepEdges(source, target, none, none, none, fact, amount, amount, target >= 0))
    return InferenceGraph(nodes, torch.tensor(attention, dtype=torch.float64), tuple(steps), *[torch.tensor([])] * 3)


def test_the_gradient_is_that_of_the_answers_logarithm() -> None:
    """Against differences: every fact's α is made a little larger wherever the fact is used."""
    alpha = [[0.5, 0.3, 0.2], [0.3, 0.2, 0.8, 0.9, 0.4]]
    fact_of = [[0, 1, -1], [0, 2, -1, -1, -1]]

    def log_score(fact: int, more: float) -> float:
        changed = [
            [value * (1 + more) if one == fact else value for one, value in zip(facts, values, strict=True)]
            for facts, values in zip(fact_of, alpha, strict=True)
        ]
        last = grown(changed).node_attention[-1]
        return math.log(float(last[2] + last[3]))

    slope = {fact: (log_score(fact, 1e-6) - log_score(fact, -1e-6)) / 2e-6 for fact in (0, 1, 2)}
    facts, found = slopes(grown(alpha), 0, C)
    assert dict(zip(facts.tolist(), found.tolist(), strict=True)) == pytest.approx(slope, abs=1e-6)
    assert slope[0] < 0 < slope[2] < slope[1]  # fact 0 speaks for C by way of B, but more for B
    assert gradient(grown(alpha), 0, C, 10) == (1, 2)


def contest(evidence: float, control: float, gradient_: float) -> Contest:
    """An answer of score 1 that falls to 1 minus these."""
    rows = {EVIDENCE: evidence, BETWEEN: control, RANDOM: control / 2, GRADIENT: gradient_}
    hidden = {name: np.array([[1 - fall, 1.0 + (fall > 0.4)]]) for name, fall in rows.items()}
    return Contest(Standing(1.0, 1), hidden, {name: (fall == rows[EVIDENCE],) for name, fall in rows.items()})


def test_a_goal_is_met_only_if_its_interval_says_so() -> None:
    clear = rivals_of([contest(0.5, 0.3, 0.6), contest(0.6, 0.2, 0.6)] * 20, [1])
    (goal,) = goals_of(clear, [1])
    assert (goal.strongest, goal.met) == (BETWEEN, True)
    assert goal.difference == pytest.approx(0.3)
    assert goal.interval.low > 0.25
    by_name = {rival.name: rival for rival in clear}
    assert by_name[GRADIENT].control is False
    assert by_name[GRADIENT].difference == pytest.approx((-0.05,))
    assert (by_name[BETWEEN].first, by_name[GRADIENT].first) == ((100.0,), (0.0,))
    unclear = rivals_of([contest(0.5, 0.1, 0), contest(0.1, 0.4, 0)] * 3, [1])
    (goal,) = goals_of(unclear, [1])
    assert goal.difference > 0
    assert not goal.met


def test_fidelity_and_its_characterization() -> None:
    changes = [(True, False)] * 6 + [(False, False)] * 2 + [(True, True)] * 2
    found = Fidelity.of(5, changes, [True] * 5 + [False] * 5)
    assert (found.plus, found.minus, found.questions, found.wrong) == (0.8, 0.2, 10, 5)
    assert found.characterization == pytest.approx(0.8)
    assert found.plus_interval.low < 0.8 < found.plus_interval.high
    assert found.plus_right == 1
    assert found.plus_wrong == pytest.approx(0.6)
    assert Fidelity.of(5, [(False, True)], [True]).characterization == 0
