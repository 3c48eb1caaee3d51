"""Triton kernels against slow twins and the plain torch code: on a GPU, and here in Triton's interpreter."""

import os
import subprocess
import sys
from bisect import bisect_left
from importlib.util import find_spec
from itertools import accumulate
from math import exp, inf, log
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from xerte import kernels
from xerte.data.facts import Facts
from xerte.graph import race_triton
from xerte.graph.index import TemporalIndex
from xerte.graph.noise import combine, extend, extend_by_kernel, hashed, uniform
from xerte.graph.race import Race, Sources
from xerte.graph.sampler import Sampler, Sampling
from xerte.graph.weights import Weights
from xerte.nn import edge_logits

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"
DRAWN = (Sampling.EXPONENTIAL, Sampling.LINEAR, Sampling.UNIFORM)
SIZES = [(1, 4.0), (3, 0.3), (15, 77.7)][: 2 if INTERPRETED else 3]  # N and the scale of exponential weights
Nodes = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed: its interpreter cannot run")
def test_the_interpreter_agrees() -> None:
    """All tests below, on CPU tensors. Triton decides when it is imported, so they have a process of their own."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "gpu", str(Path(__file__))]
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def index() -> TemporalIndex:
    """Entities of falling degree: 0 is a hub of 1,500 edges, 20 has one, 21 and 22 have none."""
    rng = np.random.default_rng(0)
    subject = np.minimum(rng.geometric(0.35, 4000) - 1, 19).tolist()
    columns = [rng.integers(0, high, 4000).tolist() for high in (5, 20, 200)]
    facts = sorted({(20, 0, 21, 90), *zip(subject, *columns, strict=True)})
    return TemporalIndex.build(Facts.of(facts), 23, 5, DEVICE)


def nodes(history: TemporalIndex, count: int) -> Nodes:
    """(entity, time, start, stop, noise); the hub late and early, the nearly and the wholly empty among them."""
    rng = np.random.default_rng(1)
    entity = torch.tensor([0, 0, 3, 20, 20, 22, *rng.integers(0, 23, count - 6).tolist()], device=DEVICE)
    time = torch.tensor([200, 1, 0, 91, 90, 100, *rng.integers(0, 201, count - 6).tolist()], device=DEVICE)
    start, stop = history.prior(entity, time)
    return entity, time, start, stop, combine(torch.arange(count, device=DEVICE), 7)


def unit(hash: int) -> float:
    return float(uniform(torch.tensor(hash)))


def weight(sampler: Sampler, edge_time: int, now: int) -> float:
    """What the documentation of `Sampling` says."""
    exponential = exp((edge_time - now) / sampler.scale) + 1e-9
    return {Sampling.EXPONENTIAL: exponential, Sampling.LINEAR: max(1e-9, edge_time + 1)}.get(sampler.strategy, 1.0)


def latest(history: TemporalIndex, sampler: Sampler, node: list[int]) -> list[tuple[int, float]]:
    """(position, arrival) of the 4 N latest edges of (entity, time, start, stop, noise), one by one."""
    _, now, start, stop, noise = node
    arrivals = []
    for position in range(stop - 1, max(start, stop - 4 * sampler.size) - 1, -1):
        r, o, t = (int(history.base[name][position]) for name in ("relation", "object", "time"))
        hash = int(extend(torch.tensor(noise), ((r << 31) | o) * 4_294_967_311 + t))
        arrivals.append((position, -log(unit(hash)) / weight(sampler, t, now)))
    return arrivals + [(-1, inf)] * (4 * sampler.size - len(arrivals))


def stream(history: TemporalIndex, sampler: Sampler, node: list[int], upper: list[int]) -> list[tuple[int, float]]:
    """(position, arrival) of 5 N + 24 draws from the edges before those, one by one."""
    _, now, start, stop, noise = node
    draws, times = 5 * sampler.size + 24, history.base["time"][start : max(start, stop - 4 * sampler.size)].tolist()
    if not times:
        return [(-1, inf)] * draws
    bounds = [*(bisect_left(times, end) for end in upper), 0]
    rates = list(
        accumulate(
            (high - low) * weight(sampler, end - 1, now)
            for high, low, end in zip(bounds, bounds[1:], upper, strict=False)
        )
    )
    clock, seen, arrivals = 0.0, set[int](), []
    for draw in range(draws):
        when, which, where, whether = (unit(int(hashed(torch.tensor(noise), 4 * draw + i))) for i in (1, 2, 3, 4))
        clock -= log(when) / rates[-1]
        band = min(len(upper) - 1, sum(rate <= which * rates[-1] for rate in rates))
        low, count = bounds[band + 1], bounds[band] - bounds[band + 1]
        place = low + int(where * count)
        accepted = whether * weight(sampler, upper[band] - 1, now) < weight(sampler, times[place], now)
        new = accepted and place not in seen
        arrivals.append((start + place, clock) if new else (-1, inf))
        seen |= {place} if accepted else set()
    return arrivals


def race_of(sampler: Sampler) -> Race:
    return Race(Weights(sampler.strategy, sampler.scale), sampler.size)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("states", "parts"), [((), (700,)), ((9, 1), (9, 70)), ((70,), (9, 70)), ((5,), ()), ((), ()), ((0, 3), (3,))]
)
def test_hashes_are_extended_bit_by_bit(states: tuple[int, ...], parts: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(3)
    state, part = (torch.randint(-(1 << 63), (1 << 63) - 1, shape, generator=generator) for shape in (states, parts))
    found = extend_by_kernel(state.to(DEVICE), part.to(DEVICE))
    assert found.shape == (state + part).shape
    assert torch.equal(found.cpu(), extend(state, part))


@pytest.mark.gpu
@pytest.mark.parametrize("strategy", DRAWN)
@pytest.mark.parametrize(("size", "scale"), SIZES)
def test_those_are_drawn_that_a_loop_draws(strategy: Sampling, size: int, scale: float) -> None:
    history, sampler = index(), Sampler(strategy, size, scale)
    asked = nodes(history, 9)
    degree = (asked[3] - asked[2]).tolist()
    assert {0, 1} < set(degree)
    assert max(degree) > 20 * size
    first = race_triton.first(race_of(sampler), history, Sources(*asked))
    here, upper = history.to("cpu"), race_of(sampler).weights.bands(asked[1]).tolist()
    from_stream = 0
    for row, node in enumerate(torch.stack(asked, dim=1).tolist()):
        raced, late = latest(here, sampler, node), stream(here, sampler, node, upper[row])
        arrivals = sorted(raced + late, key=lambda edge: edge[1])[:size]
        assert sorted(first[row].tolist()) == sorted(place for place, _ in arrivals)
        from_stream += len(set(arrivals) & {edge for edge in late if edge[1] < inf})
    assert from_stream or strategy is Sampling.EXPONENTIAL


@pytest.mark.gpu
@pytest.mark.parametrize("strategy", DRAWN)
@pytest.mark.parametrize(("size", "scale"), SIZES)
def test_the_first_are_those_of_the_plain_race(strategy: Sampling, size: int, scale: float) -> None:
    history, race = index(), race_of(Sampler(strategy, size, scale))
    asked = Sources(*nodes(history, 8 if INTERPRETED else 2000))
    first = race_triton.first(race, history, asked).sort(dim=1).values
    assert torch.equal(first, race.first(history, asked).sort(dim=1).values)


@pytest.mark.gpu
@pytest.mark.skipif(INTERPRETED, reason="a history on the CPU is not for the kernels")
@pytest.mark.parametrize("strategy", DRAWN)
def test_a_gpu_draws_with_fixed_sizes_as_a_cpu_draws(strategy: Sampling) -> None:
    history, sampler = index(), Sampler(strategy, 8, 12.0, same_relation=2)
    assert race_triton.suits(history)
    assert not race_triton.suits(history.with_facts(hidden=history.facts()[:1]))
    entity, time, _, _, noise = nodes(history, 500)
    drawn = sampler.sample(history, entity, time, entity[:, None] % 5, noise, static_shapes=True)
    entity, time, noise = (column.cpu() for column in (entity, time, noise))
    assert torch.equal(drawn.cpu(), sampler.sample(history.to("cpu"), entity, time, entity[:, None] % 5, noise))


def test_a_cpu_runs_the_plain_code() -> None:
    assert not race_triton.suits(TemporalIndex.build(Facts.of([(0, 0, 1, 2)]), 2, 1))


@pytest.mark.parametrize("installed", [True, False])
def test_a_gpu_without_triton_runs_the_plain_code(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_triton", lambda: installed)
    assert kernels.can_run(torch.device("cuda")) == installed
    assert not kernels.can_run(torch.device("cpu"))


def edges(S: int, W: int, d: int) -> tuple[tuple[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]:
    """x [S, d], y [5, d], h [40, d]; targets and relations of S W edges, the last of each block of relation 4."""
    generator = torch.Generator().manual_seed(S * W + d)
    vectors = (torch.randn(rows, d, generator=generator).to(DEVICE).requires_grad_() for rows in (S, 5, 40))
    target, relation = (torch.randint(0, high, (S, W), generator=generator) for high in (40, 5))
    relation[:, -1] = 4
    x, y, h = vectors
    return (x, y, h), (target.flatten().to(DEVICE), relation.flatten().to(DEVICE))


def slow_dots(vectors: tuple[Tensor, Tensor, Tensor], target: Tensor, relation: Tensor) -> Tensor:
    """h_u · (x_v + y_k), edge by edge, float64."""
    x, y, h = (vector.double() for vector in vectors)
    width = len(target) // len(x)
    ends = enumerate(zip(target.tolist(), relation.tolist(), strict=True))
    return torch.stack([h[u] @ (x[i // width] + y[k]) for i, (u, k) in ends])


def test_plain_products() -> None:
    x, y, h = torch.tensor([[1.0, 2.0], [0.0, 1.0]]), torch.tensor([[0.0, 0.0], [1.0, -1.0]]), torch.eye(2)
    dots = edge_logits.block_dots(x, y, h, torch.tensor([0, 1, 1, 0]), torch.tensor([0, 1, 1, 1]))
    assert dots.tolist() == [1, 2 - 1, 1 - 1, 0 + 1]


@pytest.mark.gpu
@pytest.mark.parametrize(("S", "W", "d"), [(7, 16, 256), (30, 16, 32), (3, 5, 100), (1, 1, 1)])
def test_products_and_gradients(S: int, W: int, d: int) -> None:
    vectors, (target, relation) = edges(S, W, d)
    dots = edge_logits._BlockDots.apply(*vectors, target, relation)  # type: ignore[no-untyped-call]
    expected = slow_dots(vectors, target, relation)
    torch.testing.assert_close(dots.double(), expected, rtol=1e-4, atol=1e-4)
    gradient = torch.linspace(-1, 2, S * W, device=DEVICE)
    gradient[::3] = 0  # edges that are none, or that nobody used
    mine = torch.autograd.grad(dots, vectors, gradient)
    for one, plain in zip(mine, torch.autograd.grad(expected, vectors, gradient.double()), strict=True):
        torch.testing.assert_close(one, plain, rtol=1e-4, atol=1e-4)


@pytest.mark.gpu
@pytest.mark.skipif(INTERPRETED, reason="tensors on the CPU are not for the kernels")
def test_a_gpu_multiplies_floats_by_kernel_and_doubles_plainly() -> None:
    vectors, at = edges(300, 16, 64)
    x, y, h = (vector.double() for vector in vectors)
    fused, plain = edge_logits.block_dots(*vectors, *at), edge_logits.block_dots(x, y, h, *at)
    assert type(fused.grad_fn).__name__ == "_BlockDotsBackward"
    torch.testing.assert_close(fused.double(), plain, rtol=1e-4, atol=1e-4)
