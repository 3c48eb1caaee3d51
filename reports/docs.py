"""The generated parts of the pages: `python -m reports docs` writes them; `--check` fails where one is stale.

A generated part stands between `<!-- generated: NAME -->` and `<!-- end -->`; the rest of a page is written by hand.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from reports import (
    api_pages,
    baselines_pages,
    faithfulness_pages,
    gallery_pages,
    json_pages,
    live_pages,
    online_pages,
    paper_pages,
    parts_pages,
    performance_pages,
    pretrained_pages,
    questions_pages,
    real_tables_pages,
    reference_pages,
    results_pages,
    scale_pages,
    segment_pages,
    survey_pages,
    time_study_pages,
)
from reports.table import Block, markdown
from xerte.errors import InputError

_PART = re.compile(r"(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

PARTS: dict[str, Callable[[Path], Sequence[Block]]] = {
    **api_pages.PARTS,
    **baselines_pages.PARTS,
    **faithfulness_pages.PARTS,
    **gallery_pages.PARTS,
    **json_pages.PARTS,
    **online_pages.PARTS,
    **live_pages.PARTS,
    **paper_pages.PARTS,
    **parts_pages.PARTS,
    **performance_pages.PARTS,
    **pretrained_pages.PARTS,
    **questions_pages.PARTS,
    **scale_pages.PARTS,
    **real_tables_pages.PARTS,
    **reference_pages.PARTS,
    **results_pages.PARTS,
    **segment_pages.PARTS,
    **survey_pages.PARTS,
    **time_study_pages.PARTS,
}


def part(name: str, root: Path) -> Sequence[Block]:
    """A generated part, made anew.

    Raises:
        InputError: there is none of this name.
    """
    if name not in PARTS:
        raise InputError(f"there is no generated part called {name}: known are {', '.join(sorted(PARTS))}")
    return PARTS[name](root)


def pages(root: Path) -> list[Path]:
    """Every page that may hold generated parts."""
    return sorted([*root.glob("*.md"), *root.glob("docs/**/*.md")])


def rendered(page: str, root: Path) -> str:
    """The page with its generated parts made anew."""
    return _PART.sub(lambda match: match[1] + markdown(part(match[2], root)).rstrip() + "\n" + match[3], page)


def stale_pages(root: Path) -> dict[Path, str]:
    """Every page whose generated parts are not what they would be now, with its fresh text."""
    texts = {page: page.read_text("utf-8") for page in pages(root)}
    fresh = {page: rendered(text, root) for page, text in texts.items()}
    return {page: text for page, text in fresh.items() if text != texts[page]}
