"""The Python reference, read off the stable names of the package."""

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

import xerte
from reports.table import Block, Table

_FIELD = re.compile(r"^(\*{0,2}\w+(?:, \w+)*): (.*)")


def reference(_: Path) -> list[Block]:
    """Functions, then classes with their public methods, then errors."""
    names = [(name, getattr(xerte, name)) for name in xerte.__all__]
    functions = [(name, one) for name, one in names if not isinstance(one, type)]
    errors = [(name, one) for name, one in names if isinstance(one, type) and issubclass(one, Exception)]
    classes = [(name, one) for name, one in names if isinstance(one, type) and not issubclass(one, Exception)]
    blocks: list[Block] = []
    for name, one in functions:
        blocks += _callable(f"xerte.{name}", one, "##")
    for name, one in classes:
        blocks += _class(name, one)
    rows = [(f"`xerte.{name}`", _summary(one)) for name, one in errors]
    return [*blocks, "## Errors", Table(("", "when"), rows, "ll")]


def _class(name: str, one: type) -> Iterator[Block]:
    yield f"## `xerte.{name}`"
    yield from _described(one)
    for member, value in vars(one).items():
        if member.startswith("_"):
            continue
        if isinstance(value, property) or type(value).__name__ == "cached_property":
            yield f"**`.{member}`**: {_summary(value)}"
        elif inspect.isfunction(value) or isinstance(value, staticmethod | classmethod):
            place = f"xerte.{name}.{member}" if isinstance(value, staticmethod | classmethod) else f".{member}"
            yield from _callable(place, getattr(one, member), "###")


def _callable(path: str, function: object, level: str) -> Iterator[Block]:
    assert callable(function)
    parameters = [one for one in inspect.signature(function).parameters.values() if one.name != "self"]
    yield f"{level} `{path}`"
    yield f"```text\n{path.rpartition('.')[2]}({', '.join(map(_parameter, parameters))})\n```"
    yield from _described(function)


def _parameter(one: inspect.Parameter) -> str:
    star = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
    value = one.default.value if isinstance(one.default, Enum) else one.default
    default = "" if value is one.empty else "=…" if callable(value) else f"={value!r}"
    return f"{star}{one.name}{default}"


def _described(one: object) -> Iterator[Block]:
    """The docstring: its text, and its sections (Args, Attributes, Raises, Returns) as a table."""
    text, *sections = re.split(r"\n\n?(Args|Attributes|Raises|Returns|Yields):\n", inspect.getdoc(one) or "")
    yield text
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        rows = list(_fields(body))
        yield Table((title.lower(), ""), rows, "ll")


def _fields(body: str) -> Iterator[tuple[str, str]]:
    """`name: text` with indented lines behind it; a section without names is one text."""
    lines = inspect.cleandoc(body).splitlines()
    rows: list[list[str]] = []
    for line in lines:
        match = None if line.startswith(" ") else _FIELD.match(line)
        if match is not None:
            rows.append([f"`{match[1]}`", match[2]])
        elif rows:
            rows[-1][1] += f" {line.strip()}"
        else:
            rows.append(["", line.strip()])
    return ((name, text.replace("|", "\\|")) for name, text in rows)


def _summary(one: object) -> str:
    return " ".join((inspect.getdoc(one) or "").split("\n\n")[0].split())


PARTS = {"api": reference}
