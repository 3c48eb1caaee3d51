"""How good an epoch's weights are: the judge's verdict on valid."""

from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.evaluation.evaluate import evaluate
from xerte.forecaster import Learner
from xerte.graph.index import TemporalIndex
from xerte.types import Split


def validate(model: Learner, dataset: Dataset, history: TemporalIndex) -> tuple[dict[str, float], float]:
    """Time-aware MRR and Hits on valid, and the seconds it took; the model is left as it forecasts, not training."""
    verdict = evaluate(model.eval(), dataset, Split.VALID, history)
    return {name: float(value) for name, value in verdict.metrics().to_json().items()}, verdict.seconds


def refuse_no_validation(dataset: Dataset) -> None:
    """Raises InputError where there is nothing to choose the best epoch by."""
    if not len(dataset.split(Split.VALID)):
        raise InputError(f"{dataset.name} has no validation facts, by which the best epoch is chosen: split it anew")
