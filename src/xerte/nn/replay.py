"""Forward passes without host decisions: recorded once as CUDA graphs, then replayed as one launch each.

A pass of a thousand small kernels is bound by their launches: one question takes as long as a thousand. As in training
(`training/replay.py`), a graph of them costs one launch; its sizes are fixed, so batches are padded.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")
Columns = tuple[Tensor, ...]

LARGEST = 2048
"""Rows of the largest batch that is recorded: larger ones keep a GPU busy without."""
_AGAIN = 2
"""A size is recorded when it is asked for so often: a recording costs as much as some passes."""


class Replays:
    """The recorded passes of one model, by the size of the batch, as long as all they read stays the same.

    A copy of a model starts without any.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget(())

    def __reduce__(self) -> tuple[type["Replays"], tuple[()]]:
        return Replays, ()

    def __call__(self, run: Callable[[Columns], T], columns: Columns, *read: object) -> T | None:
        """What `run` makes of the columns, padded to a power of two, in memory of its own; None: run it yourself.

        Args:
            run: a pass with no size that depends on the content; it returns tensors in tuples and dataclasses.
            columns: [Q] each, Q > 0.
            read: what else the pass reads, each the same object as long as it does not change.
        """
        count = len(columns[0])
        size = 1 << (count - 1).bit_length()
        if size > LARGEST:
            return None
        with self._lock:
            if len(read) != len(self._read) or any(now is not then for now, then in zip(read, self._read, strict=True)):
                self._forget(read)
            self._asked[size] += 1
            if size not in self._passes:
                if self._asked[size] < _AGAIN:
                    return None
                self._passes[size] = _Pass(run, columns, size)
            made: T = self._passes[size](columns)
            return made

    def _forget(self, read: tuple[object, ...]) -> None:
        self._read, self._asked, self._passes = read, Counter[int](), dict[int, _Pass]()


class _Pass:
    """One pass over a batch of fixed size, as a CUDA graph; rows behind a smaller batch are those of one before.

    The next replay writes over what this one made, so it must be copied. All tensors of a type are recorded as one,
    which is copied at once and handed out in pieces.
    """

    def __init__(self, run: Callable[[Columns], Any], columns: Columns, size: int) -> None:
        row = torch.arange(size, device=columns[0].device).clamp_(max=len(columns[0]) - 1)
        self._columns = tuple(column.index_select(0, row) for column in columns)
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):  # libraries set themselves up before anything is recorded
            for _ in range(2):
                run(self._columns)
        torch.cuda.current_stream().wait_stream(aside)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, stream=aside, capture_error_mode="thread_local"):
            self._made = run(self._columns)
            self._joined = joined(self._made)

    def __call__(self, columns: Columns) -> Any:
        for place, column in zip(self._columns, columns, strict=True):
            place[: len(column)].copy_(column)
        self._graph.replay()
        return split(self._made, {dtype: tensor.clone() for dtype, tensor in self._joined.items()})


def joined(made: Any) -> dict[torch.dtype, Tensor]:
    """All tensors in tuples and dataclasses, one behind the other by type; [n] each."""
    by_type: dict[torch.dtype, list[Tensor]] = {}
    for tensor in _tensors(made):
        by_type.setdefault(tensor.dtype, []).append(tensor.flatten())
    return {dtype: torch.cat(tensors) for dtype, tensors in by_type.items()}


def split(like: Any, whole: dict[torch.dtype, Tensor]) -> Any:
    """What was `joined`, in the form it had."""
    by_type: dict[torch.dtype, list[int]] = {dtype: [] for dtype in whole}
    for tensor in _tensors(like):
        by_type[tensor.dtype].append(tensor.numel())
    return _with(like, {dtype: iter(torch.split(whole[dtype], sizes)) for dtype, sizes in by_type.items()})


def _tensors(made: Any) -> Iterator[Tensor]:
    if isinstance(made, Tensor):
        yield made
    elif isinstance(made, tuple):
        for one in made:
            yield from _tensors(one)
    elif is_dataclass(made):
        for field in fields(made):
            yield from _tensors(getattr(made, field.name))


def _with(made: Any, tensors: dict[torch.dtype, Iterator[Tensor]]) -> Any:
    """The same with other tensors."""
    if isinstance(made, Tensor):
        return next(tensors[made.dtype]).view(made.shape)
    if isinstance(made, tuple):
        return tuple(_with(one, tensors) for one in made)
    if is_dataclass(made) and not isinstance(made, type):
        return replace(made, **{field.name: _with(getattr(made, field.name), tensors) for field in fields(made)})
    return made
