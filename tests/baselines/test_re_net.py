"""RE-Net by hand, against its slow twin, in any company; what is learned first, and what is imagined."""

import math
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import Tensor, nn

import reference
from xerte.baselines.re_net import RENet, RENetSettings, imagine
from xerte.baselines.re_net.aggregation import Aggregator, Convolution, Dropout, last_state
from xerte.baselines.re_net.snapshots import Snapshots
from xerte.baselines.re_net.state import GlobalState
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.frame import Frame
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import InputError
from xerte.forecaster import Queries
from xerte.graph.index import TemporalIndex
from xerte.training.loop import Trainer
from xerte.training.settings import TrainingSettings

Question = tuple[int, int, int]
E, R = 5, 2


def ask(*questions: Question) -> Queries:
    return Queries.at(*(torch.tensor([question[i] for question in questions]) for i in range(3)))


def index(facts: list[reference.Fact], entities: int = E, relations: int = R) -> TemporalIndex:
    return TemporalIndex.build(Facts.of(facts), entities, relations)


def model(**changes: float | str) -> RENet:
    """Small, and in double precision, so that nothing is lost to rounding."""
    torch.manual_seed(0)
    frame = Frame(E, R, Calendar(Tick.STEP, "", Tick.STEP), 0, 4)
    values: dict[str, float | str] = {"dim": 4, "blocks": 2, "length": 3, "global_epochs": 2, **changes}
    return RENet(RENetSettings.model_validate(values), frame).double()


# ---------------------------------------------------------------------------------------------- the twin, in loops


def convolved(layer: Convolution, told: list[tuple[int, int]], hidden: dict[int, Tensor], entity: int) -> Tensor:
    """One convolution at one entity, the blocks of W_r one by one."""
    blocks, size, _ = layer.shape
    total = torch.zeros_like(hidden[entity])
    for relation, object in told:
        for part, matrix in enumerate(layer.weight[relation].view(blocks, size, size)):
            rows = slice(part * size, (part + 1) * size)
            total[rows] += hidden[object][rows] @ matrix / len(told)
    return total + hidden[entity] @ layer.loop


def neighbourhood(aggregator: Aggregator, table: Tensor, facts: list[reference.Fact], entity: int, time: int) -> Tensor:
    """g(N_t(v)): every entity of the snapshot passes both layers, one after the other."""
    told: dict[int, list[tuple[int, int]]] = {}
    for s, p, o, t in reference.directed(facts, R):
        if t == time:
            told.setdefault(s, []).append((p, o))
    first = {v: convolved(aggregator.first, told[v], dict(enumerate(table)), v).relu() for v in told}
    return convolved(aggregator.second, told[entity], first, entity)


def recurrent(cell: nn.GRU, inputs: list[Tensor]) -> Tensor:
    """The equations of a GRU, step by step."""
    hidden = torch.zeros(cell.hidden_size, dtype=torch.float64)
    input_weight, hidden_weight, input_bias, hidden_bias = cell.all_weights[0]
    for x in inputs:
        of_input = (input_weight @ x + input_bias).chunk(3)
        of_hidden = (hidden_weight @ hidden + hidden_bias).chunk(3)
        reset, update = torch.sigmoid(of_input[0] + of_hidden[0]), torch.sigmoid(of_input[1] + of_hidden[1])
        hidden = (1 - update) * torch.tanh(of_input[2] + reset * of_hidden[2]) + update * hidden
    return hidden


def whole_graph(state: GlobalState, facts: list[reference.Fact], time: int) -> Tensor:
    """H at a time at which something happened."""
    inputs = []
    for moment in sorted({t for *_, t in facts if t <= time})[-state.length :]:
        active = {v for s, _, o, t in facts if t == moment for v in (s, o)}
        vectors = [neighbourhood(state.aggregator, state.entity, facts, v, moment) for v in active]
        inputs.append(torch.stack(vectors).amax(0))
    return recurrent(state.recurrence, inputs)


