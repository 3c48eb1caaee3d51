"""CyGNet by hand, against its slow twin, in any company."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from xerte.baselines.cygnet import CyGNet, CyGNetSettings
from xerte.data.calendar import Calendar, Tick
from xerte.data.facts import Facts
from xerte.data.frame import Frame
from xerte.forecaster import Queries
from xerte.graph.index import TemporalIndex

Question = tuple[int, int, int]


def ask(*questions: Question) -> Queries:
    return Queries.at(*(torch.tensor([question[i] for question in questions]) for i in range(3)))


def frame(entities: int, relations: int, last: int, ticks_per_unit: int = 1, first: int = 0) -> Frame:
    return Frame(entities, relations, Calendar(Tick.HOUR, "2014-01-01", Tick.DAY, ticks_per_unit), first, last)


def model(alpha: float = 0.8) -> CyGNet:
    """Five entities, two relations, steps of two ticks, trained from -3 to 6."""
    torch.manual_seed(0)
    return CyGNet(CyGNetSettings(dim=3, alpha=alpha), frame(5, 2, 6, 2, -3))


def softmax(logits: list[float]) -> list[float]:
    most = max(logits)
    weight = [math.exp(logit - most) for logit in logits]
    return [w / sum(weight) for w in weight]


def twin(cygnet: CyGNet, facts: list[reference.Fact], question: Question) -> list[float]:
    """The probabilities of every entity, one number at a time."""
    subject, relation, time = question
    told = reference.directed(facts, cygnet.frame.num_relations)
    vocabulary = {o for s, p, o, t in told if (s, p) == (subject, relation) and t < time}
    step = ((time - cygnet.frame.first) // 2 + 1) / 5  # ticks -3 … 6 are five steps
    x = cygnet.entity[subject].tolist() + cygnet.relation[relation].tolist()
    x += [step * u for u in cygnet.time[0].tolist()]

    def logits(mode: torch.nn.Linear) -> list[float]:
        rows = zip(mode.weight.tolist(), mode.bias.tolist(), strict=True)
        return [sum(w * v for w, v in zip(row, x, strict=True)) + bias for row, bias in rows]

    copied = [math.tanh(z) - 100 * (o not in vocabulary) for o, z in enumerate(logits(cygnet.copy_mode))]
    alpha = cygnet.settings.alpha
    both = zip(softmax(copied), softmax(logits(cygnet.generation_mode)), strict=True)
    return [alpha * copy + (1 - alpha) * generated for copy, generated in both]


def test_by_hand() -> None:
    cygnet = CyGNet(CyGNetSettings(dim=1, alpha=0.75, regularisation=0.5), frame(3, 1, last=1))
    with torch.no_grad():
        cygnet.entity.copy_(torch.tensor([[0.5], [1.0], [2.0]]))
        cygnet.relation.copy_(torch.tensor([[1.0], [-1.0]]))
        cygnet.time.copy_(torch.tensor([[0.5]]))  # two steps of training, so 1/4 each
        # x = [e_s, e_r, (t + 1) / 4]: of (0, 0, ?, 3) it is [1/2, 1, 1]
        cygnet.copy_mode.weight.copy_(torch.tensor([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 1.0, -1.0]]))
        cygnet.copy_mode.bias.zero_()
        cygnet.generation_mode.weight.copy_(torch.tensor([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
        cygnet.generation_mode.bias.copy_(torch.tensor([0.0, math.log(2), 0.0]))
    # 0 did it to 1 and to 2 before; at 3 to itself, which is not to be seen, and long ago somebody else to 0.
    history = TemporalIndex.build(Facts.of([(0, 0, 1, 0), (0, 0, 2, 2), (0, 0, 0, 3), (2, 0, 0, 0)]), 3, 1)
    # Copy: tanh of (0, 1, 0), the first outside; generation: e^0, 2 e^0, e^1.
    copy_1 = math.exp(math.tanh(1)) / (math.exp(math.tanh(1)) + 1)
    generation = [1 / (3 + math.e), 2 / (3 + math.e), math.e / (3 + math.e)]
    expected = [0.25 * generation[0], 0.75 * copy_1 + 0.25 * generation[1], 0.75 * (1 - copy_1) + 0.25 * generation[2]]
    scores = cygnet.forecast(history, ask((0, 0, 3)))
    assert scores.scores[0].tolist() == pytest.approx(expected, rel=1e-6)
    assert scores.reached.all()
    # The subject's side: who did it to 0 before 3? Only 2 did, so nearly all of the copy mode speaks for 2.
    assert cygnet.forecast(history, ask((0, 1, 3))).scores[0, 2].item() > 0.75
    squares = (0.25 + 1 + 4) / 3 + 1 + 0.25
    loss = cygnet.loss(history, ask((0, 0, 3), (0, 0, 3)), torch.tensor([1, 0]), seed=0).mean
    assert loss.item() == pytest.approx(0.5 * squares - (math.log(expected[1]) + math.log(expected[0])) / 2, rel=1e-6)


fact_lists = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(0, 4), st.integers(-3, 6)), max_size=25
)
questions = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(-5, 9)), min_size=1, max_size=12)


@settings(max_examples=40)
@given(fact_lists, questions)
def test_equals_its_slow_twin_in_any_company(facts: list[reference.Fact], asked: list[Question]) -> None:
    cygnet = model(alpha=0.6)
    history = TemporalIndex.build(Facts.of(facts), 5, 2)
    together = cygnet.forecast(history, ask(*asked)).scores
    for row, question in enumerate(asked):
        expected = twin(cygnet, facts, question)
        assert together[row].tolist() == pytest.approx(expected, rel=1e-4, abs=1e-7)
        alone = cygnet.forecast(history, ask(question)).scores[0]
        torch.testing.assert_close(alone, together[row], rtol=1e-5, atol=1e-7)
    answer = torch.tensor([question[0] for question in asked])
    likelihood = [math.log(twin(cygnet, facts, question)[question[0]]) for question in asked]
    squares = sum(table.square().mean().item() for table in (cygnet.entity, cygnet.relation, cygnet.time))
    expected_loss = 0.01 * squares - sum(likelihood) / len(likelihood)
    assert cygnet.loss(history, ask(*asked), answer, seed=0).mean.item() == pytest.approx(expected_loss, rel=1e-4)
    fixed = cygnet.fixed_loss(history, ask(*asked), answer, torch.tensor(0)).mean
    assert fixed.item() == pytest.approx(expected_loss, rel=1e-4)


@settings(max_examples=40)
@given(fact_lists, fact_lists, questions)
def test_the_present_and_the_future_are_never_read(
    facts: list[reference.Fact], others: list[reference.Fact], asked: list[Question]
) -> None:
    cygnet, now = model(), min(time for _, _, time in asked)
    asked = [(subject, relation, now) for subject, relation, _ in asked]
    changed = [fact for fact in facts if fact[3] < now] + [(s, p, o, max(t, now)) for s, p, o, t in others]
    before = cygnet.forecast(TemporalIndex.build(Facts.of(facts), 5, 2), ask(*asked))
    after = cygnet.forecast(TemporalIndex.build(Facts.of(changed), 5, 2), ask(*asked))
    assert torch.equal(before.scores, after.scores)


def test_any_time_has_a_vector() -> None:
    cygnet = model()
    history = TemporalIndex.build(Facts.of([(0, 0, 1, 0)]), 5, 2)
    scores = cygnet.forecast(history, ask((0, 0, 2**31 - 1), (0, 0, -(2**31)), (4, 3, 10**6))).scores
    assert scores.sum(1).tolist() == pytest.approx([1, 1, 1], rel=1e-5)


def test_the_loss_moves_every_parameter() -> None:
    cygnet = model()
    history = TemporalIndex.build(Facts.of([(0, 0, 1, 0), (0, 0, 2, 1)]), 5, 2)
    cygnet.loss(history, ask((0, 0, 2), (2, 2, 2)), torch.tensor([1, 0]), seed=0).mean.backward()  # type: ignore[no-untyped-call]
    for name, parameter in cygnet.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name
