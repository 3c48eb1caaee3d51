"""Which of its models answers about a dataset, and which ones did before: every decision is kept.

A model that continues another one answers only once a decision says so. Until then, and where there is no decision, the
newest model that was trained by itself does.
"""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from xerte.errors import InputError
from xerte.files import read_json, write_json
from xerte.home import home_folder
from xerte.storage import lock

_FORMAT = "xerte answering 1"


@dataclass(frozen=True)
class Decision:
    """From a moment on a model answers.

    Attributes:
        model: its name.
        before: the one that answered until then.
        at: when, UTC.
        because: "backtest" or "rollback".
    """

    model: str
    before: str
    at: str
    because: str


def decisions(dataset: str) -> tuple[Decision, ...]:
    """All decisions about a dataset, the first one first."""
    file = _file(dataset)
    return read_json(file, _FORMAT, "a record of decisions", _read) if file.is_file() else ()


def decide(dataset: str, model: str, before: str, because: str) -> Decision:
    """Lets a model answer from now on."""
    file = _file(dataset)
    file.parent.mkdir(parents=True, exist_ok=True)
    with lock(file.with_suffix(".lock")):
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        made = Decision(model, before, now, because)
        write_json(file, {"format": _FORMAT, "decisions": [asdict(one) for one in (*decisions(dataset), made)]})
    return made


def roll_back(dataset: str) -> Decision:
    """Lets the model answer that did before the last takeover that still stands.

    Raises:
        InputError: no model ever took over from another.
    """
    standing: list[Decision] = []
    for one in decisions(dataset):
        standing = standing[:-1] if one.because == "rollback" else [*standing, one]
    if not standing:
        raise InputError(f"there is nothing to roll back: no model took over from another about {dataset}")
    return decide(dataset, standing[-1].before, standing[-1].model, "rollback")


def why(dataset: str, model: str) -> str:
    """Why a model answers unless another is named, in words that follow its name."""
    last = next(reversed(decisions(dataset)), None)
    if last is not None and (last.model, last.because) == (model, "rollback"):
        return "the model that a rollback brought back"
    return f"the newest model trained on {dataset}"


def _read(body: dict[str, Any]) -> tuple[Decision, ...]:
    return tuple(Decision(**one) for one in body["decisions"])


def _file(dataset: str) -> Path:
    return home_folder() / "answering" / f"{Path(dataset).name}.json"