def twin(re_net: RENet, facts: list[reference.Fact], question: Question) -> tuple[list[float], list[float]]:
    """(logits of every entity, logits of every relation) for one question."""
    subject, relation, time = question
    inputs, without_relation = [], []
    active = sorted({t for s, _, o, t in facts if subject in (s, o) and t < time})[-re_net.settings.length :]
    for moment in active:
        vector = neighbourhood(re_net.aggregator, re_net.entity, facts, subject, moment)
        step = [vector, whole_graph(re_net.global_state, facts, moment), re_net.entity[subject]]
        inputs.append(torch.cat([*step, re_net.relation[relation]]))
        without_relation.append(torch.cat(step))
    hidden, other = recurrent(re_net.encoder, inputs), recurrent(re_net.relation_encoder, without_relation)
    logits = re_net.decoder(torch.cat([re_net.entity[subject], hidden, re_net.relation[relation]]))
    if re_net.settings.decoder == "shared":
        logits = torch.stack([(vector * logits).sum() for vector in re_net.entity])
    told = re_net.relation_decoder(torch.cat([re_net.entity[subject], other]))
    return logits.tolist(), told.tolist()


# -------------------------------------------------------------------------------------------------------- by hand


def test_snapshots_by_hand() -> None:
    #  time -1: 2 -0-> 0     time 4: 0 -1-> 1, 0 -0-> 1
    snapshots = Snapshots.of(index([(0, 1, 1, 4), (2, 0, 0, -1), (0, 0, 1, 4)], 3))
    assert snapshots.time.tolist() == [-1, 4]
    assert list(zip(snapshots.node_entity.tolist(), snapshots.node_moment.tolist(), strict=True)) == [
        (0, 0),
        (0, 1),
        (1, 1),
        (2, 0),
    ]
    assert snapshots.node_edge.tolist() == [0, 1, 3, 5, 6]
    assert snapshots.edge_relation.tolist() == [1, 0, 2, 1, 3, 0]
    assert snapshots.edge_source.tolist() == [3, 2, 2, 1, 1, 0]
    row, node = snapshots.nodes(torch.tensor([1, 0]))
    assert (row.tolist(), node.tolist()) == ([0, 0, 1, 1], [1, 2, 0, 3])
    row, node = snapshots.active(torch.tensor([0, 0, 0, 1]), torch.tensor([5, 4, -1, 4]), most=1)
    assert (row.tolist(), node.tolist()) == ([0, 1], [1, 0])
    assert snapshots.active(torch.tensor([0]), torch.tensor([5]), most=2)[1].tolist() == [0, 1]
    assert [snapshots.met(time).tolist() for time in (-2, -1, 3, 4)] == [
        [False, False, False],
        [True, False, True],
        [True, False, True],
        [True, True, True],
    ]


def test_a_forecast_by_hand() -> None:
    # One dimension. Gates shut out all memory, so h = tanh of the latest neighbourhood's vector.
    frame = Frame(3, 1, Calendar(Tick.STEP, "", Tick.STEP), 0, 1)
    re_net = RENet(RENetSettings(dim=1, blocks=1), frame).double()
    with torch.no_grad():
        for parameter in re_net.parameters():
            parameter.zero_()
        re_net.entity.copy_(torch.tensor([[1.0], [2.0], [3.0]]))
        re_net.aggregator.first.weight.copy_(torch.tensor([[1.0], [0.5]]))  # of the relation and its reciprocal
        re_net.aggregator.first.loop.fill_(0.25)
        re_net.aggregator.second.weight.copy_(torch.tensor([[2.0], [0.0]]))
        re_net.aggregator.second.loop.fill_(-1.0)
        input_weight, _, input_bias, _ = re_net.encoder.all_weights[0]
        input_bias.copy_(torch.tensor([0.0, -1000.0, 0.0]))  # reset, update, new
        input_weight[2, 0] = 0.1
        re_net.decoder.weight.copy_(torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]))
        re_net.decoder.bias.copy_(torch.tensor([0.0, 0.5, 0.0]))
    history = index([(0, 0, 1, 0), (0, 0, 1, 1), (0, 0, 2, 1), (0, 0, 1, 2)], 3, 1)
    # At 1: h¹(0) = (2 + 3) / 2 + 1/4, h¹(1) = 0.5 · 1 + 2/4, h¹(2) = 0.5 + 3/4; h²(0) = 2 (1 + 1.25) / 2 − 2.75 = −0.5.
    # At 0: h¹(0) = 2.25, h¹(1) = 1, h²(1) = 0 · 2.25 − 1.
    scores = re_net.forecast(history, ask((0, 0, 2), (1, 1, 1), (2, 1, 1))).scores
    assert scores[0].tolist() == pytest.approx([math.tanh(-0.05), 1 + 0.5, 2 * math.tanh(-0.05)], rel=1e-12)
    assert scores[1].tolist() == pytest.approx([math.tanh(-0.1), 2 + 0.5, 2 * math.tanh(-0.1)], rel=1e-12)
    assert scores[2].tolist() == [0, 3 + 0.5, 0], "no history, no state"


