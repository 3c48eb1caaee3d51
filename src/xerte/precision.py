"""How exactly matrices are multiplied. Everything else, and every number that is kept, is float32."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from xerte.types import Precision


def wide(product: Tensor) -> Tensor:
    """A product's outcome as float32, or as it is where it is wider."""
    return product if product.dtype.itemsize >= torch.float32.itemsize else product.float()


def now(device: torch.device) -> tuple[bool, str]:
    """How matrices are multiplied on this device now: what was made of them otherwise is not kept."""
    return torch.is_autocast_enabled(device.type), torch.backends.cuda.matmul.fp32_precision


@contextmanager
def products(precision: Precision, device: torch.device) -> Iterator[None]:
    """Multiplies matrices so on this device, recurrent layers included, for as long as it lasts."""
    # Where there is no GPU the switches are left alone: several threads may be here at once.
    switches: tuple[Any, ...] = (torch.backends.cuda.matmul, torch.backends.cudnn.rnn) if device.type == "cuda" else ()
    before = [switch.fp32_precision for switch in switches]
    # Casts are not remembered: a recorded step must make them anew, from the weights as they then are.
    cast = torch.autocast(device.type, torch.bfloat16, enabled=precision is Precision.BF16, cache_enabled=False)
    try:
        for switch in switches:
            switch.fp32_precision = "tf32" if precision is Precision.TF32 else "ieee"
        with cast:
            yield
    finally:
        for switch, was in zip(switches, before, strict=True):
            switch.fp32_precision = was
