import time

import numpy as np
import pytest

from xerte.data.facts import Facts
from xerte.data.world import CauseKind, World, generate
from xerte.data.world.rules import DECOYS, HABITS, RELATION_ID, RELATIONS, RULES, SPONTANEOUS, EntityKind, Rule
from xerte.data.world.simulate import simulate
from xerte.data.world.walks import Chronicle
from xerte.errors import InputError
from xerte.types import Split

Row = tuple[int, int, int, int]


@pytest.fixture(scope="module")
def tiny() -> World:
    """The last days of the tiny world; numbers are facts, [n] the day, (→ n) what follows.

                     finances 1 [0], 14 [25]
    1 Keleimosk ───────────────────────────────▶ 6 Red Lantern Front ──────────┐
      ▲    ▲ │                                     ▲    ▲  │  │                │
      │    │ └ stages exercises near 10 [24]  ──▶ ─│─ ─ │ ─│─ │ ─ ─▶ 2         │
      │    │   (a decoy)                           │    │  │  │                │
      │    │                                       │    │  │  attacks 12 [24] (→ 15, 17)
      │    └─ expels envoys of 19 [27] ── 2        │    │  │  │                │
      │       (17: retaliates, 14: finances)       │    │  │  ▼     retaliates against 17 [26]
      │                                            │    │  │  2 Sorelund ──────┘
      imposes sanctions on 16 [26]                 │    │  │  │    ▲
      (15: appeals, 12: attacks, 1: finances)      │    │  │  │    │
      │                                            │    │  └──│────┘ threatens 25 [29]
      │      ┌─── condemns 18 [27] ────────────────┘    │     │       (18: condemns, 15: appeals)
      │      │    (15: appeals, 12: attacks)            │     │
    0 Velavrin ◀────────── appeals to 15 [25] ──────────│─────┘
             ▲             (12: attacks, 6: renews alliance [16])
             │                                          │
             reports to 20 [27]                         freezes assets of 24 [29]
             │                                          │ (20: reports, 15: appeals, 12: attacks)
    4 Ministry of Foreign Affairs of Velavrin ──────────┘

    3 Tarin Velakel ── intends to meet 8 [21] (→ 11) ──▶ 1      congratulates 9 [21] (a decoy) ──▶ 2
                    ── telephones 11 [24] ─────────────▶ 1
    """
    return generate("tiny")


@pytest.fixture(scope="module")
def world() -> World:
    return generate()


def rows(facts: Facts) -> list[Row]:
    return [(int(s), int(r), int(o), int(t)) for s, r, o, t in zip(*facts.columns(), strict=True)]


def all_walks(facts: list[Row], rule: Rule) -> set[tuple[int, ...]]:
    """Slow twin of `Chronicle.walks`: (subject, object, anchor, *fact ids)."""
    found: set[tuple[int, ...]] = set()

    def go_on(start: int, here: int, before: int, ids: tuple[int, ...]) -> None:
        if len(ids) == len(rule.path):
            if here != start:
                found.add((start, here, facts[ids[0]][3], *ids))
            return
        step = rule.path[len(ids)]
        for id, (s, r, o, t) in enumerate(facts):
            at, to = (o, s) if step.reverse else (s, o)
            if r == RELATION_ID[step.relation] and at == here and before - step.within <= t < before:
                go_on(start, here if step.stay else to, t, (*ids, id))

    first = rule.path[0]
    for id, (s, r, o, t) in enumerate(facts):
        at, to = (o, s) if first.reverse else (s, o)
        if r == RELATION_ID[first.relation]:
            go_on(at, at if first.stay else to, t, (id,))
    return found


