"""The viewer in a real browser: what is seen, and what mouse, keys and hostile names do to it."""

import itertools
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from drawn import QUESTION, drawn, graph
from xerte.explanation import page
from xerte.explanation.named import Edge, Graph, Node, PartShare, Reason
from xerte.explanation.picture import About, Candidate, Told, document

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

CHROMIUM = os.environ.get("XERTE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: install it, or name one in XERTE_CHROMIUM"),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Opened:
    """A page of a document in a browser, with everything that went wrong in it."""

    def __init__(
        self,
        browser: "Browser",
        path: Path,
        document: dict[str, Any],
        size: tuple[int, int],
        **context: Any,
    ) -> None:
        self.context = browser.new_context(viewport={"width": size[0], "height": size[1]}, offline=True, **context)
        self.page: Page = self.context.new_page()
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda said: self.wrong.append(said.text) if said.type == "error" else None)
        self.page.on("dialog", self._refuse)
        self.page.on("request", lambda request: self.asked.append(request.url))
        path.write_text(page.page(document), "utf-8")
        self.page.goto(path.as_uri())
        self.page.wait_for_selector(".node")
        self.page.add_style_tag(content="* { transition: none }")

    def _refuse(self, dialog: "Dialog") -> None:
        self.wrong.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def slide(self, label: str, value: int) -> None:
        self.page.get_by_label(label, exact=True).evaluate(
            "(one, value) => { one.value = value; one.dispatchEvent(new Event('input')) }", value
        )

    def strong(self, kind: str) -> int:
        """How many nodes or links can be seen."""
        return self.page.locator(f".{kind}:not([opacity='0'])").count()


@pytest.fixture
def opened(browser: "Browser", tmp_path: Path) -> Iterator[Any]:
    pages: list[Opened] = []

    def open_(document: dict[str, Any], size: tuple[int, int] = (1400, 860), **context: Any) -> Opened:
        pages.append(Opened(browser, tmp_path / f"{len(pages)}.html", document, size, **context))
        return pages[-1]

    yield open_
    for one in pages:
        assert one.wrong == []
        assert all(url.startswith(("file:", "blob:")) for url in one.asked)
        one.context.close()


BOXES = """all => all.map(one => { const box = one.getBoundingClientRect();
    return [one.textContent, box.left, box.top, box.right, box.bottom] })"""


def clashes(boxes: list[Any]) -> list[tuple[str, str]]:
    """The texts that lie on each other."""
    return [
        (a[0], b[0])
        for a, b in itertools.combinations(boxes, 2)
        if min(a[3], b[3]) - max(a[1], b[1]) > 0.5 and min(a[4], b[4]) - max(a[2], b[2]) > 0.5
    ]


STANDS_FOR = "all => all.reduce((sum, one) => sum + Number(one.dataset.count), 0)"
LETTERS = """all => Math.min(...all.map(one => one.getScreenCTM().a * parseFloat(one.getAttribute('font-size'))))"""
SCREEN, PHONE = (1280, 800), (390, 844)


@pytest.mark.parametrize("size", [SCREEN, PHONE])
@pytest.mark.parametrize("count", [5, 50, 500])
def test_at_first_and_with_everything_shown_nothing_is_cut_small_or_on_each_other(
    opened: Any, count: int, size: tuple[int, int]
) -> None:
    one = opened(drawn(count), size)
    for everything in (False, True):
        if everything:
            one.slide("Least share of the score", 0)
            one.page.get_by_label("and what was pruned").check()
            assert one.page.locator(".node").evaluate_all(STANDS_FOR) == count
        left, top, right, bottom = one.page.locator(".stage").evaluate_all(BOXES)[0][1:]
        labels, nodes = (one.page.locator(f".stage .{kind}") for kind in ("label", "node .disc"))
        boxes = labels.evaluate_all(BOXES) + nodes.evaluate_all(BOXES)
        cut = [box for box in boxes if box[1] < left or box[2] < top or box[3] > right or box[4] > bottom]
        assert cut == []
        assert labels.evaluate_all(LETTERS) >= 9 - 1e-6
        assert clashes(labels.evaluate_all(BOXES)) == []
    assert one.page.evaluate("document.documentElement.scrollWidth") == size[0]  # nor is there more to the side


