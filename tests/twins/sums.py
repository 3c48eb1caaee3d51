"""The sum of parts without its factor, one question at a time in plain loops: what the bench holds `best` against.

Every formula of the model is in `twins.parts`, far too slow for a whole benchmark.
"""

from bisect import bisect_left
from math import exp, inf

import torch

from xerte.graph.index import TemporalIndex
from xerte.parts.model import SumOfParts
from xerte.parts.weighing import Weighing

Edge = tuple[int, int, int]
"""(time, direction, object)."""


class Sums:
    """past(o) + walk(o) of a model over a history, fact by fact."""

    def __init__(self, model: SumOfParts, history: TemporalIndex) -> None:
        self.model, self.history = model, history
        self._edges: dict[int, list[Edge]] = {}
        self.scales = (*model.settings.scales, inf)

    def before(self, entity: int, time: int) -> list[Edge]:
        """Facts of an entity before a time, earliest first."""
        if entity not in self._edges:
            bounds = (self.history.segment_start[entity].item(), self.history.segment_stop[entity].item())
            edges = self.history.edges(torch.arange(*bounds))
            columns = (column.tolist() for column in (edges.time, edges.relation, edges.object))
            self._edges[entity] = list(zip(*columns, strict=True))
        known = self._edges[entity]
        return known[: bisect_left(known, (time,))]

    @torch.no_grad()
    def answer(self, subject: int, asked: int, time: int) -> dict[int, float]:
        """past + walk of every entity that either reaches."""
        model, s = self.model, self.model.settings
        own = self.before(subject, time)[-s.last :]
        found: dict[int, float] = {}
        for (_, _, entity), weight in zip(own, self._weigh(model.past, asked, own, time), strict=True):
            found[entity] = found.get(entity, 0.0) + weight
        if model.walk is None:
            return found
        first, *later = [one for one in model.walk.weighings if isinstance(one, Weighing)]
        leak, gates = (10.0 * model.walk.leak).exp().tolist(), model.walk.gates(torch.tensor([asked]))[0].tolist()
        mass: dict[int, float] = {}
        self._spread(mass, 1.0, own, self._weigh(first, asked, own, time), leak[0])
        for step, weighing in enumerate(later):
            nodes = sorted(mass, key=lambda entity: -mass[entity])[: s.nodes[step]]
            reached: dict[int, float] = {}
            for node in nodes:
                edges = [edge for edge in self._looked_at(node, asked, time) if edge[2] != subject]
                self._spread(reached, mass[node], edges, self._weigh(weighing, asked, edges, time), leak[step + 1])
            for entity, weight in reached.items():
                found[entity] = found.get(entity, 0.0) + gates[step] * weight
            mass = reached
        return found

    def _looked_at(self, entity: int, asked: int, time: int) -> list[Edge]:
        """The latest facts, and the latest of the question's relation."""
        s, known = self.model.settings, self.before(entity, time)
        older = known[: -s.walk_last]
        same = [[edge for edge in older if edge[1] == one] for one in (asked, asked ^ 1)]
        latest = known[-s.walk_last :]
        for edges, one in zip(same, (asked, asked ^ 1), strict=True):
            room = s.walk_same - sum(edge[1] == one for edge in latest)
            latest = latest + edges[len(edges) - max(0, min(room, len(edges))) :]
        return latest

    def _weigh(self, weighing: Weighing, asked: int, edges: list[Edge], time: int) -> list[float]:
        row, unit = weighing.tables().by_pair[asked].tolist(), self.model.ticks_per_unit
        return [
            sum(w * exp((then - time) / unit / scale) for w, scale in zip(row[relation], self.scales, strict=True))
            for then, relation, _ in edges
        ]

    @staticmethod
    def _spread(into: dict[int, float], mass: float, edges: list[Edge], weights: list[float], leak: float) -> None:
        total = sum(weights) + leak
        for (_, _, entity), weight in zip(edges, weights, strict=True):
            into[entity] = into.get(entity, 0.0) + mass * weight / total
