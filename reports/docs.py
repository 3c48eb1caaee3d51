"""The generated parts of the pages: `python -m reports docs` writes them; `--check` fails where one is stale.

A generated part stands between `<!-- generated: NAME -->` and `<!-- end -->`; the rest of a page is written by hand.
"""

import inspect
import re
import tomllib
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from pydantic.fields import FieldInfo

from reports import (
    faithfulness_pages,
    gallery_pages,
    paper_pages,
    performance_pages,
    pretrained_pages,
    segment_pages,
    time_study_pages,
)
from reports.markdown import line
from reports.table1 import markdown as baselines_tables
from reports.table1 import summary
from xerte.errors import InputError
from xerte.experiment.definition import METRICS, experiments
from xerte.experiment.preset import FOLDER as PRESET_FOLDER
from xerte.experiment.registry import MODELS
from xerte.experiment.trace import Trace
from xerte.settings import ModelSettings
from xerte.training.loop import TrainingSettings

if TYPE_CHECKING:
    from typer import Typer

_PART = re.compile(r"(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def pages(root: Path) -> list[Path]:
    """Every page that may hold generated parts."""
    return sorted([*root.glob("*.md"), *root.glob("docs/*.md")])


def rendered(page: str, root: Path) -> str:
    """The page with its generated parts made anew."""

    def part(match: re.Match[str]) -> str:
        if match[2] not in PARTS:
            raise InputError(f"nobody generates a part called {match[2]}: known are {', '.join(PARTS)}")
        return match[1] + PARTS[match[2]](root).rstrip() + "\n" + match[3]

    return _PART.sub(part, page)


def stale_pages(root: Path) -> dict[Path, str]:
    """Every page whose generated parts are not what they would be now, with its fresh text."""
    texts = {page: page.read_text("utf-8") for page in pages(root)}
    fresh = {page: rendered(text, root) for page, text in texts.items()}
    return {page: text for page, text in fresh.items() if text != texts[page]}


# The parts


def results_table(root: Path) -> str:
    """Time-aware test metrics by dataset, best first: the mean over a model's seeds, variants of a preset left out."""
    found: dict[tuple[str, str], list[Trace]] = {}
    for trace in (Trace.read(path) for path in sorted(root.glob("results/*.json"))):
        if trace.split == "test" and not trace.settings.get("set"):
            preset = trace.settings.get("preset") or trace.model
            model = trace.model if preset == trace.model else f"{trace.model} ({preset})"
            found.setdefault((trace.dataset, model), []).append(trace)
    if not found:
        return "No run has been recorded yet.\n"
    rows = [
        (
            *what,
            len({run.seed for run in runs}),
            [mean(run.metrics["time-aware"][name] for run in runs) for name in METRICS],
        )
        for what, runs in found.items()
    ]
    rows.sort(key=lambda row: (row[0], -row[3][0]))
    lines = ["| dataset | model | MRR | Hits@1 | Hits@3 | Hits@10 |", "|---|---|--:|--:|--:|--:|"]
    for dataset, model, seeds, values in rows:
        told = f", {seeds} seeds" if seeds > 1 else ""
        lines.append(f"| {dataset} | {model}{told} | {_numbers(values)} |")
    return "\n".join(lines)


def runs_table(root: Path) -> str:
    """What to type to make every trace again, and what it took."""
    lines = ["| trace | command | questions | seconds | device | commit |", "|---|---|--:|--:|---|---|"]
    for path in sorted(root.glob("results/*.json")):
        trace = Trace.read(path)
        epochs = trace.settings.get("epochs", ())
        training = sum(epoch["seconds"] + epoch["valid_seconds"] for epoch in epochs)
        seconds = f"{sum(trace.seconds.values()) + training:.0f}"
        commit = trace.commit[:10] + ("+changes" if trace.commit.endswith("+changes") else "")
        cells = (path.name, f"`{trace.command}`", f"{trace.queries:,}", seconds, trace.device, commit)
        lines.append(line(cells))
    return "\n".join(lines)


def published_table(root: Path) -> str:
    """What was published of xERTE beside what every trace of the same experiment measured, and the difference."""
    lines = ["| dataset | experiment | | MRR | Hits@1 | Hits@3 | Hits@10 |", "|---|---|---|--:|--:|--:|--:|"]
    for one in (experiment for experiment in experiments(root) if experiment.model == "xerte"):
        if one.published is None:
            continue
        lines.append(f"| {one.dataset} | {one.name} | published | {_numbers(list(one.published))} |")
        for seed in one.seeds:
            trace = Trace.read(one.trace(root, seed))
            ours = [trace.metrics["time-aware"][name] for name in METRICS]
            lines.append(f"| | | ours, seed {seed} | {_numbers(ours)} |")
            difference = [mine - other for mine, other in zip(ours, one.published, strict=True)]
            lines.append(f"| | | difference | {' | '.join(f'{value:+.2f}' for value in difference)} |")
    return "\n".join(lines)


def settings_table(_: Path) -> str:
    """Every switch of the method with its default, which is what the paper ran on ICEWS14, and preset `text`."""
    written = tomllib.loads((PRESET_FOLDER / "text.toml").read_text("utf-8"))["model"]
    lines = ["| setting | as run (`paper`) | as written (`text`) | what it is |", "|---|---|---|---|"]
    for name, field in ModelSettings.model_fields.items():
        text = f"`{_plain(written[name])}`" if name in written else ""
        lines.append(f"| `{name}` | `{_plain(field.default)}` | {text} | {_about(field)} |")
    return "\n".join(lines)


def training_table(_: Path) -> str:
    """Every setting of the trainer with its default."""
    rows = [
        f"| `{name}` | `{_plain(field.default)}` | {_about(field)} |"
        for name, field in TrainingSettings.model_fields.items()
    ]
    return "\n".join(["| setting | default | what it is |", "|---|---|---|", *rows])


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


def _numbers(values: list[float]) -> str:
    return " | ".join(f"{value:.2f}" for value in values)


def models_table(_: Path) -> str:
    """The models that can be asked for by name."""
    rows = [f"| `{entry.name}` | {entry.summary} |" for entry in MODELS.values()]
    return "\n".join(["| `--model` | what it is |", "|---|---|", *rows])


def cli_reference(_: Path) -> str:
    """Every command with its arguments, options and examples, read off the functions themselves."""
    from xerte.cli import app

    return "\n".join(_group_lines("xerte", app))


def _group_lines(path: str, app: "Typer") -> Iterator[str]:
    for command in app.registered_commands:
        function = command.callback
        assert function is not None
        yield from _command_lines(f"{path} {command.name or function.__name__}", function)
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield from _group_lines(f"{path} {group.name}", group.typer_instance)


def _command_lines(path: str, function: Callable[..., Any]) -> Iterator[str]:
    text, _, examples = inspect.cleandoc(function.__doc__ or "").partition("\b\n")
    yield f"## `{path}`\n"
    yield text.strip() + "\n"
    yield f"```\n{examples}\n```\n"
    hints = get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters.values()
    rows = [_parameter_row(parameter, hints[parameter.name]) for parameter in parameters]
    yield "\n".join(["| | what it is |", "|---|---|", *rows]) + "\n"


def _parameter_row(parameter: inspect.Parameter, hint: Any) -> str:
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
    return f"| `{name}` | {words} |"


PARTS: dict[str, Callable[[Path], str]] = {
    "baselines": baselines_tables,
    "cli": cli_reference,
    "models": models_table,
    "published": published_table,
    "results": results_table,
    "settings": settings_table,
    "training-settings": training_table,
    "runs": runs_table,
    "summary": summary,
    **performance_pages.PARTS,
    **faithfulness_pages.PARTS,
    **gallery_pages.PARTS,
    **paper_pages.PARTS,
    **pretrained_pages.PARTS,
    **segment_pages.PARTS,
    **time_study_pages.PARTS,
}
