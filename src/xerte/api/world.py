"""The embedded world tells why an event happened: metrics by kind of cause and by hops."""

import numpy as np

from xerte.data.world import CauseKind, World
from xerte.evaluation.metrics import Evaluation, Metrics


def by_cause(world: World, evaluation: Evaluation) -> dict[str, Metrics]:
    """Time-aware metrics of the questions about events of each kind of cause, and of caused events by hops."""
    kind, hops = world.causes.kind[evaluation.fact], world.causes.hops[evaluation.fact]
    groups = {one.name.lower().replace("_", "-"): kind == one for one in CauseKind}
    groups |= {f"caused, {count} {'hop' if count == 1 else 'hops'}": hops == count for count in (1, 2, 3)}
    return {name: evaluation.metrics(mask=mask) for name, mask in groups.items() if mask.any()}


def understood(world: World, evaluation: Evaluation) -> tuple[str, str, str, str] | None:
    """A new two-hop event whose object was forecast first: (subject, relation, date, answer); None where there is none.

    Nothing in the subject's own past names the answer to such a question: it takes the right two facts to find it.
    """
    two_hops = world.causes.hops[evaluation.fact] == 2
    first = evaluation.rank() == 1
    wanted_object = np.arange(len(evaluation.fact)) % 2 == 0
    found = evaluation.fact[two_hops & first & wanted_object & ~evaluation.recurring]
    if not len(found):
        return None
    data, row = world.dataset, int(found[0])
    subject, relation, answer, time = (int(column[row]) for column in data.facts.columns())
    return data.entities[subject], data.relations[relation], data.calendar.format(time), data.entities[answer]