def test_the_tiny_world_is_as_drawn(tiny: World) -> None:
    facts, causes = tiny.dataset.facts, tiny.causes
    told = [(s, RELATIONS[r], o, t) for s, r, o, t in rows(facts)]
    assert tiny.dataset.sizes == (10, 8, 8)
    assert told[8:] == [
        (3, "intends to meet", 1, 21),
        (3, "congratulates", 2, 21),
        (1, "stages exercises near", 2, 24),
        (3, "telephones", 1, 24),
        (6, "attacks", 2, 24),
        (0, "is in contact with", 6, 25),
        (1, "finances", 6, 25),
        (2, "appeals to", 0, 25),
        (0, "imposes sanctions on", 1, 26),
        (2, "retaliates against", 6, 26),
        (0, "condemns", 6, 27),
        (2, "expels envoys of", 1, 27),
        (4, "reports to", 0, 27),
        (1, "stages exercises near", 2, 28),
        (6, "attacks", 2, 28),
        (2, "appeals to", 0, 29),
        (4, "freezes assets of", 6, 29),
        (6, "threatens", 2, 29),
    ]
    assert {i: causes.of(i).tolist() for i in range(len(facts)) if len(causes.of(i))} == {
        11: [8],
        15: [12, 6],
        16: [15, 12, 1],
        17: [12],
        18: [15, 12],
        19: [17, 14],
        23: [22, 4],
        24: [20, 15, 12],
        25: [18, 15],
    }
    assert causes.hops[[11, 15, 16, 17, 18, 24]].tolist() == [1, 1, 3, 1, 2, 3]
    assert [CauseKind(causes.kind[i]).name for i in (4, 8, 9, 11, 16, 17, 18)] == (
        ["HABIT", "SPONTANEOUS", "DECOY", "ONE_HOP", "THREE_HOP", "REPLY", "TWO_HOP"]
    )
    assert list(tiny.dataset.entities)[:4] == ["Velavrin", "Keleimosk", "Sorelund", "Tarin Velakel"]


def test_same_seed_same_world_other_seed_other_world(world: World) -> None:
    again, other = generate(), generate(seed=1)
    assert rows(again.dataset.facts) == rows(world.dataset.facts)
    assert (again.causes.fact_ids == world.causes.fact_ids).all()
    assert (again.causes.kind == world.causes.kind).all()
    assert len(set(rows(other.dataset.facts)) & set(rows(world.dataset.facts))) < 2500


def test_the_default_world_has_its_size(world: World) -> None:
    data = world.dataset
    facts = data.facts
    assert data.name == "world"
    assert 24_000 <= len(facts) <= 26_000
    assert data.num_entities >= 300
    assert data.num_relations >= 20
    assert data.calendar.format(int(facts.time[-1])) == "2022-12-31"
    assert len(set(data.entities)) == data.num_entities
    assert len(set(rows(facts))) == len(facts)
    assert (facts.subject != facts.object).all()
    assert (np.diff(facts.time) >= 0).all()
    train, valid, test = (data.split(split).time for split in Split)
    assert train[-1] < valid[0] <= valid[-1] < test[0]
    assert np.allclose(np.array(data.sizes) / len(facts), [0.8, 0.1, 0.1], atol=0.04)
    assert np.unique(facts.relation).tolist() == list(range(data.num_relations))


@pytest.mark.parametrize("size", [1_000, 5_000, 50_000])
def test_any_size_is_about_met(size: int) -> None:
    made = generate(size, seed=3).dataset
    assert abs(len(made.facts) / size - 1) < 0.25
    assert len(set(made.entities)) == made.num_entities


def test_too_small_a_world_is_refused() -> None:
    with pytest.raises(InputError, match="a world of 5 events is too small: ask for 1000 or more"):
        generate(5)


def test_every_effect_follows_its_rule(world: World) -> None:
    """Slow twin: each effect's causes are walked back from its subject, and must lead to its object."""
    facts, causes = rows(world.dataset.facts), world.causes
    happened: dict[tuple[int, int, int], list[int]] = {}
    for s, r, o, t in facts:
        happened.setdefault((s, r, o), []).append(t)
    for fact, (subject, relation, object, moment) in enumerate(facts):
        ids = causes.of(fact).tolist()
        if causes.rule[fact] < 0:
            assert ids == []
            assert causes.hops[fact] == 0
            assert causes.kind[fact] < CauseKind.ONE_HOP
            continue
        rule = RULES[causes.rule[fact]]
        assert rule.effect == RELATIONS[relation]
        assert len(ids) == len(rule.path)
        here, before, hops = subject, moment, 0
        for step, (s, r, o, t) in zip(rule.path, (facts[id] for id in ids), strict=True):
            assert RELATIONS[r] == step.relation
            assert t < before
            assert before == moment or before - t <= step.within
            assert here == (o if step.reverse else s)
            if not step.stay:
                here, hops = (s if step.reverse else o), hops + 1
            before = t
        assert here == object
        assert hops == causes.hops[fact] == rule.hops
        assert causes.kind[fact] == rule.kind
        anchor = facts[ids[0]][3]
        assert rule.delays[moment - anchor - 1] > 0
        assert not any(anchor < t < moment for t in happened[subject, relation, object])