@pytest.mark.parametrize("count", [5, 50, 500])
def test_a_figure_holds_its_labels_in_whatever_font_the_browser_has(browser: "Browser", count: int) -> None:
    opened = browser.new_page()
    opened.set_content(page.figure(drawn(count), least=0, pruned=True, dark=False))
    left, top, right, bottom = opened.locator("svg").evaluate_all(BOXES)[0][1:]
    boxes = opened.locator(".label, .legend text").evaluate_all(BOXES)
    assert len(boxes) > {5: 6, 50: 40, 500: 30}[count]
    assert [box for box in boxes if not (left <= box[1] < box[3] <= right and top <= box[2] < box[4] <= bottom)] == []
    assert clashes(boxes) == []
    opened.close()


def test_time_runs_to_the_right_sizes_are_attention_and_one_colour_marks_question_and_answer(opened: Any) -> None:
    one = opened(drawn(12, entities=9999))
    one.slide("Least share of the score", 0)
    seen = one.page.locator(".node").evaluate_all(
        """all => all.map(one => {
            const disc = one.querySelector('.disc'), box = disc.getBoundingClientRect();
            const middle = (box.left + box.right) / 2;
            return [Number(one.dataset.node), middle, disc.r.baseVal.value, disc.getAttribute('fill')];
        })"""
    )
    made = graph(12, entities=9999)
    x = {made.nodes[id].time: at for id, at, _, _ in seen}
    assert [time for time, _ in sorted(x.items(), key=lambda pair: pair[1])] == sorted(x)
    assert max(x, key=lambda time: x[time]) == made.nodes[0].time
    radius = {id: r for id, _, r, _ in seen}
    assert [radius[id] for id in range(1, 12)] == sorted((radius[id] for id in range(1, 12)), reverse=True)
    accent = {id for id, _, _, fill in seen if fill == seen[0][3]}
    assert accent == {0} | {node.id for node in made.nodes if node.entity == made.nodes[1].entity}


def test_darker_lines_contributed_more(opened: Any) -> None:
    one = opened(drawn(5, entities=9999))
    one.slide("Least share of the score", 0)
    lines = one.page.locator(".link").evaluate_all(
        """all => all.map(one => {
            const [body, head] = ['body', 'head'].map(name => one.querySelector(`.${name}`));
            const darkness = parseInt(body.getAttribute('stroke').slice(1, 3), 16);
            return [Number(one.dataset.link), darkness, body.getPointAtLength(0).x, head.getBBox().x];
        })"""
    )
    by_contribution = [darkness for _, darkness, _, _ in sorted(lines)]
    assert by_contribution == sorted(by_contribution)
    assert len(set(by_contribution)) == 4


def test_arrows_go_from_who_acted_to_whom_whichever_way_the_model_went(opened: Any) -> None:
    made = graph(5, entities=9999)
    turned = [
        replace(edge, subject=edge.object, object=edge.subject) if place % 2 else edge
        for place, edge in enumerate(made.edges)
    ]
    candidate = Candidate(made.nodes[1].entity, Graph(made.nodes, tuple(turned)))
    one = opened(document(QUESTION, [candidate], About("xerte")))
    one.slide("Least share of the score", 0)
    heads = one.page.locator(".link").evaluate_all(
        """all => all.map(one => {
            const [body, head] = ['body', 'head'].map(name => one.querySelector(`.${name}`));
            const [later, earlier] = [0, body.getTotalLength()].map(at => body.getPointAtLength(at));
            const box = head.getBBox(), x = box.x + box.width / 2, y = box.y + box.height / 2;
            const near = point => Math.hypot(point.x - x, point.y - y);
            return [Number(one.dataset.link), near(earlier) < near(later)];
        })"""
    )
    assert sorted(heads) == [[place, place % 2 == 0] for place in range(4)]
    texts = one.page.locator(".label.relation").all_text_contents()
    assert not any("⁻" in text for text in texts)


