"""The gallery: what it tells of a question; the reverse update; its pages."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from reports import gallery, gallery_pages
from reports.cli import app
from reports.reverse_update import reach
from reports.table import markdown
from xerte.api.explain import Explanation
from xerte.api.model import Model
from xerte.data import store
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.files import write_json
from xerte.model import XERTE
from xerte.settings import ModelSettings, Update

ASKED = ("Ann", "visits", "2024-01-20")


@pytest.fixture
def model() -> Model:
    rng = np.random.default_rng(5)
    drawn = rng.integers([5, 2, 5, 19], size=(80, 4)).tolist()
    rows = sorted({(s, p, o, t) for s, p, o, t in drawn if s != o})
    facts = Facts.of([*rows, (0, 0, 2, 19), (0, 0, 3, 19), (0, 1, 4, 19), (1, 0, 4, 19)]).in_time_order()
    names, relations = Vocabulary.of(["Ann", "Ben", "Cid", "Dan", "Eve"]), Relations.of(["visits", "calls"])
    calendar = Calendar(Tick.DAY, "2024-01-01", Tick.DAY)
    data = Dataset("icews14", facts, (len(facts) - 4, 0, 4), names, relations, calendar)
    torch.manual_seed(0)
    settings = ModelSettings(steps=2, n=5, k=8, dims=(8, 6), static_dim=4, time_dim=4)
    return Model(XERTE(settings, 5, 2), data)


@pytest.fixture
def drawn(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The gallery of a small dataset; pictures are the viewer's matter and have tests of their own."""
    monkeypatch.setattr(gallery, "PAPER", ASKED)
    monkeypatch.setattr(Explanation, "to_svg", lambda _, path: path.write_text("<svg/>"))
    written = gallery.write_gallery(model, tmp_path / "docs" / "gallery")
    assert [path.name for path in written] == ["icews14-visit.svg", "icews14.json"]
    assert sorted(path.name for path in written[0].parent.iterdir()) == ["icews14-visit.svg", "icews14.json"]
    return tmp_path


def test_an_exhibit_is_the_forecast_and_its_truth(model: Model, drawn: Path) -> None:
    (exhibit,) = json.loads((drawn / "docs" / "gallery" / "icews14.json").read_text())["exhibits"]
    forecast = model.forecast(*ASKED, top=gallery.MOST)
    told = forecast.explain()
    assert exhibit["truth"] == ["Cid", "Dan"]
    assert exhibit["answers"] == [[answer.entity, round(answer.score, 4)] for answer in forecast.answers]
    assert exhibit["evidence"][0] == [round(told.evidence[0].share, 4), told.evidence[0].sentence]
    begin, first, second = exhibit["stages"]
    assert begin == {"step": 0, "seen": 0, "kept": 0, "nodes": 1, "attended": [["Ann", "2024-01-20", 1.0]]}
    assert (first["seen"], first["kept"]) == (6, 6)  # five facts and the self-loop, of which K = 8 keeps all
    assert second["kept"] == 8 < second["seen"]
    assert second["nodes"] == len(told.graph.nodes)
    weights = [attention for _, _, attention in second["attended"]]
    assert weights == sorted(weights, reverse=True)
    assert exhibit["happened"] is None  # Dan is the best answer


def test_where_the_best_answer_is_wrong_what_happened_is_explained_too(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("Ben", "visits", "2024-01-20")
    best = model.forecast(*asked).answers[0].entity
    assert best != "Eve"
    monkeypatch.setattr(gallery, "PAPER", asked)
    monkeypatch.setattr(Explanation, "to_svg", lambda told, path: path.write_text(str(told.answer)))
    *pictures, page = gallery.write_gallery(model, tmp_path / "docs" / "gallery")
    best = model.forecast(*asked).answers[0].entity
    assert best != "Eve"  # which happened
    assert [(picture.name, picture.read_text()) for picture in pictures] == [
        ("icews14-visit.svg", best),
        ("icews14-visit-happened.svg", "Eve"),
    ]
    facts = model.forecast(*asked).explain("Eve").evidence
    told = [[round(fact.share, 4), fact.sentence] for fact in facts[: gallery.MOST]]
    (exhibit,) = json.loads(page.read_text())["exhibits"]
    assert (exhibit["truth"], exhibit["answers"][0][0], exhibit["happened"]) == (["Eve"], best, ["Eve", told])
    shown, _, other = markdown(gallery_pages.icews14(tmp_path)).partition("Evidence for Eve, which happened:\n\n")
    assert f"Why {best}:" in shown
    assert other.startswith(f"- {facts[0].share:.1%}: {facts[0].sentence}\n")
    assert other.endswith("](gallery/icews14-visit-happened.svg)")


def test_the_pages_tell_it(model: Model, drawn: Path) -> None:
    told = model.forecast(*ASKED).explain()
    text = markdown(gallery_pages.icews14(drawn))
    assert "### (Ann, visits, ?, 2024-01-20)" in text
    assert "What happened: Cid, Dan." in text
    assert f"| 1 | {told.answer} | {told.answers[0].score:.4f} |" in text
    assert f"- {told.evidence[0].share:.1%}: {told.evidence[0].sentence}" in text
    assert "](gallery/icews14-visit.svg)" in text
    assert markdown(gallery_pages.workflow(drawn)).splitlines()[2] == "| 0 |  |  | 1 | Ann, 2024-01-20: 100.0% |"


def test_causes_stand_beside_what_was_blamed(tmp_path: Path) -> None:
    exhibit = {"name": "x", "question": ["A", "p", "2024"], "truth": ["B"], "answers": [["B", 0.5]], "stages": []}
    exhibit |= {"evidence": [[1.0, "It was so."]], "causes": ["It had been so."], "blamed": "behind a cause"}
    body = {"format": gallery_pages.FORMAT, "exhibits": [exhibit]}
    body |= {"reverse_update": [{"update": "none", "change": [0.0, -0.25]}]}
    write_json(tmp_path / "docs" / "gallery" / "world.json", body)
    text = markdown(gallery_pages.world(tmp_path))
    assert "(the heaviest fact above is behind a cause):\n\n- It had been so." in text
    assert markdown(gallery_pages.reverse_update(tmp_path)).splitlines() == [
        "| update | step 1 | step 2 |",
        "|---|--:|--:|",
        "| `none` | 0.00000 | -0.25000 |",
    ]


def test_only_the_reverse_update_brings_far_news_to_the_question() -> None:
    """At step 3 the vector of the question has been updated twice: by what was one hop away, then by what was two."""
    for seed in range(3):
        reverse, none, vanilla = (
            reach(update, seed).change for update in (Update.REVERSE, Update.NONE, Update.VANILLA)
        )
        assert [*none, *reverse[:2], *vanilla[:2]] == [0] * 7
        assert abs(reverse[2]) > 1e-4
        assert abs(vanilla[2]) > 1e-4


def test_data_without_cases_and_models_without_graphs_are_refused(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gallery, "PAPER", ASKED)
    for name, why in (
        ("mine", "there are no cases of mine to show: icews14 and world have some"),
        ("icews14", "recurrence leaves no inference graph to draw: name a trained xERTE model"),
    ):
        store.save(replace(model.dataset, name=name), tmp_path / name)
        asked = ["gallery", str(tmp_path / name), "--model", "recurrence", "--out", str(tmp_path / "out")]
        result = CliRunner().invoke(app, [*asked, "--device", "cpu"])
        assert result.exit_code == 2
        assert why in result.stderr
    assert not (tmp_path / "out").exists()
