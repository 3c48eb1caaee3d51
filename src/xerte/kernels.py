"""Whether kernels can run: they need a GPU and Triton. Every kernel has a plain function beside it."""

from functools import cache
from importlib.util import find_spec

import torch


def can_run(device: torch.device) -> bool:
    """Whether kernels can run on this device."""
    return device.type == "cuda" and _triton()


@cache
def _triton() -> bool:
    return find_spec("triton") is not None
