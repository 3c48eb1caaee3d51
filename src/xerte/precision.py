"""How exactly matrices are multiplied."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch import Tensor

from xerte.errors import InputError
from xerte.types import Precision


def wide(product: Tensor) -> Tensor:
    """A product's outcome as float32, or as it is where it is wider."""
    return product if product.dtype.itemsize >= torch.float32.itemsize else product.float()


def now(device: torch.device) -> tuple[object, ...]:
    """How matrices are multiplied on this device now: what was made of them otherwise is not kept."""
    rounded = torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else None
    return rounded, *(switch.fp32_precision == "tf32" for switch in _switches(device))


@contextmanager
def products(precision: Precision, device: torch.device) -> Iterator[None]:
    """Multiplies matrices so on this device, recurrent layers included, for as long as it lasts.

    Torch's switches for a GPU are the whole process's: one thread at a time may use it with a precision of its own.

    Raises:
        InputError: the device does not know the precision, or cannot use it on this machine.
    """
    if precision is Precision.TF32 and device.type != "cuda":
        raise InputError(f"tf32 needs a GPU, and this device is {device.type}: choose float32 or bf16")
    if precision is Precision.BF16 and device.type == "cpu":
        _check_bf16()
    switches = _switches(device)
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


def _switches(device: torch.device) -> tuple[Any, ...]:
    """Those of torch for matrices and for recurrent layers; elsewhere than on a GPU there are none."""
    return (torch.backends.cuda.matmul, torch.backends.cudnn.rnn) if device.type == "cuda" else ()


_PRODUCT = "import torch; a = torch.ones(64, 64, dtype=torch.bfloat16); a @ a; a[:, :57] @ a[:57]"


@cache
def _check_bf16() -> None:
    """Tries products in another process: some virtual machines announce matrix units (AMX) and end who uses them.

    Raises:
        InputError: the processor refuses.
    """
    tried = subprocess.run([sys.executable, "-c", _PRODUCT], capture_output=True, check=False)  # noqa: S603
    if tried.returncode:
        remedy = "choose float32, or set ONEDNN_MAX_CPU_ISA=AVX10_1_512 to do without its matrix units"
        raise InputError(f"this processor cannot multiply in bf16: {remedy}")
