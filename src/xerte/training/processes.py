"""One training on many processes, started by torchrun (`python -m torch.distributed.run`).

Every process holds the whole model and learns from its part of each batch. Counts and gradients are summed over all
of them before the step,

    ∇ = Σ_p ∇ sum_p / Σ_p count_p,

which is the gradient of the whole batch, however it is split. So all processes make the same step, and any number of
them learns the same model. What is random follows from (seed, epoch) and from ids, never from a process.

What travels per step: one float32 for each parameter and one for the count; measured in `docs/scale.md`.
"""

import atexit
import gc
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import zip_longest
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from xerte.forecaster import Loss

_Item = TypeVar("_Item")
_PATIENCE = timedelta(minutes=30)
"""A process may wait so long for the others, which validate or write a checkpoint."""


@dataclass(frozen=True)
class Processes:
    """This process among those that train together.

    Attributes:
        rank: its number, from 0; process 0 writes and reports.
        size: how many there are.
    """

    rank: int = 0
    size: int = 1

    @staticmethod
    def joined(device: torch.device) -> "Processes":
        """Joins the others where torchrun started this process; alone everywhere else."""
        if not _started_by_torchrun():
            return ALONE
        if not dist.is_initialized():
            store, rank, size = next(rendezvous("env://", timeout=_PATIENCE))
            # After a restart the store still holds the addresses of the processes before.
            store = PrefixStore(f"attempt {os.environ['TORCHELASTIC_RESTART_COUNT']}", store)
            backend = "nccl" if device.type == "cuda" else "gloo"
            dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=_PATIENCE)
            atexit.register(_leave)
        return Processes(dist.get_rank(), dist.get_world_size())

    @property
    def first(self) -> bool:
        """Whether this process writes and reports."""
        return self.rank == 0

    def part(self, rows: Tensor) -> Tensor:
        """The rows of a batch that this process learns from."""
        return rows if self.size == 1 else rows[self.rank :: self.size]

    def sum(self, value: Tensor) -> Tensor:
        """The sum over all processes."""
        if self.size > 1:
            value = value.detach().clone()
            dist.all_reduce(value)
        return value

    def any(self, holds: bool, device: torch.device) -> bool:
        """Whether it holds in any process."""
        return holds if self.size == 1 else bool(self.sum(torch.tensor(float(holds), device=device)))

    def gathered(self, mine: Sequence[_Item]) -> list[_Item]:
        """Everybody's items, dealt out like cards: process p has the items p, p + size, …"""
        if self.size == 1:
            return list(mine)
        hands: list[Sequence[_Item]] = [()] * self.size
        dist.all_gather_object(hands, mine)
        rounds = zip_longest(*hands, fillvalue=None)
        return [item for items in rounds for item in items if item is not None]

    def wait(self) -> None:
        """Until all processes are here."""
        if self.size > 1:
            dist.barrier()

    def backward(self, loss: Loss | None, model: nn.Module) -> Tensor:
        """Leaves the gradient of the whole batch's mean loss in every process, and returns that loss.

        Args:
            loss: of this process's part; None where it has none.
            model: whose parameters get the gradient.
        """
        if loss is None:
            loss = Loss(*torch.zeros(2, device=next(model.parameters()).device))
        mean = loss.sum / self.sum(loss.count).clamp(min=1)
        if mean.requires_grad:
            mean.backward()  # type: ignore[no-untyped-call]
        if self.size > 1:
            parameters = list(model.parameters())
            flat = torch.cat([(p.new_zeros(p.shape) if p.grad is None else p.grad).flatten() for p in parameters])
            dist.all_reduce(flat)
            for parameter, gradient in zip(parameters, torch.split(flat, [p.numel() for p in parameters]), strict=True):
                parameter.grad = gradient.view_as(parameter)
        return self.sum(mean.detach())


ALONE = Processes()


def _leave() -> None:
    """Ends the threads of the group: one that still lets go of a tensor while Python ends would abort the process."""
    dist.destroy_process_group()
    gc.collect()


def own_device(device: torch.device) -> torch.device:
    """The GPU of this process, where torchrun started several on a machine."""
    if device == torch.device("cuda") and _started_by_torchrun():  # no number was named
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    return device


def is_first() -> bool:
    """Whether this process reports: it is alone, or the first of those that torchrun started."""
    return not _started_by_torchrun() or os.environ.get("RANK") == "0"


def _started_by_torchrun() -> bool:
    return "TORCHELASTIC_RUN_ID" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1
