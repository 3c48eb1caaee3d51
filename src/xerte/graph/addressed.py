"""Reading numbers at an address, for compiled loops over the columns of many tails.

A loop that took arrays out of a tuple by number would count their holders each time, which costs more than to read.
"""

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic


def _load(kind: Any) -> Any:
    """Code that reads a place of an array of this kind, which starts at an address."""

    def says(_: Any, address: Any, place: Any) -> Any:
        def code(__: Any, builder: Any, ___: Any, arguments: Any) -> Any:
            start = builder.inttoptr(arguments[0], ir.IntType(kind.bitwidth).as_pointer())
            return builder.load(builder.gep(start, [arguments[1]]))

        return kind(address, place), code

    return says


def _ones(_: Any, number: Any) -> Any:
    """Code that counts the bits that are set in a 64-bit number."""

    def code(__: Any, builder: Any, ___: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(number), code


int32_at: Any = intrinsic(_load(types.int32))
int64_at: Any = intrinsic(_load(types.int64))
ones: Any = intrinsic(_ones)


@njit(inline="always")
def counted(address, value):
    """As `counting.Bits.find` of one value, of a table that starts at an address."""
    row, bit = (value >> 6) << 1, value & 63
    word = int64_at(address, row)
    return int64_at(address, row + 1) + ones(word & ((1 << bit) - 1)), (word >> bit) & 1 != 0


@njit(inline="always")
def below(address, low, high, value):
    """The first place in [low, high) whose 64-bit number is not below the value, or high."""
    while low < high:
        middle = (low + high) >> 1
        if int64_at(address, middle) < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(inline="always")
def onward(address, low, high, value):
    """As `below`, sooner where it is near `low`."""
    end, step = low, 1
    while end < high and int64_at(address, end) < value:
        low = end + 1
        end += step
        step <<= 1
    return below(address, low, min(end, high), value)
