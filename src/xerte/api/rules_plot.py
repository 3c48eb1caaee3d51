"""What a model goes by, as a picture: bars of shares by age and, where it has them, the weights of facts over age."""

from math import log
from typing import TYPE_CHECKING

from xerte.api.svg import document, text

if TYPE_CHECKING:
    from xerte.api.rules import Rule, Rules

_SHADES = ("#17202a", "#4a3a2c", "#8a4a1a", "#c2500a", "#e59a5f", "#f3d3b8")
_COLOURS = ("#1d7a86", "#b4531a", "#6a4c93", "#4a6b1f", "#17202a", "#8a8f98", "#b03060", "#2f5fb3")
_STYLE = ".line{fill:none;stroke-width:2}"
_ROW, _WORDS, _BARS, _CURVES = 24, 430, 420, 230
_LONGEST = 56
_FLOOR = 1e-3
"""Weights below a thousandth of the relation's own are drawn at the foot."""


def rules_plot(found: "Rules", most: int) -> str:
    """The picture of the heaviest rules."""
    from xerte.api.rules import GROUPS

    rows, title = found.rules[:most], f"What the model goes by for {found.relation}"
    longest = max((rule.share for rule in rows), default=1.0)
    parts = [text(0, 18, title, "title"), text(_WORDS - 8, 44, "share, by the age of the latest fact", "right soft")]
    for place, name in enumerate(GROUPS):
        left = _WORDS + place * 86
        parts.append(_box(left, 34, 12, 12, _SHADES[place]))
        parts.append(text(left + 17, 44, f"{name} {found.unit}s", "soft"))
    for row, rule in enumerate(rows):
        y, x = 60 + row * _ROW, float(_WORDS)
        parts.append(text(_WORDS - 8, y + 13, _short(rule), "right"))
        for age, shade in zip(rule.ages, _SHADES, strict=True):
            width = _BARS * age / longest
            parts.append(_box(x, y, width, 17, shade))
            x += width
        parts.append(text(x + 6, y + 13, f"{rule.share:.0%}", "soft"))
    height = 70.0 + len(rows) * _ROW
    weighed = [rule for rule in rows if rule.weights][: len(_COLOURS)]
    if weighed:
        parts += _curves(found, weighed, height + 20)
        height += 20 + _CURVES + 90
    return document(_WORDS + 6 * 86 + 10, height, title, _STYLE, parts)


def _curves(found: "Rules", rules: "list[Rule]", top: float) -> list[str]:
    """w over age, both axes in logarithms."""
    ages, high = found.weighed, max(1.0, *(max(rule.weights) for rule in rules))
    foot, right = top + 24 + _CURVES, _WORDS + _BARS + 60

    def x(age: float) -> float:
        return _WORDS + (right - _WORDS) * log(age) / max(log(ages[-1]), 1e-9)

    def y(weight: float) -> float:
        return foot - _CURVES * log(max(weight, _FLOOR) / _FLOOR) / log(high / _FLOOR)

    own = f"1: one of {found.relation} itself, one {found.unit} old"
    parts = [text(0, top + 8, f"What a single fact weighs as it ages ({own})", "title")]
    for level in (level for level in (_FLOOR, 0.01, 0.1, 1.0, 10.0, 100.0) if level <= high):
        parts.append(f'<line class="axis" x1="{_WORDS}" x2="{right}" y1="{y(level):.1f}" y2="{y(level):.1f}"/>')
        parts.append(text(right + 6, y(level) + 4, f"{'≤ ' if level == _FLOOR else ''}{level:g}", "soft"))
    parts += [text(x(age), foot + 18, f"{age}", "middle soft") for age in ages]
    parts.append(text((_WORDS + right) / 2, foot + 38, f"age in {found.unit}s", "middle soft"))
    for place, rule in enumerate(rules):
        colour, line = _COLOURS[place], top + 38 + place * _ROW
        points = " ".join(f"{x(age):.1f},{y(weight):.1f}" for age, weight in zip(ages, rule.weights, strict=True))
        dots = f' stroke-dasharray="{2 * place} 3"' if place % 2 else ""
        parts.append(f'<polyline class="line" stroke="{colour}"{dots} points="{points}"/>')
        key = f'x1="0" x2="26" y1="{line - 4:.1f}" y2="{line - 4:.1f}"'
        parts.append(f'<line class="line" stroke="{colour}"{dots} {key}/>')
        parts.append(text(32, line, _short(rule), ""))
    return parts


def _short(rule: "Rule") -> str:
    shown = rule.sentence if len(rule.sentence) <= _LONGEST else rule.sentence[: _LONGEST - 1] + "…"
    return f"{shown} ({rule.part})"


def _box(x: float, y: float, width: float, height: float, shade: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}" fill="{shade}"/>'
