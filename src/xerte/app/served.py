"""What one server answers: a dataset, its default model, and every other model that is there."""

from dataclasses import replace
from threading import Lock

from xerte.api import schemas
from xerte.api.intake import Intake
from xerte.api.model import Model
from xerte.api.search import NameIndex
from xerte.api.service import Service
from xerte.data.dataset import Dataset
from xerte.errors import InputError, shown


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
        self.intake, self.rates = Intake(), Lock()  # rates are fitted once, at the first question about them
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
        if name is None or name == self.default:
            return self.service.model(self.name, self.default)
        known = [one.name for one in self.models()]
        if name not in known:
            raise InputError(
                f"no model is called {shown(name)}", hint=f"known are {', '.join(known)}", code="unknown_model"
            )
        return self.service.model(self.name, name)

    def models(self) -> list[schemas.TrainedModel]:
        """The models that can answer about this dataset; the default one first."""
        fits = [one for one in self.service.models() if one.dataset in (None, self.dataset.name)]
        if self.dataset.name != "world":
            fits = [one for one in fits if one.name != "oracle"]  # knows the causes of the embedded world
        fits.sort(key=lambda one: one.name != self.default)
        return [schemas.TrainedModel.model_validate(replace(one, folder=None)) for one in fits]  # paths stay here

    def versions(self, model: Model) -> schemas.Versions:
        """What this model's answers are made from."""
        return self.service.versions(model)

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
