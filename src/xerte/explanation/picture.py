"""The document a picture is drawn from: one graph, and for every candidate who carried how much of its score."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from xerte.explanation.named import Edge, Fact, Graph, Node, Path

FORMAT = "xerte-picture-1"
MOST_CANDIDATES = 10
MOST_PRUNED = 500
"""How many pruned edges a picture holds: those with the largest contributions."""

MOST_COUNTED = 40
"""How many facts of a candidate are drawn where a model without a graph has counted them."""


@dataclass(frozen=True)
class Candidate:
    """One whose evidence the picture can show.

    Attributes:
        entity: its name.
        graph: the question's whole graph with this candidate's shares; the same nodes and edges for all candidates.
        evidence: its facts; they are drawn where the model has no graph.
        paths: its best paths.
    """

    entity: str
    graph: Graph
    evidence: tuple[Fact, ...]
    paths: tuple[Path, ...]


def document(
    question: dict[str, str],
    model: str,
    answers: Sequence[dict[str, Any]],
    candidates: Sequence[Candidate],
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """The picture's document, in plain values; the first candidate is the one shown first.

    Columns instead of rows, and names by their place in `names`: a document is a few dozen kilobytes.
    """
    if not any(one.graph.nodes for one in candidates):
        candidates = _stars(question, candidates)
    graph = candidates[0].graph if candidates else Graph((_asked(question),))
    rows = _shown(graph)
    nodes = [0, *sorted({end for row in rows for end in (graph.edges[row].source, graph.edges[row].target)} - {0})]
    place = {node: new for new, node in enumerate(nodes)}
    new_row = {row: new for new, row in enumerate(rows)}
    names, facts, fact_of = _Table(), _Table(), []
    for row in rows:
        edge = graph.edges[row]
        fact = (edge.subject, edge.relation, edge.object, edge.time)
        fact_of.append(facts[(*(names[str(name)] for name in fact), edge.sentence)] if edge.sentence else -1)
    return {
        "format": FORMAT,
        "query": question,
        "model": model,
        "notes": list(notes),
        "answers": list(answers),
        "answer": candidates[0].entity if candidates else None,
        "steps": len(graph.nodes[0].attention) - 1,
        "unseen": sum(bool(edge.sentence) for edge in graph.edges) - sum(fact >= 0 for fact in fact_of),
        "nodes": {
            "entity": [names[graph.nodes[node].entity] for node in nodes],
            "time": [names[graph.nodes[node].time] for node in nodes],
            "attention": [[_short(one) for one in graph.nodes[node].attention] for node in nodes],
        },
        "facts": dict(
            zip(("subject", "relation", "object", "time", "sentence"), map(list, zip(*facts, strict=True)), strict=True)
            if len(facts)
            else ((name, []) for name in ("subject", "relation", "object", "time", "sentence"))
        ),
        "edges": {
            "source": [place[graph.edges[row].source] for row in rows],
            "target": [place[graph.edges[row].target] for row in rows],
            "fact": fact_of,
            "step": [graph.edges[row].step for row in rows],
            "contribution": [_short(graph.edges[row].contribution) for row in rows],
            "kept": [int(graph.edges[row].kept) for row in rows],
        },
        "candidates": [
            {
                "entity": one.entity,
                "edge": [new_row[row] for row in rows if one.graph.edges[row].share > 0],
                "share": [_short(one.graph.edges[row].share) for row in rows if one.graph.edges[row].share > 0],
                "paths": [{"share": _short(path.share), "sentence": path.sentence} for path in one.paths],
            }
            for one in candidates
        ],
        "names": list(names),
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


def _asked(question: dict[str, str]) -> Node:
    known = question["object"] if question["subject"] == "?" else question["subject"]
    return Node(0, known, question["time"], 0, (1.0, 0.0), True)


def _stars(question: dict[str, str], candidates: Sequence[Candidate]) -> list[Candidate]:
    """Graphs for a model that has none: every fact it counted leads from the question straight to its candidate."""
    root = _asked(question)
    rows = [(one, fact) for one in candidates for fact in one.evidence[:MOST_COUNTED]]
    place = {(one.entity, fact.time): 0 for one, fact in rows}
    place = {key: id for id, key in enumerate(place, start=1)}
    total = dict.fromkeys(place, 0.0)
    scale = sum(fact.share for _, fact in rows) or 1.0
    for one, fact in rows:
        total[one.entity, fact.time] += fact.share / scale
    nodes = (root, *(Node(id, *key, 1, (0.0, total[key]), True) for key, id in place.items()))
    edges = tuple(
        Edge(
            source=0,
            target=place[one.entity, fact.time],
            subject=fact.subject,
            relation=fact.relation,
            object=fact.object,
            time=fact.time,
            step=1,
            attention=fact.share / scale,
            contribution=fact.share / scale,
            share=0.0,
            kept=True,
            sentence=fact.sentence,
        )
        for one, fact in rows
    )
    shared = [
        tuple(
            replace(edge, share=fact.share if whose is one else 0.0)
            for edge, (whose, fact) in zip(edges, rows, strict=True)
        )
        for one in candidates
    ]
    return [replace(one, graph=Graph(nodes, mine)) for one, mine in zip(candidates, shared, strict=True)]
