"""The witness: one question's finished inference graph, read for one answer, in names and dates."""

from collections.abc import Iterator
from functools import cache, cached_property
from typing import NamedTuple

import torch

from xerte.data.calendar import Tick
from xerte.data.dataset import Dataset
from xerte.explanation.named import Dismissed, Edge, Fact, Graph, Node, Path
from xerte.explanation.paths import best_paths
from xerte.explanation.sentences import Teller, readable, sentence, story, when
from xerte.graph.evidence import edge_shares
from xerte.graph.inference_graph import InferenceGraph

Names = tuple[str, str, str, str]


class Seen(NamedTuple):
    """An edge the model looked at; `target` is -1 where it brought no attention, `fact` where it is a loop."""

    source: int
    target: int
    relation: int
    entity: int
    time: int
    fact: int
    attention: float
    contribution: float
    kept: bool
    share: float
    step: int


class Witness:
    """Tells what carried an answer's score.

    Args:
        graph: what the forward pass left.
        query: the question's place in its batch.
        answer: id of the entity to explain.
        dataset: names and calendar.
        teller: how relations are told.
    """

    def __init__(self, graph: InferenceGraph, query: int, answer: int, dataset: Dataset, teller: Teller) -> None:
        self._graph, self._query, self._answer, self._data, self._teller = graph, query, answer, dataset, teller
        self._entity: list[int] = graph.nodes.entity.tolist()
        self._time: list[int] = graph.nodes.time.tolist()
        self._date = cache(dataset.calendar.format)
        self._heaviest: dict[int, Seen] = {}
        self._share: dict[int, float] = {}
        for edge in _seen(graph, query, answer, carrying=True):
            if edge.fact >= 0:
                self._share[edge.fact] = self._share.get(edge.fact, 0.0) + edge.share
                if edge.fact not in self._heaviest or edge.share > self._heaviest[edge.fact].share:
                    self._heaviest[edge.fact] = edge

    @cached_property
    def _seen(self) -> list[Seen]:
        """Every edge of the question, step by step: a graph shows them, evidence needs only those that carried some."""
        return list(_seen(self._graph, self._query, self._answer))

    def evidence(self) -> tuple[Fact, ...]:
        """Every fact that carried some of the score, heaviest first; told as its heaviest edge came to it."""
        order = sorted(self._share, key=lambda fact: (-self._share[fact], fact))
        told = (self._told(self._heaviest[fact]) for fact in order)
        return tuple(Fact(*names, self._share[fact], text) for fact, (names, text) in zip(order, told, strict=True))

    def paths(self, most: int | None) -> tuple[tuple[Path, ...], float]:
        """The best paths, and the share of all others. A path's facts have the shares they have as evidence."""
        found = best_paths(self._graph, self._query, self._answer, most)
        told = []
        for path in found.paths:
            facts, clauses = [], []
            for hop in reversed(path.hops):
                names = self._names(hop.source, hop.relation, self._entity[hop.target], self._time[hop.target])
                clause, moment = self._clause(hop.relation, names), self._when(names[3])
                facts.append(Fact(*names, self._share[hop.fact], sentence(clause, moment)))
                clauses.append((clause, moment))
            subject = readable(self._data.entities[self._entity[self._query]])
            text = story(clauses) if clauses else f"No fact: the attention stayed with {subject}."
            told.append(Path(tuple(facts), path.share, text))
        return tuple(told), found.rest

    def graph(self, dismissed: bool = False) -> Graph:
        """The question's graph; what was pruned too, where that is asked for."""
        nodes, attention = self._graph.nodes, self._graph.node_attention
        mine = torch.nonzero(nodes.query == self._query)[:, 0]
        joined, values = nodes.step.index_select(0, mine).tolist(), attention.index_select(1, mine).T.tolist()
        places = [(self._entity[row], self._time[row]) for row in mine.tolist()]
        id_of = {place: id for id, place in enumerate(places)}
        found = [
            self._node(id, place, step, tuple(after), True)
            for id, (place, step, after) in enumerate(zip(places, joined, values, strict=True))
        ]
        edges = []
        for edge in self._seen:
            place, kept = (edge.entity, edge.time), edge.kept
            if not kept and not dismissed:
                continue
            if place not in id_of:
                id_of[place] = len(found)
                found.append(self._node(len(found), place, edge.step, (0.0,) * len(attention), False))
            source = id_of[self._entity[edge.source], self._time[edge.source]]
            names, text = (None, "") if edge.fact < 0 else self._told(edge)
            subject, relation, object, time = names or (None, None, None, None)
            edges.append(
                Edge(
                    source=source,
                    target=id_of[place],
                    subject=subject,
                    relation=relation,
                    object=object,
                    time=time,
                    step=edge.step,
                    attention=edge.attention,
                    contribution=edge.contribution,
                    share=edge.share,
                    kept=kept,
                    sentence=text,
                )
            )
        return Graph(tuple(found), tuple(edges))

    def dismissed(self) -> tuple[Dismissed, ...]:
        """Facts that were seen and carried nothing to the answer, by what they contributed, most first."""
        largest: dict[int, Seen] = {}
        for edge in self._seen:
            if edge.fact < 0 or edge.fact in self._share:
                continue
            if edge.fact not in largest or edge.contribution > largest[edge.fact].contribution:
                largest[edge.fact] = edge
        order = sorted(largest.values(), key=lambda edge: (-edge.contribution, edge.fact))
        told = (self._told(edge) for edge in order)
        return tuple(
            Dismissed(*names, text, edge.step, edge.contribution, edge.target < 0)
            for edge, (names, text) in zip(order, told, strict=True)
        )

    def _told(self, edge: Seen) -> tuple[Names, str]:
        names = self._names(edge.source, edge.relation, edge.entity, edge.time)
        return names, sentence(self._clause(edge.relation, names), self._when(names[3]))

    def _node(self, id: int, place: tuple[int, int], step: int, attention: tuple[float, ...], kept: bool) -> Node:
        entity, time = place
        return Node(id, self._data.entities[entity], self._date(time), step, attention, kept)

    def _names(self, source: int, relation: int, entity: int, time: int) -> Names:
        """The fact of an edge in its own direction: (subject, relation, object, time)."""
        data, near, far = self._data, self._entity[source], entity
        if relation >= data.num_relations:
            near, far, relation = far, near, relation - data.num_relations
        return data.entities[near], data.relations[relation], data.entities[far], self._date(time)

    def _clause(self, relation: int, names: Names) -> str:
        return self._teller.clause(*names[:3], from_object=relation >= self._data.num_relations)

    def _when(self, time: str) -> str:
        return when(time, self._data.calendar.tick is not Tick.STEP)


def _seen(graph: InferenceGraph, query: int, answer: int, carrying: bool = False) -> Iterator[Seen]:
    """Every edge of the question, or every one that carried some, by step, with its share of the answer's score."""
    for number, (step, share) in enumerate(zip(graph.steps, edge_shares(graph, query, answer), strict=True), start=1):
        mine = graph.nodes.query.index_select(0, step.source) == query
        mine = torch.nonzero(mine & (share > 0) if carrying else mine)[:, 0]
        ids = (step.source, step.target, step.relation, step.entity, step.time, step.fact)
        numbers = (step.attention, step.contribution, step.kept, share)
        columns = [column.index_select(0, mine).tolist() for column in (*ids, *numbers)]
        yield from (Seen._make((*row, number)) for row in zip(*columns, strict=True))