def test_the_replay_starts_at_the_question_expands_and_lets_the_pruned_fade(opened: Any) -> None:
    one = opened(drawn(60, entities=9999), (3200, 2400))
    one.slide("Least share of the score", 0)
    one.page.get_by_label("and what was pruned").check()
    counts, told = [], []
    edges = graph(60, entities=9999).edges
    for place in range(5):
        one.slide("Moment of the replay", place)
        counts.append((one.strong("node"), one.strong("link"), one.page.locator(".link [stroke-dasharray]").count()))
        told.append(one.page.locator(".replay output").inner_text())
    first = [edge for edge in edges if edge.step == 1]
    second = [edge for edge in edges if edge.step == 2]
    kept, cut = [edge for edge in first if edge.kept], [edge for edge in first if not edge.kept]
    dropped = [edge for edge in second if not edge.kept]
    assert cut
    assert dropped
    assert counts == [
        (1, 0, 0),
        (1 + len(first), len(first), 0),
        (1 + len(first), len(first), len(cut)),
        (1 + len(kept) + len(second), len(kept) + len(second), 0),
        (60, 59, len(cut) + len(dropped)),
    ]
    assert told[0] == "Start at the question"
    assert told[1] == f"Step 1: look back at {len(first)} facts"
    assert told[4] == f"Step 2: keep {len(second) - len(dropped)}, prune {len(dropped)}"


def test_a_replay_moves_nothing_and_ticks_nothing(opened: Any) -> None:
    one = opened(drawn(60))
    where = "all => all.map(one => [one.dataset.node, one.getAttribute('transform'), one.getScreenCTM().f])"
    before = one.page.locator(".node").evaluate_all(where)
    for place in range(5):
        one.slide("Moment of the replay", place)
        assert one.page.locator(".node").evaluate_all(where) == before
    assert not one.page.get_by_label("and what was pruned").is_checked()


def test_hover_and_click_tell_the_fact_its_date_and_its_share(opened: Any) -> None:
    one = opened(drawn(5))
    edge = graph(5).edges[0]
    one.page.locator(".reason").first.click()
    one.page.mouse.move(5, 5)
    detail = one.page.locator(".detail").inner_text()
    assert edge.sentence in detail
    assert "50.0 % of what speaks for" in detail
    one.page.locator("[data-node='1'] .disc").hover()
    assert f"{graph(5).nodes[1].entity}, {graph(5).nodes[1].time}" in one.page.locator(".tip").inner_text()
    one.page.mouse.move(5, 5)
    assert edge.sentence in one.page.locator(".detail").inner_text()
    one.page.locator("[data-link='0'] .body").dispatch_event("click")
    one.page.mouse.move(5, 5)
    detail = one.page.locator(".detail").inner_text()
    assert str(edge.time) in detail
    assert "carried 50.0 % of" in detail
    assert "contribution 0.50 in step 1" in detail


def chain_document(verdict: str = "") -> dict[str, Any]:
    """One candidate with a chain of two facts, a single fact and an unreached rival."""
    made = graph(8, entities=9999)
    second = next(row for row, edge in enumerate(made.edges) if edge.source != 0)
    first = next(row for row, edge in enumerate(made.edges) if edge.target == made.edges[second].source)
    reasons = (
        Told(Reason(0.7, "First this. Later that.", "graph", 1, ()), (first, second)),
        Told(Reason(0.3, "Only this.", "past", 1, ()), ((first + 1) % 4,)),
    )
    parts = (PartShare("graph", 0.7), PartShare("past", 0.3))
    answer = made.nodes[made.edges[second].target].entity
    both = [
        Candidate(answer, made, reasons=reasons, parts=parts, rank=1, score=0.5),
        Candidate("Nobody", replace(made, edges=tuple(replace(edge, share=0.0) for edge in made.edges))),
    ]
    return document(QUESTION, both, About("xerte", verdict=verdict, dataset="icews14", known_before="2014-11-09"))


def test_the_verdict_leads_and_what_was_asked_of_whom_follows(opened: Any) -> None:
    one = opened(chain_document("Iran, 50 %: mostly because of this; without that, Oman."))
    assert one.page.get_by_role("heading", level=1).inner_text() == (
        "Iran, 50 %: mostly because of this; without that, Oman."
    )
    header = one.page.locator("header").inner_text()
    for part in (
        "Catherine Ashton – Make a visit – ?, 2014-11-09",
        "model xerte",
        "dataset icews14",
        "before 2014-11-09",
    ):
        assert part in header


