"""What analysts ask next, on facts few enough to know the answers by hand."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from drawn import ASKED, small_dataset, untrained, weighing
from xerte.api.analysis import POOL, Change, smallest_change
from xerte.api.explain import Explanation
from xerte.api.model import Model
from xerte.baselines.recurrence import Recurrence
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.text import TextColumn
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import InputError

NAMES = ["Ann", "Cid", "Ben", "Dan"]


def counted() -> Dataset:
    """Ann visited Ben on days 5, 7 and 8 and Cid on day 6; Dan visited Cid on days 1 and 2."""
    rows = [(3, 0, 1, 1), (3, 0, 1, 2), (0, 0, 2, 5), (0, 0, 1, 6), (0, 0, 2, 7), (0, 0, 2, 8)]
    facts, calendar = Facts.of(rows), Calendar(Tick.DAY, "2024-01-01", Tick.DAY)
    source = TextColumn.of([f"paper {row}" for row in range(len(rows))])
    return Dataset(
        "counted", facts, (4, 1, 1), Vocabulary.of(NAMES), Relations.of(["visits"]), calendar, {"from": source}
    )


@pytest.fixture
def why() -> Explanation:
    """Recurrence counts: Ben 3 times, Cid once."""
    told = Model(Recurrence((0.0, 0.0), 1), counted()).forecast("Ann", "visits", "2024-01-11").explain()
    assert told.answer == "Ben"
    return told


def test_the_smallest_change_is_found_asked_and_least(why: Explanation) -> None:
    """Two of three visits to Ben: then it is one each, and the prior, which Dan's visits feed, speaks for Cid."""
    change = why.smallest_change()
    assert (len(change.facts), change.first, change.least) == (2, "Cid", True)
    assert change.asked == 3 + 1  # every single fact first, then the first pair
    assert "without 2 facts, Cid is first" in change.sentence


def test_what_would_put_another_one_first(why: Explanation) -> None:
    versus = why.why_not("Cid")
    assert versus.change is not None
    assert len(versus.change.facts) == 2
    assert versus.sentence.startswith("Ben is ahead of Cid by 2.")
    third = why.why_not("Dan").change
    assert third is None or not third.facts  # nothing that is hidden brings Dan up: nobody visited him
    passed = Change(("Ann visited Ben.",), "Cid", True, 3, ahead="Dan").sentence
    assert "without 1 fact, Dan stands before it, and Cid is first." in passed
    unreached = why.why_not("Ann")
    assert (unreached.other_score, unreached.change) == (None, None)
    assert unreached.sentence.startswith("Ann is the question’s own entity, and nothing")
    assert why.why_not("Dan").sentence == "Dan was not reached: nothing the model read leads to it."
    with pytest.raises(InputError, match="Ben is the answer that is explained"):
        why.why_not("Ben")
    behind = why.of("Cid").why_not("Ben")
    assert behind.change is None
    assert behind.sentence.startswith("Ben is ahead of Cid by 2.")


def test_where_there_is_a_factor_it_is_told_what_facts_make_of_the_distance() -> None:
    data = small_dataset()
    forecast = Model(weighing(data), data).forecast(*ASKED)
    versus = forecast.explain().why_not(forecast.answers[1].entity)
    ahead, behind = versus.weight, versus.other_weight
    assert ahead is not None
    assert behind is not None
    facts, whole = (ahead[1] / behind[1]) ** ahead[2], forecast.answers[0].score / forecast.answers[1].score
    assert facts * ahead[0] / behind[0] == pytest.approx(whole, rel=1e-4)
    assert f"Its facts weigh {facts:.2g} times as much; " in versus.sentence
    assert versus.sentence.endswith(f"makes that {whole:.2g} times.")


def test_no_smaller_set_flips_a_trained_kind_of_model_and_the_one_given_does() -> None:
    data = small_dataset()
    told = Model(untrained(data), data).forecast(*ASKED).explain()
    assert told.case is not None
    change = smallest_change(told)
    share, sentence = told.case.attribution.facts, told.case.telling.sentence
    number = {sentence(fact): fact for fact in share}
    assert change.facts
    assert told.case.best(told.case.without([number[text] for text in change.facts])) == change.first != told.answer
    for size in range(1, len(change.facts)):
        for facts in combinations(list(share)[:POOL], size):
            assert told.case.best(told.case.without(facts)) == told.answer


def test_when_it_turned_and_by_which_fact(why: Explanation) -> None:
    """Before the second visit to Ben it stands one to one, with the prior for Cid."""
    past = why.timeline(5)
    told = [(moment.known_before, moment.first, moment.score and round(moment.score)) for moment in past.moments]
    assert told == [
        ("2024-01-06", "Cid", None),
        ("2024-01-07", "Ben", 1),
        ("2024-01-08", "Cid", 1),
        ("2024-01-09", "Ben", 2),
        ("2024-01-10", "Ben", 3),
        ("2024-01-11", "Ben", 3),
    ]
    assert past.turned == "2024-01-09"
    assert past.by == ("On 2024-01-08, Ann visited Ben.",)
    assert (past.decided, past.instead) == ("On 2024-01-08, Ann visited Ben.", "Cid")  # which was asked
    assert past.sentence.endswith(
        "One fact turned it: On 2024-01-08, Ann visited Ben. Without it, Cid would have been first."
    )
    assert why.timeline(1).turned is None
    assert "all along" in why.timeline(1).sentence
    assert "not first" in why.of("Cid").timeline(1).sentence


