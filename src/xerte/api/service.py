"""The service: everything the interfaces offer, by the names of datasets and models. The command line and HTTP call it.

Datasets and models are opened once and kept. What comes back are the objects of `api`, whose `to_body()` is the
document of `schemas` that `--json` prints and HTTP returns.
"""

from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from xerte import __version__
from xerte.api import datasets, schemas
from xerte.api.compare import Comparison, compare
from xerte.api.explain import Explanation
from xerte.api.forecast import Forecast
from xerte.api.model import Model
from xerte.api.versions import DatasetVersions
from xerte.data.dataset import Dataset
from xerte.experiment.device import choose_device, share_threads
from xerte.experiment.shelf import TrainedModel, default_model, models, version
from xerte.forecaster import Learner
from xerte.types import ProgressCallback

if TYPE_CHECKING:
    from xerte.api.ask import Asker

_RATES = "rates of past events, calibrated on valid, answer"


class Service:
    """Answers requests about any dataset with any model.

    Args:
        device: where questions are answered: "auto", "cpu", "cuda".
    """

    def __init__(self, device: str = "auto") -> None:
        self._device = device
        self._datasets: dict[str, Dataset] = {}
        self._models: dict[tuple[str, str], Model] = {}
        self._versions = DatasetVersions()
        self._lock, self._loading = RLock(), RLock()

    def share_cores(self, most: int) -> int:
        """Divides the cores of this process among so many batches of questions at once; how many there may be."""
        return share_threads(choose_device(self._device), most)

    def dataset(self, name: str | Path) -> Dataset:
        """The dataset of this name or folder."""
        with self._lock:
            if str(name) not in self._datasets:
                self._datasets[str(name)] = datasets.load(name)
            self._datasets[str(name)] = self._datasets[str(name)].refreshed()  # with what was appended since
            return self._datasets[str(name)]

    def default_model(self, dataset: str) -> TrainedModel:
        """What answers unless a model is named: the newest trained on this dataset, else recurrence."""
        return default_model(self.dataset(dataset))

    def model(self, dataset: str, name: str | None = None) -> Model:
        """The model of this name or folder, ready for a dataset; the default one unless named."""
        key = dataset, name or self.default_model(dataset).name
        if key not in self._models:
            with self._loading:  # for seconds; who asks what is open already does not wait for it
                if key not in self._models:
                    self._models[key] = Model.load(key[1], self.dataset(dataset), self._device)
        return self._models[key]

    def asker(self, dataset: str, name: str | None = None, progress: ProgressCallback | None = None) -> "Asker":
        """What says how likely events are: rates that listen to this model, to the newest trained one, or to none."""
        from xerte.api.ask import MODEL as RATES
        from xerte.api.ask import Asker

        data = self.dataset(dataset)
        if name == RATES:
            return Asker(data)
        trained = name is not None or self.default_model(dataset).dataset is not None
        if not trained:
            return Asker(data, notes=(f"no model is trained on {data.name}: {_RATES}",))
        model = self.model(dataset, name)
        notes = () if isinstance(model.forecaster, Learner) else (f"{model.name} learns nothing: {_RATES}",)
        return Asker(data, model, notes, progress)

    def models(self) -> list[TrainedModel]:
        """Every model that can answer, newest first."""
        return models()

    def versions(self, model: Model, dataset: Dataset | None = None) -> schemas.Versions:
        """What this model's answers are made from; the dataset is the model's own unless given."""
        weights = version(model.metadata) or untrained_version(model.name)
        return schemas.Versions(dataset=self.version_of(dataset or model.dataset), model=weights)

    def version_of(self, dataset: Dataset) -> str:
        """The version of a snapshot."""
        return self._versions.of(dataset)

    def dataset_at(self, name: str, version: str) -> Dataset:
        """A dataset as it was at a version.

        Raises:
            InputError: it cannot be had.
        """
        return self._versions.dataset(self.dataset(name), version)

    def forecast(self, dataset: str, asked: schemas.ForecastRequest) -> Forecast:
        """The answers to one question."""
        return forecast(self.model(dataset, asked.model), asked)

    def explain(self, dataset: str, asked: schemas.ExplainRequest) -> tuple[Forecast, Explanation]:
        """The answers to one question, and what spoke for one of them."""
        answered = self.forecast(dataset, asked)
        return answered, answered.explain(asked.answer, most=asked.paths)

    def compare(self, dataset: str, asked: schemas.CompareRequest) -> Comparison:
        """One question to several models."""
        chosen = [self.model(dataset, name) for name in asked.models]
        words = (asked.subject, asked.relation, asked.time)
        return compare(self.dataset(dataset), *words, chosen, object=asked.object, top=asked.top)


def untrained_version(name: str) -> str:
    """The version of a model without weights: that of this program."""
    return f"{name}-{__version__}"


def forecast(model: Model, asked: schemas.ForecastRequest) -> Forecast:
    """What a model answers to a request."""
    return model.forecast(
        asked.subject,
        asked.relation,
        asked.time,
        asked.top,
        object=asked.object,
        without=[fact.words() for fact in asked.without],
        given=[fact.words() for fact in asked.given],
        coverage=asked.coverage,
    )
