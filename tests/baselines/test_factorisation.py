"""The baselines' scores by hand and against slow twins; dates, times, losses and penalties by hand."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, timedelta

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from test_contract import small_dataset
from xerte.baselines.complex import ComplEx
from xerte.baselines.dates import civil
from xerte.baselines.de_simple import DESimplE, DESimplESettings
from xerte.baselines.distmult import DistMult
from xerte.baselines.factorisation import Factorisation, FactorSettings, LossFunction, dropped, one_vs_all
from xerte.baselines.times import UnseenTimes, rows_at
from xerte.baselines.tntcomplex import TNTComplEx, TNTComplExSettings
from xerte.baselines.tokens import TADistMult, TATransE, TokenReader, tokens
from xerte.baselines.transe import Distance, TransE, TranslationSettings
from xerte.baselines.ttranse import TTransE, TTransESettings
from xerte.data.calendar import Calendar, Tick
from xerte.data.facts import Facts
from xerte.data.frame import MOST_STEPS, Frame
from xerte.data.published import BENCHMARKS
from xerte.forecaster import Queries
from xerte.graph.index import TemporalIndex

DAYS = Calendar(Tick.DAY, "2024-01-01", Tick.DAY)
HOURS = Calendar(Tick.HOUR, "2014-01-01", Tick.DAY, 24)
YEARS = Calendar(Tick.YEAR, "1830", Tick.YEAR)
E, R = 4, 2
FRAME = Frame(E, R, DAYS, 0, 9)
QUERIES = Queries.at(torch.tensor([0, 1, 3]), torch.tensor([0, 3, 1]), torch.tensor([2, 9, 40]))
NOTHING = TemporalIndex.build(Facts.of([]), E, R)


def drawn(model: Factorisation | DESimplE) -> Factorisation | DESimplE:
    """Every parameter drawn anew, in double precision."""
    draw = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in model.double().parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=draw, dtype=torch.float64))
    return model


@contextmanager
def given_tables(model: nn.Module, **tables: Sequence[float | list[float]]) -> Iterator[None]:
    """Parameters by hand; the rest stays."""
    with torch.no_grad():
        for name, rows in tables.items():
            parameter = model.get_parameter(name)
            parameter.zero_()
            values = torch.tensor(rows, dtype=parameter.dtype)
            parameter[: len(values)] = values
        yield


def scores(model: Factorisation | DESimplE, queries: Queries = QUERIES) -> Tensor:
    answer = model.forecast(NOTHING, queries)
    assert bool(answer.reached.all())
    return answer.scores


# By hand


def ask(subject: int, relation: int, time: int) -> Queries:
    return Queries.at(torch.tensor([subject]), torch.tensor([relation]), torch.tensor([time]))


def test_transe_by_hand() -> None:
    """(1, 0) + (2, 4) = (3, 4): √20 from (1, 0), 5 from (0, 0), 4 from (3, 0), 0 from (3, 4); by sums 6, 7, 4, 0."""
    expectations = {"l2": [5 - 4.472136, 0.0, 1.0, 5.0], "l1": [-1.0, -2.0, 1.0, 5.0], "squared": [-15, -20, -11, 5]}
    for distance, expected in expectations.items():
        model = TransE(TranslationSettings(dim=2, margin=5, distance=Distance(distance)), FRAME).double()
        with given_tables(model, entity=[[1, 0], [0, 0], [3, 0], [3, 4]], relation=[[2, 4]]):
            assert scores(model, ask(0, 0, 3))[0].tolist() == pytest.approx(expected, abs=1e-4)


def test_ttranse_by_hand() -> None:
    """At step 3 the way is (2, 4) + (0, -4); at a time never trained it is (2, 4), or that of the last step, 9."""
    time = [[0.0, 0.0]] * 3 + [[0.0, -4.0]] + [[0.0, 0.0]] * 5 + [[1.0, 0.0]]
    for unseen, first in (("nothing", [2, 4]), ("nearest", [3, 4])):
        model = TTransE(TTransESettings(dim=2, margin=5, unseen_times=UnseenTimes(unseen)), FRAME).double()
        with given_tables(model, entity=[[0, 0], [2, 0], [0, 0], [0, 0]], relation=[[2, 4]], time=time):
            assert scores(model, ask(0, 0, 3))[0].tolist() == pytest.approx([3.0, 5.0, 3.0, 3.0], abs=1e-4)
            assert float(scores(model, ask(0, 0, 10))[0, 0]) == pytest.approx(5 - math.hypot(*first), abs=1e-4)


def test_distmult_by_hand() -> None:
    model = DistMult(FactorSettings(dim=2), FRAME).double()
    with given_tables(model, entity=[[1, 2], [3, 0], [0, 1], [-1, -1]], relation=[[0, 0], [2, 5]]):
        assert scores(model, ask(0, 1, 3))[0].tolist() == [22.0, 6.0, 10.0, -12.0]


def test_complex_by_hand() -> None:
    """e_s = 1 + 2i, r = 3 - i: their product is 5 + 5i; times conj(e_o), the real part: 15, 5, -5, 0."""
    model = ComplEx(FactorSettings(dim=1), FRAME).double()
    with given_tables(model, entity=[[1, 2], [1, 0], [0, -1], [1, -1]], relation=[[3, -1]]):
        assert scores(model, ask(0, 0, 3))[0].tolist() == [15.0, 5.0, -5.0, 0.0]


def test_tntcomplex_by_hand() -> None:
    """At step 1, r τ + n = (1 + i) i + 2 = 1 + i; e_s = 2: 2 + 2i. At a time never trained, n alone: 4."""
    model = TNTComplEx(TNTComplExSettings(dim=1), FRAME).double()
    with given_tables(model, entity=[[2, 0], [1, 1]], relation=[[1, 1]], time=[[0, 0], [0, 1]], lasting=[[2, 0]]):
        assert scores(model, ask(0, 0, 1))[0].tolist() == [4.0, 4.0, 0.0, 0.0]
        assert scores(model, ask(0, 0, 77))[0].tolist() == [8.0, 4.0, 0.0, 0.0]


def test_de_simple_by_hand() -> None:
    """One lasting number and one that changes: h_0 = (1, 2 sin(π/2 · day)) on 2024-01-03, where the day is 3: -2.

    k is (3, 0) for e0 and (0, 1) for e1, r = (1, 1), r' = (0, 2): ½ (h_s · r · k_o + k_s · r' · h_o).
    """
    model = DESimplE(DESimplESettings(dim=2, changing=0.5), FRAME).double()
    tables = {
        "head.lasting": [[1.0]],
        "head.amplitude": [[0.0, 0.0, 2.0]],
        "head.frequency": [[0.0, 0.0, math.pi / 2]],
        "tail.lasting": [[3.0], [0.0]],
        "tail.amplitude": [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]],
        "tail.phase": [[0.0, 0.0, 0.0], [math.pi / 2, 0.0, 0.0]],
        "relation": [[1.0, 1.0]],
        "opposite": [[0.0, 2.0]],
    }
    for name in ("head.phase", "tail.frequency"):
        tables[name] = []
    with given_tables(model, **{key: value or [[0.0, 0.0, 0.0]] for key, value in tables.items()}):
        assert scores(model, ask(0, 0, 2))[0].tolist() == pytest.approx([1.5, -1.0, 0.0, 0.0])
        # e1 asks: h_1 = 0, k_1 = (0, 1): ½ · 1 · 2 · h_o, which only e0 has.
        assert scores(model, ask(1, 0, 2))[0].tolist() == pytest.approx([-2.0, 0.0, 0.0, 0.0])


def test_ta_models_without_weights_by_hand() -> None:
    """An LSTM of zeros but for its biases: three quarters of hand-sized gates.

    With all weights 0, gates are constants: i = σ(b_i), f = σ(b_f), g = tanh(b_g), o = σ(b_o); over k tokens the cell
    is i g (1 + f + … + f^(k-1)). A date of days is 7 tokens, with the relation 8.
    """
    reader = TokenReader(1, DAYS).double()
    with torch.no_grad():
        for parameter in reader.parameters():
            parameter.zero_()
        reader.get_parameter("lstm.bias_ih_l0").copy_(torch.tensor([0.5, -1.0, 2.0, 0.3]))
        state = float(reader(torch.zeros(1, 1).double(), torch.tensor([5]))[0, 0])
    i, f, g, o = 1 / (1 + math.exp(-0.5)), 1 / (1 + math.exp(1)), math.tanh(2), 1 / (1 + math.exp(-0.3))
    assert state == pytest.approx(o * math.tanh(i * g * sum(f**k for k in range(8))))


def test_ta_models_by_hand() -> None:
    """With gates open (their biases are large) and g = tanh(x), the cell adds up: LSTM(p, t) = tanh Σ tanh(x).

    2024-01-06 reads 2y 0y 2y 4y 01m 0d 6d; of these 2y is 0.5 and 6d is -1, the others are 0, and the relation is 1.
    """
    reads = math.tanh(math.tanh(1) + 2 * math.tanh(0.5) + math.tanh(-1))
    tables: dict[str, Sequence[float | list[float]]] = {
        "entity": [[2.0], [3.0]],
        "relation": [[1.0]],
        "reader.token": [[0.0], [0.0], [0.5], *([[0.0]] * 25), [-1.0]],
        "reader.lstm.weight_ih_l0": [[0.0], [0.0], [1.0], [0.0]],
        "reader.lstm.weight_hh_l0": [[0.0]],
        "reader.lstm.bias_ih_l0": [50.0, 50.0, 0.0, 50.0],
        "reader.lstm.bias_hh_l0": [0.0],
    }
    product = TADistMult(FactorSettings(dim=1), FRAME).double()
    way = TATransE(TranslationSettings(dim=1, margin=4.0), FRAME).double()
    with given_tables(product, **tables):
        assert scores(product, ask(0, 0, 5))[0].tolist() == pytest.approx([4 * reads, 6 * reads, 0, 0])
    with given_tables(way, **tables):
        gaps = [abs(2 + reads - end) for end in (2, 3, 0, 0)]
        assert scores(way, ask(0, 0, 5))[0].tolist() == pytest.approx([4 - gap for gap in gaps], abs=1e-4)


# Slow twins


def twin_transe(model: TransE, s: int, p: int, o: int, t: int) -> float:
    way = [a + b for a, b in zip(model.entity[s].tolist(), twin_relation(model, p, t), strict=True)]
    gaps = [abs(a - b) for a, b in zip(way, model.entity[o].tolist(), strict=True)]
    square = sum(gap * gap for gap in gaps)
    far = {Distance.L1: sum(gaps), Distance.L2: math.sqrt(square), Distance.SQUARED: square}
    return float(model.settings.margin - far[model.settings.distance])


def twin_distmult(model: DistMult, s: int, p: int, o: int, t: int) -> float:
    columns = (model.entity[s].tolist(), twin_relation(model, p, t), model.entity[o].tolist())
    return float(sum(a * b * c for a, b, c in zip(*columns, strict=True)))


def numbers(row: Tensor) -> list[complex]:
    real, imaginary = row.chunk(2)
    return [complex(a, b) for a, b in zip(real.tolist(), imaginary.tolist(), strict=True)]


def twin_complex(model: ComplEx, s: int, p: int, o: int, t: int) -> float:
    relation = numbers(model.relation[p])
    if isinstance(model, TNTComplEx):
        time = numbers(model.time[t]) if t <= 9 else [0j] * len(relation)
        relation = [a * b + c for a, b, c in zip(relation, time, numbers(model.lasting[p]), strict=True)]
    columns = (numbers(model.entity[s]), relation, numbers(model.entity[o]))
    return sum((a * b * c.conjugate()).real for a, b, c in zip(*columns, strict=True))


def twin_relation(model: Factorisation, p: int, t: int) -> list[float]:
    relation: list[float] = model.relation[p].tolist()
    if isinstance(model, TTransE):
        time = model.time[t].tolist() if t <= 9 else [0.0] * len(relation)
        return [a + b for a, b in zip(relation, time, strict=True)]
    if isinstance(model, TATransE | TADistMult):
        return twin_lstm(model.reader, relation, t)
    return relation


def twin_lstm(reader: TokenReader, relation: list[float], t: int) -> list[float]:
    """The cell's four gates, token by token."""
    day = date(2024, 1, 1) + timedelta(days=t)
    year, month, of_month = f"{day.year:04}", day.month, f"{day.day:02}"
    places = [int(digit) for digit in year] + [10 + month - 1] + [22 + int(digit) for digit in of_month]
    weights = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    of_input, of_state, bias, more_bias = (reader.get_parameter(f"lstm.{name}").detach().numpy() for name in weights)
    hidden, cell = np.zeros(len(relation)), np.zeros(len(relation))
    for token in [np.array(relation), *(reader.token[place].detach().numpy() for place in places)]:
        i, f, g, o = np.split(of_input @ token + of_state @ hidden + bias + more_bias, 4)
        cell = cell / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        hidden = np.tanh(cell) / (1 + np.exp(-o))
    return [float(value) for value in hidden]


