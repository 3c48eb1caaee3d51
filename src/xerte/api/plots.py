"""Small plots as SVG: reliability, and lines over time."""

import math
from collections.abc import Mapping, Sequence
from html import escape

from xerte.api.svg import document, text
from xerte.evaluation.proper import Level

_STYLE = (
    ".ideal{stroke:var(--axis,#9aa4b0);stroke-dasharray:4 3}.line{fill:none;stroke-width:2}"
    ".dot{fill:var(--line-0,#1d7a86)}.whisker{stroke:var(--line-0,#1d7a86);stroke-width:1.5}"
)
_LEFT, _TOP, _SIZE, _BOTTOM = 54, 40, 260, 48
COLOURS = (
    "var(--line-0,#1d7a86)",
    "var(--line-1,#b4531a)",
    "var(--line-2,#6a4c93)",
    "var(--line-3,#4a6b1f)",
)


def reliability_plot(levels: Sequence[Level], title: str) -> str:
    """What was said against what came true; a dot for every level, with two standard errors.

    Where all is unlikely, both axes go by the square root, which pulls small probabilities apart.
    """
    most = max([one.mean for one in levels] + [one.happened for one in levels] + [1e-6])
    top = min(1.0, _round_above(most))
    power = 1.0 if top >= 0.5 else 0.5

    def x(value: float) -> float:
        return _LEFT + _SIZE * float((min(value, top) / top) ** power)

    def y(value: float) -> float:
        return _TOP + _SIZE * (1 - float((min(value, top) / top) ** power))

    parts = [text(0, 18, title, "title"), *_axes(top, power)]
    parts.append(f'<line class="ideal" x1="{x(0):.1f}" y1="{y(0):.1f}" x2="{x(top):.1f}" y2="{y(top):.1f}"/>')
    for one in levels:
        error = 2 * (one.happened * (1 - one.happened) / max(1, one.count)) ** 0.5
        low, high = y(max(0.0, one.happened - error)), y(one.happened + error)
        parts.append(
            f'<line class="whisker" x1="{x(one.mean):.1f}" x2="{x(one.mean):.1f}" y1="{low:.1f}" y2="{high:.1f}"/>'
        )
        tip = f"<title>said {100 * one.mean:.2f} %, came true {100 * one.happened:.2f} % of {one.count:,}</title>"
        parts.append(f'<circle class="dot" cx="{x(one.mean):.1f}" cy="{y(one.happened):.1f}" r="4">{tip}</circle>')
    parts.append(
        text(
            _LEFT + _SIZE / 2,
            _TOP + _SIZE + 38,
            "probability said" + (", square-root scale" if power < 1 else ""),
            "middle soft",
        )
    )
    parts.append(text(0, _TOP - 8, "share that came true", "soft"))
    return document(_LEFT + _SIZE + 20, _TOP + _SIZE + _BOTTOM, title, _STYLE, parts)


def lines_plot(
    lines: Mapping[str, Sequence[tuple[str, float]]], dates: Sequence[str], title: str, width: int = 640
) -> str:
    """Values over time, a line for each name; of some of the dates, at which it has a value."""
    values = [value for line in lines.values() for _, value in line] or [0.0]
    low, high = min(0.0, *values), max(0.05, *values)
    parts = [text(0, 18, title, "title")]

    def y(value: float) -> float:
        return _TOP + _SIZE * (high - value) / (high - low)

    for value in (low, 0.0, high) if low < 0 else (0.0, high / 2, high):
        parts.append(f'<line class="axis" x1="{_LEFT}" x2="{_LEFT + width}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>')
        parts.append(text(_LEFT - 6, y(value) + 4, f"{value:.2f}", "right soft"))
    step, at = width / max(1, len(dates) - 1), {date: place for place, date in enumerate(dates)}
    for place, (name, line) in enumerate(lines.items()):
        colour = COLOURS[place % len(COLOURS)]
        points = [(_LEFT + step * at[date], y(value)) for date, value in line]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(f'<polyline class="line" style="stroke:{colour}" points="{path}"/>')
        for (px, py), (date, value) in zip(points, line, strict=True):
            tip = f"<title>{escape(name)}, {escape(date)}: {value:.3f}</title>"
            parts.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" style="fill:{colour}">{tip}</circle>')
        parts.append(
            f'<text x="{_LEFT + 160 * place}" y="{_TOP + _SIZE + 42}" style="fill:{colour}">{escape(name)}</text>'
        )
    parts += [text(_LEFT, _TOP + _SIZE + 22, dates[0], "soft")] if dates else []
    parts += [text(_LEFT + width, _TOP + _SIZE + 22, dates[-1], "right soft")] if len(dates) > 1 else []
    return document(_LEFT + width + 20, _TOP + _SIZE + _BOTTOM, title, _STYLE, parts)


def _round_above(value: float) -> float:
    """The next of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return power * next(times for times in (1, 2, 5, 10) if times * power >= value * (1 - 1e-9))


def _axes(top: float, power: float) -> list[str]:
    """Both alike: 0, the middle and the end."""
    parts = [f'<line class="axis" x1="{_LEFT}" x2="{_LEFT + _SIZE}" y1="{_TOP + _SIZE}" y2="{_TOP + _SIZE}"/>']
    parts.append(f'<line class="axis" x1="{_LEFT}" x2="{_LEFT}" y1="{_TOP}" y2="{_TOP + _SIZE}"/>')
    for share in (0, 0.5, 1):
        said = f"{100 * share ** (1 / power) * top:.3g} %"
        parts.append(text(_LEFT + share * _SIZE, _TOP + _SIZE + 18, said, "middle soft"))
        parts.append(text(_LEFT - 6, _TOP + _SIZE * (1 - share) + 4, said, "right soft"))
    return parts
