"""The embedded world tells why an event happened: metrics by kind of cause and by hops."""

from xerte.data.world import CauseKind, World
from xerte.evaluation.metrics import Evaluation, Metrics


def by_cause(world: World, evaluation: Evaluation) -> dict[str, Metrics]:
    """Time-aware metrics of the questions about events of each kind of cause, and of caused events by hops."""
    kind, hops = world.causes.kind[evaluation.fact], world.causes.hops[evaluation.fact]
    groups = {one.name.lower().replace("_", "-"): kind == one for one in CauseKind}
    groups |= {f"caused, {count} {'hop' if count == 1 else 'hops'}": hops == count for count in (1, 2, 3)}
    return {name: evaluation.metrics(mask=mask) for name, mask in groups.items() if mask.any()}
