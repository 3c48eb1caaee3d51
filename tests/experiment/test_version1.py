"""Models saved in format 1 answer as they did: every row finds its direction."""

import torch

from xerte.experiment.version1 import upgraded

R = 3


def test_rows_move_to_their_directions() -> None:
    """Old row d stands for relation d mod 3, its reciprocal from 3 on; the last is the self-loop."""
    old = torch.arange(2 * R + 1)[:, None].float()
    related = [[d, (d + 1) % 6] for d in range(2 * R)]
    metadata = {"format": "xerte state 1", "model": "xerte", "settings": {"related": related, "k": 7}}
    now, weights = upgraded(metadata, {"relation": old, "layers.0.dense.weight": torch.ones(4, 2)})
    assert weights["relation"][:, 0].tolist() == [0, 3, 1, 4, 2, 5]
    assert weights["self_loop"].tolist() == [[6]]
    assert weights["layers.0.dense.weight"].tolist() == torch.ones(4, 2).tolist()
    # Old 1 (relation 1) is 2 today and named itself and old 2, today 4; old 5 is today 5 and named itself and old 0.
    assert now["settings"]["related"] == [[0, 2], [1, 3], [2, 4], [3, 5], [4, 1], [5, 0]]
    assert now["settings"]["k"] == 7


def test_models_of_today_stay_as_they_are() -> None:
    weights = {"relation": torch.arange(6)[:, None].float()}
    same, kept = upgraded({"format": "xerte state 2", "model": "complex"}, weights)
    assert kept["relation"] is weights["relation"]
    assert same == {"format": "xerte state 2", "model": "complex"}