def test_the_last_states_of_sequences_of_many_lengths() -> None:
    torch.manual_seed(1)
    cell, lengths = nn.GRU(3, 2).double(), [2, 0, 3, 1, 0, 3]
    inputs = torch.randn(sum(lengths), 3, dtype=torch.float64)
    row = torch.repeat_interleave(torch.tensor(lengths))
    expected = [recurrent(cell, [*part]) for part in inputs.split(lengths)]  # type: ignore[no-untyped-call]
    torch.testing.assert_close(last_state(cell, inputs, row, 6), torch.stack(expected))
    assert last_state(cell, inputs[:0], row[:0], 2).tolist() == [[0, 0], [0, 0]]


# ------------------------------------------------------------------------------------------------------ properties

fact_lists = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 1), st.integers(0, 4), st.integers(-3, 6)), max_size=15
)
questions = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(-5, 9)), min_size=1, max_size=5)


@settings(max_examples=25)
@given(fact_lists, questions, st.sampled_from(["own", "shared"]))
def test_equals_its_slow_twin_in_any_company(facts: list[reference.Fact], asked: list[Question], decoder: str) -> None:
    re_net, history = model(decoder=decoder), index(facts)
    together = re_net.forecast(history, ask(*asked))
    relations = re_net.relation_logits(history, ask(*asked))
    assert together.reached.all()
    for row, question in enumerate(asked):
        logits, told = twin(re_net, facts, question)
        assert together.scores[row].tolist() == pytest.approx(logits, rel=1e-9, abs=1e-12)
        assert relations[row].tolist() == pytest.approx(told, rel=1e-9, abs=1e-12)
        alone = re_net.forecast(index(facts), ask(question)).scores[0]
        assert alone.tolist() == pytest.approx(logits, rel=1e-9, abs=1e-12)


@settings(max_examples=25)
@given(fact_lists, fact_lists, questions)
def test_the_present_and_the_future_are_never_read(
    facts: list[reference.Fact], others: list[reference.Fact], asked: list[Question]
) -> None:
    re_net, now = model(), min(time for _, _, time in asked)
    asked = [(subject, relation, now) for subject, relation, _ in asked]
    changed = [fact for fact in facts if fact[3] < now] + [(s, p, o, max(t, now)) for s, p, o, t in others]
    before = re_net.forecast(index(facts), ask(*asked))
    after = re_net.forecast(index(changed), ask(*asked))
    torch.testing.assert_close(before.scores, after.scores, rtol=1e-12, atol=1e-14)


# -------------------------------------------------------------------------------------------------------- training

HISTORY = [(0, 0, 1, 0), (2, 1, 3, 0), (0, 0, 1, 1), (3, 1, 0, 2), (2, 0, 4, 3), (0, 1, 2, 3), (4, 0, 4, 4)]
LATER = [(1, 0, 2, 5), (4, 1, 3, 6)]


def test_the_loss_is_the_answers_and_a_part_of_the_relations() -> None:
    re_net, history = model(dropout=0.0, relation_weight=0.25), index(HISTORY)
    asked, answer = [(0, 0, 4), (2, 3, 3)], [1, 4]
    loss = re_net.loss(history, ask(*asked), torch.tensor(answer), seed=0).mean
    expected = 0.0
    for question, right in zip(asked, answer, strict=True):
        logits, told = (torch.tensor(values).log_softmax(0) for values in twin(re_net, HISTORY, question))
        expected -= float(logits[right]) / 2 + 0.25 * float(told[question[1]]) / 2
    assert loss.item() == pytest.approx(expected, rel=1e-6)
    loss.backward()  # type: ignore[no-untyped-call]
    for name, parameter in re_net.named_parameters():
        learned_first = name.startswith("global_state")
        assert (parameter.grad is None) == learned_first, name
        assert learned_first or bool(parameter.grad.abs().max() > 0), name  # type: ignore[union-attr]


