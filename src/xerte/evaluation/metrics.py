"""What the ranks say: MRR, Hits@k and mean rank, for all questions or for some."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xerte.evaluation.bootstrap import Interval, resampled_means
from xerte.evaluation.protocol import Protocol
from xerte.evaluation.ranks import Ranks
from xerte.types import FilterType, Precision, TieType

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Metrics:
    """Means over questions: reciprocal rank and hits in percent, the rank as it is."""

    mrr: float
    hits_1: float
    hits_3: float
    hits_10: float
    mean_rank: float
    queries: int

    @staticmethod
    def of(rank: npt.NDArray[np.float64]) -> "Metrics":
        """MRR = mean of 1 / rank; Hits@k = share of ranks ≤ k. Not a number where nothing was asked."""
        if not len(rank):
            nothing = float("nan")
            return Metrics(nothing, nothing, nothing, nothing, nothing, 0)
        hits_1, hits_3, hits_10 = (100 * float((rank <= k).mean()) for k in (1, 3, 10))
        return Metrics(100 * float((1 / rank).mean()), hits_1, hits_3, hits_10, float(rank.mean()), len(rank))

    def to_json(self) -> dict[str, float | int]:
        """A plain dictionary with the names people use: mrr, hits@1, …"""
        return {name.replace("hits_", "hits@"): value for name, value in asdict(self).items()}


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Every question of a split and how it went. Row 2i asks for the object of fact i, row 2i + 1 for its subject.

    Attributes:
        forecaster: the name of the judged.
        protocol: under which these ranks hold.
        fact: the dataset's row of the fact in question.
        relation: as asked, a reciprocal (≥ R) where the subject is wanted.
        answer: the right entity.
        reached: whether the forecaster scored it at all.
        seen: whether training facts name both entities of the fact.
        recurring: whether the same triple happened before; otherwise it is new.
        ranks: for each filter.
        seconds: how long forecasting and judging took.
        graph_nodes: how many nodes the inference graph had, where there is one.
        precision: of the forecaster's matrix products.
    """

    forecaster: str
    protocol: Protocol
    fact: Ints
    relation: Ints
    answer: Ints
    reached: Mask
    seen: Mask
    recurring: Mask
    ranks: Mapping[FilterType, Ranks]
    seconds: float
    graph_nodes: Ints | None = None
    precision: Precision = Precision.FLOAT32

    def __len__(self) -> int:
        return len(self.fact)

    def __repr__(self) -> str:
        of = self.protocol
        return f"<Evaluation of {self.forecaster} on {of.dataset}, {of.split.value}: {len(self):,} questions>"

    @property
    def subject_wanted(self) -> Mask:
        """Whether the question asks for the fact's subject rather than its object."""
        wanted: Mask = np.arange(len(self)) % 2 == 1
        return wanted

    def rank(self, filter: FilterType = FilterType.TIME_AWARE, ties: TieType | None = None) -> npt.NDArray[np.float64]:
        """The rank of every answer; ties as the protocol says by default."""
        ranks: npt.NDArray[np.float64] = self.ranks[filter].of(ties or self.protocol.ties).numpy()
        return ranks

    def metrics(
        self, filter: FilterType = FilterType.TIME_AWARE, mask: Mask | None = None, ties: TieType | None = None
    ) -> Metrics:
        """The metrics over all questions, or over those of a mask."""
        rank = self.rank(filter, ties)
        return Metrics.of(rank if mask is None else rank[mask])

    def groups(self) -> dict[str, Mask]:
        """The questions by kind: entities seen in training or not, triples that recur or are new, side asked for."""
        wanted = self.subject_wanted
        return {
            "seen": self.seen,
            "unseen": ~self.seen,
            "recurring": self.recurring,
            "new": ~self.recurring,
            "object wanted": ~wanted,
            "subject wanted": wanted,
        }

    def by_relation(self, filter: FilterType = FilterType.TIME_AWARE) -> dict[int, Metrics]:
        """The metrics of every relation asked about, by its id; reciprocals count apart."""
        rank = self.rank(filter)
        order = np.argsort(self.relation, kind="stable")
        relations, start = np.unique(self.relation[order], return_index=True)
        parts = np.split(rank[order], start[1:])
        return {int(relation): Metrics.of(part) for relation, part in zip(relations, parts, strict=True)}

    def by_graph_size(self, filter: FilterType, mask: Mask, parts: int = 8) -> list[dict[str, float | int]]:
        """The metrics of the mask's questions by the size of their graphs: equal parts, smallest graphs first."""
        if self.graph_nodes is None or not mask.any():
            return []
        nodes, rank = self.graph_nodes[mask], self.rank(filter)[mask]
        bounds = np.unique(np.quantile(nodes, np.linspace(0, 1, parts + 1)[1:], method="higher"))
        part = np.searchsorted(bounds, nodes)
        return [
            {"nodes from": int(nodes[part == i].min()), "nodes to": int(nodes[part == i].max())}
            | Metrics.of(rank[part == i]).to_json()
            for i in range(len(bounds))
        ]

    def interval(
        self,
        filter: FilterType = FilterType.TIME_AWARE,
        mask: Mask | None = None,
        level: float = 0.95,
        resamples: int = 1000,
        seed: int = 0,
    ) -> Interval:
        """The percentile bootstrap interval of the MRR in percent, facts being resampled."""
        value, fact = 100 / self.rank(filter), self.fact
        if mask is not None:
            value, fact = value[mask], fact[mask]
        return Interval.of(resampled_means(value, fact, resamples, seed), level)

    def to_json(self) -> dict[str, Any]:
        """All of it but the single questions, as a plain dictionary. Groups nobody asked about are left out."""
        groups = {name: self.metrics(mask=mask) for name, mask in self.groups().items()}
        return {
            "model": self.forecaster,
            "metrics": {filter.value: self.metrics(filter).to_json() for filter in self.protocol.filters},
            "interval": {FilterType.TIME_AWARE.value: {"mrr": asdict(self.interval())}},
            "ties": {ties.value: self.metrics(ties=ties).to_json() for ties in TieType},
            "groups": {name: metrics.to_json() for name, metrics in groups.items() if metrics.queries},
            "seen, raw": self.metrics(FilterType.RAW, self.seen).to_json() if self.seen.any() else {},
            "seen, raw, by graph size": self.by_graph_size(FilterType.RAW, self.seen),
            "reached": 100 * float(self.reached.mean()),
            "precision": self.precision.value,
            "protocol": self.protocol.to_json(),
            "queries": len(self),
            "seconds": self.seconds,
        }
