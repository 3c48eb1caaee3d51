"""The generated part of docs/paper-results.md about compact models, from what was kept with those in pretrained/."""

from collections.abc import Callable, Mapping
from pathlib import Path

from xerte.experiment.definition import HEADINGS, METRICS
from xerte.training.checkpoint import STATE, read_facts


def table(root: Path) -> str:
    """What each scores as trained and as packed: percent, time-aware; the difference; the size of its weights."""
    lines = [f"| `--model` | | {' | '.join(HEADINGS)} | MB |", "|---|---|" + "--:|" * (len(HEADINGS) + 1)]
    for state in sorted((root / "pretrained").glob(f"*/{STATE}")):
        kept = read_facts(state.parent)["packed"]
        trained, packed = kept["trained"], kept["packed"]
        lines += [
            f"| `{state.parent.name}` | as trained | {_cells(trained, '.3f')} | |",
            f"|  | packed | {_cells(packed, '.3f')} | {kept['bytes'] / 1e6:.1f} |",
            f"|  | difference | {_cells({name: packed[name] - trained[name] for name in METRICS}, '+.3f')} | |",
        ]
    return "\n".join(lines) if len(lines) > 2 else "There are none yet."


def _cells(metrics: Mapping[str, float], form: str) -> str:
    return " | ".join(format(metrics[name], form) for name in METRICS)


PARTS: dict[str, Callable[[Path], str]] = {"pretrained": table}
