"""The picture of an explanation: its document, the page, the frame for notebooks, SVG and PNG, and its build."""

import html
import importlib.util
import json
import re
import struct
import sys
from dataclasses import asdict
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from drawn import ASKED, QUESTION, drawn, graph, small_dataset, untrained, weighing
from xerte.api.model import Model
from xerte.baselines.recurrence import Recurrence
from xerte.cli import app
from xerte.data import store
from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.explanation import page, picture
from xerte.explanation.named import Fact, Graph, Reason
from xerte.explanation.picture import About, Candidate, Told, Way, document
from xerte.forecaster import Queries, Scores
from xerte.graph.index import TemporalIndex

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def data() -> Dataset:
    return small_dataset()


@pytest.fixture
def model(data: Dataset) -> Model:
    return Model(untrained(data), data)


def rows(packed: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The edges of a document in names."""
    names, nodes, facts, edges = packed["names"], packed["nodes"], packed["facts"], packed["edges"]

    def node(place: int) -> tuple[str, str]:
        return names[nodes["entity"][place]], names[nodes["time"][place]]

    def fact(place: int) -> tuple[str, ...]:
        if place < 0:
            return ()
        four = (names[facts[column][place]] for column in ("subject", "relation", "object", "time"))
        return (*four, facts["sentence"][place])

    columns = (edges[name] for name in ("source", "target", "fact", "step", "contribution", "kept"))
    return [(node(s), node(t), fact(f), step, c, k) for s, t, f, step, c, k in zip(*columns, strict=True)]


def test_a_document_is_the_whole_graph_with_the_shares_of_every_candidate(model: Model) -> None:
    forecast = model.forecast(*ASKED)
    told = forecast.explain()
    packed = told.picture
    whole = told.whole_graph
    expected = []
    for edge in whole.edges:
        if not edge.kept and not edge.sentence:
            continue  # a pruned self-loop is nothing to see
        ends = [(whole.nodes[end].entity, whole.nodes[end].time) for end in (edge.source, edge.target)]
        fact = (edge.subject, edge.relation, edge.object, edge.time, edge.sentence) if edge.sentence else ()
        expected.append((*ends, fact, edge.step, pytest.approx(edge.contribution, rel=1e-4), int(edge.kept)))
    assert rows(packed) == expected
    assert packed["steps"] == 3
    assert packed["unseen"] == 0
    reached = [answer.entity for answer in forecast.answers if answer.reached]
    assert [one["entity"] for one in packed["candidates"]] == reached[: picture.MOST_CANDIDATES]
    for one in packed["candidates"]:
        share: dict[tuple[str, ...], float] = {}
        for edge, value in zip(one["edge"], one["share"], strict=True):
            fact = rows(packed)[edge][2][:4]
            share[fact] = share.get(fact, 0.0) + value
        share.pop((), None)
        evidence = forecast.explain(one["entity"]).evidence
        assert share == pytest.approx(
            {(f.subject, f.relation, f.object, f.time): f.share for f in evidence}, rel=1e-3, abs=1e-6
        )


def test_the_explained_candidate_is_shown_first_and_keeps_its_place(model: Model) -> None:
    forecast = model.forecast(*ASKED)
    last = forecast.answers[-1].entity
    packed = forecast.explain(last).picture
    assert packed["answer"] == last
    assert [one["entity"] for one in packed["candidates"]] == [answer.entity for answer in forecast.answers]
    assert [one["rank"] for one in packed["candidates"]] == list(range(1, len(forecast.answers) + 1))
    best = model.forecast(*ASKED, top=2).explain(last).picture["candidates"]
    assert [(one["entity"], one["rank"]) for one in best[2:]] == [(last, len(forecast.answers))]


def test_who_was_not_reached_has_neither_place_nor_score(data: Dataset) -> None:
    early = Model(untrained(data), data).forecast("Ann", "visits", "2024-01-03")
    absent = next(name for name in data.entities if name not in ["Ann", *(answer.entity for answer in early.answers)])
    told = early.explain(absent)
    one = told.picture["candidates"][-1]
    assert (one["entity"], one["rank"], one["score"], one["reasons"]) == (absent, None, None, [])
    assert "was not reached" in told.verdict


def test_of_the_pruned_only_the_nearest_to_being_kept_are_drawn_and_all_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(picture, "MOST_PRUNED", 10)
    packed = drawn(100)
    assert packed["edges"]["kept"] == [1] * 39 + [0] * 10
    assert packed["unseen"] == 50
    assert packed["pruned"] == 60
    assert packed["edges"]["contribution"][-1] == pytest.approx(1 / 50)
    assert len(packed["nodes"]["entity"]) == 50


def test_facts_that_no_graph_led_to_are_drawn_between_those_they_are_about(data: Dataset) -> None:
    told = Model(Recurrence((0.5, 0.5), 1), data).forecast(*ASKED).explain()
    packed = told.picture
    assert packed["steps"] == 1
    first = packed["candidates"][0]
    share: dict[tuple[str, ...], float] = {}
    for edge, value in zip(first["edge"], first["share"], strict=True):
        source, target, fact, *_ = rows(packed)[edge]
        share[fact[:4]] = share.get(fact[:4], 0.0) + value
        assert target[0] == told.answer
        assert {source[0], target[0]} == {fact[0], fact[2]}  # nobody is drawn as doing what others did
        assert (source == (ASKED[0], ASKED[2])) == (ASKED[0] in fact[:3])
    assert share == pytest.approx({(f.subject, f.relation, f.object, f.time): f.share for f in told.evidence}, rel=1e-4)
    assert {one["name"] for one in first["parts"]} == {"past", "prior"}


def test_walks_are_drawn_fact_by_fact_and_told_in_the_order_of_time(
    data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture, "MOST_WAYS", 100_000)
    told = Model(weighing(data), data).forecast(*ASKED).explain(most=None)
    packed = told.picture
    (first,) = (one for one in packed["candidates"] if one["entity"] == told.answer)
    walks = [(reason, one) for reason, one in zip(told.bundles, first["reasons"], strict=True) if one["part"] == "walk"]
    assert max(len(reason.chains[0].facts) for reason, _ in walks) == 3
    edges = rows(packed)
    for reason, one in walks:
        drawn = {(edges[edge][0], edges[edge][1], edges[edge][2][:4]) for edge in one["edges"]}
        for chain in reason.chains:
            at = (ASKED[0], ASKED[2])
            for fact in reversed(chain.facts):  # from the question on
                assert told.case is not None
                subject, relation, object, time = told.case.telling.names(fact)
                there = (object if subject == at[0] else subject, time)
                assert (at, there, (subject, relation, object, time)) in drawn
                at = there
            assert at[0] == told.answer
        assert {packed["names"][packed["edges"]["part"][edge]] for edge in one["edges"]} <= {"past", "walk", "prior"}
    for path in told.paths:
        assert [fact.time for fact in path.facts] == sorted(fact.time for fact in path.facts)
        if "First" in path.sentence:
            assert len({fact.time for fact in path.facts}) == len(set(path.facts))  # a walk may come back over a fact
    factor, total, exponent = first["weight"]
    assert factor * total**exponent == pytest.approx(first["score"], rel=1e-3)


def test_reasons_name_their_edges_and_sum_to_one(model: Model) -> None:
    told = model.forecast(*ASKED).explain(most=None)
    packed = told.picture
    first = packed["candidates"][0]
    assert sum(one["share"] for one in first["reasons"]) + first["rest"] == pytest.approx(1, abs=1e-4)
    for reason, one in zip(told.reasons, first["reasons"], strict=True):
        assert {rows(packed)[edge][2][:4] for edge in one["edges"]} == set(reason.facts)


def test_of_many_repeats_the_heaviest_reason_is_drawn_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line says ×3 where its reason says 3 times, though single facts of a lighter reason weigh more."""
    monkeypatch.setattr(picture, "MOST_WAYS", 4)

    def told(relation: str, *shares: float) -> Told:
        days = [Fact("Ann", relation, "Ben", f"2024-05-0{day}", share, "") for day, share in enumerate(shares, 1)]
        ways = tuple(Way("past", fact.share, (fact,)) for fact in days)
        return Told(Reason(sum(shares), relation, "past", len(shares), ()), (), ways)

    reasons = told("met", 0.4, 0.1, 0.1), told("saw", 0.15, 0.13, 0.12)
    shown = [Candidate("Ben", Graph(), reasons=reasons, rank=1, score=1.0)]
    packed = document({"subject": "Ann", "relation": "met", "object": "?", "time": "2024-05-09"}, shown, About("best"))
    assert [len(one["edges"]) for one in packed["candidates"][0]["reasons"]] == [3, 1]


def test_a_line_tells_what_it_is_to_the_likely_candidates() -> None:
    """The answer's past is drawn as such and darkest, though walks to many unlikely candidates begin with it."""
    asked = Fact("Ann", "met", "Club", "2024-05-01", 1.0, "Ann met Club.")

    def candidate(entity: str, score: float, *way: Fact) -> Candidate:
        part = "walk" if len(way) > 1 else "past"
        told = Told(Reason(1.0, "Met.", part, 1, ()), (), (Way(part, 1.0, way),))
        return Candidate(entity, Graph(), reasons=(told,), rank=1, score=score)

    others = [Fact(name, "met", "Club", "2024-05-01", 1.0, f"{name} met Club.") for name in ("Ben", "Cid", "Dan")]
    shown = [candidate("Club", 0.9, asked), *(candidate(one.subject, 0.01, asked, one) for one in others)]
    question = {"subject": "Ann", "relation": "met", "object": "?", "time": "2024-05-02"}
    packed = document(question, shown, About("best"))
    edges = packed["edges"]
    parts = [packed["names"][part] for part in edges["part"]]
    assert parts == ["past", "walk", "walk", "walk"]
    assert edges["contribution"][0] > 0.9


def test_no_answer_is_a_picture_of_the_question_alone() -> None:
    packed = document(QUESTION, [], About("xerte"))
    assert packed["answer"] is None
    assert rows(packed) == []
    assert "Catherine Ashton" in page.figure(packed, least=None, pruned=False, dark=False)


HOSTILE = "</script><!--<script>alert('1')\u2028\u2029&"


def test_a_document_may_stand_in_a_script_element_whatever_its_names() -> None:
    made = graph(3)
    packed = document(QUESTION | {"subject": HOSTILE}, [Candidate(HOSTILE, made)], About(HOSTILE))
    text = page.packed(packed)
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == packed
    whole = page.page(packed)
    assert whole.count("</script>") == 3
    assert HOSTILE not in whole


def test_the_page_loads_nothing(model: Model, tmp_path: Path) -> None:
    told = model.forecast(*ASKED).explain()
    text = told.to_html(tmp_path / "why.html")
    assert (tmp_path / "why.html").read_text("utf-8") == text
    assert "default-src 'none'" in text
    assert not re.findall(r"<(?:link|img|iframe)|<script[^>]+src", text)
    assert set(re.findall(r"https?://[\w./]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xhtml",
        "http://www.w3.org/1999/xlink",
        "http://www.w3.org/2000/xmlns/",
        "http://www.w3.org/XML/1998/namespace",
    }
    inside = re.search(r'id="document">(.*?)</script>', text)
    assert inside is not None
    assert json.loads(inside[1]) == told.picture


def test_notebooks_get_the_page_in_a_closed_frame(model: Model) -> None:
    forecast = model.forecast(*ASKED)
    shown = forecast._repr_html_()
    assert shown is not None
    assert shown == forecast.explain()._repr_html_()
    source = re.search(r'srcdoc="([^"]*)"', shown)
    assert source is not None
    assert html.unescape(source[1]) == forecast.explain().to_html()
    assert 'sandbox="allow-scripts allow-downloads"' in shown


class Counting:
    """A forecaster that notes how much it is asked."""

    name = "xerte"

    def __init__(self, data: Dataset) -> None:
        self.inner, self.sizes = untrained(data), list[int]()

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
        self.sizes.append(len(queries))
        return self.inner.forecast(history, queries)


def test_a_question_among_many_is_asked_again_only_once_for_its_picture(data: Dataset) -> None:
    asked = Counting(data)
    model = Model(asked, data)
    question = model.forecast(*ASKED).question
    many = model.forecast_many([question, question])
    asked.sizes.clear()
    assert len(many[0].explain().picture["candidates"]) > 3
    assert asked.sizes == [1, 1]  # for the reasons, and for who would be first without the heaviest


def test_a_figure_shows_what_the_page_shows_first() -> None:
    packed = drawn(50)
    tree = ET.fromstring(page.figure(packed, least=None, pruned=False, dark=False))
    shown = [int(node.attrib["data-node"]) for node in tree.iter(f"{SVG}g") if node.get("class") == "node"]
    assert 5 < len(shown) <= 25
    whole = ET.fromstring(page.figure(packed, least=0, pruned=True, dark=True))
    assert 25 < sum(node.get("class") == "node" for node in whole.iter(f"{SVG}g")) <= 50
    assert [one.text for one in whole.findall(f"{SVG}title")] == [
        f"Catherine Ashton – Make a visit – ?, 2014-11-09: why {packed['answer']}?"
    ]
    named = {"".join(text.itertext()) for text in tree.iter(f"{SVG}text")}
    assert {packed["answer"], "Catherine AshtonMake a visit ?2014-11-09"} <= named
    assert f"width: share of {packed['answer']}’s score" in named


def test_a_higher_least_share_draws_fewer_facts() -> None:
    packed = drawn(30)

    def facts(least: float) -> set[int]:
        tree = ET.fromstring(page.figure(packed, least=least, pruned=False, dark=False))
        return {int(node.attrib["data-link"]) for node in tree.iter(f"{SVG}g") if node.get("class") == "link"}

    assert {place for place, edge in enumerate(graph(30).edges) if edge.share >= 0.2} <= facts(0.2)
    assert facts(0.2) < facts(0.001) < facts(0)
    assert len(facts(0)) == 23  # the others are repeats, and one walk that comes back: drawn as one


def test_svg_and_png_are_the_same_picture(model: Model, tmp_path: Path) -> None:
    told = model.forecast(*ASKED).explain()
    svg = told.to_svg(tmp_path / "why.svg")
    assert (tmp_path / "why.svg").read_text("utf-8") == svg
    tree = ET.fromstring(svg)
    content = told.to_png(tmp_path / "why.png", scale=2)
    assert (tmp_path / "why.png").read_bytes() == content
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", content[16:24]) == (2 * int(tree.attrib["width"]), 2 * int(tree.attrib["height"]))
    assert told.to_svg(dark=True) != svg


def test_the_command_line_writes_every_picture(
    data: Dataset,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store.save(data, tmp_path / "tiny")
    files = {kind: tmp_path / f"why.{kind}" for kind in ("html", "svg", "png")}
    options = [word for kind, path in files.items() for word in (f"--{kind}", str(path))]
    done = CliRunner().invoke(app, ["explain", str(tmp_path / "tiny"), *ASKED, *options])
    assert done.exit_code == 0, done.output
    told = "The picture is in {html}, {svg} and {png}.".format_map(files)
    assert told in done.output.replace("\n", "")
    assert files["html"].read_text("utf-8").startswith("<!doctype html>")
    assert files["svg"].read_text("utf-8").startswith("<svg ")
    assert files["png"].read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr(page, "BUILT", tmp_path / "nowhere")
    page._script.cache_clear()
    done = CliRunner().invoke(app, ["explain", str(tmp_path / "tiny"), *ASKED, "--html", str(tmp_path / "no.html")])
    assert done.exit_code == 2
    assert "the viewer was not built" in done.output
    assert not (tmp_path / "no.html").exists()


def test_without_a_built_viewer_one_sentence_says_so_and_notebooks_show_text(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forecast = model.forecast(*ASKED)
    monkeypatch.setattr(page, "BUILT", tmp_path)
    page._script.cache_clear()
    with pytest.raises(InputError, match=r"the viewer was not built .*viewer\.js is missing.*pip install"):
        forecast.explain().to_html()
    assert forecast._repr_html_() is None
    assert forecast.explain()._repr_html_() is None


@pytest.mark.parametrize("missing", ["quickjs", "resvg_py"])
def test_missing_extras_are_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(InputError, match=r"pip install 'xerte\[explain\]'"):
        page.png(page.figure(drawn(3), least=None, pruned=False, dark=False), 1)


# The build


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def hooked(hook: ModuleType, root: Path) -> Any:
    """The hook of a checkout, and in `said` what it told the user."""
    app = SimpleNamespace(said=[])
    app.display_warning = app.said.append
    return hook.ViewerHook(str(root), {}, None, None, "", "wheel", app)


def checkout(root: Path, hook: ModuleType) -> Any:
    (root / "web/src").mkdir(parents=True)
    for name in ("src/a.ts", "package.json", "vite.config.js"):
        (root / "web" / name).write_text(name)
    out = root / "src/xerte/explanation/viewer"
    out.mkdir(parents=True)
    made = hooked(hook, root)
    for name in hook.FILES:
        (out / name).write_text("built")
    (out / hook.STAMP).write_text(made._digest())
    (root / "src/xerte/app/page").mkdir(parents=True)
    (root / "src/xerte/app/page/index.html").write_text("built")
    return made


def test_node_is_fetched_only_where_the_viewer_is_stale(hook: ModuleType, tmp_path: Path) -> None:
    made = checkout(tmp_path, hook)
    assert made.dependencies() == []
    (tmp_path / "web/src/a.ts").write_text("changed")
    assert made.dependencies() == [hook.NODE]
    (tmp_path / "web/src/a.ts").write_text("src/a.ts")
    assert made.dependencies() == []
    (tmp_path / "src/xerte/app/page/index.html").unlink()
    assert made.dependencies() == [hook.NODE]
    (tmp_path / "src/xerte/app/page/index.html").write_text("built")
    (tmp_path / "src/xerte/explanation/viewer/figure.js").unlink()
    assert made.dependencies() == [hook.NODE]


def test_who_wants_no_viewer_needs_no_node(hook: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = checkout(tmp_path, hook)
    (tmp_path / "web/src/a.ts").write_text("changed")
    monkeypatch.setenv("XERTE_NO_VIEWER", "1")
    assert made.dependencies() == []


def test_packages_are_fetched_where_a_version_differs_and_what_developers_need_stays(
    hook: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = checkout(tmp_path, hook)
    wanted = {"dependencies": {"@scope/font": "1.2.3", "vite": "8.0.0"}, "devDependencies": {"eslint": "10.0.0"}}
    (tmp_path / "web/package.json").write_text(json.dumps(wanted))
    calls: list[tuple[str, ...]] = []

    def npm(*arguments: str, **environment: str) -> None:
        calls.append(arguments)
        if "XERTE_VIEWER_OUT" in environment:
            Path(environment["XERTE_VIEWER_OUT"]).mkdir()

    def have(name: str, version: str) -> None:
        folder = tmp_path / "web/node_modules" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text(json.dumps({"version": version}))

    monkeypatch.setattr(made, "_npm", npm)
    have("vite", "8.0.0")
    made.initialize("editable", {})
    assert calls == [("install", "--omit=dev"), ("run", "build")]
    have("@scope/font", "1.2.2")
    have("eslint", "10.0.0")
    calls.clear()
    made.initialize("editable", {})
    assert calls == [("install",), ("run", "build")]
    have("@scope/font", "1.2.3")
    calls.clear()
    made.initialize("editable", {})
    assert calls == [("run", "build")]


def test_an_archive_without_sources_of_the_viewer_needs_no_node(hook: ModuleType, tmp_path: Path) -> None:
    assert hooked(hook, tmp_path).dependencies() == []


def test_a_build_that_fails_says_so_and_keeps_what_was_there(
    hook: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = checkout(tmp_path, hook)
    (tmp_path / "web/src/a.ts").write_text("changed")
    (tmp_path / "web/package.json").write_text(
        '{"dependencies": {"vite": "8.0.0"}, "devDependencies": {"eslint": "1"}}'
    )

    def npm(*_: str, **__: str) -> None:
        raise OSError("no way to the registry")

    monkeypatch.setattr(made, "_npm", npm)
    made.initialize("standard", {})
    assert made.app.said == [
        "The viewer was not built (no way to the registry): everything works but pictures (--html, --svg, --png)."
    ]
    assert (tmp_path / "src/xerte/explanation/viewer/figure.js").read_text() == "built"


def test_what_is_installed_was_built_from_these_sources(hook: ModuleType) -> None:
    made = hooked(hook, ROOT)
    assert (page.BUILT / hook.STAMP).read_text() == made._digest(), "web/ has changed: run `make viewer`"


def test_the_question_asked_is_that_of_the_forecast(model: Model) -> None:
    forecast = model.forecast(*ASKED)
    assert forecast.explain().picture["query"] == asdict(forecast.question)
