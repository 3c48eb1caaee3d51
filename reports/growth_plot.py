"""The curves of growth as a small picture."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.growth import Growth
from reports.figures import plotting
from xerte.errors import InputError


@dataclass(frozen=True)
class Panel:
    """Curves over one quantity, both axes logarithmic."""

    title: str
    over: str
    x: list[int]
    curves: dict[str, list[float]]


def draw(grown: Growth, file: Path) -> None:
    """Four log-log panels: work done once, space and what must not grow, by events; epochs, by questions.

    Raises:
        InputError: matplotlib is not installed, or the file cannot be written or ends in no suffix it can write.
    """
    if file.suffix not in (".svg", ".png"):
        raise InputError(f"{file} does not end in .svg or .png")
    with plotting() as plt:
        figure, axes = plt.subplots(1, 4, figsize=(12, 3), layout="constrained")
        for axis, panel in zip(axes, _panels(grown), strict=True):
            for mark, (label, values) in zip("os^", panel.curves.items(), strict=False):
                axis.loglog(panel.x, values, marker=mark, markersize=4, linewidth=1.2, label=label)
            wide = panel.x[-1] / panel.x[0]
            grows = max(values[-1] / values[0] for values in panel.curves.values()) > wide / 2
            if grows:
                least = min(values[0] for values in panel.curves.values())
                line = [least * size / panel.x[0] for size in panel.x]
                axis.loglog(panel.x, line, color="#999", linewidth=0.8, linestyle=":", label="proportional")
            low, high = axis.get_ylim()
            axis.set_ylim(low, high * (1 if grows else 40))  # room for the legend above flat curves
            axis.set_title(panel.title, fontsize=9)
            axis.set_xlabel(panel.over)
            axis.grid(alpha=0.3, linewidth=0.5)
            axis.legend(fontsize=7, frameon=False, loc="upper left")
        try:
            figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None, dpi=110)
        except OSError as error:
            raise InputError(f"{file} cannot be written: {error.strerror}") from None
        finally:
            plt.close(figure)


def _panels(grown: Growth) -> list[Panel]:
    sizes: list[Any] = list(grown.sizes)
    events, epochs = [row["events"] for row in sizes], [row["asked"]["epochs_cpu_s"] for row in sizes]
    asked = [int(count) for count in epochs[0]]
    once = {stage: [row[stage]["cpu_s"] for row in sizes] for stage in ("import", "index")}
    space = {
        "memory, import": [row["import"]["peak_bytes"] / 1e9 for row in sizes],
        "memory, index": [row["index"]["peak_bytes"] / 1e9 for row in sizes],
        "index on disk": [row["index"]["done"]["bytes"] / 1e9 for row in sizes],
    }
    each = {
        "epoch of 512 questions (processor)": [epoch["512"] for epoch in epochs],
        "one question": [row["asked"]["question_s"] for row in sizes],
        "open the index": [row["asked"]["open_index_s"] for row in sizes],
    }
    learned = {
        f"{size:,} events": [epoch[str(count)] for count in asked] for size, epoch in zip(events, epochs, strict=True)
    }
    return [
        Panel("processor seconds, once", "events", events, once),
        Panel("GB", "events", events, space),
        Panel("seconds, each time", "events", events, each),
        Panel("processor seconds, an epoch", "questions", asked, learned),
    ]
