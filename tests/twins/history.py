"""From a file to prior edges in plain loops: reading events, indexing them, drawing from them."""

import csv
import itertools
import math
from collections import defaultdict
from heapq import nsmallest
from pathlib import Path
from random import Random

from xerte.graph.sampler import Sampler


def read(path: Path, rows: int) -> list[tuple[int, int, int, str]]:
    """The first rows of a CSV file as facts in ids, each once, by time."""
    entity: dict[str, int] = {}
    relation: dict[str, int] = {}
    seen: set[tuple[int, int, int, str]] = set()
    with path.open(encoding="utf-8", newline="") as file:
        for s, p, o, t in itertools.islice(csv.reader(file), 1, rows + 1):
            subject, kind = entity.setdefault(s, len(entity)), relation.setdefault(p, len(relation))
            seen.add((subject, kind, entity.setdefault(o, len(entity)), t))
    return sorted(seen, key=lambda fact: fact[3])


def adjacency(facts: list[tuple[int, int, int, int]]) -> dict[int, list[tuple[int, int, int]]]:
    """Both orders of every entity's edges (time, relation, object), the second thrown away."""
    edges: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for s, p, o, t in facts:
        edges[s].append((t, 2 * p, o))
        edges[o].append((t, 2 * p + 1, s))
    for entity in edges:
        edges[entity].sort()
        sorted(edges[entity], key=lambda edge: edge[1])
    return dict(edges)


def sample(
    sampler: Sampler, of_entity: dict[int, list[tuple[int, int, int]]], nodes: list[tuple[int, int]]
) -> list[list[tuple[int, int, int]]]:
    """At most N prior edges of every node, drawn without replacement in proportion to exp((t' - t) / scale)."""
    draw, drawn = Random(0), []
    for entity, time in nodes:
        arrivals = []
        for edge in of_entity[entity]:
            if edge[0] < time:
                weight = math.exp((edge[0] - time) / sampler.scale) + 1e-9
                arrivals.append((draw.expovariate(1.0) / weight, edge))
        drawn.append([edge for _, edge in nsmallest(sampler.size, arrivals)])
    return drawn
