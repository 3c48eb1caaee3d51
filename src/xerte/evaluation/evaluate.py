"""The way through a split: ask, judge, go on, in time order."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.errors import InputError, XerteError
from xerte.evaluation.filters import Filters
from xerte.evaluation.metrics import Evaluation, Mask
from xerte.evaluation.protocol import Protocol, both_directions
from xerte.evaluation.ranks import Ranks, rank
from xerte.forecaster import Forecaster, Scores, ask, batch_size_for
from xerte.graph.index import TemporalIndex
from xerte.types import Precision, Split


def evaluate(
    forecaster: Forecaster,
    dataset: Dataset,
    split: Split = Split.TEST,
    history: TemporalIndex | None = None,
    batch_size: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    precision: Precision = Precision.FLOAT32,
    known_before: int | None = None,
) -> Evaluation:
    """Asks two questions about every fact of a split and ranks the answers.

    Args:
        forecaster: the judged; only its name and its scores are known here.
        dataset: all its facts make the filters and, unless given, the history.
        split: whose facts are asked about.
        history: the dataset's index where it is at hand already; its device is where the judge works.
        batch_size: questions asked at once; never changes a rank.
        progress: called with (questions done, questions in all) after every batch.
        precision: of the forecaster's matrix products.
        known_before: the same for all questions; None: each may read everything before its own time.

    Raises:
        InputError: the split is empty, or the device does not know the precision.
        XerteError: the forecaster's scores cannot be ranked.
    """
    queries, answer = both_directions(dataset.split(split))
    if not len(queries):
        raise InputError(f"the {split} split of {dataset.name} holds no facts: there is nothing to evaluate")
    if history is None:
        history = TemporalIndex.build(dataset.facts, dataset.num_entities, dataset.num_relations)
    started = time.perf_counter()
    protocol, filters = Protocol.of(dataset, split), Filters.of(dataset, history.device)
    queries, answer = queries.to(history.device), answer.to(history.device)
    if known_before is not None:
        queries = replace(queries, known_before=queries.time.clamp(max=known_before))

    def judge(rows: slice) -> _Judged:
        batch, goal = queries[rows], answer[rows]
        with torch.no_grad():
            scores = ask(forecaster, history, batch, precision)
            _check(forecaster.name, scores, (len(batch), dataset.num_entities))
            ranks = rank(scores, goal, [filters.others(filter, batch, goal) for filter in protocol.filters])
            reached = scores.reached.gather(1, goal[:, None])[:, 0]
        return _Judged(ranks, reached, None if scores.growth is None else scores.growth.slots.counts())

    judged: list[_Judged] = []
    done = 0
    size = batch_size or batch_size_for(dataset, history.device)
    for part in _in_batches(judge, len(queries), size, history.device, shrink=batch_size is None):
        judged.append(part)
        done += len(part.reached)
        if progress is not None:
            progress(done, len(queries))
    columns = zip(protocol.filters, zip(*(part.ranks for part in judged), strict=True), strict=True)
    ranks = {filter: _joined(ranks) for filter, ranks in columns}
    graph_nodes = [part.graph_nodes for part in judged if part.graph_nodes is not None]
    first, seen = dataset.rows(split).start, dataset.seen_in_train()
    subject, relation, object = (column.numpy(force=True) for column in (queries.subject, queries.relation, answer))
    return Evaluation(
        forecaster=forecaster.name,
        protocol=protocol,
        fact=first + np.arange(len(queries), dtype=np.int64) // 2,
        relation=relation,
        answer=object,
        reached=torch.cat([part.reached for part in judged]).numpy(force=True),
        seen=seen[subject] & seen[object],
        recurring=np.repeat(_happened_before(dataset, dataset.split(split)), 2),
        ranks=ranks,
        seconds=time.perf_counter() - started,
        graph_nodes=torch.cat(graph_nodes).numpy(force=True) if graph_nodes else None,
        precision=precision,
    )


@dataclass(frozen=True)
class _Judged:
    """The verdict on one batch: ranks under every filter, whether the answer was reached, sizes of graphs if any."""

    ranks: list[Ranks]
    reached: Tensor
    graph_nodes: Tensor | None


def _in_batches(
    judge: Callable[[slice], _Judged], count: int, size: int, device: torch.device, shrink: bool
) -> Iterator[_Judged]:
    """Judges all questions in order: on a CPU a batch per core at once, elsewhere one after the other.

    A core to itself finishes a batch sooner than two that meet after every small operation. Where memory runs out on an
    accelerator, batches become smaller if they may.
    """
    threads = torch.get_num_threads()
    if device.type == "cpu" and threads > 1 and count > size:
        try:
            with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
                yield from pool.map(judge, [slice(start, start + size) for start in range(0, count, size)])
        finally:
            torch.set_num_threads(threads)
        return
    start = 0
    while start < count:
        try:
            part = judge(slice(start, start + size))
        except torch.OutOfMemoryError:
            if size == 1 or not shrink:
                raise
            size //= 2
            continue
        start += len(part.reached)
        yield part


def _joined(parts: tuple[Ranks, ...]) -> Ranks:
    return Ranks(torch.cat([part.best for part in parts]).cpu(), torch.cat([part.worst for part in parts]).cpu())


def _check(name: str, scores: Scores, shape: tuple[int, int]) -> None:
    """Refuses what cannot be ranked: a wrong shape, or a reached candidate whose score is not a number."""
    for tensor in (scores.scores, scores.reached):
        if tensor.shape != shape:
            raise XerteError(f"{name} returned {tuple(tensor.shape)} scores where {shape} were asked for")
    # One cheap sum tells whether any score is NaN (or infinite); only then are they looked at one by one.
    if not bool(scores.scores.sum().isfinite()) and bool((scores.scores.isnan() & scores.reached).any()):
        raise XerteError(f"{name} scored a candidate with NaN: a forecaster must give a number or not reach it")


def _happened_before(dataset: Dataset, asked: Facts) -> Mask:
    """Whether the same (subject, relation, object) is in the dataset at an earlier time."""

    def triple(facts: Facts) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        subject, relation, object, _ = (column.astype(np.int64) for column in facts.columns())
        key: np.ndarray[tuple[int], np.dtype[np.int64]] = subject * dataset.num_relations + relation
        return key * dataset.num_entities + object

    known, place = np.unique(triple(dataset.facts), return_inverse=True)
    earliest = np.full(len(known), np.iinfo(np.int32).max, np.int32)
    np.minimum.at(earliest, place, dataset.facts.time)
    before: Mask = earliest[np.searchsorted(known, triple(asked))] < asked.time
    return before
