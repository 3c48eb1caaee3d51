"""What the paper reports of xERTE, ours beside it: rows by hand, plots that know their numbers, time."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from reports import paper_pages, rows
from reports.cli import app
from reports.figures import FOLDER, figures
from reports.table import markdown
from reports.time_study import Interaction, Recency, TimeStudy, time_study
from xerte import api
from xerte.api.forecast import Question
from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.experiment.opening import with_settings
from xerte.experiment.trace import Trace
from xerte.model import XERTE

ROOT = Path(__file__).parents[2]
SMALL: dict[str, Any] = {
    "dims": (4, 4), "static_dim": 4, "steps": 2, "n": 6, "k": 12, "epochs": 1, "batch_size": 512, "start": 560,
}  # fmt: skip
NAMES = ("mrr", "hits@1", "hits@3", "hits@10")


def run(*words: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.stdout, result.stderr


# Rows


def metrics(mrr: float) -> dict[str, float]:
    return dict(zip(NAMES, (mrr, mrr - 1, mrr + 1, mrr + 2), strict=True))


def write(root: Path, dataset: str, name: str, mrr: Sequence[float], more: str = "", nodes: bool = True) -> None:
    """An experiment and, for every MRR, a trace: raw a point less, seen and raw a point more."""
    file = root / "experiments" / dataset / f"{name}.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    seeds = list(range(len(mrr)))
    file.write_text(f'dataset = "{dataset}"\nmodel = "xerte"\npreset = "paper"\nseeds = {seeds}\n{more}')
    for seed, value in enumerate(mrr):
        parts = [
            {"nodes from": 1, "nodes to": 9, "queries": 7, **metrics(value)},
            {"nodes from": 10, "nodes to": 20, "queries": 6, **metrics(value + 5)},
        ]
        seen = {"seen, raw": metrics(value + 1), "seen, raw, by graph size": parts} if nodes else {}
        Trace(
            dataset=dataset,
            model="xerte",
            split="test",
            metrics={"time-aware": metrics(value), "static": metrics(value + 8), "raw": metrics(value - 1)},
            protocol={},
            queries=100,
            command="xerte",
            settings={"epochs": [{"seconds": s, "valid_seconds": 1.0} for s in (3.0, 9.0, 4.0)]},
            seconds={"evaluate": 5.0 + seed},
            seed=seed,
            device="some device",
            versions={},
            commit="c",
            details={**seen, "parameters": 1234, "peak MiB": 56},
        ).write(root / "results" / f"{dataset}-{name}-seed{seed}.json")


def published(name: str, mrr: float) -> str:
    return f"[{name}]\n" + "\n".join(f'"{key}" = {value}' for key, value in metrics(mrr).items()) + "\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    both = published("published", 40) + published("published_seen_raw", 42)
    write(tmp_path, "icews14", "xerte-paper", [40, 44], both)
    write(tmp_path, "yago", "xerte-paper", [50], published("published", 51), nodes=False)
    write(tmp_path, "yago", "xerte-static", [])
    for name, mrr in (("uniform", 36), ("linear", 38), ("last", 39)):
        write(tmp_path, "icews14", f"xerte-{name}", [mrr], published("published_seen_raw", mrr))
    for name, mrr in (("no-reverse", 30), ("mean", 20), ("l1", 10), ("l2", 15), ("l4", 18), ("text", 37)):
        write(tmp_path, "icews14", f"xerte-{name}", [mrr])
    write(tmp_path, "icews14", "xerte-text-clock", [39], 'set = { clock = "absolute" }\n')
    return tmp_path


def test_the_rows_of_table_1_by_hand(checkout: Path) -> None:
    """Seeds at 40 and 44: mean 42, standard deviation √8; epochs of 3, 9 and 4 s: median 4; 100 questions in 5 s."""
    first, static, raw, *yago = rows.table_1_by_filter(checkout)
    assert (first.dataset, first.how, first.runs) == ("icews14", "time-aware", 2)
    assert (first.published, first.ours) == ((40, 39, 41, 42), (42, 41, 43, 44))
    assert first.spread == pytest.approx((8**0.5,) * 4)
    assert first.difference == pytest.approx(2)
    assert (static.ours, raw.ours, static.published, raw.published) == ((50, 49, 51, 52), (41, 40, 42, 43), None, None)
    assert (yago[0].ours, yago[0].spread, yago[0].difference) == ((50, 49, 51, 52), None, -1)
    assert first.cost is not None
    assert (first.cost.epoch_seconds, first.cost.queries_per_second) == (4.0, 20.0)
    assert (first.cost.parameters, first.cost.peak_mib, first.cost.device) == (1234, 56, "some device")
    page = markdown(paper_pages.table_1(checkout))
    assert page.splitlines()[0].split(" | ")[7] == "worst difference"
    assert "| icews14 | time-aware | paper | 40.00 | 39.00 | 41.00 | 42.00 |" in page
    assert "|  |  | ours, 2 seeds | 42.00 ± 2.83 | 41.00 ± 2.83 | 43.00 ± 2.83 | 44.00 ± 2.83 | +2.00 | 1,234 |" in page


def test_the_text_is_held_against_what_ran(checkout: Path) -> None:
    lines = markdown(paper_pages.text(checkout)).splitlines()[2:]
    cost = "1,234 | 4.0 | 20 | 56 | some device |"
    assert lines[1] == f"| as written | 37.00 | 36.00 | 38.00 | 39.00 | -5.00 | {cost}"
    assert lines[2] == f"| clock = absolute | 39.00 | 38.00 | 40.00 | 41.00 | -3.00 | {cost}"


def test_sampling_and_ablations_are_raw_and_of_seen_entities(checkout: Path) -> None:
    ways = rows.sampling_rows(checkout)
    assert [(row.label, row.ours and row.ours[0], row.difference) for row in ways] == [
        ("uniform", 37, 1), ("exponential", 43, 1), ("linear", 39, 1), ("last N", 40, 1),
    ]  # fmt: skip
    assert [row.ours and row.ours[0] for row in rows.aggregation_rows(checkout)] == [43, 21]
    assert [(one.steps, one.seconds, one.row.ours and one.row.ours[0]) for one in rows.step_rows(checkout)] == [
        (1, 5.0, 11), (2, 5.0, 16), (3, 5.5, 43), (4, 5.0, 19),
    ]  # fmt: skip
    parts = rows.update_parts(checkout)
    assert [(part.first, part.last, part.middle, part.hits_1, part.hits_10) for part in parts["without"]] == [
        (1, 9, 5.0, 29, 32), (10, 20, 15.0, 34, 37),
    ]  # fmt: skip
    page = markdown(paper_pages.update(checkout))
    assert "| without, seed 0 | 1 – 9 | 7 | 29.00 | 32.00 |\n|  | 10 – 20 | 6 | 34.00 | 37.00 |" in page
    # The first of two runs at 40 and 44.
    assert "| with reverse update, seed 0 | 1 – 9 | 7 | 39.00 | 42.00 |" in page


def test_what_is_not_there_is_said(checkout: Path) -> None:
    """Nothing was run without time encoding; the run with it does not tell ranks of seen entities."""
    told, never = rows.time_rows(checkout)
    assert (told.ours, told.missing) == (None, "not recorded")
    assert (never.ours, never.missing, never.cost) == (None, "not run yet", None)
    page = markdown(paper_pages.encoding_and_aggregation(checkout))
    assert "| with time encoding | not recorded |" in page
    assert "| without | not run yet |" in page
    (checkout / "experiments" / "icews14" / "xerte-mean.toml").unlink()
    with pytest.raises(InputError, match=r"xerte-mean\.toml is not there"):
        rows.aggregation_rows(checkout)


def test_what_is_not_run_is_named(checkout: Path) -> None:
    """Static is not run on YAGO; then nothing on a third dataset, nor a setting of the text's."""
    assert markdown(paper_pages.not_run(checkout)) == "Trainings that are not run yet: `xerte-static` on yago."
    write(checkout, "icews18", "xerte-paper", [])
    write(checkout, "icews14", "xerte-text-clock", [], 'set = { clock = "absolute" }\n')
    assert markdown(paper_pages.not_run(checkout)) == (
        "Trainings that are not run yet: 1 with one setting of `xerte-text` on icews14; all on icews18; "
        "`xerte-static` on yago."
    )
    for file in ("icews18/xerte-paper", "icews14/xerte-text-clock", "yago/xerte-static"):
        (checkout / "experiments" / f"{file}.toml").unlink()
    assert markdown(paper_pages.not_run(checkout)) == "Every training has been run."


