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
    from xerte.graph import race_kernels

    columns = (sources.entity, sources.time, sources.start, sources.stop, sources.noise)
    entity, time, start, stop, noise = (column.contiguous() for column in columns)
    upper = race.weights.bands(time).contiguous()
    (num_nodes, bands), width, draws = upper.shape, race.width, race.draws[-1]
    position = torch.empty((num_nodes, race.size), dtype=torch.int64, device=entity.device)
    contested = torch.empty(num_nodes, dtype=torch.int8, device=entity.device)
    below, base = history.before(entity, upper), history.base
    read = start, stop, time, noise, upper, below, base["relation"], base["object"], base["time"]
    weights = {"STRATEGY": str(race.weights.strategy), "SCALE": float(race.weights.scale), "FLOOR": FLOOR}
    sizes = {"SIZE": race.size, "WIDTH": width, "BANDS": bands, "BAND_BLOCK": _power(bands)}
    with torch.cuda.device_of(entity):  # type: ignore[no-untyped-call]
        race_kernels.settle[(num_nodes,)](
            *read, position, contested, **weights, **sizes, BLOCK=_power(width), num_warps=1
        )
        race_kernels.contest[(num_nodes,)](
            *read, position, contested, **weights, **sizes, DRAWS=draws, BLOCK=_power(max(width, draws)), num_warps=4
        )
    return position


def _power(number: int) -> int:
    """The least power of two that is not smaller, and at least 2."""
    return 1 << max(1, (number - 1).bit_length())
