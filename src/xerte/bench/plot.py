"""The curves of growth as a small picture."""

from pathlib import Path
from typing import Any

from xerte.bench.growth import Growth
from xerte.errors import InputError


def draw(grown: Growth, file: Path) -> None:
    """Three log-log panels over the number of events: what grows with it, what it takes, and what must not grow.

    Raises:
        InputError: matplotlib is not installed, or the file's suffix is none it can write.
    """
    try:
        import matplotlib as mpl
    except ImportError:
        raise InputError("plots need matplotlib: pip install 'xerte[bench]'") from None
    if file.suffix not in (".svg", ".png"):
        raise InputError(f"{file} does not end in .svg or .png")
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "xerte", "svg.fonttype": "none", "font.size": 8, "font.family": "sans-serif"}):
        figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
        x = [row["events"] for row in grown.sizes]
        sizes: list[Any] = list(grown.sizes)
        work = {
            "import": [row["import"]["seconds"] for row in sizes],
            "index": [row["index"]["seconds"] for row in sizes],
        }
        space = {
            "memory, import": [row["import"]["peak_bytes"] / 1e9 for row in sizes],
            "memory, index": [row["index"]["peak_bytes"] / 1e9 for row in sizes],
            "index on disk": [row["index"]["done"]["bytes"] / 1e9 for row in sizes],
        }
        each = {
            "epoch of 512 questions": [row["asked"]["epochs_s"]["512"] for row in sizes],
            "one question": [row["asked"]["question_s"] for row in sizes],
            "open the index": [row["asked"]["open_index_s"] for row in sizes],
        }
        panels = (("seconds, once", work), ("GB", space), ("seconds, each time", each))
        for axis, (title, curves) in zip(axes, panels, strict=True):
            for number, (label, values) in enumerate(curves.items()):
                axis.loglog(x, values, marker="os^"[number], markersize=4, linewidth=1.2, label=label)
            first = next(iter(curves.values()))[0]
            if curves is not each:
                axis.loglog(
                    x, [first * size / x[0] for size in x], color="#999", linewidth=0.8, linestyle=":", label="linear"
                )
            axis.set_title(title, fontsize=9)
            axis.set_xlabel("events")
            axis.grid(alpha=0.3, linewidth=0.5)
            axis.legend(fontsize=7, frameon=False)
        axes[2].set_ylim(bottom=min(each["open the index"]) / 4)
        try:
            figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None, dpi=110)
        except OSError as error:
            raise InputError(f"{file} cannot be written: {error.strerror}") from None
        finally:
            plt.close(figure)
