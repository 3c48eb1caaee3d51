"""The questionnaire in a real browser: keys, a phone, a screen reader's view, and answers in the key's numbering."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from surveyed import asked, key
from xerte.survey.grade import grade
from xerte.survey.page import page
from xerte.survey.reading import read_respondents
from xerte.survey.shapes import Key

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = os.environ.get("XERTE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: install it, or name one in XERTE_CHROMIUM"),
    pytest.mark.xdist_group("browser"),
]
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(browser: "Browser", tmp_path: Path) -> Iterator[Any]:
    wrong: list[str] = []
    pages: list[Page] = []

    def open_(survey: Key, hash: str = "#seed=7", **context: Any) -> "Page":
        one = browser.new_context(offline=True, **context).new_page()
        one.on("pageerror", lambda error: wrong.append(str(error)))
        one.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        one.on("request", lambda asked: None if asked.url.startswith(("file:", "blob:")) else wrong.append(asked.url))
        one.on("dialog", lambda dialog: dialog.accept())
        (tmp_path / "survey.html").write_text(page(survey), "utf-8")
        one.goto((tmp_path / "survey.html").as_uri() + hash)
        pages.append(one)
        return one

    yield open_
    assert wrong == []
    for one in pages:
        one.context.close()


def shown(one: "Page") -> tuple[int, list[int]]:
    """Which round of the key is seen, and its pieces in the order in which they are seen."""
    rounds = [part.event for part in key().rounds]
    number = rounds.index(one.locator(".event").inner_text())
    sentences = [piece.sentence for piece in key().rounds[number].evidence]
    return number, [sentences.index(text) for text in one.locator(".evidence span").all_inner_texts()]


def answer(one: "Page", relevant: int, irrelevant: int, order: tuple[int, ...]) -> None:
    """Answers the round that is seen, in the key's numbering."""
    _, pieces = shown(one)
    one.get_by_role("group", name="most relevant?").get_by_role("radio").nth(pieces.index(relevant)).check()
    one.get_by_role("group", name="most irrelevant?").get_by_role("radio").nth(pieces.index(irrelevant)).check()
    for number in order:
        one.get_by_role("group", name="Sort").get_by_role("button").nth(pieces.index(number)).click()


def saved(one: "Page", path: Path) -> dict[str, Any]:
    with one.expect_download() as download:
        one.get_by_role("button", name="Save my answers").click()
    assert download.value.suggested_filename.startswith("answers-")
    download.value.save_as(path)
    body: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return body


GIVEN = {0: (0, 3, (0, 1, 2, 3)), 1: (3, 0, (2, 3, 1, 0)), 2: (1, 0, (3, 0, 2, 1))}


def test_what_is_answered_comes_back_in_the_keys_numbering(opened: Any, tmp_path: Path) -> None:
    one = opened(key())
    one.get_by_role("button", name="Start").click()
    for place in range(1, 4):
        assert one.locator("h1").inner_text() == f"Round {place} of 3"
        answer(one, *GIVEN[shown(one)[0]])
        one.get_by_role("button", name="Next").click()
    one.get_by_label("40 or older").check()
    one.get_by_role("button", name="Next").click()
    assert "You answered 9 of 9 questions." in one.locator("main").inner_text()
    body = saved(one, tmp_path / "answers.json")
    assert body["rounds"] == [
        {"relevant": a, "irrelevant": b, "order": list(c)} for _, (a, b, c) in sorted(GIVEN.items())
    ]
    assert body["population"] == {"age": "40 or older"}
    assert (body["survey"], body["seed"]) == (key().id, 7)
    grades = grade(key(), read_respondents([tmp_path / "answers.json"], key()))
    # Right: all of rounds 1 and 2; in round 3 (0 and 3 are high) only the order.
    assert [one.correct for one in grades.questions] == [1, 1, 1, 1, 1, 1, 0, 0, 1]


def test_the_page_holds_no_key() -> None:
    text = page(key())
    assert '"high"' not in text
    assert '"share"' not in text


def test_the_order_is_each_respondents_own_and_its_seeds(opened: Any) -> None:
    seen: dict[object, list[tuple[int, tuple[int, ...]]]] = {}
    for hash in ("#seed=1", "#seed=1", "#seed=2", ""):
        one = opened(key(), hash)
        one.get_by_role("button", name="Start").click()
        order = []
        for _ in range(3):
            order.append((shown(one)[0], tuple(shown(one)[1])))
            one.get_by_role("button", name="Next").click()
            one.get_by_role("button", name="Next").click()
        assert sorted(number for number, _ in order) == [0, 1, 2]
        assert all(sorted(pieces) == [0, 1, 2, 3] for _, pieces in order)
        assert seen.setdefault(hash or len(seen), order) == order
    assert len({str(order) for order in seen.values()}) == 3


