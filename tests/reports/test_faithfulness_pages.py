"""The tables of the page on faithfulness are what the traces say."""

import json
from pathlib import Path
from typing import Any

import pytest

from reports import faithfulness_pages as pages
from reports.table import markdown
from xerte.experiment.trace import Trace

CURVE = {"score": [0.5, 0.5], "score_fall": [0.1, 0.2], "score_fall_control": [-0.01, 0.02]}
CURVE |= {
    "mrr_fall": [10.0, 40.0],
    "mrr_fall_control": [1.0, 4.0],
    "first": [80.0, 50.0],
    "first_control": [99.0, 96.0],
}
CURVE |= {"kept_score": [0.9, 0.95], "kept_score_control": [0.2, 0.1], "kept_mrr": [100.0, 100.0]}
AREAS = {"score_fall": 0.13, "score_fall_control": 0.0, "mrr_fall": 22.0, "mrr_fall_control": 2.0}
INTERVAL = {"low": 2.0, "high": None, "level": 0.95}
RECALL = {"questions": 7, "recall": [40.0, 70.0, 80.0], "all_found": [0.0, 60.0, 75.0], "decoy_first": 1.5}
RECALL |= {"named_fall": 0.5, "unnamed_fall": None, "blamed": {"a cause": 20.0, "something else": 79.6, "a decoy": 0.4}}


def details(fewest: int) -> dict[str, Any]:
    curves = CURVE | {"kept_mrr_control": [9.0, 8.0], "ks": [1, 5], "areas": AREAS}
    return {
        "looked_at": 99,
        "curves": curves | {"questions": [12, 10]},
        "ratios": [
            {"k": 1, "mrr": 0.0, "mrr_interval": INTERVAL, "change": 0.0, "change_interval": INTERVAL},
            {"k": 5, "mrr": 10.0, "mrr_interval": INTERVAL, "change": None, "change_interval": INTERVAL},
        ],
        "by_relation": {
            "visits": curves | {"questions": [fewest, fewest]},
            "calls": curves | {"questions": [fewest - 1, fewest - 1]},
        },
        "stability": {"first": 90.0, "same_best": 70.04, "overlap": 60.0, "shares": 65.0},
        "controls": {"facts": 1200, "matched": 1000, "same_entity": 900, "median_units_apart": 2.0},
        "causes": {"1 hop": RECALL, "rule: visits": RECALL},
        "cause_ks": [1, 3, 5],
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    trace = Trace(
        dataset="world",
        model="xerte",
        split="test",
        metrics={},
        protocol={},
        queries=12,
        command="xerte faithfulness world",
        settings={},
        seconds={"faithfulness": 3.4},
        seed=0,
        device="cpu",
        versions={},
        commit="c" * 40,
        details=details(pages.FEWEST),
    )
    trace.write(tmp_path / "results" / "faithfulness" / "world.json")
    return tmp_path


def rows(table: str) -> list[str]:
    return table.splitlines()[2:]


def test_the_summary_is_of_five_facts(root: Path) -> None:
    told = "| world | xerte | 10 | 0.500 | 0.200 | 0.020 | 40.0 | 4.0 | 10.0 (2.0 to ∞) | ∞ (2.0 to ∞) |"
    assert rows(markdown(pages.summary(root))) == [told]


def test_an_interval_without_end_is_not_told(root: Path) -> None:
    file = root / "results" / "faithfulness" / "world.json"
    trace = json.loads(file.read_text())
    trace["details"]["ratios"][1]["change_interval"]["low"] = None
    file.write_text(json.dumps(trace))
    assert rows(markdown(pages.summary(root)))[0].endswith(" | 10.0 (2.0 to ∞) | ∞ |")


def test_curves_and_areas(root: Path) -> None:
    assert rows(markdown(pages.curves(root))) == [
        "| world | xerte | 1 | 12 | 0.100 | -0.010 | 80.0 | 99.0 | 0.900 | 0.200 | 100.0 | 9.0 |",
        "|  |  | 5 | 10 | 0.200 | 0.020 | 50.0 | 96.0 | 0.950 | 0.100 | 100.0 | 8.0 |",
        "|  |  | area |  | 0.130 | 0.000 |  |  |  |  |  |  |",
    ]


def test_relations_asked_about_too_rarely_are_left_out(root: Path) -> None:
    assert rows(markdown(pages.relations(root))) == [
        f"| world | xerte | visits | {pages.FEWEST} | 0.130 | 0.000 | 22.0 | 2.0 |",
    ]


def test_stability_causes_and_runs(root: Path) -> None:
    told = "| world | xerte | 90.0 | 70.0 | 60.0 | 65.0 | 1,000 of 1,200 | 90.0 % | 2 |"
    assert rows(markdown(pages.stability(root))) == [told]
    blamed = "something else 80 %, a cause 20 %"
    assert rows(markdown(pages.causes(root))) == [
        f"| xerte | 1 hop | 7 | 40.0 | 70.0 | 80.0 | 75.0 | 1.5 | 0.500 |  | {blamed} |",
        f"| xerte | rule: visits | 7 | 40.0 | 70.0 | 80.0 | 75.0 | 1.5 | 0.500 |  | {blamed} |",
    ]
    assert rows(markdown(pages.runs(root))) == [
        "| world | xerte | `xerte faithfulness world` | 12 | 99 | 3 | cpu | cccccccccc | trained for this |"
    ]


def test_runs_tell_whether_their_weights_are_those_that_are_packaged(root: Path) -> None:
    (path,) = (root / "results" / "faithfulness").glob("*.json")
    record = json.loads(path.read_text("utf-8"))
    packed = {"packed": {}, "files": {"weights": {"sha256": "new"}}}
    path.write_text(json.dumps(record | {"settings": record["settings"] | packed}), "utf-8")
    state = root / "pretrained" / "world-xerte" / "state.json"
    state.parent.mkdir(parents=True)
    for sha, told in (("new", "packaged"), ("newer", "an earlier training")):
        state.write_text(json.dumps({"files": {"weights": {"sha256": sha}}}), "utf-8")
        assert markdown(pages.runs(root)).strip().endswith(f"| {told} |")


def test_evidence_stands_beside_what_asking_chose(root: Path) -> None:
    assert pages.choice(root) == []
    interval = {"low": -0.001, "high": 0.01, "level": 0.95}
    by_k = {"k": 1, "control": 0.1, "evidence": 0.125, "asked": 0.1299, "gain": 0.0049, "interval": interval}
    model = {"model": "m", "questions": 9, "forecasts": 55.6, "by_k": [by_k]}
    path = root / "results" / "bench" / "choosing.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"format": "xerte choice of evidence 1", "models": [model]}), "utf-8")
    told = "| m | 9 | 56 | 1 | 0.100 | 0.125 | 0.130 | +0.005 (-0.001 to +0.010) |"
    assert rows(markdown(pages.choice(root))) == [told]
