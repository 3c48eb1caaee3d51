"""Presets: settings by name, as files, for known datasets and for any other."""

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.experiment.auto import Sizes
from xerte.experiment.registry import MODELS, default_preset, learner
from xerte.experiment.related import related_relations
from xerte.experiment.rhythm import Rhythm
from xerte.training.settings import TrainingSettings

FOLDER = resources.files("xerte.experiment") / "presets"
PRESETS = tuple(preset for entry in MODELS.values() if entry.learns for preset in entry.presets or (entry.name,))
_MEASURED: Mapping[str, type[Sizes] | type[Rhythm]] = {"auto": Sizes, "graph": Rhythm}
_XERTE = "xerte"
_BEST = "best"
_RELATED = 16
_PARTS = ("model", "training")


@dataclass(frozen=True)
class Resolved:
    """A preset made concrete for a dataset.

    Attributes:
        preset: its name or file.
        learner: the name of the model it is for.
        model, training: every setting; those of the model in its own class.
        derived: what was measured on the dataset and what follows, for people to read; only for `auto` and `graph`.
    """

    preset: str
    learner: str
    model: Any
    training: TrainingSettings
    derived: tuple[str, ...] = ()


def resolve(
    preset: str | None, dataset: Dataset, overrides: Mapping[str, Any] | None = None, model: str | None = None
) -> Resolved:
    """The settings of a preset (a name, or a TOML file of the same form) for a dataset, some set by the user.

    Args:
        preset: None takes the model's own.
        dataset: what is to be learned.
        overrides: single settings, by name.
        model: what is to learn; None is what the preset names, and a preset that names none is xERTE's.

    Raises:
        InputError: there is no such preset or setting, a value does not fit, or the preset is another model's.
    """
    preset = default_preset(model or _BEST) if preset is None else preset
    body = _read(preset)
    named = str(body.get("learner", _XERTE if preset in PRESETS else model or _XERTE))
    if model not in (None, named):
        learner(model or "")
        raise InputError(f"the preset {preset} is for {named}, not for {model}: name one of the two")
    kind, _ = learner(named)
    measured = _MEASURED[preset].of(dataset) if preset in _MEASURED else None
    layers = (
        body,
        _table(_table(body, "dataset", preset), dataset.name, preset),
        {} if measured is None else measured.settings,
        _by_part(overrides or {}, kind),
    )
    values, how = ({k: v for one in layers for k, v in _table(one, part, preset).items()} for part in _PARTS)
    if type(count := values.get("related")) is int and "related" in kind.model_fields:
        values["related"] = _related(dataset, count, fit(kind, values | {"related": ()}))
    derived = () if measured is None else measured.lines(dataset.calendar)
    if derived and overrides:
        derived = (*derived, "set by you: " + ", ".join(f"{name} = {value}" for name, value in overrides.items()))
    return Resolved(preset, named, fit(kind, values), fit(TrainingSettings, how), derived)


def _by_part(settings: Mapping[str, Any], kind: type[BaseModel]) -> dict[str, dict[str, Any]]:
    """Single settings, each in the part of a preset that knows it."""
    known = {"model": kind.model_fields, "training": TrainingSettings.model_fields}
    parts: dict[str, dict[str, Any]] = {part: {} for part in known}
    for name, value in settings.items():
        part = next((part for part, fields in known.items() if name in fields), None)
        if part is None:
            raise _unknown(name, [field for fields in known.values() for field in fields])
        parts[part][name] = value
    return parts


def _related(dataset: Dataset, count: int, settings: Any) -> tuple[tuple[int, ...], ...]:
    """So many relations for every relation, found in the training facts."""
    if not 0 <= count <= _RELATED:
        raise InputError(f"related: name a number from 0 to {_RELATED}, not {count}")
    if count and not settings.same_relation:
        raise InputError("related needs same_relation, which says how many edges of a relation are offered")
    return related_relations(dataset, count, settings.same_relation, settings.n) if count else ()


def parse_setting(text: str) -> tuple[str, Any]:
    """The name and value of "k=15", "gamma=0.5", "sampling=last", "dims=[64, 32]".

    Raises:
        InputError: it is not of that form.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InputError(f"{text!r} is not a setting: write it like k=15")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):  # also a whole number of thousands of digits
        return name.strip(), value.strip()


def _read(preset: str) -> dict[str, Any]:
    if preset in PRESETS:
        return tomllib.loads((FOLDER / f"{preset}.toml").read_text("utf-8"))
    path = Path(preset)
    if path.suffix != ".toml":
        close = difflib.get_close_matches(preset.casefold(), PRESETS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(PRESETS)}, or name a .toml file"
        raise InputError(f"there is no preset {preset}: {hint}")
    try:
        body = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as TOML: {error}") from None
    unknown = set(body) - {"about", "learner", "model", "training", "dataset"}
    if unknown:
        raise InputError(f"{path} has a part {min(unknown)}: a preset has about, learner, model, training and dataset")
    return body


def _table(body: Mapping[str, Any], name: str, preset: str) -> dict[str, Any]:
    """The table of this name, empty where there is none."""
    table = body.get(name, {})
    if not isinstance(table, dict):
        raise InputError(f"{preset}: {name} is {table!r:.40}, not a table of settings")
    return table


def _unknown(name: str, names: list[str]) -> InputError:
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(names)}"
    return InputError(f"there is no setting {name}: {hint}")


_Settings = TypeVar("_Settings", bound=BaseModel)


def fit(kind: type[_Settings], values: Mapping[str, Any]) -> _Settings:
    """Settings of a kind with these values.

    Raises:
        InputError: there is no such setting, or a value does not fit.
    """
    for name, value in values.items():
        if name not in kind.model_fields:
            raise _unknown(name, list(kind.model_fields))
        if kind.model_fields[name].annotation is not bool and _holds_bool(value):
            raise InputError(f"{name}: {str(value).lower():.40} is no number")
    try:
        return kind(**values)
    except ValidationError as error:
        first = error.errors()[0]
        problem = first["msg"].removeprefix("Value error, ")
        if not first["loc"]:
            raise InputError(f"the settings do not go together: {problem}") from None
        raise InputError(f"{first['loc'][0]}: {problem}, not {first['input']!r:.40}") from None


def _holds_bool(value: Any) -> bool:
    """Whether true or false stands where Python would take it for 1 or 0."""
    if isinstance(value, list | tuple):
        return any(_holds_bool(one) for one in value)
    return isinstance(value, bool)