# Plots


def test_plots_show_what_the_traces_say_and_are_drawn_alike(checkout: Path) -> None:
    assert [figure.name for figure in figures(checkout)] == ["update", "steps", "sampling"]
    assert "To be drawn: `python -m reports draw`." in markdown(paper_pages.steps(checkout))
    told = run("draw", "--root", checkout)[1]
    assert told.count("was drawn.") == 3
    folder = checkout / FOLDER
    first = {file.name: file.read_text() for file in folder.iterdir()}
    assert "(e) inference time" in first["steps.svg"]
    assert "![Inference steps" in markdown(paper_pages.steps(checkout))
    run("draw", "--root", checkout)
    assert {file.name: file.read_text() for file in folder.iterdir()} == first
    steps = next(figure for figure in figures(checkout) if figure.name == "steps")
    assert [curve.y for panel in steps.panels for curve in panel.curves] == [(5.0, 5.0, 5.5, 5.0), (11, 16, 43, 19)]
    # Other numbers: the plot is stale, and the page no longer shows it.
    write(checkout, "icews14", "xerte-l1", [11])
    assert not any(figure.is_drawn(folder) for figure in figures(checkout) if figure.name == "steps")
    assert "To be drawn" in markdown(paper_pages.steps(checkout))


def test_the_plots_of_this_project_are_drawn_from_its_traces() -> None:
    assert [figure.name for figure in figures(ROOT) if not figure.is_drawn(ROOT / FOLDER)] == []
    known = {f"{figure.name}.svg" for figure in figures(ROOT)}
    assert {file.name for file in (ROOT / FOLDER).glob("*.svg")} <= known