def twin_de_simple(model: DESimplE, s: int, p: int, o: int, t: int) -> float:
    day = date(2024, 1, 1) + timedelta(days=t)
    moment = (day.year - 2024, day.month, day.day)

    def embed(side: nn.Module, v: int) -> list[float]:
        lasting, *waves = (side.get_parameter(n)[v].tolist() for n in ("lasting", "amplitude", "frequency", "phase"))
        changing = len(waves[0]) // 3
        a, w, b = waves
        return lasting + [
            sum(a[u * changing + n] * math.sin(w[u * changing + n] * moment[u] + b[u * changing + n]) for u in range(3))
            for n in range(changing)
        ]

    one = zip(embed(model.head, s), model.relation[p].tolist(), embed(model.tail, o), strict=True)
    other = zip(embed(model.head, o), model.opposite[p].tolist(), embed(model.tail, s), strict=True)
    return float(sum(x * y * z for x, y, z in one) + sum(x * y * z for x, y, z in other)) / 2


TWINS: list[tuple[Callable[[], Factorisation | DESimplE], Callable[..., float]]] = [
    (lambda: TransE(TranslationSettings(dim=5), FRAME), twin_transe),
    (lambda: TransE(TranslationSettings(dim=5, distance=Distance.L1), FRAME), twin_transe),
    (lambda: TransE(TranslationSettings(dim=5, distance=Distance.SQUARED), FRAME), twin_transe),
    (lambda: TTransE(TTransESettings(dim=5), FRAME), twin_transe),
    (lambda: TATransE(TranslationSettings(dim=5), FRAME), twin_transe),
    (lambda: DistMult(FactorSettings(dim=5), FRAME), twin_distmult),
    (lambda: TADistMult(FactorSettings(dim=5), FRAME), twin_distmult),
    (lambda: ComplEx(FactorSettings(dim=5), FRAME), twin_complex),
    (lambda: TNTComplEx(TNTComplExSettings(dim=5), FRAME), twin_complex),
    (lambda: DESimplE(DESimplESettings(dim=5, changing=0.4), FRAME), twin_de_simple),
]


