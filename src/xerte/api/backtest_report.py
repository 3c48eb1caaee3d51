"""The report of a backtest: one page with plots and tables."""

from collections.abc import Sequence
from html import escape

from xerte.api.plots import lines_plot, reliability_plot
from xerte.api.replies import Backtest
from xerte.data.words import counted
from xerte.rates.backtest import Part

_STYLE = (
    "body{font:15px/1.5 Arimo,Arial,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#1b2027}"
    "table{border-collapse:collapse;margin:1em 0}"
    "td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #dde2e8}"
    "td:first-child,th:first-child{text-align:left}svg{max-width:100%;height:auto;margin:1em 1em 1em 0}"
)
_MEANING = (
    "Skill is 1 − Brier score / that of climatology, the share of such questions about the relation that came true in "
    "training; in brackets, 95 % intervals. ECE is the mean distance between what was said and what came true; in "
    "brackets, what 95 of 100 perfect forecasters stay below."
)
_ALL = ("questions", "number", "came true", "Brier", "log score", "skill", "over recency-frequency", "ECE (of chance)")
_PART = ("number", "came true", "skill")


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
            f"{one.skill:.3f} [{one.skill_low:.3f}, {one.skill_high:.3f}]",
            f"{one.over_recency:.3f} [{one.over_recency_low:.3f}, {one.over_recency_high:.3f}]",
            f"{one.ece:.4f} ({one.ece_of_chance:.4f})",
        )
        for name, one in found.judged.items()
    ]
    parts = [_table("All", _ALL, all), lines_plot(over_time, "Brier skill over climatology, by time")]
    parts += [reliability_plot(one.levels, name) for name, one in found.judged.items()]
    for name, one in found.judged.items():
        worst = sorted(one.relations.items(), key=lambda item: item[1].skill)
        strata = [(kind, *_cells(part)) for kind, part in one.strata.items()]
        parts.append(_table(f"{name}: by what was known", ("", *_PART), strata))
        relations = [(found.relation(place), *_cells(part)) for place, part in worst]
        parts.append(_table(f"{name}: where it fails, relations by skill", ("relation", *_PART), relations))
    head = f"<h1>{escape(title)}</h1><p>{escape(asked)}</p><p>{_MEANING}</p>"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>{head}{''.join(parts)}</body></html>\n"
    )


def _cells(part: Part) -> tuple[str, str, str]:
    return f"{part.questions:,}", f"{100 * part.happened:.2f} %", f"{part.skill:.3f}"


def _table(title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    def line(cells: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return f"<h2>{escape(title)}</h2><table>{line(columns, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"
