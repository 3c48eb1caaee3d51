"""Graphs for other tools: GraphML without any library, NetworkX and pandas where they are installed."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from xerte.errors import InputError
from xerte.explanation import EXTRA
from xerte.explanation.named import Edge, Fact, Graph, Node

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

_TYPES = {bool: "boolean", int: "int", float: "double", str: "string"}


def attributes(one: Node | Edge) -> dict[str, Any]:
    """What belongs to a node or edge beside its ends, in plain values: attention after step l as attention_l."""
    values = {name: value for name, value in asdict(one).items() if name not in ("id", "source", "target")}
    if isinstance(one, Node):
        values |= {f"attention_{step}": value for step, value in enumerate(values.pop("attention"))}
    return {name: value for name, value in values.items() if value is not None}


def to_networkx(graph: Graph) -> "nx.MultiDiGraph[int]":
    """A directed multigraph; a node's key is its id, an edge's key its place.

    Raises:
        InputError: networkx is not installed.
    """
    try:
        import networkx as nx
    except ImportError:
        raise InputError(f"networkx is not installed: {EXTRA}") from None
    made: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    for node in graph.nodes:
        made.add_node(node.id, **attributes(node))
    for key, edge in enumerate(graph.edges):
        made.add_edge(edge.source, edge.target, key=key, **attributes(edge))
    return made


def to_dataframe(evidence: Sequence[Fact]) -> "pd.DataFrame":
    """One row per fact: subject, relation, object, time, share, sentence, source.

    Raises:
        InputError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise InputError(f"pandas is not installed: {EXTRA}") from None
    rows = [asdict(fact) | {"source": dict(fact.source)} for fact in evidence]
    return pd.DataFrame(rows, columns=list(Fact.__dataclass_fields__))


_ILLEGAL = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold; and the carriage return, which its readers turn into another sign."""


def to_graphml(graph: Graph) -> str:
    """A GraphML document, as Gephi, Cytoscape, yEd and NetworkX read it."""
    return "\n".join(_graphml(graph)) + "\n"


def _graphml(graph: Graph) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    keys: dict[tuple[str, str], str] = {}
    for kind, items in (("node", graph.nodes), ("edge", graph.edges)):
        for item in items:
            for name, value in attributes(item).items():
                if (kind, name) not in keys:
                    keys[kind, name] = f"{kind}_{name}"
                    of = f'for="{kind}" attr.name="{name}" attr.type="{_TYPES[type(value)]}"'
                    yield f'  <key id="{kind}_{name}" {of}/>'
    yield '  <graph edgedefault="directed">'
    for node in graph.nodes:
        yield f'    <node id="n{node.id}">'
        yield from _data("node", attributes(node))
        yield "    </node>"
    for place, edge in enumerate(graph.edges):
        ends = f"source={quoteattr(f'n{edge.source}')} target={quoteattr(f'n{edge.target}')}"
        yield f'    <edge id="e{place}" {ends}>'
        yield from _data("edge", attributes(edge))
        yield "    </edge>"
    yield "  </graph>"
    yield "</graphml>"


def _data(kind: str, values: dict[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        text = str(value).lower() if isinstance(value, bool) else escape(_legal(str(value)))
        yield f'      <data key="{kind}_{name}">{text}</data>'


def _legal(text: str) -> str:
    """Without the control characters that XML cannot hold."""
    return _ILLEGAL.sub("", text)
