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
from xerte.experiment.auto import Rhythm
from xerte.settings import ModelSettings
from xerte.training.loop import TrainingSettings

_FOLDER = resources.files("xerte.experiment") / "presets"
PRESETS = tuple(sorted(file.name.removesuffix(".toml") for file in _FOLDER.iterdir() if file.name.endswith(".toml")))


@dataclass(frozen=True)
class Resolved:
    """A preset made concrete for a dataset.

    Attributes:
        preset: its name or file.
        model, training: every setting.
        derived: what was measured on the dataset and what follows, for people to read; only for `auto`.
    """

    preset: str
    model: ModelSettings
    training: TrainingSettings
    derived: tuple[str, ...] = ()


def resolve(preset: str, dataset: Dataset, overrides: Mapping[str, Any] | None = None) -> Resolved:
    """The settings of a preset (a name, or a TOML file of the same form) for a dataset, some set by the user.

    Raises:
        InputError: there is no such preset or setting, or a value does not fit.
    """
    body = _read(preset)
    special = body.get("dataset", {}).get(dataset.name, {})
    parts = {part: {**body.get(part, {}), **special.get(part, {})} for part in ("model", "training")}
    derived: tuple[str, ...] = ()
    if preset == "auto":
        rhythm = Rhythm.of(dataset)
        derived = rhythm.lines(dataset.calendar)
        parts["model"] |= {"n": rhythm.n, "k": rhythm.k, "time_scale": rhythm.time_scale}
        parts["training"] |= {"start": rhythm.start}
    known: dict[str, type[BaseModel]] = {"model": ModelSettings, "training": TrainingSettings}
    for name, value in (overrides or {}).items():
        part = next((part for part, kind in known.items() if name in kind.model_fields), None)
        if part is None:
            names = [field for kind in known.values() for field in kind.model_fields]
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(names)}"
            raise InputError(f"there is no setting {name}: {hint}")
        parts[part][name] = value
    model, training = _fit(ModelSettings, parts["model"]), _fit(TrainingSettings, parts["training"])
    return Resolved(preset, model, training, derived)


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
    except tomllib.TOMLDecodeError:
        return name.strip(), value.strip()


def _read(preset: str) -> dict[str, Any]:
    if preset in PRESETS:
        return tomllib.loads((_FOLDER / f"{preset}.toml").read_text("utf-8"))
    path = Path(preset)
    if path.suffix != ".toml":
        raise InputError(f"there is no preset {preset}: known are {', '.join(PRESETS)}, or name a .toml file")
    try:
        body = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as TOML: {error}") from None
    unknown = set(body) - {"about", "model", "training", "dataset"}
    if unknown:
        raise InputError(f"{path} has a part {min(unknown)}: a preset has about, model, training and dataset")
    return body


_Settings = TypeVar("_Settings", bound=BaseModel)


def _fit(kind: type[_Settings], values: dict[str, Any]) -> _Settings:
    try:
        return kind(**values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "settings"
        raise InputError(f"{where}: {first['msg'].removeprefix('Value error, ')}, not {first['input']!r}") from None
