"""Code blocks of the pages, found and run."""

import doctest
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer import Typer
from typer.main import get_command
from typer.testing import CliRunner

import benchmarks.cli
import reports.cli
import xerte.cli

ROOT = Path(__file__).parents[1]
APPS: dict[str, Typer] = {
    "xerte": xerte.cli.app,
    "python -m reports": reports.cli.app,
    "python -m benchmarks": benchmarks.cli.app,
}
LANGUAGES = {"sh", "python", "toml", "json", "text"}
_BLOCK = re.compile(r"(?:<!-- needs: ([^>]+) -->\n)?^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, and what it needs that a test machine has not."""

    language: str
    text: str
    needs: str


def pages() -> list[Path]:
    """Every page with code."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    return [Block(language, text, needs) for needs, language, text in _BLOCK.findall(page.read_text("utf-8"))]


def commands(text: str) -> Iterator[str]:
    """One command a line; a backslash continues it, && separates two, # begins a comment.

    Where the output goes (> FILE) and what another program pipes in are left out.
    """
    for line in text.replace("\\\n", " ").splitlines():
        for part in re.sub(r"\s+#.*|\s+> \S+$", "", line).split("&&"):
            if own := re.sub(r"^(?!xerte |python ).* \| ", "", part.strip()):
                yield own


def parse(command: str) -> tuple[Typer, list[str]]:
    """The program and the arguments of a command; an unknown option or a missing argument raises."""
    name = next((name for name in APPS if command.startswith(f"{name} ")), None)
    assert name is not None, f"{command} is no command of this project"
    words = shlex.split(command)[len(name.split()) :]
    if "--help" in words:
        return APPS[name], words
    one: Any = get_command(APPS[name])
    context, rest = None, words
    while hasattr(one, "resolve_command"):
        context = one.make_context(name, list(rest), parent=context)
        _, one, rest = one.resolve_command(context, context._protected_args + context.args)
    one.make_context(name, list(rest), parent=context)
    return APPS[name], words


def targets() -> set[str]:
    """What `make` can make."""
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


class Reader:
    """Follows a page in a folder, block by block; a command that was run before is not run again."""

    def __init__(self) -> None:
        self.done = set[str]()

    def follow(self, page: Path) -> None:
        """Runs what can be run here, and checks the form of the rest."""
        names: dict[str, Any] = {}
        for block in blocks(page):
            assert block.language in LANGUAGES, f"{page.name}: a block of {block.language or 'no language'}"
            if block.language == "sh":
                self._shell(block)
            elif block.language == "python":
                self._python(block, names, page)
            elif block.language == "toml":
                tomllib.loads(block.text)
            elif block.language == "json":
                json.loads(block.text)

    def _shell(self, block: Block) -> None:
        for command in commands(block.text):
            if command == ".venv/bin/xerte serve world":  # goes on until it is stopped
                continue
            first, _, rest = command.partition(" ")
            if first == "make":
                assert rest in targets(), command
            elif first not in ("pip", "source"):
                app, words = parse(command)
                if not block.needs and command.replace("docs/", "") not in self.done:
                    result = CliRunner().invoke(app, words)
                    assert result.exit_code == 0, f"{command}\n{result.output}\n{result.exception!r}"
                    self.done.add(command.replace("docs/", ""))

    def _python(self, block: Block, names: dict[str, Any], page: Path) -> None:
        if ">>> " in block.text:
            example = doctest.DocTestParser().get_doctest(block.text, names, page.name, str(page), 0)
            said: list[str] = []
            outcome = doctest.DocTestRunner(verbose=False).run(example, out=said.append, clear_globs=False)
            names.update(example.globs)
            assert not outcome.failed, "".join(said)
            return
        code = compile(block.text, str(page), "exec")
        if not block.needs:
            exec(code, names)