def test_other_samples_tell_how_steady_it_is(why: Explanation) -> None:
    thinned = why.steadiness()  # recurrence draws nothing: a tenth of the past is hidden
    assert thinned is not None
    assert thinned.sentence.startswith("With 5 samples of nine tenths of its past, the answer keeps its place in ")
    data = small_dataset()
    told = Model(untrained(data), data).forecast(*ASKED).explain()
    steady = told.steadiness(3)
    assert steady is not None
    assert steady.seeds == 3
    assert 0 <= steady.same_rank <= 3
    for reason, least, most in steady.shares:
        assert 0 <= least <= reason.share <= most <= 1


def test_a_set_is_called_the_smallest_only_of_the_facts_it_was_looked_for_among() -> None:
    facts = ("Ann visited Ben.", "Ann met Ben.")
    assert Change(facts, "Cid", True, 20).sentence.startswith("The smallest change: without 2 facts")
    among = Change(facts, "Cid", True, 20, among=POOL).sentence
    assert among.startswith("The smallest change among the 12 heaviest facts: without 2 facts")
    assert Change(facts[:1], "Cid", True, 3, among=POOL).sentence.startswith("The smallest change: without 1 fact,")


def test_more_than_three_facts_are_found_in_few_questions_and_none_is_needless() -> None:
    """Ann visited Ben on 40 days and Cid on 30: Ben stays first until 10 visits are hidden."""
    rows = [(0, 0, 2, day) for day in range(40)] + [(0, 0, 1, day) for day in range(30)]
    facts = Facts.of(sorted([*rows, (0, 0, 2, 41), (0, 0, 2, 42)], key=lambda row: row[3]))
    calendar = Calendar(Tick.DAY, "2024-01-01", Tick.DAY)
    data = Dataset("many", facts, (70, 1, 1), Vocabulary.of(NAMES), Relations.of(["visits"]), calendar)
    told = Model(Recurrence((0.0, 0.0), 1), data).forecast("Ann", "visits", "2024-02-10").explain()
    assert told.answer == "Ben"
    change = told.smallest_change()
    assert 10 <= len(change.facts) <= 11  # at ten it is a tie, which the prior decides
    assert not change.least
    assert change.asked <= 400
    assert len(change.told) == 1  # not a list of ten visits
    assert f"Ann visited Ben, {len(change.facts)} times, last on " in change.sentence


def test_a_report_sets_the_answer_beside_whom_one_asks_for(why: Explanation, tmp_path: Path) -> None:
    pytest.importorskip("quickjs")
    text = why.report(tmp_path / "why.md", why_not="Dan")[0].read_text("utf-8")
    assert "## Why not Dan?" in text
    assert "## Why not Cid?" not in text


def test_a_report_says_how_likely_its_candidates_are_where_that_is_known(why: Explanation, tmp_path: Path) -> None:
    pytest.importorskip("quickjs")
    assert "| Likely |" not in why.report(tmp_path / "why.md")[0].read_text("utf-8")
    told = replace(why, answers=tuple(replace(one, probability=0.314) for one in why.answers))
    assert "| Ben | 3 | 31 % |" in told.report(tmp_path / "likely.md")[0].read_text("utf-8")


def test_a_report_leaves_out_reasons_of_no_share(why: Explanation, tmp_path: Path) -> None:
    pytest.importorskip("quickjs")
    first, told = why.bundles[0], replace(why)
    faint = replace(first.reason, share=0.0004, sentence="This hardly matters.")
    told.__dict__["bundles"] = (replace(first, reason=replace(first.reason, share=0.999)), replace(first, reason=faint))
    text = told.report(tmp_path / "why.md")[0].read_text("utf-8")
    assert "This hardly matters" not in text
    assert "| 0.1% | came by other ways |" in text


def test_a_report_says_it_all_in_three_forms(why: Explanation, tmp_path: Path) -> None:
    pytest.importorskip("fpdf")
    written = why.report(tmp_path / "why.md", "xerte explain …")
    assert [path.name for path in written] == ["why.md", "why.svg"]
    text = written[0].read_text("utf-8")
    assert text.startswith(f"# {why.verdict}\n")
    for part in (
        "## Why Ben?",
        "## Why not Cid?",
        "## What would change",
        "## Since when?",
        "from: paper 5",
        "xerte explain …",
    ):
        assert part in text
    assert "<svg" in (tmp_path / "why.svg").read_text("utf-8")
    page = why.report(tmp_path / "why.html")[0].read_text("utf-8")
    assert "<script" not in page
    assert "<svg" in page
    assert (why.report(tmp_path / "why.pdf")[0]).read_bytes().startswith(b"%PDF")
    with pytest.raises(InputError, match=r"end it in .md, .html or .pdf"):
        why.report(tmp_path / "why.doc")
    with pytest.raises(InputError, match="no answer"):
        replace(why, answer=None, case=None).smallest_change()
