"""Which facts walks follow: compiled loops and plain code beside a slow twin."""

from importlib.util import find_spec

import numpy as np
import pytest
import torch

from xerte import kernels
from xerte.data.facts import Facts
from xerte.forecaster import Queries
from xerte.graph.index import TemporalIndex
from xerte.parts.walk import Looked, Reach

ENTITIES, RELATIONS, DAYS = 20, 4, 40


@pytest.fixture(scope="module")
def history() -> TemporalIndex:
    """Some entities have a few facts, others hundreds; facts of one day, loops and equal facts are among them."""
    draw = np.random.default_rng(5)
    names = (ENTITIES * draw.random((2, 600)) ** 2).astype(np.int32)
    relation, day = draw.integers(0, RELATIONS, 600, np.int32), draw.integers(0, DAYS, 600, np.int32)
    return TemporalIndex.build(Facts(names[0], relation, names[1], day), ENTITIES, RELATIONS)


def slowly(history: TemporalIndex, queries: Queries, question: int, entity: int, reach: Reach) -> list[list[list[int]]]:
    """Its latest facts, and those of the relation either way, (position, relation, object, time) each."""
    ends = (int(bound) for bound in history.bounds(torch.tensor([entity])))
    edges = history.edges(torch.arange(start := next(ends), next(ends)))
    columns = torch.arange(start, start + len(edges.time)), edges.relation, edges.object, edges.time
    known = [row for row in torch.stack(columns, 1).tolist() if row[3] < int(queries.known_before[question])]
    found, asked = [known[-reach.last :]], int(queries.relation[question])
    for relation in (asked, asked ^ 1):
        same = [row for row in known if row[1] == relation][-reach.same :] if reach.same else []
        found.append([row for row in same if row not in found[0]])
    return [[row for row in some if row[2] != int(queries.subject[question])] for some in found]


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize(("last", "same"), [(5, 3), (60, 4), (1, 50), (7, 0), (900, 9)])
@torch.no_grad()
def test_the_latest_facts_and_older_ones_of_the_relation_are_followed(
    last: int, same: int, compiled: bool, history: TemporalIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one order, which decides how sums are rounded: the latest of all nodes, then the relation's either way."""
    if not compiled:
        monkeypatch.setattr(kernels, "compiled", lambda name, rows=0: None)
    elif find_spec("numba") is None or kernels.compiled("graph.latest_compiled", kernels.MANY) is None:
        pytest.skip("Numba is not installed")
    time = torch.tensor([DAYS, DAYS + 9, 17, 0, 30])
    queries = Queries.at(torch.tensor([0, 3, 1, 2, 19]), torch.tensor([0, 3, 6, 1, 7]), time)
    question = torch.arange(len(time)).repeat_interleave(ENTITIES)
    entity, reach = torch.arange(ENTITIES).repeat(len(time)), Reach(2, (9,), last, same)
    looked = Looked.at(history, queries, question, entity, reach)
    found = torch.stack(looked, 1).tolist()
    nodes = list(zip(question.tolist(), entity.tolist(), strict=True))
    parts = [slowly(history, queries, of, node, reach) for of, node in nodes]
    expected = [[at, *row] for which in range(3) for at, part in enumerate(parts) for row in part[which]]
    assert found == expected
    assert all(column.dtype is torch.int64 for column in looked)
