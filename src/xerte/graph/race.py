"""The sampler's race on a GPU: two launches in place of a hundred; see `Sampler` for what is computed."""

import torch
from torch import Tensor

from xerte import kernels
from xerte.graph.index import TemporalIndex


def use_kernels(history: TemporalIndex) -> bool:
    """Whether the kernels can read this history: on a GPU, with Triton, nothing added or hidden."""
    return history.overlay is None and kernels.can_run(history.device)


def arrivals(
    history: TemporalIndex,
    strategy: str,
    scale: float,
    floor: float,
    width: int,
    draws: int,
    nodes: tuple[Tensor, Tensor, Tensor, Tensor, Tensor],
    upper: Tensor,
) -> tuple[Tensor, Tensor]:
    """Everyone in the race: the `width` latest edges of each node, then `draws` arrivals from the stream of the others.

    Args:
        history: without overlay.
        strategy, scale, floor: the weights; see `Sampling`.
        width, draws: how many of each kind.
        nodes: (entity, time, start, stop, noise), int64 [n]: the nodes, the ranges of their prior edges, their noise.
        upper: int64 [n, B], the upper ends of the bands of time.

    Returns:
        Positions int64 [n, width + draws] and arrival times float64, infinite with position -1 where there is no edge
        or the arrival is rejected or not the edge's first.
    """
    from xerte.graph.race_kernels import race, stream

    entity, time, start, stop, noise = (column.contiguous() for column in nodes)
    (num_nodes, bands), columns = upper.shape, width + draws
    position = torch.empty((num_nodes, columns), dtype=torch.int64, device=entity.device)
    arrival = torch.empty((num_nodes, columns), dtype=torch.float64, device=entity.device)
    below = history.before(entity, upper)
    base, weights = history.base, {"STRATEGY": str(strategy), "SCALE": float(scale), "FLOOR": floor}
    with torch.cuda.device_of(entity):  # type: ignore[no-untyped-call]
        race[(num_nodes,)](
            start, stop, time, noise, base["relation"], base["object"], base["time"], position, arrival,
            **weights, WIDTH=width, COLUMNS=columns, BLOCK=_power(width), num_warps=1,
        )  # fmt: skip
        stream[(num_nodes,)](
            start, stop, time, noise, upper.contiguous(), below, base["time"], position, arrival,
            **weights, WIDTH=width, COLUMNS=columns, BANDS=bands, BAND_BLOCK=_power(bands), DRAW_BLOCK=_power(draws),
            num_warps=4,
        )  # fmt: skip
    return position, arrival


def first(arrived: tuple[Tensor, Tensor], size: int) -> Tensor:
    """Positions [n, size] of the first to arrive; -1 where there are fewer."""
    position, arrival = arrived
    return position.gather(1, torch.topk(arrival, size, dim=1, largest=False).indices)


def _power(number: int) -> int:
    """The least power of two that is not smaller, and at least 2."""
    return 1 << max(1, (number - 1).bit_length())