def test_with_a_shared_decoder_whom_training_never_meets_is_no_wrong_answer() -> None:
    re_net = model(dropout=0.0, relation_weight=0.0, decoder="shared")
    facts = [*HISTORY[:4], *LATER]  # 4 takes part in nothing until training is over
    loss = re_net.loss(index(facts), ask((0, 0, 4)), torch.tensor([1]), seed=0).mean
    logits = twin(re_net, facts, (0, 0, 4))[0]
    assert loss.item() == pytest.approx(-float(torch.tensor(logits[:4]).log_softmax(0)[1]), rel=1e-6)


def test_dropout_follows_from_the_seed_and_the_content() -> None:
    values, about = torch.ones(200, 100), torch.arange(200)
    thinned = Dropout(0.25, 7)(values, 1, about)
    assert sorted(set(thinned.flatten().tolist())) == pytest.approx([0, 4 / 3])
    assert thinned.mean().item() == pytest.approx(1, abs=0.02)
    assert torch.equal(Dropout(0.25, 7)(values[50:60], 1, about[50:60]), thinned[50:60])
    for other in (Dropout(0.25, 8)(values, 1, about), Dropout(0.25, 7)(values, 2, about), thinned[1:]):
        assert not torch.equal(other[:100], thinned[:100])
    assert Dropout()(values, 1, about) is values

    re_net, history, answer = model(dropout=0.5), index(HISTORY), torch.tensor([1])

    def loss(question: Question, seed: int) -> float:
        torch.rand(3)  # torch's own random state is of no importance
        return re_net.loss(history, ask(question), answer, seed).mean.item()

    assert loss((0, 0, 4), 1) == loss((0, 0, 4), 1)
    assert loss((0, 0, 4), 1) != loss((0, 0, 4), 2)
    assert not re_net.forecast(history, ask((0, 0, 4))).scores.requires_grad


def test_the_graphs_state_is_learned_once_and_from_training_alone() -> None:
    def learned(facts: list[reference.Fact]) -> RENet:
        re_net = model()
        re_net.pretrain(index(facts))
        return re_net

    one, other = learned(HISTORY + LATER), learned([*HISTORY, (0, 1, 0, 4), (0, 1, 0, 5)])
    untrained = model().global_state.state_dict()
    for name, value in one.global_state.state_dict().items():
        assert torch.equal(value, other.global_state.state_dict()[name]), name
        assert not torch.equal(value, untrained[name]), name
    before = {name: value.clone() for name, value in one.global_state.state_dict().items()}
    one.pretrain(index(HISTORY))
    assert all(torch.equal(value, before[name]) for name, value in one.global_state.state_dict().items())


def test_the_states_loss_by_hand() -> None:
    state = model().global_state
    # At moment 1 one fact, 0 -> 1; at moment 3 two, 2 -> 4 and 0 -> 2.
    loss = state.loss(index(HISTORY), torch.tensor([0, 2]), Dropout()).item()
    expected = 0.0
    for time, subjects, objects in ((0, {0: 1.0}, {1: 1.0}), (2, {2: 0.5, 0: 0.5}, {4: 0.5, 2: 0.5})):
        hidden = whole_graph(state, HISTORY, time)
        for head, shares in ((state.subject, subjects), (state.object, objects)):
            logarithm = head(hidden).log_softmax(0)
            expected -= sum(share * float(logarithm[entity]) for entity, share in shares.items()) / 2
    assert loss == pytest.approx(expected, rel=1e-9)


