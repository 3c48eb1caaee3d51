"""The document a picture is drawn from: one graph, and for every candidate who carried how much of its score."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xerte.explanation.named import Edge, Fact, Graph, Node, PartShare, Path, Reason

FORMAT = "xerte-picture-1"
MOST_CANDIDATES = 10
MOST_PRUNED = 500
"""How many pruned edges a picture holds: those with the largest contributions."""

MOST_WAYS, MOST_WAYS_OF_OTHERS = 600, 150
"""How many ways that no graph led to are drawn to the candidate shown first, and to each of the others."""

Names = tuple[str, str, str, str]


@dataclass(frozen=True)
class Way:
    """Facts that led to a candidate without an inference graph.

    Attributes:
        part: of the model's sum.
        share: of the candidate's score.
        facts: from the question's entity on; or one fact of others about the candidate.
    """

    part: str
    share: float
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Told:
    """A reason and what it is drawn by.

    Attributes:
        reason: in words.
        rows: of the graph's edges that its paths ran over.
        ways: what no graph led to.
    """

    reason: Reason
    rows: tuple[int, ...] = ()
    ways: tuple[Way, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """One whose evidence the picture can show.

    Attributes:
        entity: its name.
        graph: the question's whole graph with this candidate's shares; the same nodes and edges for all candidates.
        paths: its best paths.
        reasons: its paths in few words, each with what it is drawn by.
        rest: the share of all other paths.
        parts: how its score divides among the model's parts.
        rank, score: None where it was not reached.
        weight: (factor, sum of parts, exponent), where the score is factor · sum^exponent.
    """

    entity: str
    graph: Graph
    paths: tuple[Path, ...] = ()
    reasons: tuple[Told, ...] = ()
    rest: float = 0.0
    parts: tuple[PartShare, ...] = ()
    rank: int | None = None
    score: float | None = None
    weight: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class About:
    """What stands around the picture.

    Attributes:
        model: its name.
        answers: the forecast's, as plain values.
        notes: what a reader should know.
        answer: the candidate shown first; the first one unless given.
        verdict: one sentence that says it all.
        dataset: its name.
        known_before: only what happened before was read.
        labels: what names stand for.
        sources: what the dataset's source says of facts beside themselves.
    """

    model: str
    answers: Sequence[dict[str, Any]] = ()
    notes: Sequence[str] = ()
    answer: str | None = None
    verdict: str = ""
    dataset: str = ""
    known_before: str = ""
    labels: Mapping[str, str] | None = None
    sources: Mapping[Names, Mapping[str, str]] | None = None


def document(question: dict[str, str], candidates: Sequence[Candidate], about: About) -> dict[str, Any]:
    """The picture's document, in plain values.

    Columns instead of rows, and names by their place in `names`: a document is a few dozen kilobytes.
    """
    candidates, part_of = _with_ways(question, candidates, about.answer)
    graph = candidates[0].graph if candidates else Graph((_asked(question),))
    rows = _shown(graph)
    nodes = [0, *sorted({end for row in rows for end in (graph.edges[row].source, graph.edges[row].target)} - {0})]
    place = {node: new for new, node in enumerate(nodes)}
    new_row = {row: new for new, row in enumerate(rows)}
    names, facts, fact_of = _Table(), _Table(), []
    for row in rows:
        edge = graph.edges[row]
        fact = tuple(names[name] for name in _names(edge))
        fact_of.append(facts[(*fact, edge.sentence)] if edge.sentence else -1)
    columns = ("subject", "relation", "object", "time", "sentence")
    parts = list(zip(*facts, strict=True)) if len(facts) else [()] * len(columns)
    body: dict[str, Any] = {
        "format": FORMAT,
        "query": question,
        "model": about.model,
        "notes": list(about.notes),
        "answers": list(about.answers),
        "answer": about.answer or (candidates[0].entity if candidates else None),
        "steps": len(graph.nodes[0].attention) - 1,
        "unseen": sum(bool(edge.sentence) for edge in graph.edges) - sum(fact >= 0 for fact in fact_of),
        "pruned": _pruned(graph),
        "nodes": {
            "entity": [names[graph.nodes[node].entity] for node in nodes],
            "time": [names[graph.nodes[node].time] for node in nodes],
            "attention": [[_short(one) for one in graph.nodes[node].attention] for node in nodes],
        },
        "facts": {name: list(column) for name, column in zip(columns, parts, strict=True)},
        "edges": {
            "source": [place[graph.edges[row].source] for row in rows],
            "target": [place[graph.edges[row].target] for row in rows],
            "fact": fact_of,
            "step": [graph.edges[row].step for row in rows],
            "contribution": [_short(graph.edges[row].contribution) for row in rows],
            "kept": [int(graph.edges[row].kept) for row in rows],
            **({"part": [names[part_of.get(row, "graph")] for row in rows]} if part_of else {}),
        },
        "candidates": [_packed(one, rows, new_row) for one in candidates],
    }
    known = {(*(names[name] for name in fact),): found for fact, found in (about.sources or {}).items()}
    sources = {str(row): dict(known[fact[:4]]) for row, fact in enumerate(facts) if fact[:4] in known}
    extra = {
        "verdict": about.verdict,
        "dataset": about.dataset,
        "known_before": about.known_before,
        "labels": dict(about.labels or {}),
        "sources": sources,
    }
    return body | {name: value for name, value in extra.items() if value} | {"names": list(names)}


def _packed(one: Candidate, rows: Sequence[int], new_row: Mapping[int, int]) -> dict[str, Any]:
    carried = [row for row in rows if one.graph.edges[row].share > 0]
    return {
        "entity": one.entity,
        "rank": one.rank,
        "score": one.score,
        "edge": [new_row[row] for row in carried],
        "share": [_short(one.graph.edges[row].share) for row in carried],
        "paths": [{"share": _short(path.share), "sentence": path.sentence} for path in one.paths],
        "reasons": [
            {
                "share": _short(reason.share),
                "sentence": reason.sentence,
                "part": reason.part,
                "times": reason.times,
                "edges": [new_row[row] for row in edges if row in new_row],
            }
            for reason, edges in ((told.reason, told.rows) for told in one.reasons)
        ],
        "rest": _short(one.rest),
        "parts": [{"name": part.name, "share": _short(part.share)} for part in one.parts],
        **({"weight": [_short(value) for value in one.weight]} if one.weight else {}),
    }


class _Table:
    """Values by number, in the order in which they were first asked for."""

    def __init__(self) -> None:
        self._place: dict[Any, int] = {}

    def __getitem__(self, value: Any) -> int:
        return self._place.setdefault(value, len(self._place))

    def __iter__(self) -> Any:
        return iter(self._place)

    def __len__(self) -> int:
        return len(self._place)


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def _shown(graph: Graph) -> list[int]:
    """Rows of the edges that are drawn: all that were kept, and the pruned ones that came nearest to being kept."""
    pruned = [row for row, edge in enumerate(graph.edges) if not edge.kept and edge.sentence]
    pruned.sort(key=lambda row: (-graph.edges[row].contribution, row))
    kept = (row for row, edge in enumerate(graph.edges) if edge.kept)
    return sorted([*kept, *pruned[:MOST_PRUNED]])


def _names(edge: Edge) -> Names:
    return str(edge.subject), str(edge.relation), str(edge.object), str(edge.time)


def _pruned(graph: Graph) -> int:
    """How many facts were looked at and never kept."""
    kept = {_names(edge) for edge in graph.edges if edge.kept}
    return len({_names(edge) for edge in graph.edges if edge.sentence} - kept)


def _asked(question: dict[str, str]) -> Node:
    known = question["object"] if question["subject"] == "?" else question["subject"]
    return Node(0, known, question["time"], 0, (1.0, 0.0), True)


def _with_ways(
    question: dict[str, str], candidates: Sequence[Candidate], first: str | None
) -> tuple[list[Candidate], dict[int, str]]:
    """The candidates with what no graph led to drawn as well, and the part that each such row of edges comes from.

    Ways go from the question's own entity on; facts of others are drawn between the two they are about.
    """
    base = next((one.graph for one in candidates if one.graph.nodes), Graph((_asked(question),)))
    canvas = _Canvas(base, [max(one.score or 0.0, 0.0) for one in candidates])
    rows_of: list[list[list[int]]] = []
    for place, one in enumerate(candidates):
        most = MOST_WAYS if one.entity == (first or candidates[0].entity) else MOST_WAYS_OF_OTHERS
        # Reason by reason, so that a line says as often as its reason does.
        drawn = {id(way) for way in [way for told in one.reasons for way in told.ways][:most]}
        rows_of.append(
            [
                [row for way in told.ways if id(way) in drawn for row in canvas.draw(place, one.entity, way)]
                for told in one.reasons
            ]
        )
    made = []
    for place, one in enumerate(candidates):
        mine = one.graph.edges or tuple(replace(edge, share=0.0) for edge in base.edges)
        reasons = tuple(
            replace(told, rows=(*told.rows, *dict.fromkeys(rows)))
            for told, rows in zip(one.reasons, rows_of[place], strict=True)
        )
        made.append(replace(one, graph=Graph(canvas.nodes(), (*mine, *canvas.edges(place))), reasons=reasons))
    return made, canvas.parts()


class _Canvas:
    """Nodes and edges that are added to a graph, each once, whoever they speak for.

    Args:
        base: the graph.
        worth: the candidates' scores: what speaks for the likely ones counts most.
    """

    def __init__(self, base: Graph, worth: Sequence[float]) -> None:
        self._worth = worth if any(worth) else [1.0] * len(worth)
        self._first, self._steps = len(base.edges), len(base.nodes[0].attention) - 1
        self._known = base.nodes[0].entity
        self._nodes = {(node.entity, node.time): node for node in base.nodes}
        self._came: dict[tuple[str, str], float] = {}
        self._row: dict[tuple[int, int, Names], int] = {}
        self._edges: list[Edge] = []
        self._share: list[dict[int, float]] = []
        self._part: list[dict[str, float]] = []

    def draw(self, place: int, entity: str, way: Way) -> Iterator[int]:
        """The rows of the edges of one way to a candidate."""
        at, here = 0, self._known
        for fact in way.facts:
            if here not in (fact.subject, fact.object):  # others about the candidate
                here = fact.object if fact.subject == entity else fact.subject
                at = self._node(here, fact.time, 0.0)
            there = fact.object if fact.subject == here else fact.subject
            target = self._node(there, fact.time, way.share * self._worth[place])
            yield self._edge(place, at, target, fact, way)
            at, here = target, there

    def _node(self, entity: str, time: str, share: float) -> int:
        key = entity, time
        if key not in self._nodes:
            self._nodes[key] = Node(len(self._nodes), entity, time, 1, (0.0,) * (self._steps + 1), True)
        self._came[key] = self._came.get(key, 0.0) + share
        return self._nodes[key].id

    def _edge(self, place: int, source: int, target: int, fact: Fact, way: Way) -> int:
        key = source, target, (fact.subject, fact.relation, fact.object, fact.time)
        row = self._row.setdefault(key, len(self._edges))
        if row == len(self._edges):
            self._edges.append(Edge(source, target, *key[2], 1, 0.0, 0.0, 0.0, True, fact.sentence))
            self._share.append({})
            self._part.append({})
        self._share[row][place] = self._share[row].get(place, 0.0) + way.share
        self._part[row][way.part] = self._part[row].get(way.part, 0.0) + way.share * self._worth[place]
        return self._first + row

    def nodes(self) -> tuple[Node, ...]:
        """All nodes, sized by what came to them."""
        scale = max(1e-12, sum(self._came.values()))

        def sized(key: tuple[str, str], node: Node) -> Node:
            if key not in self._came:
                return node
            return replace(
                node, kept=True, attention=(*node.attention[:-1], node.attention[-1] + self._came[key] / scale)
            )

        return tuple(sized(key, node) for key, node in self._nodes.items())

    def edges(self, place: int) -> Iterator[Edge]:
        """What was added, with the shares of one candidate."""
        weights = [sum(share * self._worth[of] for of, share in shares.items()) for shares in self._share]
        scale = max(1e-12, sum(weights))
        for edge, shares, weight in zip(self._edges, self._share, weights, strict=True):
            part = weight / scale
            yield replace(edge, attention=part, contribution=part, share=shares.get(place, 0.0))

    def parts(self) -> dict[int, str]:
        """The part of every row that was added: the one that counts it most."""
        return {row: max(some, key=lambda name: some[name]) for row, some in enumerate(self._part, self._first)}
