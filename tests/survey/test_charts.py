"""The charts as SVG: what is drawn is what was graded."""

from xml.etree import ElementTree as ET

from surveyed import answered, key
from xerte.survey import charts
from xerte.survey.grade import grade

SVG = "{http://www.w3.org/2000/svg}"
RIGHT = (0, 2, (1, 0, 2, 3)), (2, 0, (3, 2, 1, 0)), (3, 1, (0, 3, 1, 2))
NOT_FIRST = (2, 2, (1, 0, 2, 3)), *RIGHT[1:]


def test_bars_are_as_high_as_the_accuracy() -> None:
    people = [answered(*RIGHT, name="a"), answered(*NOT_FIRST, name="b"), answered(*RIGHT[:1], name="<c>")]
    drawn = ET.fromstring(charts.accuracy(grade(key(), people)))
    panels = drawn.findall(f"{SVG}g")
    assert [panel.findtext(f"{SVG}text") for panel in panels] == ["Round 1", "Round 2", "Round 3", "All rounds"]
    heights = [[float(bar.attrib["height"]) for bar in panel.findall(f"{SVG}rect")] for panel in panels]
    assert heights[0] == [93.3, 140, 140]  # 2 of 3 on an axis of 140
    assert heights[1] == [140, 140, 140]
    assert heights[3] == [120, 140, 140]  # 6 of 7


def test_who_took_part() -> None:
    ages = ("Under 40", "40 or older", "40 or older")
    people = [answered(*RIGHT, name=str(n), age=age, **{"a&b": "<x>"}) for n, age in enumerate(ages)]
    drawn = ET.fromstring(charts.population(grade(key(), people)))
    texts = [text.text for text in drawn.findall(f"{SVG}text")]
    assert texts == ["Age", "Under 40", "1 (33 %)", "40 or older", "2 (67 %)", "A&b", "<x>", "3 (100 %)"]
    widths = [float(bar.attrib["width"]) for bar in drawn.findall(f"{SVG}rect")[1:]]
    assert widths == [100, 200, 200]


def test_nobody_and_nothing() -> None:
    ET.fromstring(charts.accuracy(grade(key(), [answered()])))
    ET.fromstring(charts.population(grade(key().model_copy(update={"population": {}}), [answered()])))
