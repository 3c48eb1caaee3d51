"""The paper's figures of a survey as SVG: who took part, and how often each question was answered rightly."""

from collections.abc import Iterator, Sequence

from xerte.api.svg import document, text
from xerte.survey.grade import Accuracy, Grades
from xerte.survey.shapes import TASKS

_STYLE = ".bar{fill:#63aeb7}.whisker{stroke:#1b2027;stroke-width:1.5}.chance{stroke:#8a2a0d;stroke-dasharray:4 3}"
_LABEL, _BAR, _ROW, _NUMBER = 150, 200, 22, 60
_CHANCE = {"relevant": 50.0, "irrelevant": 50.0, "order": 100 / 6}
_TASK = {"relevant": "most", "irrelevant": "least", "order": "sorted"}
_PANEL, _HEIGHT, _TOP, _BOTTOM = 180, 140, 44, 24
_COLUMNS = 4


def population(grades: Grades) -> str:
    """Bars of how many respondents said what of themselves."""
    parts: list[str] = []
    y = 24
    for name, counts in grades.population.items():
        parts.append(text(0, y, name.capitalize(), "title"))
        most = max(counts.values(), default=0) or 1
        for option, count in counts.items():
            y += _ROW
            width = _BAR * count / most
            parts.append(text(_LABEL - 8, y, option, "right"))
            parts.append(f'<rect class="bar" x="{_LABEL}" y="{y - 12}" width="{width:.1f}" height="15"/>')
            parts.append(text(_LABEL + width + 6, y, f"{count} ({100 * count / grades.respondents:.0f} %)", "soft"))
        y += 2 * _ROW
    width = _LABEL + _BAR + _NUMBER
    return document(
        width, max(y - _ROW, 24), f"{grades.respondents} respondents by what they said of themselves", _STYLE, parts
    )


def accuracy(grades: Grades) -> str:
    """A panel for every round and one for all: how many percent solved each task, with 95 % intervals and chance."""
    titles = [f"Round {number}" for number in range(1, grades.rounds + 1)] + ["All rounds"]
    bars: list[Sequence[Accuracy]] = [grades.questions[start : start + 3] for start in range(0, 3 * grades.rounds, 3)]
    bars.append([grades.tasks[task] for task in TASKS])
    parts = []
    for place, (title, three) in enumerate(zip(titles, bars, strict=True)):
        x, y = place % _COLUMNS * _PANEL, place // _COLUMNS * (_TOP + _HEIGHT + _BOTTOM)
        parts.append(f'<g transform="translate({x + 34},{y})">{"".join(_panel(title, three))}</g>')
    rows = -(-len(titles) // _COLUMNS)
    size = min(len(titles), _COLUMNS) * _PANEL + 10, rows * (_TOP + _HEIGHT + _BOTTOM) + 30
    legend = (
        "Most: the most relevant. Least: the most irrelevant. Sorted: all four. Dashed: chance. Lines: 95 % intervals."
    )
    parts.append(text(0, size[1] - 8, legend, "soft"))
    return document(*size, f"Percent of {grades.respondents} respondents who answered rightly", _STYLE, parts)


def _panel(title: str, three: Sequence[Accuracy]) -> Iterator[str]:
    def at(percent: float) -> float:
        return _TOP + _HEIGHT * (1 - percent / 100)

    yield text(0, 24, title, "title")
    for percent in (0, 50, 100):
        yield f'<line class="axis" x1="0" x2="132" y1="{at(percent)}" y2="{at(percent)}"/>'
        yield text(-4, at(percent) + 4, str(percent), "right soft")
    for place, (task, one) in enumerate(zip(TASKS, three, strict=True)):
        left = 4 + place * 44
        yield text(left + 18, at(0) + 16, _TASK[task], "middle")
        chance = at(_CHANCE[task])
        if one.accuracy is not None and one.interval is not None:
            top, (low, high) = at(one.accuracy), one.interval
            yield f'<rect class="bar" x="{left}" y="{top:.1f}" width="36" height="{at(0) - top:.1f}">'
            yield f"<title>{title}, {task}: {one.correct} of {one.answered}</title></rect>"
            yield f'<line class="whisker" x1="{left + 18}" x2="{left + 18}" y1="{at(low):.1f}" y2="{at(high):.1f}"/>'
            yield text(left + 18, at(high) - 4, f"{one.accuracy:.0f}", "middle")
        yield f'<line class="chance" x1="{left - 3}" x2="{left + 39}" y1="{chance:.1f}" y2="{chance:.1f}"/>'
