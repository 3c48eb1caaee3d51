"""Runs the notebooks, and keeps what they print."""

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

_SECONDS = 300


def notebooks(root: Path) -> list[Path]:
    """All of them."""
    return sorted((root / "notebooks").glob("*.ipynb"))


def executed(file: Path) -> Any:
    """A notebook with what its cells print now; times and other marks of this run are left out.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed.
    """
    book = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
    beside = {"metadata": {"path": str(file.parent)}}
    # What a cell prints is kept as one text, however the machine's load cut it.
    NotebookClient(book, timeout=_SECONDS, resources=beside, coalesce_streams=True).execute()
    for cell in book.cells:
        cell.metadata.pop("execution", None)
    book.metadata["language_info"] = {"name": "python"}
    return book


def run(root: Path) -> list[Path]:
    """Runs and rewrites every notebook."""
    files = notebooks(root)
    for file in files:
        nbformat.write(executed(file), file)  # type: ignore[no-untyped-call]
    return files
