"""Reference pages read off the code: settings, models, every command."""

import inspect
import tomllib
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from pydantic.fields import FieldInfo

from reports.table import Block, Table
from xerte.experiment.preset import FOLDER as PRESET_FOLDER
from xerte.experiment.registry import MODELS
from xerte.parts.settings import PartsSettings
from xerte.settings import ModelSettings
from xerte.training.settings import TrainingSettings

if TYPE_CHECKING:
    from typer import Typer


def settings(_: Path) -> list[Block]:
    """Every switch of the method with its default, which is what the paper ran on ICEWS14, and preset `text`."""
    written = tomllib.loads((PRESET_FOLDER / "text.toml").read_text("utf-8"))["model"]
    rows = []
    for name, field in ModelSettings.model_fields.items():
        text = f"`{_plain(written[name])}`" if name in written else ""
        rows.append((f"`{name}`", f"`{_plain(field.default)}`", text, _about(field)))
    return [Table(("setting", "as run (`paper`)", "as written (`text`)", "what it is"), rows, "llll")]


def parts_settings(_: Path) -> list[Block]:
    """Every setting of the sum of parts with its default."""
    fields = PartsSettings.model_fields.items()
    rows = [(f"`{name}`", f"`{_plain(field.default)}`", _about(field)) for name, field in fields]
    return [Table(("setting", "default", "what it is"), rows, "lll")]


def training_settings(_: Path) -> list[Block]:
    """Every setting of the trainer with its default."""
    fields = TrainingSettings.model_fields.items()
    rows = [(f"`{name}`", f"`{_plain(field.default)}`", _about(field)) for name, field in fields]
    return [Table(("setting", "default", "what it is"), rows, "lll")]


def _about(field: FieldInfo) -> str:
    """What a setting is, in its own words or in those of its kind."""
    kind = field.annotation
    if not (isinstance(kind, type) and issubclass(kind, StrEnum)):
        return field.description or ""
    return f"{(kind.__doc__ or '').strip()} One of {', '.join(f'`{one.value}`' for one in kind)}."


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.value if isinstance(value, StrEnum) else str(value)


def models(_: Path) -> list[Block]:
    """The models that can be asked for by name."""
    rows = [(f"`{entry.name}`", entry.summary) for entry in MODELS.values()]
    return [Table(("`--model`", "what it is"), rows, "ll")]


def commands(_: Path) -> list[Block]:
    """Every command with its arguments, options and examples, read off the functions themselves."""
    from xerte.cli import app

    return list(_group_blocks("xerte", app))


def _group_blocks(path: str, app: "Typer") -> Iterator[Block]:
    for command in app.registered_commands:
        function = command.callback
        assert function is not None
        yield from _command_blocks(f"{path} {command.name or function.__name__}", function)
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from _group_blocks(f"{path} {group.name}", group.typer_instance)


def _command_blocks(path: str, function: Callable[..., Any]) -> Iterator[Block]:
    text, _, examples = inspect.cleandoc(function.__doc__ or "").partition("\b\n")
    yield f"## `{path}`"
    yield text.strip()
    yield f"```sh\n{examples}\n```"
    hints = get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters.values()
    rows = [_parameter_row(parameter, hints[parameter.name]) for parameter in parameters]
    yield Table(("", "what it is"), rows, "ll")


def _parameter_row(parameter: inspect.Parameter, hint: Any) -> tuple[str, str]:
    """One line about an argument or option; `hint` is what `Annotated` says of it."""
    kind, info = get_args(hint)[:2]
    word = parameter.name.replace("_", "-")
    if type(info).__name__ == "ArgumentInfo":
        name = info.metavar or word.upper()
    else:
        # Inside `Annotated`, typer keeps an option's first spelling in the place of its default.
        spelt = [one for one in (info.default, *(info.param_decls or ())) if str(one).startswith("-")]
        name = ", ".join(spelt or [f"--{word}"])
    words = info.help
    choices = next((one for one in (kind, *get_args(kind)) if isinstance(one, type) and issubclass(one, StrEnum)), None)
    if choices is not None:
        words += f" One of {', '.join(f'`{choice.value}`' for choice in choices)}."
    default = parameter.default
    if default is parameter.empty:
        words += " Required."
    elif default not in (None, False):
        words += f" Default: `{default}`."
    return f"`{name}`", words


PARTS = {
    "cli": commands,
    "models": models,
    "settings": settings,
    "parts-settings": parts_settings,
    "training-settings": training_settings,
}
