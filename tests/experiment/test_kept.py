"""What training keeps, and which parts carry a forecast."""

from dataclasses import dataclass

import pytest
import torch

from xerte.api.datasets import load
from xerte.experiment.kept import is_behind, mean_shares
from xerte.forecaster import Part, Queries, Scores
from xerte.graph.index import TemporalIndex


@dataclass(frozen=True)
class Fixed:
    """Says the same of every question: entity 1 is first where it is reached, with 3 + 1, otherwise entity 0, 1 + 2."""

    reached: bool
    name: str = "fixed"

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
        past, prior = (torch.zeros(len(queries), history.num_entities) for _ in range(2))
        past[:, :2], prior[:, :2] = torch.tensor([1.0, 3.0]), torch.tensor([2.0, 1.0])
        reached = torch.ones_like(past, dtype=torch.bool)
        reached[:, 1] = self.reached
        return Scores((Part("past", past), Part("prior", prior)), reached)


@pytest.mark.parametrize(("reached", "past"), [(True, 3 / 4), (False, 1 / 3)])
def test_shares_are_those_of_the_first_answer(reached: bool, past: float) -> None:
    world = load("world")
    history = TemporalIndex.build(world.facts, world.num_entities, world.num_relations)
    assert mean_shares(Fixed(reached), world, history) == pytest.approx({"past": past, "prior": 1 - past})


def test_a_model_is_behind_where_its_best_epoch_is() -> None:
    epochs = [{"valid": {"mrr": mrr}} for mrr in (30.0, 40.0, 35.0)]
    assert is_behind({"model": "best", "epochs": epochs, "floor": {"mrr": 40.1}})
    assert not is_behind({"model": "best", "epochs": epochs, "floor": {"mrr": 40.0}})
    assert is_behind({"model": "best", "epochs": [], "floor": {"mrr": 0.0}})
    assert not is_behind({"model": "xerte", "epochs": epochs, "floor": {"mrr": 90.0}})
    assert not is_behind({"model": "best", "epochs": epochs})
