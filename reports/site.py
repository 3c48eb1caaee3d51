"""The documentation site: gathers docs/, notebooks and the pages of the project itself, for Zensical to build."""

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGES = Path("build") / "pages"
PROJECT = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")


def gather(root: Path) -> Path:
    """Writes every page of the site to build/pages; what lay there before is gone."""
    pages = root / PAGES
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(root / "docs", pages)
    moved = {root / "README.md": pages / "index.md", root / "notebooks": pages / "tutorial.md"}
    moved |= {file: pages / file.relative_to(root / "docs") for file in (root / "docs").rglob("*") if file.is_file()}
    moved |= {root / name: pages / "project" / name for name in PROJECT}
    moved |= {file: pages / "notebooks" / f"{file.stem}.md" for file in (root / "notebooks").glob("*.ipynb")}
    for source, page in moved.items():
        if page.suffix == ".md" and source.suffix in (".md", ".ipynb") and source.name != "README.md":
            text = (
                notebook(json.loads(source.read_text("utf-8")))
                if source.suffix == ".ipynb"
                else source.read_text("utf-8")
            )
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(_relinked(text, source, page, moved), "utf-8")
    return pages


def notebook(body: dict[str, Any]) -> str:
    """A notebook as Markdown: its texts, its code, and what the code printed."""
    return "\n\n".join(block for cell in body["cells"] for block in _cell(cell)) + "\n"


def _cell(cell: dict[str, Any]) -> Iterator[str]:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield text
        return
    yield f"```python\n{text}\n```"
    for output in cell.get("outputs", ()):
        shown = output.get("text") or output.get("data", {}).get("text/plain", ())
        if shown:
            yield f"```text\n{''.join(shown).rstrip()}\n```"


def _relinked(text: str, source: Path, page: Path, moved: dict[Path, Path]) -> str:
    """Links between pages lead to where these are now; one that leads out of the site becomes plain text."""

    def link(match: re.Match[str]) -> str:
        words, (target, mark, anchor) = match[1], match[2].partition("#")
        if "://" in target or not target:
            return match[0]
        place = moved.get(Path(os.path.normpath(source.parent / target)))
        return f"[{words}]({os.path.relpath(place, page.parent)}{mark}{anchor})" if place else words

    return _LINK.sub(link, text)