def test_states_are_computed_anew_when_weights_change() -> None:
    state, history = model().global_state, index(HISTORY)
    moments = torch.tensor([0, 1, 2, 3, 4])
    some = state.states(history, moments[3:])
    torch.testing.assert_close(state.states(history, moments)[3:], some)
    torch.testing.assert_close(some[1], whole_graph(state, HISTORY, 4))
    with torch.no_grad():
        state.entity.mul_(2)
    torch.testing.assert_close(state.states(history, moments[4:])[0], whole_graph(state, HISTORY, 4))


def test_states_first_asked_for_in_a_forecast_serve_training() -> None:
    re_net, history = model(), index(HISTORY)
    re_net.global_state.trained.fill_(1.0)
    with torch.inference_mode():
        re_net.forecast(history, ask((0, 0, 4)))
    re_net.loss(history, ask((0, 0, 4)), torch.tensor([1]), seed=0).mean.backward()  # type: ignore[no-untyped-call]
    assert re_net.entity.grad is not None


def _third(asked: Iterator[int]) -> bool:
    return next(asked) == 3


def test_interrupted_training_ends_with_the_weights_of_training_that_was_not(tmp_path: Path) -> None:
    names, kinds = Vocabulary.of([f"e{i}" for i in range(E)]), Relations.of(["likes", "visits"])
    dataset = Dataset(
        "mine", Facts.of([*HISTORY, *LATER]), (len(HISTORY), 1, 1), names, kinds, Calendar(Tick.STEP, "", Tick.STEP)
    )

    def trained(folder: Path | None, runs: int) -> RENet:
        """Given a folder, every run but the last is told to stop after its third step; each makes all anew."""
        for _ in range(runs):
            re_net, asked = model().float(), count(1)
            plan = TrainingSettings(epochs=2, batch_size=3, lr=0.01, start=0)
            trainer = Trainer(re_net, dataset, index(HISTORY + LATER), plan, folder=folder)
            trainer.run(partial(_third, asked) if folder else None)
        assert trainer.finished
        return re_net

    whole, resumed = trained(None, 1), trained(tmp_path / "checkpoint", 4)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name


def test_blocks_divide_the_dimensions() -> None:
    with pytest.raises(ValidationError, match="200 dimensions cannot be split into 3 equal blocks"):
        RENetSettings(blocks=3)


# ----------------------------------------------------------------------------------------------------- imagination


def test_imagined_facts_are_the_likeliest_and_build_on_each_other() -> None:
    re_net, known = model(), index(HISTORY)
    imagined = imagine(re_net, known, [6, 9], size=3)
    assert [tuple(map(int, row)) for row in zip(*imagined.facts().columns(), strict=True)][: len(HISTORY)] == HISTORY
    told = [tuple(map(int, row)) for row in zip(*imagined.facts().columns(), strict=True)][len(HISTORY) :]
    assert [fact[3] for fact in told] == [6] * 3 + [9] * 3
    facts = HISTORY
    for time in (6, 9):
        of_subject = re_net.global_state.subject(whole_graph(re_net.global_state, facts, facts[-1][3])).softmax(0)
        subjects = sorted(range(E), key=lambda s: -float(of_subject[s]))[:3]
        pairs = []
        for s in subjects:
            of_relation = torch.tensor(twin(re_net, facts, (s, 0, time))[1][::2]).softmax(0)
            pairs += [(float(of_subject[s] * of_relation[p]), s, p) for p in range(R)]
        candidates = []
        for probability, s, p in sorted(pairs, reverse=True)[:3]:
            of_object = torch.tensor(twin(re_net, facts, (s, 2 * p, time))[0]).softmax(0)
            candidates += [(probability * float(of_object[o]), (s, p, o, time)) for o in range(E)]
        best = [fact for _, fact in sorted(candidates, reverse=True)[:3]]
        assert {fact for fact in told if fact[3] == time} == set(best)
        facts = facts + best
    assert imagine(re_net, known, [6]).num_edges == known.num_edges + 2, "7 facts in 5 snapshots make 1 a snapshot"
    assert imagine(re_net, index([]), [6], size=2).num_edges == 4


@pytest.mark.parametrize("times", [[4], [6, 6], [7, 6]])
def test_only_the_future_is_imagined(times: list[int]) -> None:
    with pytest.raises(InputError, match="must ascend, and lie after every fact"):
        imagine(model(), index(HISTORY), times)
