"""The pages of the site: what is gathered, and where links lead."""

import re
import tomllib
from pathlib import Path

from reports.site import PROJECT, gather, notebook

ROOT = Path(__file__).parents[2]


def test_every_page_has_its_place_in_the_navigation() -> None:
    nav = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]["nav"]
    pages = {file.relative_to(ROOT / "docs").as_posix() for file in (ROOT / "docs").rglob("*.md")}
    pages |= {f"project/{name}" for name in PROJECT}
    pages |= {f"notebooks/{file.stem}.md" for file in (ROOT / "notebooks").glob("*.ipynb")}
    assert set(re.findall(r"[\w/-]+\.md", str(nav))) == pages


def test_pages_are_gathered_and_links_follow(tmp_path: Path) -> None:
    for name in ("docs/how-to", "notebooks", "src"):
        (tmp_path / name).mkdir(parents=True)
    for name in (*PROJECT, "README.md"):
        (tmp_path / name).write_text("see [the page](docs/a.md#x)\n")
    links = "[b](how-to/b.md) [law](../ARCHITECTURE.md) [code](../src) [away](https://example.org) ![p](p.svg)\n"
    (tmp_path / "docs" / "a.md").write_text(links)
    (tmp_path / "docs" / "how-to" / "b.md").write_text("[a](../a.md) [home](../../README.md)")
    pages = gather(tmp_path)
    away = "[away](https://example.org) ![p](p.svg)\n"
    assert (pages / "a.md").read_text() == f"[b](how-to/b.md) [law](project/ARCHITECTURE.md) code {away}"
    assert (pages / "how-to" / "b.md").read_text() == "[a](../a.md) [home](../index.md)"
    assert (pages / "project" / "CHANGELOG.md").read_text() == "see [the page](../a.md#x)\n"


def test_a_notebook_shows_what_its_cells_print() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# A"]},
        {"cell_type": "code", "source": ["x = 1\n", "x"], "outputs": [{"data": {"text/plain": ["1"]}}]},
        {"cell_type": "code", "source": ["print(2)"], "outputs": [{"text": ["2\n"]}]},
    ]
    text = "# A\n\n```python\nx = 1\nx\n```\n\n```text\n1\n```\n\n```python\nprint(2)\n```\n\n```text\n2\n```\n"
    assert notebook({"cells": cells}) == text