@pytest.mark.parametrize("number", range(len(TWINS)))
def test_scores_against_a_slow_twin(number: int) -> None:
    make, twin = TWINS[number]
    model = drawn(make())
    columns = zip(QUERIES.subject.tolist(), QUERIES.relation.tolist(), QUERIES.time.tolist(), strict=True)
    expected = [[twin(model, s, p, o, t) for o in range(E)] for s, p, t in columns]
    np.testing.assert_allclose(scores(model).numpy(), expected, rtol=1e-7, atol=1e-7)


# Losses and penalties


def test_losses_by_hand() -> None:
    """Scores 0 and log 3, the second right: bce = log 2 + log 4 - log 3; softmax = log 4 - log 3."""
    both, right = torch.tensor([[0.0, math.log(3)]]), torch.tensor([1])
    assert float(one_vs_all(both, right, LossFunction.BCE)) == pytest.approx(math.log(8 / 3))
    assert float(one_vs_all(both, right, LossFunction.SOFTMAX)) == pytest.approx(math.log(4 / 3))


@given(st.lists(st.floats(-20, 20), min_size=2, max_size=6), st.integers(0, 1))
def test_bce_against_torch(values: list[float], right: int) -> None:
    logits, goal = torch.tensor([values], dtype=torch.float64), torch.zeros(1, len(values), dtype=torch.float64)
    goal[0, right] = 1
    theirs = nn.functional.binary_cross_entropy_with_logits(logits, goal, reduction="sum")
    assert float(one_vs_all(logits, torch.tensor([right]), LossFunction.BCE)) == pytest.approx(float(theirs), abs=1e-9)


