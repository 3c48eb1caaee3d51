"""The trace of an evaluation: what was measured, by what, where and how."""

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from xerte.evaluation.metrics import Evaluation
from xerte.experiment.horizon import IMAGINED, KNOWN
from xerte.experiment.trace import Trace, commit, cost, device_name, versions

if TYPE_CHECKING:
    from xerte.api.model import Model

_DETAILS = ("interval", "ties", "groups", "seen, raw", "seen, raw, by graph size", "reached", "precision")


@runtime_checkable
class _Configured(Protocol):
    """A forecaster that can tell its settings."""

    def to_json(self) -> dict[str, Any]: ...


def is_many_steps(evaluation: Evaluation) -> bool:
    """Whether nothing of the split was known."""
    return evaluation.protocol.history in (KNOWN, IMAGINED)


def trace_of(model: "Model", evaluation: Evaluation, command: str) -> Trace:
    """The trace of this verdict on this model; `command` is what to type to repeat it."""
    body, forecaster = evaluation.to_json(), model.forecaster
    return Trace(
        dataset=model.dataset.name,
        model=model.name,
        split=evaluation.protocol.split.value,
        metrics=body["metrics"],
        protocol=body["protocol"],
        queries=body["queries"],
        command=command,
        settings={key: value for key, value in model.metadata.items() if key != "calibration"}
        or (forecaster.to_json() if isinstance(forecaster, _Configured) else {}),
        seconds={"prepare": round(model.prepare_s, 3), "evaluate": round(evaluation.seconds, 3)},
        seed=model.metadata.get("seed"),
        device=device_name(model.history.device),
        versions=versions(),
        commit=commit(),
        details={key: body[key] for key in _DETAILS if body[key]} | cost(forecaster, model.history.device),
    )
