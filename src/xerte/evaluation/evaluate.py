"""The way through a split: ask, judge, go on, in time order."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

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
    every: int = 1,
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
        every: ask about the first of every so many facts only, for a quick verdict.

    Raises:
        InputError: the split is empty, or the device does not know the precision.
        XerteError: the forecaster's scores cannot be ranked.
    """
    started = time.perf_counter()
    judge = Judge(forecaster, dataset, split, history, precision, known_before, every)
    judged: list[Judged] = []
    done = 0
    size = batch_size or batch_size_for(dataset, judge.history.device)
    for part in _in_batches(judge, size, shrink=batch_size is None):
        judged.append(part)
        done += len(part.reached)
        if progress is not None:
            progress(done, len(judge))
    return judge.verdict(judged, time.perf_counter() - started)


@dataclass(frozen=True)
class Judged:
    """The verdict on some questions, in their order.

    Attributes:
        ranks: under every filter of the protocol.
        reached: whether the answer was; bool [Q].
        graph_nodes: sizes of the inference graphs where there are any; int64 [Q].
    """

    ranks: list[Ranks]
    reached: Tensor
    graph_nodes: Tensor | None


class Judge:
    """Two questions about every fact of a split, and what becomes of them.

    Any rows can be judged anywhere and in any order: the verdict needs all of them in order.

    Args: as of `evaluate`.
    """

    def __init__(
        self,
        forecaster: Forecaster,
        dataset: Dataset,
        split: Split,
        history: TemporalIndex | None = None,
        precision: Precision = Precision.FLOAT32,
        known_before: int | None = None,
        every: int = 1,
    ) -> None:
        self._every = every
        queries, answer = both_directions(dataset.split(split)[::every])
        if not len(queries):
            raise InputError(f"the {split} split of {dataset.name} holds no facts: there is nothing to evaluate")
        if history is None:
            history = TemporalIndex.build(dataset.facts, dataset.num_entities, dataset.num_relations)
        self.forecaster, self.dataset, self.split, self.history = forecaster, dataset, split, history
        self.precision = precision
        self._protocol, self._truth = Protocol.of(dataset, split), _Truth.of(dataset, history)
        self._queries, self._answer = queries.to(history.device), answer.to(history.device)
        if known_before is not None:
            self._queries = replace(self._queries, known_before=self._queries.time.clamp(max=known_before))

    def __len__(self) -> int:
        """Questions in all."""
        return len(self._answer)

    def __call__(self, rows: slice | Tensor) -> Judged:
        """Asks these questions and ranks their answers."""
        batch, goal = self._queries[rows], self._answer[rows]
        with torch.no_grad():
            scores = ask(self.forecaster, self.history, batch, self.precision)
            _check(self.forecaster.name, scores, (len(batch), self.dataset.num_entities))
            others = [self._truth.filters.others(filter, batch, goal) for filter in self._protocol.filters]
            ranks = rank(scores, goal, others)
            reached = scores.reached.gather(1, goal[:, None])[:, 0]
        # A recorded pass may have grown more graphs than there are questions.
        nodes = None if scores.growth is None else scores.growth.slots.counts()[: len(batch)]
        return Judged(ranks, reached, nodes)

    def verdict(self, judged: Sequence[Judged], seconds: float) -> Evaluation:
        """The evaluation, from the parts of all questions in their order."""
        columns = zip(self._protocol.filters, zip(*(part.ranks for part in judged), strict=True), strict=True)
        graph_nodes = [part.graph_nodes for part in judged if part.graph_nodes is not None]
        first, seen = self.dataset.rows(self.split).start, self.dataset.seen_in_train()
        asked = self._queries.subject, self._queries.relation, self._answer
        subject, relation, object = (column.numpy(force=True) for column in asked)
        return Evaluation(
            forecaster=self.forecaster.name,
            protocol=self._protocol,
            fact=first + np.arange(len(self), dtype=np.int64) // 2 * self._every,
            relation=relation,
            answer=object,
            reached=torch.cat([part.reached for part in judged]).numpy(force=True),
            seen=seen[subject] & seen[object],
            recurring=np.repeat(self._truth.happened_before[self.dataset.rows(self.split)][:: self._every], 2),
            ranks={filter: _joined(ranks) for filter, ranks in columns},
            seconds=seconds,
            graph_nodes=torch.cat(graph_nodes).numpy(force=True) if graph_nodes else None,
            precision=self.precision,
        )


def _in_batches(judge: Judge, size: int, shrink: bool) -> Iterator[Judged]:
    """Judges all questions in order: on a CPU a batch per core at once, elsewhere one after the other.

    A core to itself finishes a batch sooner than two that meet after every small operation. Where memory runs out on an
    accelerator, batches become smaller if they may.
    """
    threads, count, device = torch.get_num_threads(), len(judge), judge.history.device
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
    """Refuses what cannot be ranked."""
    for tensor in (scores.scores, scores.reached):
        if tensor.shape != shape:
            raise XerteError(f"{name} returned {tuple(tensor.shape)} scores where {shape} were asked for")


@dataclass(frozen=True)
class _Truth:
    """What is true of a dataset, whatever is asked: the other answers, and what happened before."""

    facts: Facts
    filters: Filters
    happened_before: Mask

    @staticmethod
    def of(dataset: Dataset, history: TemporalIndex) -> "_Truth":
        """From the facts of all splits; a small dataset's is kept as long as the index that is asked."""
        kept = _kept.get(history)
        if kept is not None and kept.facts is dataset.facts:
            return kept
        truth = _Truth(dataset.facts, Filters.of(dataset, history.device), _happened_before(dataset))
        if len(dataset.facts) <= _SMALL:
            _kept[history] = truth
        return truth


_SMALL = 1 << 22
_kept: WeakKeyDictionary[TemporalIndex, _Truth] = WeakKeyDictionary()


def _happened_before(dataset: Dataset) -> Mask:
    """Whether the same (subject, relation, object) is in the dataset at an earlier time; of every fact."""
    subject, relation, object, _ = (column.astype(np.int64) for column in dataset.facts.columns())
    known, place = np.unique(
        (subject * dataset.num_relations + relation) * dataset.num_entities + object, return_inverse=True
    )
    earliest = np.full(len(known), np.iinfo(np.int32).max, np.int32)
    np.minimum.at(earliest, place, dataset.facts.time)
    before: Mask = earliest[place] < dataset.facts.time
    return before
