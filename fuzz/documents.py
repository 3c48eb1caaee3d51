"""What an explanation becomes for its readers, whatever names are in it: page, picture, report, GraphML and JSON."""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import torch

from fuzz.judge import Record, WrongError, judge
from fuzz.mutate import odd_text
from xerte.api.explain import Explanation
from xerte.api.model import Model
from xerte.baselines.recurrence import Recurrence
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.lineage import Lineage
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.model import XERTE
from xerte.settings import ModelSettings

TAME = ["Ann", "Ben", "Cid", "Dan", "Eve", "visits", "sends gifts to"]
HOSTILE = [
    "</script><script>alert(1)</script>", "<!--<script>", "]]>", "<img src=x onerror=alert(2)>", "&lt;b&gt; &amp; &#0;",
    "\"'`${alert(3)}", "javascript:alert(4)", "{subject} {0} {{", "\u2028\u2029", "\ufffe\uffff\ufdd0", "\x0b\x7f\x85",
    "</title><svg onload=alert(5)>", "| --- |\n# x", "[x](javascript:alert(6))", "\u202e\u2066", "a" * 4000, "%s %n",
]  # fmt: skip
ELEMENTS = {"svg", "g", "path", "line", "circle", "rect", "text", "tspan", "style", "defs", "title", "desc", "polygon"}
"""Of a picture."""


def run(record: Record, rng: random.Random, folder: Path) -> None:
    """One explanation: names that nobody expects where there were tame ones."""
    names = [_name(rng, number) if rng.random() < 0.6 else tame for number, tame in enumerate(TAME)]
    is_graph, is_reported = rng.random() < 0.5, rng.random() < 0.2  # a report takes ten times as long as the rest

    def told() -> None:
        made = explanation(names, is_graph)
        _check(made, is_graph)
        if is_reported:
            _check_report(made, folder)

    judge(record, f"{names!r:.380}", told)


def _name(rng: random.Random, number: int) -> str:
    """Distinct, not blank and of whole characters: all that an import asks of a name."""
    text = "".join(rng.choice([rng.choice(HOSTILE), odd_text(rng)]) for _ in range(rng.choice((1, 1, 2))))
    return f"{text.encode(errors='ignore').decode()}{number}"


def _check(told: Explanation, is_graph: bool) -> None:
    json.dumps(told.to_json(dismissed=is_graph), allow_nan=False)
    if _shape(told.to_html()) != _PAGE[is_graph]:
        raise WrongError("a name has become part of the page")
    for element in ET.fromstring(told.to_svg()).iter():  # noqa: S314 - made by us, and that is what is tested
        if element.tag.rpartition("}")[2] not in ELEMENTS or any(
            key.startswith(("on", "href")) for key in element.attrib
        ):
            raise WrongError(f"a name has become part of the picture: {element.tag} {element.attrib!r:.200}")
    ET.fromstring(told.to_graphml())  # noqa: S314


def _check_report(told: Explanation, folder: Path) -> None:
    (written, *others) = told.report(folder / "why.html")
    found = {tag for tag, _ in _shape(Path(written).read_text("utf-8"))}
    for file in (written, *others):
        Path(file).unlink()
    if found - _REPORT:
        raise WrongError(f"a name has become part of the report: {sorted(found - _REPORT)}")


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs)))


def _shape(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """The elements of a page in order, each with the names of its attributes."""
    tags = _Tags()
    tags.feed(text)
    return tags.found


def explanation(names: list[str], is_graph: bool) -> Explanation:
    """Of one question about a small history, by counting or by an inference graph."""
    rng = random.Random(5)  # noqa: S311
    rows = {(rng.randrange(5), rng.randrange(2), rng.randrange(5), rng.randrange(11)) for _ in range(70)}
    facts = Facts.of(sorted(row for row in rows if row[0] != row[2])).in_time_order()
    calendar = Calendar(Tick.DAY, "2024-01-01", Tick.DAY)
    sizes = (len(facts) - 10, 5, 5)
    data = Dataset("small", facts, sizes, Vocabulary.of(names[:5]), Relations.of(names[5:]), calendar)
    if not is_graph:
        return Model(Recurrence((0.5,) * 4, 1), data).forecast(names[0], names[5], "2024-01-12").explain()
    torch.manual_seed(0)
    settings = ModelSettings(steps=2, n=5, k=8, dims=(8, 6), static_dim=4, time_dim=4)
    model = XERTE(settings, data.num_entities, data.num_relations)
    model.lineage = Lineage.of(data)
    return Model(model, data).forecast(names[0], names[5], "2024-01-12").explain()


_PAGE: dict[bool, list[tuple[str, tuple[str, ...]]]] = {}
_REPORT: set[str] = set()


@contextmanager
def prepared() -> Iterator[None]:
    """What the pages of tame names are made of."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for is_graph in (False, True):
            told = explanation(TAME, is_graph)
            _PAGE[is_graph] = _shape(told.to_html())
            written = told.report(Path(folder) / "why.html")[0]
            _REPORT.update(tag for tag, _ in _shape(Path(written).read_text("utf-8")))
        yield
