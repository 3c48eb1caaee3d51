"""The paper's example of the reverse update, run: does news two hops away reach the question?

The graph of the paper's appendix: the question's entity 0 has dealt with 1, 2 and 3; before that 1 with 4 and 5, 2 with
7 and 8, 3 with 6. Vectors are updated once per step. Without the reverse update the vector of 0 after the second step
holds what 1, 2 and 3 were before they heard of anybody; with it, 4 … 8 tell 1, 2 and 3 first, and these tell 0.
"""

import math
from dataclasses import dataclass

import torch

from xerte.data.facts import Facts
from xerte.forecaster import Queries
from xerte.graph.index import TemporalIndex
from xerte.model import XERTE
from xerte.settings import ModelSettings, Update

NEAR = [(0, 0, other, 2) for other in (1, 2, 3)]
FAR = [(1, 0, 4, 1), (1, 0, 5, 1), (2, 0, 7, 1), (2, 0, 8, 1), (3, 0, 6, 1)]


@dataclass(frozen=True)
class Reach:
    """What the far fact (1, ·, 4) does to the question's preference between 2 and 3, with which it has no tie.

    Attributes:
        update: along which edges vectors were updated.
        change: at each step, of log α(0→2) - log α(0→3) when the fact is hidden; to 5 decimals, as single precision
            gives no more. Both edges leave 0, so the difference depends on the vectors of 0, 2 and 3 alone; those of 2
            and 3 never hear of 4.
    """

    update: str
    change: tuple[float, ...]


def reach(update: Update, seed: int = 0) -> Reach:
    """One untrained model, asked with and without the fact. Nothing is pruned and everything is sampled."""
    settings = ModelSettings(steps=3, n=20, k=200, dims=(16, 16, 16), static_dim=16, time_dim=16, update=update)
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)
        model = XERTE(settings, num_entities=9, num_relations=1)
    whole, without = (_preference(model, facts) for facts in (NEAR + FAR, NEAR + FAR[1:]))
    return Reach(update.value, tuple(round(a - b, 5) + 0.0 for a, b in zip(whole, without, strict=True)))


def every_reach() -> list[Reach]:
    """Under every update."""
    return [reach(update) for update in Update]


def _preference(model: XERTE, rows: list[tuple[int, int, int, int]]) -> list[float]:
    """log α(0→2) - log α(0→3) at every step."""
    history = TemporalIndex.build(Facts.of(rows), model.num_entities, model.num_relations)
    graph = model.forecast(history, Queries.at(*(torch.tensor([value]) for value in (0, 0, 3)))).graph
    assert graph is not None
    found = []
    for step in graph.steps:
        source = graph.nodes.entity.index_select(0, step.source)
        alpha = {
            target: value
            for near, target, time, value in zip(
                *(column.tolist() for column in (source, step.entity, step.time, step.attention)), strict=True
            )
            if near == 0 and time == 2
        }
        found.append(math.log(alpha[2]) - math.log(alpha[3]))
    return found