def test_three_in_ten_effects_are_far_from_their_cause(world: World) -> None:
    for each in (world, generate(seed=1), generate(seed=2)):
        hops = each.causes.hops
        assert (hops > 1).sum() >= 0.3 * (hops > 0).sum()
        assert (hops == 3).sum() >= 0.05 * (hops > 0).sum()


def test_noise_is_moderate(world: World) -> None:
    assert 0.1 < np.mean(world.causes.kind == CauseKind.NOISE) < 0.2


def test_chronicle_finds_every_walk() -> None:
    small = generate(1_000, seed=5).dataset.facts
    small = small[small.time < 150]
    chronicle = Chronicle.of(small)
    seen = 0
    for rule in RULES:
        walks = chronicle.walks(rule, 30, 140)
        columns = np.column_stack([walks.subject, walks.object, walks.anchor, walks.facts])
        found = [tuple(row) for row in columns.tolist()]
        assert len(set(found)) == len(found)
        assert set(found) == {walk for walk in all_walks(rows(small), rule) if 30 <= walk[2] < 140}
        seen += len(found)
    assert seen > 30


def test_effects_come_as_often_and_as_late_as_their_rule_says() -> None:
    """Visits follow intents after 2 to 5 days; 200,000 events are enough to see the shares."""
    large = generate(200_000, seed=1)
    facts, causes = large.dataset.facts, large.causes
    rule = RULES[0]
    assert rule.effect == "visits"
    visits = np.flatnonzero(causes.rule == 0)
    delay = facts.time[visits] - facts.time[causes.fact_ids[causes.offsets[visits]]]
    share = np.bincount(delay, minlength=6)[1:] / len(visits)
    assert np.allclose(share, np.array(rule.delays) / sum(rule.delays), atol=0.02)
    intents = ((facts.relation == RELATION_ID["intends to meet"]) & (facts.time < 725)).sum()
    assert abs(len(visits) / intents - rule.probability) < 0.03


def test_hazard_and_survival_tell_the_same_story() -> None:
    for rule in RULES:
        assert rule.survival[0] == 1
        assert np.isclose(rule.survival[-1], 1 - rule.probability)
        assert np.allclose(np.cumprod(1 - rule.hazard), rule.survival)
    assert np.allclose(RULES[2].hazard, [0, 0.8 * 5 / 7, (0.8 * 2 / 7) / (1 - 0.8 * 5 / 7)])


def test_decoys_look_like_causes_and_do_nothing(world: World) -> None:
    facts, causes = world.dataset.facts, world.causes
    in_rules = {step.relation for rule in RULES for step in rule.path}
    caused_something = np.unique(facts.relation[causes.fact_ids])
    count = np.bincount(facts.relation, minlength=len(RELATIONS))
    for cause, decoy in DECOYS.items():
        assert cause in in_rules
        assert decoy not in in_rules
        assert RELATION_ID[decoy] not in caused_something
        assert 0.85 < count[RELATION_ID[decoy]] / count[RELATION_ID[cause]] < 1.15


def test_decoys_are_as_recent_as_causes(world: World) -> None:
    """Seen from the entity whose turn it is, the latest decoy lies mostly as near as the cause that made it act."""
    facts, causes = world.dataset.facts, world.causes
    for act in SPONTANEOUS:
        shared = facts.object if act.shares_object else facts.subject
        decoys = {
            (e, t) for e, r, t in zip(shared, facts.relation, facts.time, strict=True) if RELATIONS[r] == act.decoy
        }
        made = [f for f in np.unique(causes.fact_ids) if RELATIONS[facts.relation[f]] == act.relation]
        made = [f for f in made if causes.kind[f] == CauseKind.SPONTANEOUS]
        near = [(shared[f], facts.time[f]) in decoys for f in made]
        assert len(near) > 100
        assert np.mean(near) > 0.8