# Attention and time


@pytest.fixture(scope="module")
def world() -> Dataset:
    return api.load("world")


@pytest.fixture(scope="module")
def models(world: Dataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two small models of the world, with and without time encoding."""
    folder = tmp_path_factory.mktemp("models")
    for name, width in (("with", 4), ("without", 0)):
        api.train(world, "world", "cpu", folder=folder / name, time_dim=width, **SMALL)
    return {name: folder / name for name in ("with", "without")}


def test_recency_by_hand() -> None:
    """Of (1, .1), (2, .3), (3, .2): 2 over 1, 3 over 1, but not 3 over 2; equal times are no pair, a tie is a half."""
    one = Recency.of([[(1, 0.1), (2, 0.3), (3, 0.2)]])
    assert one.pairs == 3
    assert one.later == pytest.approx(2 / 3)
    assert Recency.of([[(5, 0.1), (5, 0.9)], [(4, 0.2), (1, 0.2)]]) == Recency(1, 0.5)
    assert Recency.of([[(1, 0.1)], []]) == Recency(0, None)


MINISTRY, LAND = "Ministry of Justice of Soreruveth", "Soreruveth"  # the one reports to the other every month
ASKED = (MINISTRY, "reports to", "2022-10-20")


@pytest.fixture(scope="module")
def study(world: Dataset, models: dict[str, Path]) -> TimeStudy:
    known = {name: api.Model.load(folder, world) for name, folder in models.items()}
    return time_study(known, Question(*ASKED), (MINISTRY, LAND), {"n": 40, "k": 200}, facts=3)


def test_all_of_a_model_under_other_settings_is_where_its_weights_are(world: Dataset, models: dict[str, Path]) -> None:
    model = api.Model.load(models["with"], world).forecaster
    assert isinstance(model, XERTE)
    moved = with_settings(model.to("meta"), world, {"n": 40})
    assert isinstance(moved, XERTE)
    assert {tensor.device.type for tensor in (*moved.parameters(), *moved.buffers())} == {"meta"}


def test_a_study_lists_what_the_graph_holds(study: TimeStudy, world: Dataset, models: dict[str, Path]) -> None:
    assert [(one.label, one.time_dim) for one in study.studies] == [("with", 4), ("without", 0)]
    for one, folder in zip(study.studies, models.values(), strict=True):
        assert len(one.view) > 10
        model = api.Model.load(folder, world)
        wide = api.Model(with_settings(model.forecaster, world, {"n": 40, "k": 200}), world)
        graph = wide.forecast(*ASKED, 1).explain().whole_graph
        edges = [edge for edge in graph.edges if {edge.subject, edge.object} == {MINISTRY, LAND}]
        assert sorted(edge.attention for edge in edges) == sorted(edge.attention for edge in one.interactions)
        assert len({(edge.step, edge.seen_from) for edge in one.view}) == 1
        assert set(one.view) <= set(one.interactions)
        sizes: dict[Any, int] = {}
        for edge in one.interactions:
            sizes[edge.step, edge.seen_from] = sizes.get((edge.step, edge.seen_from), 0) + 1
        assert len(one.view) == max(sizes.values())
        assert one.in_graph.pairs >= one.between.pairs
        assert one.in_test.pairs > 0


def test_without_time_encoding_the_first_step_sees_no_time(study: TimeStudy) -> None:
    """Edges of one node to one entity by one relation differ in their time only: a static model knows no difference."""

    def spread(edges: Sequence[Interaction]) -> float:
        groups: dict[tuple[str, ...], list[float]] = {}
        for edge in edges:
            if edge.step == 1:
                groups.setdefault((edge.subject, edge.relation, edge.object), []).append(edge.attention)
        return max(max(group) / min(group) for group in groups.values())

    encoded, static = (one.interactions for one in study.studies)
    assert spread(static) == pytest.approx(1, abs=1e-5)
    assert spread(encoded) > 1.001
    assert study.studies[1].between == Recency(study.studies[0].between.pairs, 0.5)


def test_a_study_on_the_command_line_and_its_page(models: dict[str, Path], tmp_path: Path) -> None:
    from reports import time_study_pages

    file = tmp_path / "results" / "time-study" / "world.json"
    words = ("time-study", "world", *ASKED, "--pair", MINISTRY, LAND)
    options = ("--model", models["with"], "--without", models["without"], "--set", "n=40", "--device", "cpu")
    code, told, said = run(*words, *options, "--save", file)
    assert code == 0, said
    assert "the later of two has more" in told
    body = json.loads(file.read_text())
    assert body["command"] == (
        f"python -m reports time-study world '{MINISTRY}' 'reports to' 2022-10-20 --pair '{MINISTRY}' Soreruveth "
        "--model with --without without --set n=40 --facts 0"
    )
    first = body["studies"][0]["view"][0]
    names = " | ".join(first[role] for role in ("subject", "relation", "object", "time"))
    for first["kept"], word in ((True, "yes"), (False, "no")):
        file.write_text(json.dumps(body))
        assert f"| {names} | {first['attention']:.4f} | {word} |" in markdown(time_study_pages.page(tmp_path))
    assert time_study_pages.page(tmp_path / "nowhere") == ["not run yet"]
    file.write_text("[]")
    with pytest.raises(InputError, match="is not a study of time encoding"):
        time_study_pages.page(tmp_path)
    code, _, said = run(*words, *options, "--set", "time_dim=8")
    assert (code, said) == (2, "xerte: n, time_dim: such a change needs other weights, train a model with it\n")
    code, _, said = run(*words[:5], "--pair", "Nobody", LAND, *options)
    assert code == 2
    assert "Nobody" in said
