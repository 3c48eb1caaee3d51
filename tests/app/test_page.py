"""The page in a real browser: each journey, by mouse and by keys, light and dark, wide and narrow."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from serving import server
from xerte.app.page import PAGE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = os.environ.get("XERTE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
QUESTION = "/?subject=Wenoravrin&relation=condemns&time=2022-10-20"
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
def address() -> Iterator[str]:
    with server("--model", "recurrence") as one:
        yield one


class Visit:
    """A visit to the page, with everything that went wrong during it."""

    def __init__(self, browser: "Browser", address: str, **context: Any) -> None:
        self.context = browser.new_context(base_url=address, **context)
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


def test_an_address_shows_the_answer_why_and_the_picture(visit: Visit) -> None:
    page = visit.go(QUESTION)
    best = answers(page)[0]
    assert page.locator("#why", has_text=best).is_visible()
    assert page.locator(".verdict").inner_text().startswith(best)
    assert page.locator(".facts li").count() > 3
    page.locator(".picture .root").wait_for()
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
    page.locator(".was, .note").first.wait_for()
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
    page.get_by_label("Ask on 2022-10-20").focus()
    page.keyboard.press("ArrowLeft")
    page.get_by_role("heading", name="Whom or what on 2022-10-19").wait_for()
    assert "time=2022-10-19" in page.url


def test_an_entity_has_a_page_that_leads_on(visit: Visit) -> None:
    page = visit.go("/?view=entity&entity=Wenoravrin")
    page.locator(".timeline li").first.wait_for()
    before = page.locator(".timeline li").count()
    page.get_by_role("button", name="Show earlier ones").click()
    page.locator(".timeline li").nth(before).wait_for()
    page.locator("section[aria-labelledby=next] button").first.click()
    assert len(answers(page)) > 0


def test_the_models_are_listed_with_the_data(visit: Visit) -> None:
    page = visit.go("/?view=model")
    page.get_by_role("rowheader", name="recurrence (answers here)").wait_for()
    assert page.get_by_text("19,175").is_visible()


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
        (QUESTION, {"viewport": {"width": 390, "height": 844}}),
        ("/?view=entity&entity=Wenoravrin", {}),
        ("/?view=model", {"color_scheme": "dark"}),
    ],
)
@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not here: npm --prefix web install")
def test_nothing_stands_in_anybodys_way(browser: "Browser", address: str, path: str, context: dict[str, Any]) -> None:
    one = Visit(browser, address, bypass_csp=True, **context)
    page = one.go(path)
    page.wait_for_load_state("networkidle")
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
    answers(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    one.context.close()
