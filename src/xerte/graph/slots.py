"""The nodes of inference graphs while they grow, in slots of a number that the settings fix."""

from dataclasses import dataclass

import torch
from torch import Tensor

from xerte import kernels
from xerte.segment import first_alike
from xerte.types import Bool, Int

_LOW = 0xFFFFFFFF
NOBODY = (1 << 63) - 1
"""The key of an empty slot: larger than that of any node."""


@dataclass(frozen=True)
class Slots:
    """The nodes (entity, time) of growing graphs: a row of slots per query, slot 0 for its query node (e_q, t_q).

    Every step adds as many slots to every query, filled or not, so that nothing is searched across queries and sizes
    follow from the settings alone. A node's *row* among the vectors of all nodes is slot · Q + query: slots are only
    ever added, so it stays.

    Attributes:
        key: int64 [Q, V], (entity << 32) | (t_q - t), ages being below 2³²; a node is its key. `NOBODY` where empty.
        query_time: [Q]; what is known at the query node is before it.
        ordered, order: the keys of every query sorted, and whose they are.
    """

    key: Int[Tensor, "Q V"]
    query_time: Int[Tensor, "Q"]
    ordered: Int[Tensor, "Q V"]
    order: Int[Tensor, "Q V"]

    @staticmethod
    def of(key: Int[Tensor, "Q V"], query_time: Int[Tensor, "Q"]) -> "Slots":
        """Slots with these keys."""
        ordered, order = torch.sort(key, dim=1)
        return Slots(key, query_time, ordered, order)

    @staticmethod
    def of_queries(subject: Int[Tensor, "Q"], time: Int[Tensor, "Q"]) -> "Slots":
        """The query nodes v_q = (e_q, t_q)."""
        return Slots.of((subject << 32)[:, None], time)

    def keys(self, entity: Int[Tensor, "Q n"], time: Int[Tensor, "Q n"]) -> Int[Tensor, "Q n"]:
        """The keys that nodes would have; [Q, n] -> [Q, n]."""
        return (entity << 32) | (self.query_time[:, None] - time)

    def at(self, slot: Int[Tensor, "Q n"]) -> tuple[Int[Tensor, "Q n"], Int[Tensor, "Q n"]]:
        """(entity, time) of the nodes in these slots; [Q, n] -> [Q, n] each. Of an empty slot, nonsense."""
        key = self.key.gather(1, slot)
        return key >> 32, self.query_time[:, None] - (key & _LOW)

    def counts(self) -> Int[Tensor, "Q"]:
        """How many nodes each query has; [Q]."""
        return (self.key != NOBODY).sum(1)

    def rows(self, slot: Int[Tensor, "Q n"]) -> Int[Tensor, "Q n"]:
        """The rows of nodes among all nodes' vectors; [Q, n] -> [Q, n]."""
        num_queries = len(self.key)
        return torch.add(torch.arange(num_queries, device=slot.device)[:, None], slot, alpha=num_queries)

    def find(self, key: Int[Tensor, "Q n"]) -> Int[Tensor, "Q n"]:
        """The slot of every key, or -1 where its query has no such node; [Q, n] -> [Q, n]."""
        if key.device.type == "cpu" and (loops := kernels.compiled("graph.slots_compiled")) is not None:
            found: Tensor = loops.find(self.ordered, self.order, key)
            return found
        place = torch.searchsorted(self.ordered, key).clamp(max=self.ordered.shape[1] - 1)
        there = (self.ordered.gather(1, place) == key) & (key != NOBODY)
        return torch.where(there, self.order.gather(1, place), -1)

    def join(
        self, key: Int[Tensor, "Q n"], found: Int[Tensor, "Q n"]
    ) -> tuple["Slots", Int[Tensor, "Q n"], Bool[Tensor, "Q n"]]:
        """Adds a slot for each of these keys [Q, n], filled where it names a node that is not there yet.

        Args:
            key: of nodes, or `NOBODY`.
            found: the slot of every key, as `find` gives it.

        Returns:
            The slots; the slot of every key; and whether a key is the first in its row to name its node.
        """
        loops = None if key.is_cuda or key.shape[1] > 256 else kernels.compiled("graph.slots_compiled")
        first: Tensor = (first_alike if loops is None else loops.first_alike)(key)
        own = torch.arange(key.shape[1], device=key.device)
        is_first = (first == own) & (key != NOBODY)
        joined = torch.where(is_first & (found < 0), key, NOBODY)
        slot = torch.where(found >= 0, found, self.key.shape[1] + first)
        return Slots.of(torch.cat([self.key, joined], dim=1), self.query_time), slot, is_first


@dataclass(frozen=True)
class Frontier:
    """The attended nodes: those whose prior edges are sampled next.

    Attributes:
        slots: the nodes of the graphs so far.
        slot: int64 [Q, A]; the slot of every attended node, and of an empty place one that holds nobody.
        mask: bool [Q, A]; whether the place holds a node.
    """

    slots: Slots
    slot: Int[Tensor, "Q A"]
    mask: Bool[Tensor, "Q A"]

    @staticmethod
    def of_queries(subject: Int[Tensor, "Q"], time: Int[Tensor, "Q"]) -> "Frontier":
        """The query nodes v_q = (e_q, t_q)."""
        slots = Slots.of_queries(subject, time)
        return Frontier(slots, torch.zeros_like(slots.key), torch.ones_like(slots.key, dtype=torch.bool))

    @property
    def row(self) -> Int[Tensor, "Q A"]:
        """The rows [Q, A] of the attended nodes among all nodes' vectors."""
        return self.slots.rows(self.slot)

    @property
    def key(self) -> Int[Tensor, "Q A"]:
        """The keys [Q, A] of the attended nodes."""
        return self.slots.key.gather(1, self.slot)

    def nodes(self) -> tuple[Int[Tensor, "Q A"], Int[Tensor, "Q A"]]:
        """(entity, time) of the attended nodes; [Q, A] each, 0 where there is none."""
        entity, time = self.slots.at(self.slot)
        return torch.where(self.mask, entity, 0), torch.where(self.mask, time, 0)

    def join(self, key: Int[Tensor, "Q K"], found: Int[Tensor, "Q K"]) -> tuple["Frontier", Int[Tensor, "Q K"]]:
        """The next frontier: the targets of kept edges, which join the graphs where they are new.

        Only the first edge to a node makes it attended; the places of the others stay empty.

        Args:
            key, found: [Q, K], as `Slots.join` takes them.

        Returns:
            The frontier, and the slot [Q, K] of every edge's target.
        """
        slots, target, is_first = self.slots.join(key, found)
        own = self.slots.key.shape[1] + torch.arange(key.shape[1], device=key.device)
        return Frontier(slots, torch.where(is_first, target, own), is_first), target
