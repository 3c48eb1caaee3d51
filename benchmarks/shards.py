"""Entities sharded over workers: how answers degrade where each reads its own facts only, and what asking costs.

Entity e lies on worker h(e), with every fact that names it; a fact lies on one or two workers. A question is answered
by the worker of its subject, in one of two ways:

* apart: the worker reads what it has, all facts of its own entities, and of others' those that name one of its own.
* asking: it also asks the workers of the entities it has come to. Answers are those of one machine; what travels is the
  frontier (an entity and its weight) there and the edges of its entities back, once per hop behind the first.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from benchmarks.record import Machine
from xerte.api.model import Model
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.evaluation.evaluate import Judge, Judged
from xerte.evaluation.metrics import Evaluation
from xerte.evaluation.protocol import both_directions
from xerte.evaluation.ranks import Ranks
from xerte.forecaster import batch_size_for
from xerte.graph.index import TemporalIndex
from xerte.types import Split

FORMAT = "xerte shards 1"
_EDGE_BYTES, _FRONTIER_BYTES = 16, 8
"""An edge travels as relation, entity, time and fact; an asked entity as itself and a weight."""


def measure(
    model: Model, workers: Sequence[int], every: int, command: str, on_stage: Callable[[str], None]
) -> dict[str, Any]:
    """The record: per number of workers the valid MRR apart, facts kept per worker, and what asking sends.

    Args:
        model: who answers.
        workers: how many there are.
        every: of so many facts of valid one is asked about.
        command: what the user typed.
        on_stage: called with what begins.
    """
    dataset = model.dataset
    home = np.random.default_rng(0).permutation(dataset.num_entities)
    rows = []
    for count in workers:
        on_stage(f"{count} workers")
        verdict, kept = _apart(model, home % count, count, every)
        sent = _sent(dataset, home % count, count, every)
        mrr = verdict.metrics().mrr
        rows.append(
            {
                "workers": count,
                "mrr": mrr,
                "facts": kept,
                "questions": len(verdict),
            }
            | sent
        )
    machine = asdict(Machine.of(torch.device("cpu")))
    named = {"format": FORMAT, "dataset": dataset.name, "model": model.source, "facts": len(dataset.facts)}
    return named | {"every": every, "workers": rows, "machine": machine, "command": command}


def _apart(model: Model, home: np.ndarray[Any, Any], count: int, every: int) -> tuple[Evaluation, int]:
    """The verdict on all questions, each asked of its subject's worker; the most facts that a worker keeps."""
    dataset, judged, order, most = model.dataset, list[Judged](), list[torch.Tensor](), 0
    subjects = both_directions(dataset.split(Split.VALID)[::every])[0].subject.numpy()
    for worker in range(count):
        here = home == worker
        mine = here[dataset.facts.subject] | here[dataset.facts.object]
        facts = Facts(*(column[mine] for column in dataset.facts.columns()))
        most = max(most, len(facts))
        history = TemporalIndex.build(facts, dataset.num_entities, dataset.num_relations)
        judge = Judge(model.forecaster, dataset, Split.VALID, history, every=every)
        asked = np.flatnonzero(here[subjects])
        for rows in torch.split(torch.from_numpy(asked), batch_size_for(dataset, history.device)):
            judged.append(judge(rows))
            order.append(rows)
    places = torch.argsort(torch.cat(order))
    filters = zip(*(part.ranks for part in judged), strict=True)
    ranks = [
        Ranks(torch.cat([one.best for one in parts])[places], torch.cat([one.worst for one in parts])[places])
        for parts in filters
    ]
    reached = torch.cat([part.reached for part in judged])[places]
    return judge.verdict([Judged(ranks, reached, None)], 0.0), most


def _sent(dataset: Dataset, home: np.ndarray[Any, Any], count: int, every: int) -> dict[str, float]:
    """What a question sends, on average, where others are asked for the edges of the entities one fact away."""
    facts, valid = dataset.facts, dataset.split(Split.VALID)[::every]
    asked, edges, workers = [], [], []
    degree = np.bincount(facts.subject, minlength=len(home)) + np.bincount(facts.object, minlength=len(home))
    for subject, time in zip(valid.subject[:500].tolist(), valid.time[:500].tolist(), strict=True):
        before = facts.time < time
        met = np.concatenate(
            [facts.object[before & (facts.subject == subject)], facts.subject[before & (facts.object == subject)]]
        )
        others = np.unique(met)
        others = others[home[others] != home[subject]]
        asked.append(len(others))
        edges.append(int(degree[others].sum()))
        workers.append(len(np.unique(home[others])))
    names = ("asked_entities", "asked_edges", "asked_workers")
    found = {name: float(np.mean(values)) for name, values in zip(names, (asked, edges, workers), strict=True)}
    sent = found["asked_entities"] * _FRONTIER_BYTES + found["asked_edges"] * _EDGE_BYTES
    return found | {"sent_bytes": sent if count > 1 else 0.0}