def test_a_decoy_mostly_names_somebody_else(world: World) -> None:
    scene = world.scene
    same = (scene.acts.subject == scene.decoys.subject) & (scene.acts.object == scene.decoys.object)
    assert same.mean() < 0.05


def test_habits_keep_their_days(world: World) -> None:
    facts, ties = rows(world.dataset.facts), world.scene.habits
    due = {
        (int(s), int(r), int(o)): (int(period), int(phase))
        for s, r, o, period, phase in zip(
            ties.subject, ties.relation, ties.object, ties.period, ties.phase, strict=True
        )
    }
    kept = 0
    for fact in np.flatnonzero(world.causes.kind == CauseKind.HABIT):
        s, r, o, t = facts[fact]
        period, phase = due[s, r, o]
        assert t % period == phase
        kept += 1
    occasions = sum(
        len(range(int(start) + (int(phase) - int(start)) % int(period), 730, int(period)))
        for start, period, phase in zip(ties.start, ties.period, ties.phase, strict=True)
    )
    assert 0.8 < kept / occasions < 0.95
    assert {habit.relation for habit in HABITS} == {RELATIONS[r] for r in np.unique(ties.relation)}


def test_some_entities_appear_late(world: World) -> None:
    facts, start = world.dataset.facts, world.scene.start
    assert (facts.time >= start[facts.subject]).all()
    assert (facts.time >= start[facts.object]).all()
    unseen = ~world.dataset.seen_in_train()
    test = world.dataset.split(Split.TEST)
    touched = unseen[test.subject] | unseen[test.object]
    assert (start > 0).sum() > 30
    assert unseen.sum() >= 5
    assert touched.sum() >= 20


def test_there_are_hubs(world: World) -> None:
    facts = world.dataset.facts
    degree = np.sort(np.bincount(np.concatenate([facts.subject, facts.object]), minlength=world.dataset.num_entities))
    assert degree[-1] > 15 * np.median(degree)
    assert degree[-len(degree) // 10 :].sum() > 0.4 * degree.sum()


def test_the_scene_has_every_kind_of_entity(world: World) -> None:
    assert set(world.scene.kind.tolist()) == set(EntityKind)
    assert world.dataset.entities[0] == "Velavrin"


def test_time_goes_on_from_any_past(world: World) -> None:
    facts = world.dataset.facts
    past = facts[facts.time < 500]
    future = simulate(world.scene, np.random.default_rng(7), 500, 530, past)
    assert future.time.min() == 500
    assert future.time.max() == 529
    known = rows(Facts.concat([past, future.facts]))
    reach_back = 0
    for fact in np.flatnonzero(future.rule >= 0):
        ids = [id for id in future.causes[fact].tolist() if id >= 0]
        rule = RULES[future.rule[fact]]
        assert [RELATIONS[known[id][1]] for id in ids] == [step.relation for step in rule.path]
        assert known[ids[0]][3] < future.time[fact] <= known[ids[0]][3] + len(rule.delays)
        reach_back += ids[0] < len(past)
    assert reach_back > 5
    per_day = len(future) / 30
    assert abs(per_day / (len(facts) / 730) - 1) < 0.3


@pytest.mark.parametrize("hops", [2, 3])
def test_the_example_is_a_true_test_fact_that_never_happened_before(world: World, hops: int) -> None:
    subject, relation, date, answer = world.example(hops)
    data = world.dataset
    wanted = (data.entities.id(subject), data.relations.id(relation), data.entities.id(answer))
    times = [t for s, r, o, t in rows(data.facts) if (s, r, o) == wanted]
    assert times[0] == data.calendar.parse(date) >= data.split(Split.TEST).time[0]
    fact = rows(data.facts).index((*wanted, times[0]))
    assert world.causes.hops[fact] == hops


def test_a_world_without_an_example_says_so(tiny: World) -> None:
    with pytest.raises(InputError, match="generate a larger one"):
        tiny.example()


def test_a_million_events_take_about_ten_times_what_a_hundred_thousand_take() -> None:
    seconds = []
    for size in (100_000, 1_000_000):
        started = time.process_time()
        large = generate(size)
        seconds.append(time.process_time() - started)
    assert seconds[1] < 30 * seconds[0]
    assert 900_000 < len(large.dataset.facts) < 1_100_000
    assert len(large.causes.offsets) == len(large.dataset.facts) + 1
