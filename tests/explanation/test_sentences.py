"""Facts in words: every relation of the benchmarks and the world, other people's relations, dates, template files."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xerte.data.benchmark import read_benchmark
from xerte.data.calendar import Calendar, Tick
from xerte.data.words import readable
from xerte.data.world import generate
from xerte.errors import InputError
from xerte.explanation.inflection import past
from xerte.explanation.sentences import Teller, by_rules, sentence, story, when

GOLDEN = Path(__file__).parent / "golden" / "sentences.tsv"
TELLER = Teller()


def golden() -> dict[str, str]:
    rows = (line.split("\t") for line in GOLDEN.read_text("utf-8").splitlines()[1:])
    return {row[0]: row[1] for row in rows}


def test_every_relation_is_told_as_it_was_when_somebody_read_it() -> None:
    assert {name: TELLER.clause("X", name, "Y") for name in golden()} == golden()


def test_who_acts_stands_first_and_nothing_is_claimed_beyond_the_fact() -> None:
    for relation, text in golden().items():
        assert text.startswith("X ")
        assert text.split().count("X") == text.split().count("Y") == 1
        assert not any(word in text.casefold() for word in ("revers", "inverse", "–", "{", "  ", "because of"))
        assert " told " not in text
        assert " by X" not in text, relation


def test_no_article_slips() -> None:
    for text in golden().values():
        assert not re.search(r"\ba [aeio]", text), text
        assert not re.search(r"\ban [^aeiou]", text), text


def test_the_list_has_every_relation_of_the_world() -> None:
    assert set(generate().dataset.relations) <= golden().keys()


@pytest.mark.benchmark_data
@pytest.mark.parametrize("name", ["icews14", "icews18", "icews0515", "yago"])
def test_the_list_has_every_relation_of_the_benchmarks(benchmarks: Path, name: str) -> None:
    data = read_benchmark(benchmarks / name, name, Calendar(Tick.STEP, "", Tick.STEP))
    assert set(data.relations) <= golden().keys()


@pytest.mark.parametrize(
    ("relation", "told"),
    [
        ("visits", "Ann visited Ben"),
        ("Physically assault", "Ann physically assaulted Ben"),
        ("Criticize or denounce", "Ann criticized or denounced Ben"),
        ("WORKS_FOR", "Ann worked for Ben"),
        ("isParentOf", "Ann was parent of Ben"),
        ("hasChild", "Ann had child Ben"),
        ("sends money to", "Ann sent money to Ben"),
        ("sends money", "Ann sent money with regard to Ben"),
        ("trust index 5", "Ann – trust index 5 – Ben"),
        ("order volume", "Ann – order volume – Ben"),
        ("trusts in", "Ann trusted in Ben"),
        ("trust", "Ann trusted Ben"),
        ("killed by", "Ann was killed by Ben"),
        ("took", "Ann took Ben"),
        ("P26", "Ann – P26 – Ben"),
        ("colleague", "Ann – colleague – Ben"),
        ("Battles_Armed clash", "Ann – Battles: Armed clash – Ben"),
        ("2", "Ann – relation 2 – Ben"),
        ("odd {subject}", "Ann – odd (subject) – Ben"),
    ],
)
def test_relations_without_a_template_are_told_by_rules(relation: str, told: str) -> None:
    assert by_rules(relation).replace("{subject}", "Ann").replace("{object}", "Ben") == told


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("accuse", ("accused", "accused")),
        ("carries", ("carried", "carried")),
        ("plays", ("played", "played")),
        ("expels", ("expelled", "expelled")),
        ("addresses", ("addressed", "addressed")),
        ("broke", ("broke", "broken")),
        ("freezes", ("froze", "frozen")),
        ("is", ("was", "been")),
        ("has", ("had", "had")),
        ("graduated", ("graduated", "graduated")),
        ("table", None),
    ],
)
def test_the_past(verb: str, forms: tuple[str, str] | None) -> None:
    assert past(verb) == forms


@settings(deadline=None)
@given(st.text(), st.text(), st.text())
def test_any_names_can_be_told(subject: str, relation: str, object: str) -> None:
    told = TELLER.clause(subject, relation, object)
    assert readable(subject) in told
    assert readable(object) in told


def test_names_with_braces_stay_names() -> None:
    assert TELLER.clause("{object}", "visits", "{rest}") == "{object} visited {rest}"


@pytest.mark.parametrize(
    ("time", "dated", "text"),
    [
        ("2014-11-09", True, "on 2014-11-09"),
        ("1997", True, "in 1997"),
        ("1997-03", True, "in 1997-03"),
        ("2014-11-09T13", True, "at 2014-11-09T13"),
        ("1997", False, "at time 1997"),
    ],
)
def test_dates_have_their_prepositions(time: str, dated: bool, text: str) -> None:
    assert when(time, dated) == text


def test_a_path_is_told_in_order() -> None:
    facts = [("a met b", "on 2014-01-01"), ("b saw c", "on 2014-01-02"), ("c left d", "on 2014-01-03")]
    assert sentence(*facts[0]) == story(facts[:1]) == "On 2014-01-01, a met b."
    assert story(facts[:2]) == "First, on 2014-01-01, a met b. Later, on 2014-01-02, b saw c."
    assert story(facts) == (
        "First, on 2014-01-01, a met b. Then, on 2014-01-02, b saw c. Later, on 2014-01-03, c left d."
    )


def test_a_full_stop_is_not_doubled() -> None:
    assert sentence("Beto played for Leixões S.C.", "in 2006") == "In 2006, Beto played for Leixões S.C."


def test_names_in_brackets_are_read() -> None:
    assert readable("<Beverly_Adams>") == "Beverly Adams"
    assert readable("a_b") == "a_b"
    assert TELLER.clause("<Al_Gore>", "<hasWonPrize>", "<Nobel_Peace_Prize>") == "Al Gore won Nobel Peace Prize"


def test_the_users_templates_go_first_and_the_longest_pattern_wins(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        'visits = "{subject} called on {object}"\n'
        '"talk *" = ["{subject} talked {rest} at {object}", "of earlier versions: {object}, {subject}"]\n'
        '"talk about *" = "{subject} and {object} talked about {rest}"\n'
    )
    teller = Teller(own)
    assert teller.clause("A", "visits", "B") == "A called on B"
    assert teller.clause("A", "talk sense, reason", "B") == "A talked sense or reason at B"
    assert teller.clause("A", "talk about x, y, z", "B") == "A and B talked about x, y, or z"
    assert teller.clause("A", "threatens", "B") == "A threatened B"


@pytest.mark.parametrize(
    "text",
    [
        "visits = 3",
        'visits = "nobody"',
        'visits = ["{subject} {object}"]',
        'visits = "{subject} {object} {rest}"',
        'visits = "{subject} {object} {more}"',
        "no toml",
    ],
)
def test_a_bad_template_file_is_refused_with_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(InputError, match=r"own\.toml"):
        Teller(tmp_path / "own.toml")
    with pytest.raises(InputError, match="no such template file"):
        Teller(tmp_path / "none.toml")


def test_labels_say_what_codes_stand_for(tmp_path: Path) -> None:
    table = tmp_path / "labels.csv"
    table.write_text('name,label\n2,visits\n7,"Ann, a nurse"\n\nB_1,Ben\n')
    teller = Teller(labels=table)
    assert teller.clause("7", "2", "B_1") == "Ann, a nurse visited Ben"
    assert teller.clause("8", "3", "B_1") == "8 – relation 3 – Ben"
    (tmp_path / "labels.tsv").write_text("2\tCriticize or denounce\n")
    assert Teller(labels=tmp_path / "labels.tsv").clause("a", "2", "b") == "a criticized or denounced b"


@pytest.mark.parametrize(("text", "where"), [("1,a\n2,visits,often", "line 2"), ("1,a\n2,", "line 2")])
def test_a_bad_table_of_labels_is_refused_with_its_line(tmp_path: Path, text: str, where: str) -> None:
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(InputError, match=where):
        Teller(labels=tmp_path / "labels.csv")
    with pytest.raises(InputError, match="does not exist"):
        Teller(labels=tmp_path / "none.csv")
