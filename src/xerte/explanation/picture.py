"""The document a picture is drawn from: one graph, and for every candidate who carried how much of its score."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xerte.explanation.named import Edge, Graph, Node, PartShare, Path, Reason

FORMAT = "xerte-picture-1"
MOST_CANDIDATES = 10
MOST_PRUNED = 500
"""How many pruned edges a picture holds: those with the largest contributions."""

MOST_COUNTED = 40
"""How many facts of a candidate are drawn that no graph led to."""

Names = tuple[str, str, str, str]


@dataclass(frozen=True)
class Candidate:
    """One whose evidence the picture can show.

    Attributes:
        entity: its name.
        graph: the question's whole graph with this candidate's shares; the same nodes and edges for all candidates.
        paths: its best paths.
        counted: its paths of one fact that came from no graph; they are drawn, too.
        reasons: its paths in few words, each with the rows of the graph's edges they ran over.
        rest: the share of all other paths.
        parts: how its score divides among the model's parts.
        rank, score: None where it was not reached.
    """

    entity: str
    graph: Graph
    paths: tuple[Path, ...] = ()
    counted: tuple[Path, ...] = ()
    reasons: tuple[tuple[Reason, tuple[int, ...]], ...] = ()
    rest: float = 0.0
    parts: tuple[PartShare, ...] = ()
    rank: int | None = None
    score: float | None = None


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
    candidates = _with_counted(question, candidates)
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
            for reason, edges in one.reasons
        ],
        "rest": _short(one.rest),
        "parts": [{"name": part.name, "share": _short(part.share)} for part in one.parts],
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


def _with_counted(question: dict[str, str], candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with the facts drawn that no graph led to: those of the question's own entity as ways from the
    question, those of others between the two they are about."""
    counted = [(one, path) for one in candidates for path in one.counted[:MOST_COUNTED]]
    if not counted:
        return [one if one.graph.nodes else replace(one, graph=Graph((_asked(question),))) for one in candidates]
    base = next((one.graph for one in candidates if one.graph.nodes), Graph((_asked(question),)))
    steps, known = len(base.nodes[0].attention) - 1, base.nodes[0].entity
    nodes = {(node.entity, node.time): node for node in base.nodes}
    scale = sum(path.share for _, path in counted)

    def node(entity: str, time: str, share: float) -> int:
        had = nodes.get((entity, time)) or Node(len(nodes), entity, time, 1, (0.0,) * (steps + 1), True)
        attention = (*had.attention[:-1], had.attention[-1] + share / scale)
        nodes[entity, time] = replace(had, attention=attention, kept=True)
        return had.id

    edges: list[Edge] = []
    for one, path in counted:
        (fact,) = path.facts
        other = fact.object if fact.subject == one.entity else fact.subject
        source = 0 if known in (fact.subject, fact.object) else node(other, fact.time, 0.0)
        edges.append(
            Edge(
                source=source,
                target=node(one.entity, fact.time, path.share),
                subject=fact.subject,
                relation=fact.relation,
                object=fact.object,
                time=fact.time,
                step=1,
                attention=path.share / scale,
                contribution=path.share / scale,
                share=0.0,
                kept=True,
                sentence=fact.sentence,
            )
        )
    drawn = tuple(nodes.values())
    made = []
    for one in candidates:
        mine = one.graph.edges or tuple(replace(edge, share=0.0) for edge in base.edges)
        own = tuple(
            replace(edge, share=path.share if whose is one else 0.0)
            for edge, (whose, path) in zip(edges, counted, strict=True)
        )
        row_of = {
            (path.part, _names(edge)): len(mine) + row
            for row, (edge, (whose, path)) in enumerate(zip(edges, counted, strict=True))
            if whose is one
        }
        reasons = tuple(
            (reason, (*rows, *(row_of[reason.part, fact] for fact in reason.facts if (reason.part, fact) in row_of)))
            for reason, rows in one.reasons
        )
        made.append(replace(one, graph=Graph(drawn, (*mine, *own)), reasons=reasons))
    return made
