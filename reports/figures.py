"""Plots of the paper's ablations, drawn from traces; each file carries the hash of the numbers it shows."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reports.published import HEADINGS
from reports.rows import Row, aggregation_rows, sampling_rows, step_rows, time_rows, update_parts
from xerte.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = Path("docs") / "figures"
_STYLE: dict[Any, Any] = {"svg.hashsalt": "xerte", "svg.fonttype": "none", "font.size": 8, "font.family": "sans-serif"}
_MARKS, _COLOURS = "os^D", ("#0072b2", "#d55e00", "#009e73", "#7f7f7f")  # told apart by everybody, and in grey
_FEW = 6
"""So many places are all named on the axis."""


@contextmanager
def plotting() -> Iterator[Any]:
    """`matplotlib.pyplot` in this project's style, whose files are the same bytes whenever they show the same.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
    except ImportError:
        raise InputError("plots need matplotlib: pip install 'xerte[bench]'") from None
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    with mpl.rc_context(_STYLE):
        yield plt


@dataclass(frozen=True)
class Curve:
    """One line, or one colour of bars: the places of its points (numbers, or words for bars) and their heights."""

    label: str
    x: tuple[float | str, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class Panel:
    """One pair of axes; bars where the places are words."""

    title: str
    x: str
    y: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Figure:
    """A plot a paper could print.

    Attributes:
        name: of its file.
        caption: what it shows.
        panels: side by side.
    """

    name: str
    caption: str
    panels: tuple[Panel, ...]

    @property
    def digest(self) -> str:
        """Of everything that is shown."""
        return hashlib.sha256(json.dumps(asdict(self), ensure_ascii=False).encode()).hexdigest()[:32]

    def is_drawn(self, folder: Path) -> bool:
        """Whether the file in a folder shows just this."""
        file = folder / f"{self.name}.svg"
        return file.is_file() and self.digest in file.read_text("utf-8")

    def draw(self, folder: Path) -> Path:
        """Writes the file.

        Raises:
            InputError: matplotlib is not installed.
        """
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{self.name}.svg"
        with plotting() as plt:
            count = len(self.panels)
            figure, axes = plt.subplots(
                1, count, figsize=(max(4.4, 3.2 * count), 2.6), layout="constrained", squeeze=False
            )
            for axis, panel in zip(axes[0], self.panels, strict=True):
                _draw(axis, panel)
            figure.savefig(file, metadata={"Date": None, "Description": f"drawn from {self.digest}"})
            plt.close(figure)
        return file


def figures(root: Path) -> list[Figure]:
    """Every figure whose traces are all there."""
    made = (_update(root), _static_and_mean(root), _steps(root), _sampling(root))
    return [figure for figure in made if figure is not None]


def _draw(axis: "Axes", panel: Panel) -> None:
    words = isinstance(panel.curves[0].x[0], str)
    for place, (curve, mark) in enumerate(zip(panel.curves, _MARKS, strict=False)):
        if words:
            wide = 0.8 / len(panel.curves)
            left = [at - 0.4 + (place + 0.5) * wide for at in range(len(curve.x))]
            bars = axis.bar(left, curve.y, wide, label=curve.label, color=_COLOURS[place])
            axis.bar_label(bars, fmt="%.1f", fontsize=5, padding=1)
        else:
            axis.plot(
                curve.x, curve.y, marker=mark, markersize=4, linewidth=1.2, label=curve.label, color=_COLOURS[place]
            )
    if words:
        axis.set_xticks(range(len(panel.curves[0].x)), [str(word) for word in panel.curves[0].x])
        axis.margins(y=0.1)
    elif len(panel.curves[0].x) <= _FEW:
        axis.set_xticks(panel.curves[0].x)
    if panel.y.startswith("seconds"):
        axis.set_ylim(bottom=0)
    axis.set_axisbelow(True)
    axis.set_title(panel.title, fontsize=9)
    axis.set_xlabel(panel.x)
    axis.set_ylabel(panel.y)
    axis.grid(axis="y", alpha=0.3, linewidth=0.5)
    if len(panel.curves) > 1:
        low, high = axis.get_ylim()
        axis.set_ylim(low, high + 0.18 * (high - low))  # room for the legend above the curves
        axis.legend(fontsize=7, frameon=False, ncols=2, loc="upper right")


def _update(root: Path) -> Figure | None:
    parts = update_parts(root)
    if not all(parts.values()):
        return None

    def panel(letter: str, metric: str, name: str) -> Panel:
        curves = [
            Curve(label, tuple(part.middle for part in points), tuple(getattr(part, name) for part in points))
            for label, points in parts.items()
        ]
        return Panel(f"({letter}) {metric}", "nodes in the inference graph", f"raw {metric} (%)", tuple(curves))

    caption = "Reverse update, ICEWS14: raw Hits against the number of nodes in the inference graph"
    return Figure("update", caption, (panel("a", "Hits@1", "hits_1"), panel("b", "Hits@10", "hits_10")))


def _static_and_mean(root: Path) -> Figure | None:
    panels = (_bars("(c) YAGO", time_rows(root)), _bars("(d) ICEWS14", aggregation_rows(root)))
    known = tuple(panel for panel in panels if panel is not None)
    caption = "Time encoding (YAGO) and aggregation (ICEWS14): raw MRR and Hits"
    return Figure("encoding-and-aggregation", caption, known) if len(known) == len(panels) else None


def _sampling(root: Path) -> Figure | None:
    bars = _bars("ICEWS14", sampling_rows(root))
    return None if bars is None else Figure("sampling", "Sampling strategies, ICEWS14: raw MRR and Hits", (bars,))


def _bars(title: str, rows: Iterable[Row]) -> Panel | None:
    pairs = [(row.label, row.ours) for row in rows]
    curves = tuple(Curve(label, HEADINGS, ours) for label, ours in pairs if ours is not None)
    return Panel(title, "", "raw (%)", curves) if len(curves) == len(pairs) else None


def _steps(root: Path) -> Figure | None:
    every = [(one.steps, one.seconds, one.row.ours) for one in step_rows(root)]
    known = [(steps, seconds, ours[0]) for steps, seconds, ours in every if seconds is not None and ours is not None]
    if len(known) < len(every):
        return None
    steps, seconds, mrr = zip(*known, strict=True)
    panels = (
        Panel("(e) inference time", "L", "seconds, test split", (Curve("xERTE", steps, seconds),)),
        Panel("(f) raw MRR", "L", "raw MRR (%)", (Curve("xERTE", steps, mrr),)),
    )
    return Figure("steps", "Inference steps, ICEWS14: time to answer the test split, and raw MRR", panels)
