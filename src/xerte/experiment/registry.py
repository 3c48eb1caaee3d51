"""Every model's name. Nobody else knows them.

A model that learns is one line in MODELS, `Entry(name, summary, settings=…, build=…)`, and one preset of its own name
in `presets/`, whose first line is `learner = "NAME"`. Its class is a
`forecaster.Learner`, made by `build(settings, frame, seed)`. Training, saving, presets, the command line and the
contract tests follow.
"""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel

from xerte.baselines.complex import ComplEx
from xerte.baselines.cygnet import CyGNet, CyGNetSettings
from xerte.baselines.de_simple import DESimplE, DESimplESettings
from xerte.baselines.distmult import DistMult
from xerte.baselines.factorisation import FactorSettings
from xerte.baselines.re_net import RENet, RENetSettings
from xerte.baselines.tntcomplex import TNTComplEx, TNTComplExSettings
from xerte.baselines.tokens import TADistMult, TATransE
from xerte.baselines.transe import TransE, TranslationSettings
from xerte.baselines.ttranse import TTransE, TTransESettings
from xerte.data.dataset import Dataset
from xerte.data.frame import Frame
from xerte.errors import InputError
from xerte.forecaster import Forecaster, Learner
from xerte.model import XERTE
from xerte.parts.model import SumOfParts
from xerte.parts.settings import PartsSettings
from xerte.settings import ModelSettings


@dataclass(frozen=True)
class Entry:
    """A model that can be asked for by name: it learns (settings, build), or is ready at once (make).

    Attributes:
        name: what users type.
        summary: one line for lists and help.
        make: of a training-free model: a forecaster ready to answer questions about this dataset.
        settings: of a model that learns: the class of its settings.
        build: of a model that learns: settings, frame and seed -> the untrained module.
        explains: by what it explains a forecast; empty where it does not.
        presets: of a model that learns: the first is taken unless one is named.
        only: the one dataset it knows; empty where it takes any.
    """

    name: str
    summary: str
    make: Callable[[Dataset], Forecaster] | None = None
    settings: type[BaseModel] | None = None
    build: Callable[[Any, Frame, int], Learner] | None = None
    explains: str = ""
    presets: tuple[str, ...] = ()
    only: str = ""

    @property
    def learns(self) -> bool:
        """Whether it must be trained."""
        return self.build is not None


def _recurrence(dataset: Dataset) -> Forecaster:
    from xerte.baselines.recurrence import Recurrence

    return Recurrence.fit(dataset)


def _oracle(dataset: Dataset) -> Forecaster:
    from xerte.baselines.oracle import Oracle
    from xerte.data.world import generate

    world = generate()
    known = zip(world.dataset.facts.columns(), dataset.facts.columns(), strict=True)
    if not all(np.array_equal(mine, theirs) for mine, theirs in known):
        raise InputError(f"the oracle knows the rules of the embedded world only, not those of {dataset.name}")
    return Oracle(world)


def _xerte(settings: ModelSettings, frame: Frame, seed: int) -> XERTE:
    directions = range(2 * frame.num_relations)
    if related := settings.related:  # relations that came after training are offered their own edges only
        rows = (*related, *((one,) * len(related[0]) for one in directions[len(related) :]))
        settings = settings.model_copy(update={"related": rows[: len(directions)]})
    model = XERTE(settings, frame.num_entities, frame.num_relations, frame.calendar.ticks_per_unit, seed)
    model.frame = frame
    return model


MODELS = {
    entry.name: entry
    for entry in (
        Entry(
            "best",
            "past + walks + prior, all made of facts, times a factor; no entity has a parameter",
            settings=PartsSettings,
            build=SumOfParts,
            explains="weighed facts",
            presets=("auto", "best"),
        ),
        Entry(
            "xerte",
            "attention over a graph grown backwards in time (Han et al. 2021); explains itself",
            settings=ModelSettings,
            build=_xerte,
            explains="inference graph",
            presets=("graph", "paper", "text", "world"),
        ),
        Entry(
            "recurrence",
            "training-free: what happened before, decayed per relation (the floor)",
            make=_recurrence,
            explains="counted facts",
        ),
        Entry(
            "oracle", "knows the rules of the embedded world (the ceiling); only for world", make=_oracle, only="world"
        ),
        Entry("transe", "e_s + r ≈ e_o (Bordes et al. 2013); static", settings=TranslationSettings, build=TransE),
        Entry("distmult", "⟨e_s, r, e_o⟩ (Yang et al. 2015); static", settings=FactorSettings, build=DistMult),
        Entry("complex", "Re⟨e_s, r, ē_o⟩ (Trouillon et al. 2016); static", settings=FactorSettings, build=ComplEx),
        Entry("ttranse", "e_s + r + τ_t ≈ e_o (Leblay & Chekol 2018)", settings=TTransESettings, build=TTransE),
        Entry(
            "ta-distmult",
            "DistMult; an LSTM reads relation and date (García-Durán et al. 2018)",
            settings=FactorSettings,
            build=TADistMult,
        ),
        Entry(
            "ta-transe",
            "TransE; an LSTM reads relation and date (García-Durán et al. 2018)",
            settings=TranslationSettings,
            build=TATransE,
        ),
        Entry(
            "de-simple",
            "SimplE; entities change with the date (Goel et al. 2020)",
            settings=DESimplESettings,
            build=DESimplE,
        ),
        Entry(
            "tntcomplex",
            "Re⟨e_s, r τ_t + n, ē_o⟩ (Lacroix et al. 2020)",
            settings=TNTComplExSettings,
            build=TNTComplEx,
        ),
        Entry("cygnet", "copies from history or generates (Zhu et al. 2021)", settings=CyGNetSettings, build=CyGNet),
        Entry("re-net", "reads neighbourhoods as a sequence (Jin et al. 2020)", settings=RENetSettings, build=RENet),
    )
}


def entry(name: str) -> Entry:
    """The model of this name.

    Raises:
        InputError: no model has this name; the closest one is suggested.
    """
    if name in MODELS:
        return MODELS[name]
    close = difflib.get_close_matches(name.casefold(), MODELS, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(MODELS)} and folders of trained models"
    raise InputError(f"no model is called {name}: {hint}")


def learner(name: str) -> tuple[type[BaseModel], Callable[[Any, Frame, int], Learner]]:
    """How the model of this name is configured and built.

    Raises:
        InputError: there is none, or it is training-free.
    """
    chosen = entry(name)
    if chosen.settings is None or chosen.build is None:
        raise InputError(f"{name} is training-free: it needs no training, use it by its name")
    return chosen.settings, chosen.build


def default_preset(name: str) -> str:
    """The preset taken for a model unless one is named: its own name for all but xERTE."""
    learner(name)
    return (*entry(name).presets, name)[0]