def test_the_loss_is_the_mean_over_questions_with_offset_and_penalty_by_hand() -> None:
    """e = 1, 2, 0, 0, r = 3: 1·3·2 = 6 for the answer e1; n3 adds 0.5 (1 + 27 + 8) = 18."""
    model = DistMult(FactorSettings(dim=1, n3=0.5, loss=LossFunction.SOFTMAX), FRAME).double()
    assert model.offset.item() == pytest.approx(-math.log(E))
    with given_tables(model, entity=[[1], [2]], relation=[[3]]):
        loss = model.loss(NOTHING, ask(0, 0, 1), torch.tensor([1]), 0).mean
        softmax = math.log(math.exp(3) + math.exp(6) + 2) - 6
        assert float(loss) == pytest.approx(softmax + 18)
        binary = DistMult(FactorSettings(dim=1), FRAME).double()
        with given_tables(binary, entity=[[1], [2]], relation=[[3]]):
            logits = [x - math.log(E) for x in (3.0, 6.0, 0.0, 0.0)]
            expected = sum(math.log1p(math.exp(x)) for x in logits) - logits[1]
            assert float(binary.loss(NOTHING, ask(0, 0, 1), torch.tensor([1]), 0).mean) == pytest.approx(expected)


def test_de_simples_penalty_by_hand() -> None:
    """Lasting numbers alone: h_0 = 1, k_0 = 2, h_1 = 3, k_1 = 0, r = 1, r' = -2: N3 = 1 + 8 + 27 + 0 + 1 + 8."""
    plain, penalised = (DESimplE(DESimplESettings(dim=1, changing=0, n3=n3), FRAME).double() for n3 in (0.0, 0.5))
    tables = {"head.lasting": [[1.0], [3.0]], "tail.lasting": [[2.0]], "relation": [[1.0]], "opposite": [[-2.0]]}
    losses = []
    for model in (plain, penalised):
        with given_tables(model, **tables):
            losses.append(float(model.loss(NOTHING, ask(0, 0, 1), torch.tensor([1]), 0).mean))
    assert losses[1] - losses[0] == pytest.approx(45 / 2)


