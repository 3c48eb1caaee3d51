"""The race on a GPU: two launches in place of a hundred; `race.py` says what is computed."""

import torch
from torch import Tensor

from xerte import kernels
from xerte.graph.index import TemporalIndex
from xerte.graph.race import Race, Sources
from xerte.graph.weights import FLOOR


def suits(history: TemporalIndex) -> bool:
    """Whether the kernels can read this history: on a GPU, with Triton, nothing added or hidden."""
    return history.plain and kernels.can_run(history.device)


def first(race: Race, history: TemporalIndex, sources: Sources) -> Tensor:
    """Positions [n, N] of the first N arrivals in any order; -1 where there are fewer edges."""
    position, arrival = arrivals(race, history, sources)
    return position.gather(1, torch.topk(arrival, race.size, dim=1, largest=False).indices)


def arrivals(race: Race, history: TemporalIndex, sources: Sources) -> tuple[Tensor, Tensor]:
    """Everyone in the race: the latest edges of each node, then all draws from the stream of the others.

    Returns:
        Positions int64 [n, width + draws] and arrival times float64, infinite with position -1 where there is no edge
        or the arrival is rejected or not the edge's first.
    """
    from xerte.graph import race_kernels

    columns = (sources.entity, sources.time, sources.start, sources.stop, sources.noise)
    entity, time, start, stop, noise = (column.contiguous() for column in columns)
    upper = race.weights.bands(time).contiguous()
    (num_nodes, bands), width, draws = upper.shape, race.width, race.draws[-1]
    shape, device = (num_nodes, width + draws), entity.device
    position = torch.empty(shape, dtype=torch.int64, device=device)
    arrival = torch.empty(shape, dtype=torch.float64, device=device)
    below, base = history.before(entity, upper), history.base
    weights = {"STRATEGY": str(race.weights.strategy), "SCALE": float(race.weights.scale), "FLOOR": FLOOR}
    sizes = {"WIDTH": width, "COLUMNS": width + draws}
    with torch.cuda.device_of(entity):  # type: ignore[no-untyped-call]
        race_kernels.race[(num_nodes,)](
            start, stop, time, noise, base["relation"], base["object"], base["time"], position, arrival,
            **weights, **sizes, BLOCK=_power(width), num_warps=1,
        )  # fmt: skip
        race_kernels.stream[(num_nodes,)](
            start, stop, time, noise, upper, below, base["time"], position, arrival,
            **weights, **sizes, BANDS=bands, BAND_BLOCK=_power(bands), DRAW_BLOCK=_power(draws), num_warps=4,
        )  # fmt: skip
    return position, arrival


def _power(number: int) -> int:
    """The least power of two that is not smaller, and at least 2."""
    return 1 << max(1, (number - 1).bit_length())