def test_reasons_sum_to_all_tell_their_part_and_light_up_their_chain(opened: Any) -> None:
    one = opened(chain_document())
    reasons = one.page.locator(".reason")
    assert [text.split()[0] for text in reasons.all_inner_texts()] == ["70.0", "30.0"]
    parts = one.page.locator(".parts").inner_text()
    assert parts == "graph: attention along facts 70.0\u00a0% · past: facts between the two 30.0\u00a0%"
    reasons.first.hover()
    strokes = one.page.locator(".link").evaluate_all(
        "all => all.map(one => [one.dataset.link, one.querySelector('.body').getAttribute('stroke')])"
    )
    dark = [int(link) for link, stroke in strokes if int(stroke[1:3], 16) < 160]
    assert len(dark) == 2


def test_what_brings_next_to_nothing_is_one_number_and_not_a_list(opened: Any) -> None:
    made = graph(8, entities=9999)
    shares = [0.6, 0.39, *[0.0005] * 20]
    reasons = tuple(Told(Reason(share, f"Reason {row}.", "walk", 1, ()), ()) for row, share in enumerate(shares))
    answer = Candidate(made.nodes[1].entity, made, reasons=reasons, rank=1, score=0.5)
    one = opened(document(QUESTION, [answer], About("best")))
    assert [text.split()[0] for text in one.page.locator(".reason").all_inner_texts()] == ["60.0", "39.0"]
    assert one.page.locator(".rest").inner_text().split() == ["1.0", "%", "came", "by", "other", "ways"]


@pytest.mark.parametrize("size", [SCREEN, PHONE])
def test_long_names_to_compare_with_stay_within_the_panel(opened: Any, size: tuple[int, int]) -> None:
    made = graph(8, entities=9999)
    long = "Cabinet / Council of Ministers / Advisors (United States) and their many deputies and assistants"
    both = [Candidate(made.nodes[1].entity, made, rank=1, score=0.5), Candidate(long, made, rank=2, score=0.4)]
    one = opened(document(QUESTION, both, About("best")), size)
    panel = one.page.locator("aside section").evaluate_all(BOXES)[0]
    chosen = one.page.get_by_label("Compare with").evaluate_all(BOXES)[0]
    assert panel[1] <= chosen[1] <= chosen[3] <= panel[3]


def test_who_was_not_reached_is_said_and_candidates_can_be_compared(opened: Any) -> None:
    one = opened(chain_document())
    rows = [" ".join(text.split()) for text in one.page.locator(".candidate").all_inner_texts()]
    assert rows[1] == "– Nobody not reached"
    one.page.get_by_label("Compare with").select_option(label="Why not Nobody?")
    versus = one.page.locator(".versus").inner_text()
    assert "+0.35 First this. Later that." in versus
    assert "Nothing that was read leads to it." in versus
    one.page.get_by_role("radio").nth(1).check()
    assert "was not reached" in one.page.locator("aside section").inner_text()


def test_candidates_are_as_likely_as_the_verdict_says(opened: Any) -> None:
    packed = drawn(5)
    for answer, probability in zip(packed["answers"], (0.724, 0.004), strict=True):
        answer["probability"] = probability
    rows = opened(packed).page.locator(".candidate")
    assert [text.split()[-3:] for text in rows.all_inner_texts()] == [["72", "%", "0.600"], ["<1", "%", "0.300"]]
    assert rows.locator(".bar i").first.get_attribute("style") == "width:72.4%"
    unsure = opened(drawn(5)).page.locator(".candidate")
    assert [text.split()[-1] for text in unsure.all_inner_texts()] == ["0.600", "0.300"]


def test_dates_stay_in_one_line(opened: Any) -> None:
    one = opened(chain_document("Iran, 50 %: mostly because of what happened there on 2014-11-08; else Oman."), PHONE)
    dates = one.page.locator("header .date, .reason .date")
    assert dates.first.inner_text() == "2014-11-08"
    for width in range(300, 420, 8):
        one.page.set_viewport_size({"width": width, "height": 844})
        assert all(dates.evaluate_all("all => all.map(one => one.getClientRects().length === 1)"))


def test_on_a_phone_what_is_tapped_is_told_within_the_screen(opened: Any) -> None:
    one = opened(drawn(5), PHONE, has_touch=True)
    one.page.locator(".node").nth(1).tap()
    box = one.page.locator(".detail").evaluate_all(BOXES)[0]
    assert graph(5).nodes[1].time in box[0] or "others" in box[0]
    assert box[3] <= PHONE[0]
    assert box[2] + 60 < PHONE[1]
    assert one.page.locator("header .quiet").evaluate_all(BOXES)[0][4] < 260  # no column of single words