def test_tntcomplex_penalties_by_hand() -> None:
    """|e_s| = 5, |r τ| = 2·1, |n| = 1, |e_o| = 3: N3 = 125 + 8 + 1 + 27. Times i, 0, … 0: one step of 1 in nine."""
    model = TNTComplEx(TNTComplExSettings(dim=1, n3=1.0, smoothness=0.9), FRAME).double()
    with given_tables(model, entity=[[3, 4], [0, 3]], relation=[[2, 0]], time=[[0, 1]], lasting=[[0, 1]]):
        queries, answer = ask(0, 0, 0), torch.tensor([1])
        subject, relation = model.entity[queries.subject], model.relation_at(queries)
        assert float(model.penalty(queries, subject, relation, answer)) == pytest.approx(161 + 0.9 / 9)


def test_dropout_keeps_the_mean_and_follows_from_seed_and_question() -> None:
    queries = Queries.at(torch.arange(400), torch.zeros(400, dtype=torch.int64), torch.zeros(400, dtype=torch.int64))
    ones = torch.ones(400, 50)
    out = dropped(ones, 0.4, queries, 3)
    assert out[out != 0].tolist() == pytest.approx([1 / 0.6] * int((out != 0).sum()))
    assert float((out == 0).float().mean()) == pytest.approx(0.4, abs=0.01)
    assert torch.equal(out[7:9], dropped(ones[7:9], 0.4, queries[7:9], 3))
    assert not torch.equal(out, dropped(ones, 0.4, queries, 4))
    assert dropped(ones, 0.0, queries, 3) is ones


# Times


@given(st.integers(-700_000, 2_900_000))
def test_dates_against_pythons(day: int) -> None:
    when = date(2024, 1, 1) + timedelta(days=max(min(day, 2_900_000), -738_000))
    ticks = torch.tensor([(when - date(2024, 1, 1)).days])
    assert [int(part) for part in civil(ticks, DAYS)] == [when.year, when.month, when.day]


