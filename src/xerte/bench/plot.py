"""The curves of growth as a small picture."""

from pathlib import Path
from typing import Any

from xerte.bench.growth import Growth
from xerte.errors import InputError
from xerte.experiment.figures import plotting


def draw(grown: Growth, file: Path) -> None:
    """Three log-log panels over the number of events: work done once, space, and what must not grow.

    Raises:
        InputError: matplotlib is not installed, or the file cannot be written or ends in no suffix it can write.
    """
    if file.suffix not in (".svg", ".png"):
        raise InputError(f"{file} does not end in .svg or .png")
    events = [row["events"] for row in grown.sizes]
    with plotting() as plt:
        figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
        for axis, (title, curves) in zip(axes, _panels(grown).items(), strict=True):
            for mark, (label, values) in zip("os^", curves.items(), strict=False):
                axis.loglog(events, values, marker=mark, markersize=4, linewidth=1.2, label=label)
            grows = max(values[-1] / values[0] for values in curves.values()) > 5
            if grows:
                least = min(values[0] for values in curves.values())
                line = [least * size / events[0] for size in events]
                axis.loglog(events, line, color="#999", linewidth=0.8, linestyle=":", label="proportional")
            low, high = axis.get_ylim()
            axis.set_ylim(low, high * (1 if grows else 40))  # room for the legend above flat curves
            axis.set_title(title, fontsize=9)
            axis.set_xlabel("events")
            axis.grid(alpha=0.3, linewidth=0.5)
            axis.legend(fontsize=7, frameon=False, loc="upper left")
        try:
            figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None, dpi=110)
        except OSError as error:
            raise InputError(f"{file} cannot be written: {error.strerror}") from None
        finally:
            plt.close(figure)


def _panels(grown: Growth) -> dict[str, dict[str, list[float]]]:
    sizes: list[Any] = list(grown.sizes)
    return {
        "processor seconds, once": {stage: [row[stage]["cpu_s"] for row in sizes] for stage in ("import", "index")},
        "GB": {
            "memory, import": [row["import"]["peak_bytes"] / 1e9 for row in sizes],
            "memory, index": [row["index"]["peak_bytes"] / 1e9 for row in sizes],
            "index on disk": [row["index"]["done"]["bytes"] / 1e9 for row in sizes],
        },
        "seconds, each time": {
            "epoch of 512 questions (processor)": [row["asked"]["epochs_cpu_s"]["512"] for row in sizes],
            "one question": [row["asked"]["question_s"] for row in sizes],
            "open the index": [row["asked"]["open_index_s"] for row in sizes],
        },
    }
