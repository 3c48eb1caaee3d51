"""The report of a backtest: one page with plots and tables."""

from collections.abc import Sequence
from html import escape

from xerte.api.plots import lines_plot, reliability_plot
from xerte.api.replies import Backtest
from xerte.data.words import counted
from xerte.rates.backtest import FEWEST, Judged, Part

_LIGHT = "--ink:#1b2027;--soft:#545d69;--paper:#fff;--axis:#9aa4b0;--edge:#dde2e8"
_DARK = (
    "--ink:#e9eaee;--soft:#a9aeb9;--paper:#15171b;--axis:#6b7280;--edge:#3b404a;"
    "--line-0:#5fc3cf;--line-1:#f0a06a;--line-2:#cf9bea;--line-3:#a9cf7f"
)
_STYLE = (
    f":root{{color-scheme:light dark;{_LIGHT}}}@media(prefers-color-scheme:dark){{:root{{{_DARK}}}}}"
    f"@media print{{:root{{{_LIGHT};--line-0:#1d7a86;--line-1:#b4531a;--line-2:#6a4c93;--line-3:#4a6b1f}}}}"
    "body{font:15px/1.5 Arimo,Arial,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;"
    "color:var(--ink);background:var(--paper)}.scroll{overflow-x:auto}"
    "table{border-collapse:collapse;margin:1em 0}"
    "td,th{text-align:right;border-bottom:1px solid var(--edge);white-space:nowrap}"
    "td,th{padding:.2em .6em}th{white-space:normal;vertical-align:bottom}"
    "td:first-child,th:first-child{text-align:left;white-space:normal;min-width:7.5em;padding-left:0}"
    "svg{max-width:100%;height:auto;margin:1em 1em 1em 0}@media(max-width:600px){.wide svg{max-width:none}}"
)
_MEANING = (
    "Skill is 1 − Brier score / that of climatology, the share of such questions about the relation that came true in "
    "training; in brackets, 95 % intervals. ECE is the mean distance between what was said and what came true; in "
    "brackets, what 95 of 100 perfect forecasters stay below. Gain is by how much the sum of Brier scores lies below "
    "climatology's: where it is least, most is lost. Skill is not told where fewer than five came true."
)
_ALL = ("questions", "number", "came true", "Brier", "log score", "skill", "over recency-frequency", "ECE (of chance)")
_PART = ("number", "came true", "gain", "skill")


def report(found: Backtest) -> str:
    """Skill over time, reliability, and where it fails."""
    title = f"{found.dataset}: {found.model}, {found.horizon:g} {found.unit}{'s' * (found.horizon != 1)} ahead"
    times = f"from {found.times[0]} to {found.times[-1]}"
    asked = f"Asked {counted(len(found.times), 'time')}, {times}; learned anew: {found.retrain}."
    over_time = {
        name: [(found.format(time), value) for time, value in one.folds.items()] for name, one in found.judged.items()
    }
    all = [
        (
            name,
            f"{one.questions:,}",
            f"{100 * one.happened:.2f} %",
            f"{one.brier:.5f}",
            f"{one.log:.5f}",
            *skills(one),
            f"{one.ece:.4f} ({one.ece_of_chance:.4f})",
        )
        for name, one in found.judged.items()
    ]
    plot = lines_plot(over_time, found.times, "Brier skill over climatology, by time")
    parts = [_table("All", _ALL, all), _wide(plot)]
    parts += [reliability_plot(one.levels, name) for name, one in found.judged.items()]
    for name, one in found.judged.items():
        worst = sorted(one.relations.items(), key=lambda item: item[1].gain)
        strata = [(kind, *_cells(part)) for kind, part in one.strata.items()]
        parts.append(_table(f"{name}: by what was known", ("", *_PART), strata))
        relations = [(found.relation(place), *_cells(part)) for place, part in worst]
        parts.append(_table(f"{name}: where it fails, relations by gain", ("relation", *_PART), relations))
    head = f"<h1>{escape(title)}</h1><p>{escape(asked)}</p><p>{_MEANING}</p>"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>{head}{''.join(parts)}</body></html>\n"
    )


def skills(found: Judged) -> tuple[str, str]:
    """Over climatology and over recency-frequency, with 95 % intervals; dashes where too few came true to tell."""
    if round(found.questions * found.happened) < FEWEST:
        return "–", "–"
    return (
        f"{found.skill:.3f} [{found.skill_low:.3f}, {found.skill_high:.3f}]",
        f"{found.over_recency:.3f} [{found.over_recency_low:.3f}, {found.over_recency_high:.3f}]",
    )


def _cells(part: Part) -> tuple[str, str, str, str]:
    enough = round(part.questions * part.happened) >= FEWEST
    skill = f"{part.skill:.3f}" if enough else "–"
    return f"{part.questions:,}", f"{100 * part.happened:.2f} %", f"{part.gain:+.2f}", skill


def _wide(plot: str) -> str:
    return f'<div class="scroll wide" tabindex="0" role="region" aria-label="by time">{plot}</div>'


def _table(title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    def line(cells: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = line(columns, "th") + "".join(line(row, "td") for row in rows)
    return (
        f'<h2>{escape(title)}</h2><div class="scroll" tabindex="0" role="region" aria-label="{escape(title)}">'
        f"<table>{body}</table></div>"
    )