def test_print_shows_the_picture_whole(opened: Any) -> None:
    one = opened(drawn(50))
    for _ in range(5):
        one.page.get_by_label("Zoom in").click()
    one.page.emulate_media(media="print")
    one.page.wait_for_timeout(100)
    left, top, right, bottom = one.page.locator(".stage > svg").evaluate_all(BOXES)[0][1:]
    boxes = one.page.locator(".stage .label").evaluate_all(BOXES)
    assert boxes
    assert [box for box in boxes if box[1] < left or box[3] > right or box[2] < top or box[4] > bottom] == []
    assert not one.page.locator(".tools").is_visible()
    last = one.page.locator(".reason").last.evaluate_all(BOXES)[0]
    assert last[4] <= 1 + one.page.evaluate("document.documentElement.scrollHeight")  # and no reason is cut off
    one.page.emulate_media(media="screen")


@pytest.mark.parametrize("count", [5, 50])
def test_on_paper_letters_are_as_large_as_on_a_screen_whatever_its_shape(opened: Any, count: int) -> None:
    """A tall window has a tall picture, which a page would show small: it is laid out for the page."""
    one = opened(drawn(count), (794, 1123))
    one.page.emulate_media(media="print")
    one.page.wait_for_timeout(100)
    assert one.page.locator(".stage .label").evaluate_all(LETTERS) >= 9 - 1e-6
    one.page.emulate_media(media="screen")
    one.page.wait_for_timeout(100)
    assert one.page.locator(".stage .label").evaluate_all(LETTERS) >= 9 - 1e-6


def test_printed_pages_hold_every_reason(opened: Any) -> None:
    """Pages are counted when printing begins: what grows later would fall off the last one."""
    before = re.findall(rb"/Count (\d+)", (one := opened(drawn(50))).page.pdf(format="A4"))
    one.page.emulate_media(media="print")
    one.page.wait_for_timeout(100)
    assert before == re.findall(rb"/Count (\d+)", one.page.pdf(format="A4"))
    tall = one.page.locator(".stage > svg").evaluate("one => one.getBoundingClientRect().height")
    assert tall == pytest.approx(12 / 2.54 * 96, abs=1)


def test_a_document_of_the_first_version_opens(opened: Any) -> None:
    """Without verdict, ranks, reasons: the facts are listed, and nothing others did is told as the question's."""
    before = drawn(8)
    for name in ("pruned",):
        before.pop(name)
    before["candidates"] = [
        {key: one[key] for key in ("entity", "edge", "share", "paths")} for one in before["candidates"]
    ]
    one = opened(before)
    assert one.page.locator(".reason").count() == 7
    assert [" ".join(text.split())[:2] for text in one.page.locator(".candidate").all_inner_texts()] == ["1.", "2."]


def test_another_candidate_shows_its_own_evidence(opened: Any) -> None:
    made = graph(8, entities=5)
    none = tuple(type(edge)(**(vars(edge) | {"share": float(edge.target == 5)})) for edge in made.edges)
    other = made.nodes[5].entity
    both = [Candidate(made.nodes[1].entity, made), Candidate(other, type(made)(made.nodes, none))]
    answers = [{"entity": one.entity, "score": 0.5, "reached": True} for one in both]
    one = opened(document(drawn(5)["query"], both, About("xerte", answers)))
    one.page.get_by_role("radio").nth(1).check()
    facts = one.page.locator(".reason").all_inner_texts()
    assert [fact.split()[0] for fact in facts] == ["100.0"]
    assert made.edges[4].sentence in facts[0]
    assert one.page.get_by_role("heading", name="Why").inner_text().lower() == f"why {other}?".lower()


@pytest.mark.parametrize("by_key", [True, False])
def test_what_is_held_is_let_go_by_escape_anywhere_and_by_another_candidate(opened: Any, by_key: bool) -> None:
    one = opened(drawn(5))
    fact, hint = one.page.locator(".reason").first, "Point at a reason"
    fact.click()
    one.page.mouse.move(5, 5)
    assert fact.get_attribute("aria-pressed") == "true"
    assert hint not in one.page.locator(".detail").inner_text()
    if by_key:
        one.page.keyboard.press("Escape")
    else:
        one.page.get_by_role("radio").nth(1).check()
    assert one.page.locator(".reason[aria-pressed='true']").count() == 0
    assert hint in one.page.locator(".detail").inner_text()


