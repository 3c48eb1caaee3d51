"""Noise that is a function of content: the same draw for the same (seed, query, node, edge), whatever else is asked.

Sampling has no random state. Every random number is a hash of what it is drawn for, so a forecast is the same alone,
in any batch and on any device. Integer arithmetic wraps around at 64 bits on CPU and GPU alike.
"""

import torch
from torch import Tensor

from xerte import kernels

_GOLDEN = -7046029254386353131  # 2^64 / golden ratio, the odd step of splitmix64, as a signed number
_STRIDE = 0x19E3779B97F  # its upper bits, odd
_ONE, _BELOW_ONE = 0x3FF0000000000000, 1 - 2.0**-53  # the bits of 1.0 as float64
_BLOCK = 512
_MIX_1, _MIX_2 = -4658895280553007687, -7723592293110705685  # the multipliers of splitmix64's finaliser


def _shift(x: Tensor, bits: int) -> Tensor:
    """x >>> bits: a shift that fills with zeros."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def mix(x: Tensor) -> Tensor:
    """A bijection of int64 in which every bit of x moves every bit of the result (splitmix64's finaliser)."""
    x = (x ^ _shift(x, 30)) * _MIX_1
    x = (x ^ _shift(x, 27)) * _MIX_2
    return x ^ _shift(x, 31)


def combine(*parts: Tensor | int) -> Tensor:
    """One int64 hash of several integers, in their order; tensors broadcast."""
    device = next((part.device for part in parts if isinstance(part, Tensor)), torch.device("cpu"))
    state = torch.zeros((), dtype=torch.int64, device=device)
    for part in parts:
        state = extend(state, part)
    return state


def extend(state: Tensor, part: Tensor | int) -> Tensor:
    """The hash of what a hash stands for and of one integer more."""
    if isinstance(part, Tensor) and _fits_kernel(state, part):
        return extend_by_kernel(state, part)
    term = part * _GOLDEN + 1
    return mix(state * 3 + (term if isinstance(term, Tensor) else _wrapped(term)))


def _fits_kernel(state: Tensor, part: Tensor) -> bool:
    alike = part.dtype is state.dtype is torch.int64 and part.device == state.device
    return alike and max(part.ndim, state.ndim) <= 2 and kernels.can_run(part.device)


def extend_by_kernel(state: Tensor, part: Tensor) -> Tensor:
    """`extend` in one launch; of tensors with at most two dimensions."""
    from xerte.graph import noise_kernels

    shape = torch.broadcast_shapes(state.shape, part.shape)  # type: ignore[no-untyped-call]
    out = torch.empty(shape, dtype=torch.int64, device=part.device)
    rows = (1,) * (2 - len(shape)) + tuple(shape)
    state, part = state.broadcast_to(rows), part.broadcast_to(rows)
    strides = (*state.stride(), *part.stride())
    if out.numel():
        with torch.cuda.device_of(out):  # type: ignore[no-untyped-call]
            grid = (-(-out.numel() // _BLOCK),)
            noise_kernels.extend[grid](state, part, out, out.numel(), rows[1], *strides, BLOCK=_BLOCK)
    return out


def hashed(state: Tensor, number: Tensor | int) -> Tensor:
    """The number-th hash, below 2²¹, that follows from a state which is a hash already (a sequence like splitmix64's).

    Products of numbers and the stride stay below 2⁶³: compilers that fold them count without end.
    """
    return mix(state + number * _STRIDE)


def _wrapped(number: int) -> int:
    """A plain number as 64-bit arithmetic would have it."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def uniform(hashed: Tensor) -> Tensor:
    """Hashes as numbers in (0, 1), float64: the top 52 bits become the fraction of a number in [1, 2), centred."""
    return (_shift(hashed, 12) | _ONE).view(torch.float64) - _BELOW_ONE


def exponential(hashed: Tensor) -> Tensor:
    """Hashes as draws of Exp(1), float64."""
    return -torch.log(uniform(hashed))
