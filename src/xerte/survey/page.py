"""The questionnaire: one HTML file that works offline and holds no key."""

from pathlib import Path

from xerte.explanation.page import packed
from xerte.survey.shapes import Key

_SOURCES = Path(__file__).with_name("questionnaire")


def page(key: Key) -> str:
    """The survey as respondents see it: sentences only, nothing that says which evidence is high."""
    shown = key.example
    document = {
        "id": key.id,
        "rounds": [{"event": one.event, "evidence": [piece.sentence for piece in one.evidence]} for one in key.rounds],
        "example": shown
        and {"event": shown.event, "evidence": [piece.sentence for piece in shown.evidence], "order": shown.order},
        "population": [{"name": name, **choice.model_dump()} for name, choice in key.population.items()],
    }
    text = (_SOURCES / "page.html").read_text("utf-8")
    for name in ("survey.css", "survey.js"):
        text = text.replace(f"/* {name} */", (_SOURCES / name).read_text("utf-8").rstrip(), 1)
    return text.replace("/* survey.json */", packed(document), 1)
