"""Many steps ahead: where nothing true is known any more, the model reads what it foretold itself."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from xerte.baselines.re_net.model import RENet
from xerte.baselines.re_net.snapshots import Snapshots
from xerte.data.directions import forward
from xerte.data.facts import Facts
from xerte.errors import InputError
from xerte.forecaster import Queries
from xerte.graph.index import TemporalIndex


def imagine(model: RENet, history: TemporalIndex, times: Sequence[int], size: int | None = None) -> TemporalIndex:
    """The history with a likely snapshot at each of these times, each imagined from all before it.

    p(s, r, o | G_{<t}) = p(s | H) p(r | s, t) p(o | s, r, t), in the paper's order of inference. A snapshot is the
    likeliest facts found by a beam of its own size: of subjects, then of pairs (s, r), then of facts. (The published
    code draws the subjects at random; a beam needs no seed and gives the same snapshot every time.)

    To judge many steps at once, ask about them all over what was imagined from the facts known before the first:
    `evaluate(model, dataset, history=imagine(model, known, times))`.

    Args:
        model: a trained RE-Net.
        history: what is known; nothing in it happens at or after the first of the times.
        times: ticks, ascending.
        size: facts in a snapshot; None: as many as the history's have on average.

    Raises:
        InputError: the times do not ascend, or are not after all that is known.
    """
    last = Snapshots.of(history).time[-1:].tolist()
    ordered = [*last, *times]
    if any(earlier >= later for earlier, later in pairwise(ordered)):
        raise InputError("the times to imagine must ascend, and lie after every fact of the history")
    if size is None:
        size = max(1, round(history.num_edges / 2 / max(1, len(Snapshots.of(history).time))))
    for time in times:
        history = history.with_facts(added=_snapshot(model, history, time, size))
    return history


def _snapshot(model: RENet, history: TemporalIndex, time: int, size: int) -> Facts:
    """The likeliest facts at a time later than all of the history."""
    num_entities, num_relations = model.frame.num_entities, model.frame.num_relations
    with torch.no_grad():
        probability, subject = _likeliest(_subjects(model, history), size)
        when = torch.full_like(subject, time)
        # Facts are imagined in their own direction; the reciprocal side follows.
        logits = model.relation_logits(history, Queries.at(subject, torch.zeros_like(subject), when))[:, ::2]
        probability, pair = _likeliest(probability[:, None] * logits.softmax(1), size)
        subject, relation = subject[pair // num_relations], pair % num_relations
        queries = Queries.at(subject, forward(relation), torch.full_like(subject, time))
        of_object = model.forecast(history, queries).scores.softmax(1)
        _, fact = _likeliest(probability[:, None] * of_object, size)
        row = fact // num_entities
        columns = (subject[row], relation[row], fact % num_entities, torch.full_like(row, time))
    return Facts(*(column.numpy(force=True).astype(np.int32) for column in columns))


def _subjects(model: RENet, history: TemporalIndex) -> Tensor:
    """p(s | H) after the whole history; [E]."""
    moments = len(Snapshots.of(history).time)
    if not moments:
        return model.entity.new_full((model.frame.num_entities,), 1 / model.frame.num_entities)
    last = torch.tensor([moments - 1], device=history.device)
    foretold: Tensor = model.global_state.subject(model.global_state.states(history, last))
    return foretold[0].softmax(0)


def _likeliest(probability: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """The largest of all cells and their flat places."""
    flat = probability.reshape(-1)
    found = flat.topk(min(size, len(flat)))
    return found.values, found.indices