def test_facts_that_differ_only_in_who_acts_are_two(opened: Any) -> None:
    asked = Node(0, "Ann", "2024-01-09", 0, (1.0, 0.0), True)
    ben = Node(1, "Ben", "2024-01-08", 1, (0.0, 1.0), True)
    told = (("Ann", "Ben", 0.75, "Ann met Ben."), ("Ben", "Ann", 0.25, "Ann was met by Ben."))
    edges = tuple(
        Edge(0, 1, subject, "meets", object, "2024-01-08", 1, share, share, share, True, sentence)
        for subject, object, share, sentence in told
    )
    candidate = Candidate("Ben", Graph((asked, ben), edges))
    question = {"subject": "Ann", "relation": "meets", "object": "?", "time": "2024-01-09"}
    answers = [{"entity": "Ben", "score": 1.0, "reached": True}]
    one = opened(document(question, [candidate], About("xerte", answers)))
    facts = [" ".join(text.split()) for text in one.page.locator(".reason").all_inner_texts()]
    assert facts == ["75.0 % Ann met Ben.", "25.0 % Ann was met by Ben."]


def test_the_filter_takes_away_what_carried_little(opened: Any) -> None:
    one = opened(drawn(20))
    one.slide("Least share of the score", 7)  # at least 10 %: shares are 1/2, 1/4, 1/8, 1/16, …
    heavy = {edge.target for edge in graph(20).edges if edge.share >= 0.1}
    shown = {int(id) for id in one.page.locator(".node").evaluate_all("all => all.map(one => one.dataset.node)")}
    assert heavy <= shown
    assert len(shown) <= len(heavy) + 2
    assert (
        one.page.get_by_label("Least share of the score").get_attribute("aria-valuetext")
        == "at least 10 % of the score"
    )


def test_keys_walk_the_nodes_hold_one_and_let_go(opened: Any) -> None:
    one = opened(drawn(5))
    one.slide("Least share of the score", 0)
    one.page.locator("[data-node='0']").focus()
    one.page.keyboard.press("ArrowLeft")
    focused = one.page.evaluate("document.querySelector('#xerte').shadowRoot.activeElement.dataset.node")
    assert focused != "0"
    node = graph(5).nodes[int(focused)]
    assert f"{node.entity}, {node.time}" in one.page.locator(".detail").inner_text()
    one.page.keyboard.press("Enter")
    one.page.evaluate("document.querySelector('#xerte').shadowRoot.activeElement.blur()")
    assert f"{node.entity}, {node.time}" in one.page.locator(".detail").inner_text()
    one.page.locator(f"[data-node='{focused}']").focus()
    one.page.keyboard.press("Escape")
    assert "Point at a reason" in one.page.locator(".detail").inner_text()
    named = one.page.locator(".node").evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    assert all(named)


