"""Hashing as Triton kernels: one launch in place of fifteen. `noise.py` says the same in plain torch.

Integers are int64 and wrap around, so that hashes agree bit by bit. Constants stand beside tensors of 64 bits, whose
type they take.
"""

import triton
import triton.language as tl

from xerte.graph import noise

_GOLDEN = tl.constexpr(noise._GOLDEN)
_MIX_1, _MIX_2 = tl.constexpr(noise._MIX_1), tl.constexpr(noise._MIX_2)


@triton.jit
def mix(x):
    """As `noise.mix`."""
    x = (x ^ ((x >> 30) & 0x3FFFFFFFF)) * _MIX_1
    x = (x ^ ((x >> 27) & 0x1FFFFFFFFF)) * _MIX_2
    return x ^ ((x >> 31) & 0x1FFFFFFFF)


@triton.jit
def extend(state, part, out, size, columns, state_row, state_column, part_row, part_column, BLOCK: tl.constexpr):
    """As `noise.extend`: out[i, j] from state[i, j] and part[i, j]; a stride of 0 broadcasts."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there, row, column = place < size, place // columns, place % columns
    hashed = tl.load(state + row * state_row + column * state_column, mask=there, other=0)
    number = tl.load(part + row * part_row + column * part_column, mask=there, other=0)
    tl.store(out + place, mix(hashed * 3 + (number * _GOLDEN + 1)), mask=there)
