"""Triton kernels against the plain torch code they stand in for: on a GPU, and here in Triton's interpreter."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from xerte.data.facts import Facts
from xerte.graph import race
from xerte.graph.index import TemporalIndex
from xerte.graph.noise import combine
from xerte.graph.sampler import _FLOOR, Sampler, Sampling

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"
MANY = 16 if INTERPRETED else 400
DRAWN = (Sampling.EXPONENTIAL, Sampling.LINEAR, Sampling.UNIFORM)


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed: its interpreter cannot run")
def test_the_interpreter_agrees_with_the_plain_code() -> None:
    """All tests below, on CPU tensors. Triton decides when it is imported, so they have a process of their own."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "gpu", str(Path(__file__))]
    done = subprocess.run(
        command, env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def index() -> TemporalIndex:
    """Entities of falling degree: 0 is a hub of 1,500 edges, 20 has one, 21 and 22 have none."""
    rng = np.random.default_rng(0)
    subject = np.minimum(rng.geometric(0.35, 4000) - 1, 19).tolist()
    columns = [rng.integers(0, high, 4000).tolist() for high in (5, 20, 200)]
    facts = sorted({(20, 0, 0, 90), *zip(subject, *columns, strict=True)})
    return TemporalIndex.build(Facts.of(facts), 23, 5, DEVICE)


def nodes(history: TemporalIndex, count: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """(entity, time, start, stop, noise); the hub late and early, the nearly and the wholly empty among them."""
    rng = np.random.default_rng(1)
    entity = torch.tensor([0, 0, 3, 20, 20, 21, *rng.integers(0, 23, count - 6).tolist()], device=DEVICE)
    time = torch.tensor([200, 1, 0, 91, 90, 100, *rng.integers(0, 201, count - 6).tolist()], device=DEVICE)
    return entity, time, *history.prior(entity, time), combine(torch.arange(count, device=DEVICE), 7)


@pytest.mark.gpu
@pytest.mark.parametrize("strategy", DRAWN)
@pytest.mark.parametrize(("size", "scale"), [(1, 4.0), (3, 0.3), (15, 77.7)])
def test_everyone_arrives_as_in_the_plain_race(strategy: Sampling, size: int, scale: float) -> None:
    history, sampler = index(), Sampler(strategy, size, scale)
    entity, time, start, stop, noise = asked = nodes(history, MANY)
    width, draws = 4 * size, 5 * size + 24
    arrived = race.arrivals(history, strategy, scale, _FLOOR, width, draws, asked, sampler._bands(time))
    position, arrival = arrived
    assert position.shape == arrival.shape == (MANY, width + draws)
    assert torch.equal(position < 0, torch.isinf(arrival))
    degree = stop - start
    assert {0, 1} < set(degree.tolist())
    assert int(degree.max()) > width
    assert torch.equal((position[:, :width] >= 0).sum(1), degree.clamp(max=width))

    late, late_arrival = sampler._stream(history, entity, time, start, stop - width, noise)
    assert torch.isfinite(late_arrival).any(1).tolist() == (degree > width).tolist()
    assert torch.equal(position[:, width:], torch.where(torch.isinf(late_arrival), -1, late))
    torch.testing.assert_close(arrival[:, width:], late_arrival, rtol=1e-12, atol=0)

    plain = Sampler._race(sampler, history, entity, time, start, stop, noise, fixed=False)
    assert torch.equal(race.first(arrived, size), plain)


@pytest.mark.gpu
def test_arrivals_of_the_latest_edges_by_hand() -> None:
    """E / w of each edge, E hashed from the node and what the edge says."""
    history = index()
    asked = nodes(history, 8)
    _, time, start, stop, noise = asked
    position, arrival = race.arrivals(history, "exponential", 9.5, _FLOOR, 6, 39, asked, time[:, None])
    for row in range(8):
        at = list(range(int(stop[row]) - 1, int(start[row]) - 1, -1))[:6]
        assert position[row, :6].tolist() == at + [-1] * (6 - len(at))
        for column, edge in enumerate(at):
            r, o, t = (int(history.base[name][edge]) for name in ("relation", "object", "time"))
            hashed = int(combine(int(noise[row]), ((r << 31) | o) * 4_294_967_311 + t))
            unit = ((hashed % (1 << 64) >> 11) + 0.5) / 2.0**53
            expected = -np.log(unit) / (np.exp((t - int(time[row])) / 9.5) + 1e-9)
            assert float(arrival[row, column]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.gpu
@pytest.mark.skipif(INTERPRETED, reason="the interpreter is not asked for by a history on the CPU")
@pytest.mark.parametrize("strategy", DRAWN)
def test_a_gpu_draws_with_fixed_sizes_as_a_cpu_draws(strategy: Sampling) -> None:
    history, sampler = index(), Sampler(strategy, 8, 12.0, same_relation=2)
    assert race.use_kernels(history)
    entity, time, _, _, noise = nodes(history, 500)
    drawn = sampler.sample(history, entity, time, entity % 5, noise, fixed=True)
    entity, time, noise = (column.cpu() for column in (entity, time, noise))
    assert torch.equal(drawn.cpu(), sampler.sample(history.to("cpu"), entity, time, entity % 5, noise))
    changed = history.with_facts(hidden=history.facts()[:1])
    assert not race.use_kernels(changed)


def test_a_cpu_runs_the_plain_code() -> None:
    facts = Facts.of([(0, 0, 1, 2)])
    assert not race.use_kernels(TemporalIndex.build(facts, 2, 1))