@pytest.mark.parametrize(("scheme", "paper"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 24, 29)")])
def test_it_follows_the_readers_light_or_dark_and_can_be_switched(opened: Any, scheme: str, paper: str) -> None:
    one = opened(drawn(5), color_scheme=scheme)
    background = "one => getComputedStyle(one).backgroundColor"
    assert one.page.locator(".root").evaluate(background) == paper
    one.page.get_by_label("Light or dark").click()
    assert one.page.locator(".root").evaluate(background) != paper


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`${alert(3)}\u2028&amp;"


def test_names_are_never_run(opened: Any) -> None:
    text = json.dumps(drawn(5)).replace("Entity number", json.dumps(HOSTILE)[1:-1] + " number")
    made = json.loads(text.replace('"Catherine Ashton"', json.dumps(HOSTILE)).replace('"xerte"', json.dumps(HOSTILE)))
    one = opened(made | {"notes": [HOSTILE]})
    for place in range(one.page.locator(".reason").count()):
        one.page.locator(".reason").nth(place).hover()
    one.page.locator("[data-node='1'] .disc").hover()
    assert one.page.locator("img").count() == 0
    assert one.page.locator("script").count() == 3
    assert one.page.title().startswith(HOSTILE[:30])
    assert HOSTILE[:40] in one.page.locator("h1").inner_text()
    assert HOSTILE[:40] in one.page.locator(".notes").inner_text()


def test_several_frames_live_in_one_notebook_page(browser: "Browser", tmp_path: Path) -> None:
    path = tmp_path / "notebook.html"
    frames = [page.frame(drawn(count)) for count in (5, 12)]
    path.write_text("<!doctype html><p>before</p>" + "<hr>".join(frames), "utf-8")
    opened = browser.new_page()
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.goto(path.as_uri())
    seen = []
    for place in range(2):
        frame = opened.frame_locator("iframe").nth(place)
        frame.locator(".node").first.wait_for()
        frame.get_by_label("Least share of the score").evaluate(
            "one => { one.value = 0; one.dispatchEvent(new Event('input')) }"
        )
        seen.append(frame.locator(".node").evaluate_all(STANDS_FOR))
    assert seen == [5, 12]
    assert opened.frame_locator("iframe").nth(0).locator(".node").evaluate_all(STANDS_FOR) == 5
    assert wrong == []
    opened.close()


def test_a_page_can_mount_update_and_remove_it(browser: "Browser") -> None:
    opened = browser.new_page()
    opened.set_content("<div id=one style='height:500px'></div><div id=two style='height:500px'></div>")
    script = page.built("viewer.mjs").read_text("utf-8")
    counts = opened.evaluate(
        """async ([script, small, large]) => {
            const url = URL.createObjectURL(new Blob([script], {type: 'text/javascript'}));
            const { mount } = await import(url);
            const hosts = ['one', 'two'].map(id => document.getElementById(id));
            const counts = host => [...host.shadowRoot.querySelectorAll('.node')].map(one => Number(one.dataset.count));
            const count = () => hosts.map(host => counts(host).reduce((sum, one) => sum + one, 0));
            const viewers = hosts.map(host => mount(host, small, {theme: 'light'}));
            const before = count();
            viewers[0].update(large);
            const after = count();
            viewers[0].destroy();
            return [before, after, count()];
        }""",
        [script, drawn(3), drawn(6)],
    )
    assert counts == [[3, 3], [6, 3], [0, 3]]
    opened.close()


def test_escape_anywhere_on_the_page_lets_go_in_the_viewer_used_last(browser: "Browser") -> None:
    opened = browser.new_page()
    hosts = "".join(f"<div id={id} style='height:700px'></div>" for id in ("one", "two"))
    opened.set_content(f"<input id=mine>{hosts}")
    opened.evaluate(
        """async ([script, small]) => {
            const url = URL.createObjectURL(new Blob([script], {type: 'text/javascript'}));
            const { mount } = await import(url);
            window.viewers = ['one', 'two'].map(id => mount(document.getElementById(id), small));
            window.left = 0;
            document.addEventListener('keydown', event => { if (!event.defaultPrevented) window.left += 1 });
        }""",
        [page.built("viewer.mjs").read_text("utf-8"), drawn(5)],
    )

    def held() -> list[int]:
        return [opened.locator(f"#{id} .reason[aria-pressed='true']").count() for id in ("one", "two")]

    def hold(*ids: str) -> None:
        for id in ids:
            opened.locator(f"#{id} .reason[aria-pressed='false']").first.click()
        opened.locator("#mine").click()
        assert held() == [int(id in ids) for id in ("one", "two")]

    def escape() -> list[int]:
        opened.keyboard.press("Escape")
        return held()

    hold("one", "two")
    assert [escape(), escape(), escape()] == [[1, 0], [0, 0], [0, 0]]
    assert opened.evaluate("window.left") == 3  # pressed outside, the key is not kept from others
    hold("two", "one")
    opened.locator("#two").get_by_label("Least share of the score").focus()
    assert [escape(), escape()] == [[1, 0], [0, 0]]
    assert opened.evaluate("window.left") == 4
    hold("one")
    opened.evaluate("addEventListener('keydown', event => event.preventDefault(), {capture: true, once: true})")
    assert escape() == [1, 0]
    opened.evaluate("window.viewers[0].destroy()")
    assert escape() == [0, 0]
    opened.close()
