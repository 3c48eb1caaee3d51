"""The witness: one question's finished inference graph, read for one answer, in names and dates."""

from collections.abc import Collection, Iterator
from functools import cached_property
from typing import NamedTuple

import torch

from xerte.explanation.named import Dismissed, Edge, Graph, Node
from xerte.explanation.paths import best_paths
from xerte.explanation.telling import Telling
from xerte.graph.evidence import edge_shares
from xerte.graph.inference_graph import InferenceGraph


class Chain(NamedTuple):
    """A path in numbers.

    Attributes:
        facts: from the answer back to the question's entity; in an inference graph that is earliest first.
        share: of the answer's score.
        hops: (source, target, fact): the edges of the graph that it ran over, if it came from one.
    """

    facts: tuple[int, ...]
    share: float
    hops: frozenset[tuple[int, int, int]] = frozenset()


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
        telling: facts in words.
    """

    def __init__(self, graph: InferenceGraph, query: int, answer: int, telling: Telling) -> None:
        self._graph, self._query, self._answer, self._telling = graph, query, answer, telling
        self._entity: list[int] = graph.nodes.entity.tolist()
        self._time: list[int] = graph.nodes.time.tolist()

    @cached_property
    def _carried(self) -> set[int]:
        """The facts that carried some of the score."""
        return {edge.fact for edge in self._seen if edge.share > 0}

    @cached_property
    def _seen(self) -> list[Seen]:
        """Every edge of the question, step by step."""
        return list(_seen(self._graph, self._query, self._answer))

    def chains(self, most: int | None) -> Iterator[Chain]:
        """The best paths, best first, with the edges they ran over."""
        for path in best_paths(self._graph, self._query, self._answer, most).paths:
            hops = [(hop.source, hop.target, hop.fact) for hop in path.hops]
            yield Chain(tuple(hop.fact for hop in reversed(path.hops)), path.share, frozenset(hops))

    def edges(self, hops: Collection[tuple[int, int, int]]) -> list[int]:
        """The rows of the whole graph's edges that are such hops."""
        return [row for row, edge in enumerate(self._seen) if (edge.source, edge.target, edge.fact) in hops]

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
            subject, relation, object, time = (None,) * 4 if edge.fact < 0 else self._telling.names(edge.fact)
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
                    sentence="" if edge.fact < 0 else self._telling.sentence(edge.fact),
                )
            )
        return Graph(tuple(found), tuple(edges))

    def dismissed(self) -> tuple[Dismissed, ...]:
        """Facts that were seen and carried nothing to the answer, by what they contributed, most first."""
        largest: dict[int, Seen] = {}
        for edge in self._seen:
            if edge.fact < 0 or edge.fact in self._carried:
                continue
            if edge.fact not in largest or edge.contribution > largest[edge.fact].contribution:
                largest[edge.fact] = edge
        order = sorted(largest.values(), key=lambda edge: (-edge.contribution, edge.fact))
        names, sentence = self._telling.names, self._telling.sentence
        return tuple(
            Dismissed(*names(edge.fact), sentence(edge.fact), edge.step, edge.contribution, edge.target < 0)
            for edge in order
        )

    def _node(self, id: int, place: tuple[int, int], step: int, attention: tuple[float, ...], kept: bool) -> Node:
        entity, time = place
        telling = self._telling
        return Node(id, telling.dataset.entities[entity], telling.date(time), step, attention, kept)


def _seen(graph: InferenceGraph, query: int, answer: int) -> Iterator[Seen]:
    """Every edge of the question, by step, with its share of the answer's score."""
    for number, (step, share) in enumerate(zip(graph.steps, edge_shares(graph, query, answer), strict=True), start=1):
        mine = torch.nonzero(graph.nodes.query.index_select(0, step.source) == query)[:, 0]
        ids = (step.source, step.target, step.relation, step.entity, step.time, step.fact)
        numbers = (step.attention, step.contribution, step.kept, share)
        columns = [column.index_select(0, mine).tolist() for column in (*ids, *numbers)]
        yield from (Seen._make((*row, number)) for row in zip(*columns, strict=True))
