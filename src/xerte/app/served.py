"""What one server answers: a dataset, its default model, other models that are there, other datasets on request."""

import copy
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from threading import Lock, RLock

from xerte.api import datasets, schemas
from xerte.api.evaluations import Evaluations
from xerte.api.forecast import Forecast
from xerte.api.intake import Intake
from xerte.api.model import Model
from xerte.api.search import NameIndex
from xerte.api.service import Service, untrained_version
from xerte.data.dataset import Dataset
from xerte.errors import InputError, shown

_PAST = 4
"""So many models over earlier states of the dataset are kept."""
_OTHERS = 4
"""So many datasets are kept open beside the server's own."""


@cache
def called(source: str) -> str:
    """What clients call a model: where it lies on the server's disk is nobody's business."""
    return Path(source).resolve().name


class Served:
    """A service, bound to one dataset.

    Args:
        service: opens and keeps datasets and models.
        name: the dataset's name or folder.
        model: what answers unless a request names another; None: the newest trained, else recurrence.
    """

    def __init__(self, service: Service, name: str, model: str | None = None) -> None:
        self.service, self.name = service, name
        chosen = service.default_model(name)
        self.default = model or chosen.name
        self.trained = model is not None or chosen.dataset is not None
        self.intake, self.evaluations, self._one_at_a_time = Intake(), Evaluations(), Lock()
        self._past: OrderedDict[tuple[str, str], Model] = OrderedDict()
        self._past_lock = RLock()
        self._entities: NameIndex | None = None
        self._relations: NameIndex | None = None
        service.model(name, self.default)

    @property
    def dataset(self) -> Dataset:
        """The dataset as it is now."""
        return self.service.dataset(self.name)

    def model(self, name: str | None) -> Model:
        """The default model, or one of those that `models` lists: a client can open no other folder.

        Raises:
            InputError: no model that fits this dataset has the name.
        """
        if name is None or name in (self.default, called(self.default)):
            return self.service.model(self.name, self.default)
        known = [one.name for one in self.models()]
        if name not in known:
            raise InputError(
                f"no model is called {shown(name)}", hint=f"known are {', '.join(known)}", code="unknown_model"
            )
        return self.service.model(self.name, name)

    def at(self, versions: schemas.Versions, name: str | None) -> Model:
        """What made an earlier answer: the model of a version, over the dataset of a version.

        Raises:
            InputError: it cannot be had any more.
        """
        model, then = self._of_version(versions.model, name), self.service.dataset_at(self.name, versions.dataset)
        if then.kept is None or then.kept.live is None:  # nothing ever came
            return model
        key = model.source, versions.dataset
        with self._past_lock:
            if key not in self._past:
                self._past[key] = Model.load(model.source, then, str(model.device))
                while len(self._past) > _PAST:
                    self._past.popitem(last=False)
            self._past.move_to_end(key)
            return self._past[key]

    def _of_version(self, version: str, name: str | None) -> Model:
        chosen = self.model(name)
        if self.versions(chosen).model == version:
            return chosen
        for one in self.models():
            if one.version == version or (one.version is None and version == untrained_version(one.name)):
                return self.model(one.name)
        raise InputError(f"no model here has the version {shown(version)}", code="unknown_version")

    def models(self) -> list[schemas.TrainedModel]:
        """The models that can answer about this dataset; the default one first."""
        fits = [one for one in self.service.models() if one.dataset in (None, self.dataset.name)]
        fits.sort(key=lambda one: one.name != self.default)
        return [schemas.TrainedModel.model_validate(replace(one, folder=None)) for one in fits]  # paths stay here

    def versions(self, model: Model, dataset: Dataset | None = None) -> schemas.Versions:
        """What this model's answers are made from."""
        return self.service.versions(model, dataset)

    def told(self, model: Model, found: Forecast) -> schemas.Forecast:
        """A forecast as clients see it, with the versions of the very snapshot that was read."""
        return found.to_body().having(source=called(model.source), versions=self.versions(model, found.read))

    @contextmanager
    def rates(self, version: str | None = None) -> Iterator[Model]:
        """A model that answers from rates, for one question at a time: they are fitted once, at the first one.

        Args:
            version: of the dataset that an earlier answer was made from; now unless given.
        """
        with self._one_at_a_time:
            yield self._rates if version is None else self._rates_at(version)

    def _rates_at(self, version: str) -> Model:
        now = self._rates
        now.refresh()
        if self.service.version_of(now.dataset) == version:
            return now
        return self.at(self.versions(now).model_copy(update={"dataset": version}), None)

    @cached_property
    def _rates(self) -> Model:
        return copy.copy(self.model(None))

    def rated(self, model: Model) -> schemas.Versions:
        """What an answer from rates is made from: the dataset alone, whatever the model."""
        return schemas.Versions(dataset=self.service.version_of(model.dataset), model="rates")

    @property
    def entities(self) -> NameIndex:
        """To search in; made anew when names have come."""
        data = self.dataset
        if self._entities is None or len(self._entities.names) != data.num_entities:
            self._entities = NameIndex.of_entities(data)
        return self._entities

    @property
    def relations(self) -> NameIndex:
        """To search in; likewise."""
        data = self.dataset
        if self._relations is None or len(self._relations.names) != data.num_relations:
            self._relations = NameIndex.of_relations(data)
        return self._relations


class ServedDatasets:
    """The server's own dataset, and others of this machine that a request names; those used last stay open.

    Args:
        own: answers unless a request names another.
    """

    def __init__(self, own: Served) -> None:
        self.own = own
        self._others: OrderedDict[str, Served] = OrderedDict()
        self._lock = RLock()

    def of(self, name: str) -> Served:
        """The dataset of this name: a client can open no other folder.

        Raises:
            InputError: no dataset that is here has the name.
        """
        if name == self.own.name:
            return self.own
        with self._lock:
            if name not in self._others:
                here = [one.name for one in datasets.listed() if one.present and not one.problem]
                if name not in here:
                    hint = f"here are {', '.join(here)}"
                    raise InputError(f"no dataset here is called {shown(name)}", hint=hint, code="unknown_dataset")
                self._others[name] = Served(Service("cpu"), name)
                while len(self._others) > _OTHERS:
                    self._others.popitem(last=False)
            self._others.move_to_end(name)
            return self._others[name]

    def forget(self, name: str) -> None:
        """Opens a dataset anew when it is next asked for: it was imported again."""
        with self._lock:
            self._others.pop(name, None)
