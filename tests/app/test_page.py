"""The page in a real browser: each journey, by mouse and by keys, light and dark, wide and narrow."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from serving import server, until_learned
from xerte.app.page import PAGE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

CHROMIUM = os.environ.get("XERTE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
QUESTION = "/?subject=Wenoravrin&relation=condemns&time=2022-10-20"
PATIENCE_MS = 120_000
"""Until a table is imported, rates are fitted and a model is evaluated, on a busy machine."""
HOSTILE = '<img src=x onerror="alert(1)">\u202e=1+1'
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: install it, or name one in XERTE_CHROMIUM"),
    pytest.mark.skipif(not (PAGE / "index.html").is_file(), reason="the page was not built: make viewer"),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with server("--model", "recurrence", home=tmp_path_factory.mktemp("home")) as one:
        until_learned(one)
        yield one


class Visit:
    """A visit to the page, with everything that went wrong during it."""

    def __init__(self, browser: "Browser", address: str, **context: Any) -> None:
        self.context = browser.new_context(base_url=address, **context)
        self.context.set_default_timeout(PATIENCE_MS)
        self.page: Page = self.context.new_page()
        self.wrong: list[str] = []
        self.foreign: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: self.wrong.append(dialog.message))
        self.page.on(
            "request", lambda one: None if one.url.startswith((address, "data:")) else self.foreign.append(one.url)
        )

    def go(self, path: str) -> "Page":
        self.page.goto(path)
        return self.page


@pytest.fixture
def visit(browser: "Browser", address: str) -> Iterator[Visit]:
    one = Visit(browser, address)
    yield one
    one.context.close()
    assert one.wrong == []
    assert one.foreign == []


def answers(page: "Page") -> list[str]:
    page.locator(".answers li").first.wait_for()
    return page.locator(".answers .name").all_inner_texts()


def settled(page: "Page") -> None:
    page.locator(".status", has_text="answers").wait_for()


def settles(page: "Page", expression: str) -> None:
    """A layout is done some frames after what it lays out is there."""
    for _ in range(200):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"{page.url}: {expression}")


def test_from_a_name_to_an_answer_with_the_keyboard_alone(visit: Visit) -> None:
    page = visit.go("/")
    page.get_by_role("combobox", name="Who").focus()
    page.keyboard.type("wenorav")
    page.get_by_role("option", name="Wenoravrin").first.wait_for()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("condem")
    page.get_by_role("option", name="condemns").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert len(answers(page)) == 10
    assert "subject=Wenoravrin&relation=condemns&time=2023-01-01" in page.url


def test_who_knows_no_name_begins_with_an_example(visit: Visit) -> None:
    page = visit.go("/")
    example = page.locator(".examples a").first
    name, relation = example.inner_text().split(" · ")[:2]
    example.click()
    assert len(answers(page)) > 0
    assert page.get_by_role("combobox", name="Who").input_value() == name
    assert page.get_by_role("combobox", name="Does what").input_value() == relation


def test_who_does_not_know_what_is_done_is_shown_what_is_done_most(visit: Visit) -> None:
    page = visit.go("/?subject=Wenoravrin")
    page.get_by_role("combobox", name="Does what").focus()
    option = page.get_by_role("option").first
    option.wait_for()
    assert option.get_attribute("aria-selected") == "false", "Enter chooses nothing yet"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**relation=*")


def test_who_types_faster_than_the_names_come_gets_what_was_typed(visit: Visit) -> None:
    page = visit.go("/?subject=Wenoravrin")

    def late(route: "Route") -> None:
        page.wait_for_timeout(300)
        route.continue_()

    page.route("**/relations?*", late)
    page.get_by_role("combobox", name="Does what").focus()
    page.keyboard.type("condem")
    page.keyboard.press("Enter")
    page.wait_for_url("**relation=condemns*")


def test_an_address_shows_the_answer_why_and_the_picture(visit: Visit) -> None:
    page = visit.go(QUESTION)
    best = answers(page)[0]
    assert page.locator("#why", has_text=best).is_visible()
    assert page.locator(".verdict").inner_text().startswith(best)
    # What carried next to nothing is folded.
    assert page.locator(".facts li .share").all_inner_texts() == ["52 %", "48 %"]
    assert page.get_by_role("button", name="Show 26 more").is_visible()
    page.locator(".picture .root").wait_for()
    assert not page.locator(".picture fieldset").is_visible(), "the candidates stand beside the picture already"
    assert page.title() == "Wenoravrin · condemns · 2022-10-20 – xerte"


def test_another_answer_is_explained_and_back_goes_back(visit: Visit) -> None:
    page = visit.go(QUESTION)
    first, second = answers(page)[:2]
    page.locator(".answer").nth(1).click()
    page.locator("#why", has_text=second).wait_for()
    page.go_back()
    page.locator("#why", has_text=first).wait_for()


def test_a_fact_is_clicked_away_and_taken_back(visit: Visit) -> None:
    page = visit.go(QUESTION)
    before = answers(page)
    fact = page.locator(".facts .sentence").first.inner_text()
    page.get_by_role("button", name=f"What if this had not happened: {fact}").click()
    page.get_by_text("take back").wait_for()
    page.locator(".supposed p", has_text="comes first instead of").or_(
        page.locator(".supposed p", has_text="stays first, at")
    ).wait_for()
    assert fact not in page.locator(".facts .sentence").all_inner_texts()
    page.get_by_text("take back").click()
    settled(page)
    assert answers(page) == before


def test_a_fact_is_supposed(visit: Visit) -> None:
    page = visit.go(QUESTION)
    assert answers(page)[0] != "Druerugard"
    page.get_by_text("Suppose something had happened").click()
    for label, name in (("Supposed: who", "Wenoravrin"), ("did what", "condemns"), ("to whom", "Druerugard")):
        page.get_by_role("combobox", name=label, exact=True).fill(name)
        page.get_by_role("option", name=name).first.click()
    page.get_by_role("button", name="Suppose it").click()
    page.locator("#why", has_text="Druerugard").wait_for()
    assert answers(page)[0] == "Druerugard"
    assert "(supposed)" in page.locator(".facts li").first.inner_text()


def test_two_candidates_are_compared(visit: Visit) -> None:
    page = visit.go(QUESTION)
    first, second = answers(page)[:2]
    page.get_by_role("button", name=f"Compare {second} with {first}").click()
    page.get_by_role("heading", name=f"{first} or {second}?").wait_for()
    page.locator(".sides > div").nth(1).wait_for()
    assert page.locator(".sides h3").all_inner_texts()[1].startswith(second)


def test_the_date_is_moved(visit: Visit) -> None:
    page = visit.go(QUESTION)
    page.locator(".days polyline").first.wait_for()
    assert page.locator(".days .ends span").all_inner_texts()[::2] == ["2022-10-07", "2022-10-20"]
    page.get_by_label("Ask on 2022-10-20").focus()
    page.keyboard.press("ArrowLeft")
    page.get_by_role("heading", name="Whom or what on 2022-10-19").wait_for()
    assert "time=2022-10-19" in page.url


def test_an_entity_has_a_page_that_leads_on(visit: Visit) -> None:
    page = visit.go("/?view=entity&entity=Wenoravrin")
    page.locator(".timeline li").first.wait_for()
    assert page.get_by_text("739 facts, from 2021-01-02 to 2022-12-31").is_visible()
    before = page.locator(".timeline li").count()
    page.get_by_role("button", name="Show earlier ones").click()
    page.locator(".timeline li").nth(before).wait_for()
    page.locator("section[aria-labelledby=partners] a").first.wait_for()
    page.locator("section[aria-labelledby=likely] li .score").first.wait_for(timeout=PATIENCE_MS)
    page.locator("section[aria-labelledby=next] a").first.click()
    assert len(answers(page)) > 0


def test_an_entity_is_seen_as_it_was_known_before(visit: Visit) -> None:
    page = visit.go("/?view=entity&entity=Wenoravrin")
    page.locator(".activity rect").nth(40).click()
    page.get_by_text("as known before").wait_for()
    assert "time=2022-" in page.url
    page.get_by_role("button", name="Show all").click()
    page.get_by_text("739 facts, from 2021-01-02 to 2022-12-31").wait_for()


def test_the_morning_scan_leads_to_a_question(visit: Visit) -> None:
    page = visit.go("/?view=scan")
    page.locator("section[aria-labelledby=likely] li").nth(19).wait_for(timeout=PATIENCE_MS)
    assert page.locator("section[aria-labelledby=unusual] li").count() == 20
    page.get_by_label("Within").select_option("7")
    page.get_by_text("for 2023-01-01 until 2023-01-08").wait_for()
    assert "within=7" in page.url
    page.locator("section[aria-labelledby=likely] li .sentence a:nth-child(2)").first.click()
    answers(page)
    assert "answer=" in page.url


def test_what_happened_is_replayed_with_what_was_forecast(visit: Visit) -> None:
    page = visit.go("/?view=live")
    page.get_by_text("None came yet").wait_for()
    page.get_by_label("Replay what happened from").fill("2022-12-31")
    page.get_by_role("button", name="Replay").click()
    page.locator(".timeline li .place").nth(3).wait_for()
    assert "since=2022-12-31" in page.url
    page.locator(".timeline li a:nth-of-type(2)").first.click()
    page.get_by_role("heading", name="whom or what on 2022-12-31?").wait_for()
    assert "subject=" in page.url


def test_a_models_page_has_scores_and_reliability(visit: Visit) -> None:
    page = visit.go("/?view=model")
    page.get_by_role("rowheader", name="recurrence (answers here)").wait_for()
    page.get_by_role("button", name="Evaluate it").click()
    page.get_by_role("rowheader", name="filter: time-aware").wait_for(timeout=PATIENCE_MS)
    page.locator(".diagram .dot").first.wait_for(timeout=PATIENCE_MS)
    page.get_by_role("heading", name="Limits", exact=True).wait_for()
    assert "#" not in page.locator("section[aria-labelledby=card]").inner_text()
    page.get_by_role("link", name="oracle").click()
    page.get_by_role("heading", name="oracle on the test facts").wait_for()
    page.get_by_role("button", name="Evaluate it").wait_for()


def test_the_data_is_counted(visit: Visit) -> None:
    page = visit.go("/?view=data")
    page.get_by_role("rowheader", name="world (shown here)").wait_for()
    assert page.get_by_text("19,175").is_visible()


def test_a_dropped_table_is_looked_at_then_kept_then_asked(browser: "Browser", tmp_path: Path) -> None:
    name = '<b onmouseover="alert(1)">Ann'
    rows = [
        f'"{name.replace(chr(34), chr(34) * 2)}",visits,{("Ben", "=1+1")[day % 2]},2024-01-{day:02}'
        for day in range(1, 21)
    ]
    table = "\n".join(["who,does,whom,date", *rows, "a row too short"])
    with server("--model", "recurrence", "--write", home=tmp_path) as address:
        one = Visit(browser, address)
        page = one.go("/?view=data")
        page.locator(".drop").wait_for()
        drop = page.evaluate_handle(
            """text => { const data = new DataTransfer();
            data.items.add(new File([text], "Visits of Ann.csv")); return data; }""",
            table,
        )
        page.dispatch_event(".drop", "drop", {"dataTransfer": drop})
        page.get_by_label("Problems").wait_for()
        assert "line 22" in page.get_by_label("Problems").inner_text()
        assert page.get_by_label("What date is").input_value() == "time"
        page.get_by_label("What does is").select_option("relation")
        assert page.get_by_label("Keep it as").input_value() == "visits-of-ann"
        page.get_by_role("button", name="Keep it").click()
        page.locator(".done a").click()
        page.get_by_text("visits-of-ann, 2024-01-01 to 2024-01-20").wait_for()
        for label, name_typed in (("Who", "ann"), ("Does what", "visits")):
            page.get_by_role("combobox", name=label).fill(name_typed)
            page.get_by_role("listbox", name=f"Names for {label}").get_by_role("option").first.click()
        assert set(answers(page)) == {"Ben", "=1+1"}
        assert "dataset=visits-of-ann" in page.url
        event = {"subject": name, "relation": "visits", "object": "Ben", "time": "2024-01-21", "id": "1"}
        page.goto("/?dataset=visits-of-ann&view=live")
        page.get_by_text("None came yet").wait_for()
        page.evaluate(
            """event => fetch("/api/v1/events?dataset=visits-of-ann", {method: "POST",
            headers: {"content-type": "application/json"}, body: JSON.stringify([event])})""",
            event,
        )
        page.locator(".timeline li", has_text="2024-01-21").wait_for()
        page.get_by_role("heading", name="whom or what on 2024-01-22?").wait_for()
        page.locator(".answers[aria-busy=false] li").first.wait_for()
        page.evaluate(
            """event => fetch("/api/v1/events?dataset=visits-of-ann", {method: "POST",
            headers: {"content-type": "application/json"}, body: JSON.stringify([event])})""",
            event | {"object": "Newcomer", "id": "2"},
        )
        page.locator(".moved", has_text="Newcomer").wait_for()
        one.context.close()
    assert one.wrong == []


def test_a_mistake_is_told_with_the_closest_name(visit: Visit) -> None:
    page = visit.go("/?subject=Wenoravrn&relation=condemns&time=2022-10-20")
    assert page.get_by_role("alert").inner_text() == "no entity is called Wenoravrn: did you mean Wenoravrin?"


def test_hostile_names_do_nothing(visit: Visit) -> None:
    page = visit.go("/")
    fact = json.dumps([HOSTILE] * 4)
    page.goto("/?" + page.evaluate("query => new URLSearchParams(query).toString()", {
        "subject": HOSTILE, "relation": HOSTILE, "time": HOSTILE, "answer": HOSTILE, "without": fact,
    }))  # fmt: skip
    page.get_by_role("alert").wait_for()
    assert page.locator("img").count() == 0


@pytest.mark.parametrize(
    ("path", "context"),
    [
        (QUESTION, {"color_scheme": "dark"}),
        (QUESTION.replace("Wenoravrin", "Nobody"), {}),
        (QUESTION, {"viewport": {"width": 390, "height": 844}}),
        ("/?view=entity&entity=Wenoravrin", {}),
        ("/?view=model", {"color_scheme": "dark"}),
        ("/?view=scan", {"viewport": {"width": 390, "height": 844}}),
        ("/?view=live&since=2022-12-31", {"color_scheme": "dark"}),
        ("/?view=data", {"viewport": {"width": 390, "height": 844}}),
    ],
)
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not here: npm --prefix web install")
def test_nothing_stands_in_anybodys_way(browser: "Browser", address: str, path: str, context: dict[str, Any]) -> None:
    one = Visit(browser, address, bypass_csp=True, **context)
    page = one.go(path)
    page.locator(".answers li, .timeline li, .scan li, .dot, .drop, .problem").first.wait_for()
    page.add_script_tag(path=str(AXE))
    found = page.evaluate("axe.run()")
    one.context.close()
    assert [(rule["id"], [node["html"] for node in rule["nodes"]][:3]) for rule in found["violations"]] == []
    assert one.wrong == []


def test_the_first_load_is_small(address: str) -> None:
    import gzip

    assert sum(len(gzip.compress(path.read_bytes())) for path in PAGE.iterdir()) < 150_000


def test_a_phone_needs_no_sideways_scrolling(browser: "Browser", address: str) -> None:
    one = Visit(browser, address, viewport={"width": 360, "height": 740})
    page = one.go(QUESTION)
    page.locator(".picture .root").wait_for()
    settles(page, "(one => one.scrollHeight <= one.clientHeight + 2)(document.querySelector('.picture'))")
    for path in (QUESTION, "/?view=entity&entity=Wenoravrin", "/?view=scan", "/?view=model", "/?view=data"):
        page = one.go(path)
        page.locator(".answers li, .timeline li, .scan li, .dot, .drop").first.wait_for()
        settles(page, "document.documentElement.scrollWidth <= innerWidth")
    one.context.close()


@pytest.mark.parametrize("width", [920, 1100, 1280])
def test_nothing_of_the_picture_is_cut_off(browser: "Browser", address: str, width: int) -> None:
    one = Visit(browser, address, viewport={"width": width, "height": 800})
    page = one.go(QUESTION)
    page.locator(".picture .root").wait_for()
    assert page.evaluate("(one => one.scrollWidth <= one.clientWidth)(document.querySelector('.picture'))")
    one.context.close()


def test_the_page_is_ready_within_a_second(browser: "Browser", address: str) -> None:
    assert any(_interactive_ms(browser, address) < 1000 for _ in range(30))  # other processes may be busy


def _interactive_ms(browser: "Browser", address: str) -> float:
    one = Visit(browser, address)
    page = one.go("/")
    page.get_by_role("combobox", name="Who").wait_for()
    found = float(page.evaluate("performance.now()"))
    one.context.close()
    return found


def test_print_leaves_out_what_cannot_be_clicked_on_paper(visit: Visit) -> None:
    page = visit.go(QUESTION)
    answers(page)
    page.emulate_media(media="print")
    assert not page.get_by_role("navigation").is_visible()
    assert not page.locator("form.question").is_visible()
    assert page.locator(".verdict").is_visible()
    assert page.get_by_text("Wenoravrin · condemns · ? · 2022-10-20").is_visible()