def test_dates_of_every_kind_of_calendar() -> None:
    def of(calendar: Calendar, time: int) -> tuple[int, ...]:
        return tuple(int(part) for part in civil(torch.tensor([time]), calendar))

    assert of(HOURS, 24 * 58 + 23) == (2014, 2, 28)
    assert of(HOURS, -1) == (2013, 12, 31)
    assert of(Calendar(Tick.MINUTE, "2014-01-01T23:30", Tick.HOUR, 60), 31) == (2014, 1, 2)
    assert of(Calendar(Tick.SECOND, "1969-12-31", Tick.DAY, 86400), 86399) == (1969, 12, 31)
    assert of(Calendar(Tick.MONTH, "2014-11", Tick.MONTH), 2) == (2015, 1, 0)
    assert of(YEARS, 167) == (1997, 0, 0)
    assert of(Calendar(Tick.STEP, "", Tick.STEP), 41) == (41, 0, 0)


def test_a_date_reads_as_digits() -> None:
    """2014-05-27: 2y 0y 1y 4y 05m 2d 7d."""
    day = (date(2014, 5, 27) - date(2014, 1, 1)).days
    assert tokens(torch.tensor([24 * day]), HOURS).tolist() == [[2, 0, 1, 4, 10 + 4, 22 + 2, 22 + 7]]
    assert tokens(torch.tensor([167]), YEARS).tolist() == [[1, 9, 9, 7]]
    assert tokens(torch.tensor([2]), Calendar(Tick.MONTH, "2014-11", Tick.MONTH)).tolist() == [[2, 0, 1, 5, 10]]
    assert tokens(torch.tensor([-1, 12_345]), Calendar(Tick.STEP, "", Tick.STEP)).tolist() == [
        [9, 9, 9, 9],
        [2, 3, 4, 5],
    ]


def test_a_frame_spans_the_times_of_training() -> None:
    data = small_dataset()
    frame = Frame.of(data)
    assert (frame.num_entities, frame.num_relations, frame.last, frame.num_steps) == (30, 4, 39, 40 - frame.first)
    assert Frame.from_json(frame.to_json(), 30, 4) == frame
    hours = Frame(E, R, HOURS, 48, 24 * 9 + 5)
    assert (hours.ticks_per_step, hours.num_steps) == (24, 8)
    assert hours.step(torch.tensor([47, 48, 71, 72])).tolist() == [-1, 0, 0, 1]
    seconds = Frame(E, R, Calendar(Tick.SECOND, "2014-01-01", Tick.SECOND), 0, 10 * MOST_STEPS - 1)
    assert (seconds.ticks_per_step, seconds.num_steps) == (10, MOST_STEPS)


@pytest.mark.parametrize(
    "value",
    [
        {"first": 5, "last": 4, "calendar": DAYS.to_json()},
        {"first": 5, "calendar": DAYS.to_json()},
        {"first": 1, "last": 4, "calendar": DAYS.to_json() | {"ticks_per_unit": 0}},
        {"first": 1, "last": 4, "calendar": DAYS.to_json() | {"origin": "yesterday"}},
    ],
)
def test_a_damaged_frame_is_refused(value: dict[str, object]) -> None:
    with pytest.raises((ValueError, KeyError)):
        Frame.from_json(value, E, R)


def test_a_time_never_trained_reads_the_nearest_row_or_nothing() -> None:
    table = torch.arange(1.0, 11.0)[:, None]
    time = torch.tensor([-5, 0, 9, 10])
    assert rows_at(table, time, FRAME, UnseenTimes.NEAREST)[:, 0].tolist() == [1, 1, 10, 10]
    assert rows_at(table, time, FRAME, UnseenTimes.NOTHING)[:, 0].tolist() == [0, 1, 10, 0]


def test_the_benchmarks_calendars_have_dates() -> None:
    first = {name: tuple(int(x) for x in civil(torch.tensor([0]), b.calendar)) for name, b in BENCHMARKS.items()}
    assert first == {
        "icews14": (2014, 1, 1), "icews18": (2018, 1, 1), "icews0515": (2005, 1, 1), "yago": (1830, 0, 0),
    }  # fmt: skip