def test_keys_alone_are_enough(opened: Any, tmp_path: Path) -> None:
    one = opened(Key(rounds=(asked(0, {0, 1}),)))
    press = one.keyboard.press

    def focused() -> str:
        return str(one.evaluate("document.activeElement.textContent")).strip()

    assert focused() == "Which evidence counts?"
    press("Tab")
    press("Enter")
    assert focused() == "Round 1 of 1"
    press("Tab")
    press("Space")  # the first is the most relevant
    press("Tab")
    press("Space")
    press("ArrowDown")  # the second is the most irrelevant
    for _ in range(4):  # in the order in which they are seen
        press("Tab")
        press("Enter")
    assert one.get_by_role("status").inner_text() == "Your order: A, B, C, D."
    press("Tab")
    assert focused() == "Back"
    press("Tab")
    press("Enter")
    assert focused() == "Thank you"
    pieces = one.evaluate("asked[0].pieces")
    body = saved(one, tmp_path / "answers.json")
    assert body["rounds"] == [{"relevant": pieces[0], "irrelevant": pieces[1], "order": pieces}]


def test_what_is_left_out_is_asked_about_once(opened: Any, tmp_path: Path) -> None:
    one = opened(key())
    one.get_by_role("button", name="Start").click()
    buttons = one.get_by_role("group", name="Sort").get_by_role("button")
    buttons.nth(2).click()
    buttons.nth(0).click()
    buttons.nth(2).click()  # taken out again
    assert one.get_by_role("status").inner_text() == "Your order: A. Next: your 2nd."
    one.get_by_role("button", name="Next").click()
    assert one.get_by_role("alert").inner_text() == "3 of 3 tasks are open. Press Next again to leave them out."
    for _ in range(6):
        one.get_by_role("button", name="Next").click()
    body = saved(one, tmp_path / "answers.json")
    assert body["rounds"] == [{"relevant": None, "irrelevant": None, "order": None}] * 3
    assert body["population"] == {}


def test_a_reload_forgets_nothing_and_the_next_respondent_sees_nothing(opened: Any) -> None:
    one = opened(key(), "")
    one.get_by_role("button", name="Start").click()
    answer(one, 0, 3, (0, 1, 2, 3))
    before = shown(one)
    one.wait_for_timeout(1000)  # Chromium hands what a page keeps to its storage process by and by, no person is faster
    one.reload()
    assert shown(one) == before
    assert one.get_by_role("radio", checked=True).count() == 2
    for _ in range(7):
        if one.locator("h1").inner_text() != "Thank you":
            one.get_by_role("button", name="Next").click()
    text = one.get_by_label("Your answers as text").input_value()
    one.get_by_role("button", name="Clear all").click()
    one.get_by_role("button", name="Start").click()
    assert one.get_by_role("radio", checked=True).count() == 0
    assert json.loads(text)["respondent"] not in one.evaluate("JSON.stringify(state)")


@pytest.mark.parametrize(("scheme", "width"), [("dark", 320), ("light", 1200)])
def test_nothing_stands_in_the_way_of_a_screen_reader_or_a_phone(opened: Any, scheme: str, width: int) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not here: npm --prefix web install")
    one = opened(key(), color_scheme=scheme, viewport={"width": width, "height": 700}, has_touch=width < 600)
    one.evaluate(AXE.read_text("utf-8"))
    for step in range(6):
        found = one.evaluate("rules => axe.run(document, rules)", RULES)
        assert [(broken["id"], step) for broken in found["violations"]] == []
        assert one.evaluate("document.documentElement.scrollWidth <= innerWidth")
        sizes = one.locator("button, .row label").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect()).map(box => Math.min(box.width, box.height))"
        )
        assert min(sizes) >= 44
        if step < 5:
            one.get_by_role("button", name="Start" if step == 0 else "Next").click()
            if 1 <= step <= 3:
                one.get_by_role("button", name="Next").click()


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028&amp; /* survey.js */ $& $1"


def test_names_are_never_run(opened: Any) -> None:
    first = asked(0, {0, 1})
    pieces = tuple(piece.model_copy(update={"sentence": f"{HOSTILE} {n}"}) for n, piece in enumerate(first.evidence))
    one = opened(Key(rounds=(first.model_copy(update={"event": HOSTILE, "evidence": pieces}),)))
    one.get_by_role("button", name="Start").click()
    assert one.locator(".event").text_content() == HOSTILE
    assert one.locator("img").count() == 0
    assert one.locator("script").count() == 2
