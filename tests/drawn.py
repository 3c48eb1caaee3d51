"""Things to draw: graphs of any size, made by rule, and a small model that was never trained."""

from typing import Any

import numpy as np
import torch

from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.frame import Frame
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.explanation.named import Edge, Graph, Node, Reason
from xerte.explanation.picture import About, Candidate, Told, document
from xerte.model import XERTE
from xerte.parts.model import SumOfParts
from xerte.parts.settings import PartsSettings
from xerte.settings import ModelSettings

ASKED = ("Ann", "visits", "2024-01-12")

QUESTION = {"subject": "Catherine Ashton", "relation": "Make a visit", "time": "2014-11-09", "object": "?"}
RELATIONS = ("Express intent to meet or negotiate", "Consult", "Host a visit", "Make statement")


def day(back: int) -> str:
    return str(np.datetime64("2014-11-09") - back)


def graph(count: int, kept: int = 40, entities: int | None = None) -> Graph:
    """`count` nodes in two steps: the first `kept` were kept, the others pruned; a node is older than its source."""
    rng = np.random.default_rng(count)
    names = [f"Entity number {one} of the world" for one in range(entities or max(3, count // 3))]
    nodes = [Node(0, QUESTION["subject"], QUESTION["time"], 0, (1.0, 0.4, 0.0), True)]
    edges, age, taken = [], [0], set[tuple[str, int]]()
    while len(nodes) < count:
        id = len(nodes)
        source = int(rng.integers(1, min(id, 12))) if id > 4 and rng.random() < 0.5 else 0
        back, entity = age[source] + 1 + int(rng.integers(min(90, 3 + count))), names[int(rng.integers(len(names)))]
        if (entity, back) in taken:
            continue
        taken.add((entity, back))
        age.append(back)
        stays = id < kept
        step = 1 if source == 0 else 2
        attention = (0.0, 1 / (id + 1), 1 / (id + 2)) if stays else (0.0, 0.0, 0.0)
        nodes.append(Node(id, entity, day(back), step, attention, stays))
        relation = RELATIONS[id % len(RELATIONS)]
        edges.append(
            Edge(
                source=source,
                target=id,
                subject=nodes[source].entity,
                relation=relation,
                object=entity,
                time=day(back),
                step=step,
                attention=0.5,
                contribution=1 / (id + 1),
                share=(0.5**id if id < 30 else 1e-8) if stays else 0.0,
                kept=stays,
                sentence=f"On {day(back)}, {nodes[source].entity} did {relation} to {entity}.",
            )
        )
    return Graph(tuple(nodes), tuple(edges))


def drawn(count: int, entities: int | None = None) -> dict[str, Any]:
    """A picture's document with two candidates; where there are many entities, nothing repeats itself."""
    made = graph(count, entities=entities)
    first = made.nodes[1].entity
    second = next((node.entity for node in made.nodes[2:] if node.entity != first), QUESTION["subject"])
    answers = [{"entity": first, "score": 0.6, "reached": True}, {"entity": second, "score": 0.3, "reached": True}]
    candidates = [
        Candidate(name, made, reasons=single_facts(made), rank=rank, score=score)
        for rank, (name, score) in enumerate(((first, 0.6), (second, 0.3)), 1)
    ]
    return document(QUESTION, candidates, About("xerte", answers))


def single_facts(made: Graph) -> tuple[Told, ...]:
    """A reason for every edge that carried some of the score."""
    carried = ((row, edge) for row, edge in enumerate(made.edges) if edge.share > 0)
    return tuple(Told(Reason(edge.share, edge.sentence, "graph", 1, ()), (row,)) for row, edge in carried)


def small_dataset() -> Dataset:
    rng = np.random.default_rng(5)
    names = ["Ann", "Ben", "Cid", "Dan", "<Eve_Ash>", "Fay"]
    found = {tuple(row) for row in rng.integers([6, 2, 6, 11], size=(70, 4)).tolist()}
    facts = Facts.of(sorted(row for row in found if row[0] != row[2])).in_time_order()
    relations = Relations.of(["visits", "sends gifts to"])
    calendar = Calendar(Tick.DAY, "2024-01-01", Tick.DAY)
    return Dataset("small", facts, (len(facts) - 10, 5, 5), Vocabulary.of(names), relations, calendar)


def untrained(data: Dataset) -> XERTE:
    torch.manual_seed(0)
    settings = ModelSettings(steps=3, n=5, k=8, dims=(8, 6, 4), static_dim=4, time_dim=4)
    return XERTE(settings, data.num_entities, data.num_relations)


def weighing(data: Dataset) -> SumOfParts:
    """The sum of parts with walks of up to three facts, as it is before it learns."""
    torch.manual_seed(0)
    return SumOfParts(PartsSettings(steps=3, nodes=(6, 6), last=40, rank=2, messages=2), Frame.of(data), 0).eval()
