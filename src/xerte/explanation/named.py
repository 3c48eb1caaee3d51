"""What an explanation is made of, in names and dates."""

from dataclasses import dataclass


@dataclass(frozen=True, init=False)
class Fact:
    """A fact that carried some of an answer's score.

    Attributes:
        subject, relation, object, time: the fact, in the dataset's names.
        share: of the answer's score: that of all paths that run through the fact.
        sentence: the fact, told in its own direction.
        source: what its source said beside it, by the names of the columns: source, headline, url …
    """

    subject: str
    relation: str
    object: str
    time: str
    share: float
    sentence: str
    source: tuple[tuple[str, str], ...] = ()

    def __init__(
        self,
        subject: str,
        relation: str,
        object: str,
        time: str,
        share: float,
        sentence: str,
        source: tuple[tuple[str, str], ...] = (),
    ) -> None:
        # Field by field, as a frozen class is filled otherwise, a hundred facts take six times as long.
        vars(self).update(
            subject=subject,
            relation=relation,
            object=object,
            time=time,
            share=share,
            sentence=sentence,
            source=source,
        )


@dataclass(frozen=True)
class Path:
    """A chain of facts from the query subject to the answer.

    Attributes:
        facts: earliest first, as it is told; the model walked from the last to the first. None where the attention
            stayed with the query subject.
        share: of the answer's score; those of all paths sum to 1.
        sentence: "First, on …. Later, on …."
        part: of the score, which the path comes from: "graph", "past", "prior", …
    """

    facts: tuple[Fact, ...]
    share: float
    sentence: str
    part: str = "graph"


@dataclass(frozen=True)
class PartShare:
    """How much of an answer's score one part of the model brought; the shares of all parts sum to 1."""

    name: str
    share: float


@dataclass(frozen=True)
class Reason:
    """Paths that differ by their dates only, told as one: "Iran consulted Oman, 7 times, last on 2014-11-03."

    Attributes:
        share: of the answer's score: that of all its paths.
        sentence: what they say.
        part: of the score.
        times: how many paths there are.
        facts: all facts on them, latest first.
        because: the same as the end of a sentence: "Iran consulted Oman on 2014-11-03".
    """

    share: float
    sentence: str
    part: str
    times: int
    facts: tuple[tuple[str, str, str, str], ...]
    because: str = ""


@dataclass(frozen=True)
class Dismissed:
    """A fact that the model saw and that carried nothing to the answer.

    Attributes:
        subject, relation, object, time, sentence: the fact.
        step: when it was seen; where it was seen more than once, the step of its largest contribution.
        contribution: of that step.
        pruned: whether it was cut there; otherwise it stayed and led elsewhere.
    """

    subject: str
    relation: str
    object: str
    time: str
    sentence: str
    step: int
    contribution: float
    pruned: bool


@dataclass(frozen=True)
class Node:
    """An entity at a time.

    Attributes:
        id: of the node in this graph; 0 is the query node.
        entity, time: names.
        step: when it was first seen; 0 for the query node.
        attention: after every step, 0 … L; all 0 for a node whose every edge was pruned.
        kept: whether it joined the graph.
    """

    id: int
    entity: str
    time: str
    step: int
    attention: tuple[float, ...]
    kept: bool


@dataclass(frozen=True)
class Edge:
    """A step of the model from a node back in time to a prior neighbour.

    Attributes:
        source, target: ids of nodes; the target is the earlier one.
        subject, relation, object, time: the fact; all None for a self-loop, by which a node keeps attention.
        step: 1 … L.
        attention: α, among the edges of its source in this step.
        contribution: α times the source's attention; what pruning looks at.
        share: of the answer's score that came by this edge.
        kept: False where it was pruned at this step.
        sentence: the fact in words; "" for a self-loop.
    """

    source: int
    target: int
    subject: str | None
    relation: str | None
    object: str | None
    time: str | None
    step: int
    attention: float
    contribution: float
    share: float
    kept: bool
    sentence: str


@dataclass(frozen=True)
class Graph:
    """The inference graph of one question; empty for models that have none."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
