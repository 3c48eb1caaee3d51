"""The latest facts of many nodes, read as one compiled loop on a CPU; `Looked.at` in `parts` says the same in torch.

Of a node whose facts are all among its latest none is looked for by its relation; of any other a search finds the last
of them and the loop reads backwards from there. Everything is a whole number: both ways find the same to the last bit.
"""

from typing import TYPE_CHECKING

import numpy as np
import torch
from numba import njit, types
from torch import Tensor

from xerte.graph.addressed import int32_at

if TYPE_CHECKING:
    from xerte.graph.index import TemporalIndex


def latest(
    history: "TemporalIndex", nodes: tuple[Tensor, ...], relations: tuple[Tensor, ...], last: int, same: int
) -> Tensor:
    """(node, position, relation, object, time) of the facts that `Looked` has, one column each; int64 [5, M].

    Args:
        nodes: the entity of each, before when its facts are known, and to whom they must not lead; int64 [N].
        relations: of older facts that are read, too; one for every node, int64 [N].
        last, same: how many facts of a node at most, and how many older ones of each relation.
    """
    entity, known, subject = (one.numpy() for one in nodes)
    begin, end = (one.numpy() for one in history.bounds(nodes[0]))
    asked = np.stack([one.numpy() for one in relations]) if same else np.empty((0, len(entity)), np.int64)
    out = np.empty((5, len(entity) * (last + same * len(asked))), np.int64)
    memory = history.memory
    size = _facts(memory.columns[0], memory.by_relation, begin, end, known, subject, asked, last, same, out)
    return torch.from_numpy(out[:, :size])


_ONE, _TABLE = types.int64[::1], types.int64[:, ::1]


@njit(inline="always")
def _add(out, size, node, position, object, columns):
    out[0, size], out[1, size], out[2, size] = node, position, int32_at(columns[0], position)
    out[3, size], out[4, size] = object, int32_at(columns[2], position)
    return size + 1


@njit(
    types.int64(_ONE, types.int64, *[types.int64[:]] * 4, _TABLE, types.int64, types.int64, _TABLE),
    nogil=True,
    cache=True,
)
def _facts(columns, by_relation, begin, end, known, subject, asked, last, same, out):
    relation, objects, time = columns[0], columns[1], columns[2]
    latest, size = np.empty(len(begin), np.int64), 0
    for node in range(len(begin)):
        low, high = begin[node], end[node]
        if low < high and int32_at(time, high - 1) < known[node]:  # as at the end of the history
            low = high
        while low < high:
            middle = (low + high) >> 1
            if int32_at(time, middle) < known[node]:
                low = middle + 1
            else:
                high = middle
        latest[node] = max(begin[node], low - last)
        for position in range(latest[node], low):
            object = int32_at(objects, position)
            if object != subject[node]:
                size = _add(out, size, node, position, object, columns)
    for which in range(len(asked)):
        for node in range(len(begin)):
            low, high, wanted = begin[node], end[node], asked[which, node]
            if latest[node] == low:
                continue
            while low < high:
                middle = (low + high) >> 1
                position = int32_at(by_relation, middle)
                here = int32_at(relation, position)
                if here < wanted or (here == wanted and int32_at(time, position) < known[node]):
                    low = middle + 1
                else:
                    high = middle
            first, stop = max(begin[node], low - same), low
            while low > first and int32_at(relation, int32_at(by_relation, low - 1)) == wanted:
                low -= 1
            for rank in range(low, stop):
                position = int32_at(by_relation, rank)
                if position >= latest[node]:
                    break
                object = int32_at(objects, position)
                if object != subject[node]:
                    size = _add(out, size, node, position, object, columns)
    return size
