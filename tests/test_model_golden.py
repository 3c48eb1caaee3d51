"""The paper's two small examples, with numbers worked out by hand."""

from collections.abc import Sequence
from math import log, sqrt

import pytest
import torch
from torch import Tensor, nn

from twins.method import settings_of
from xerte.data.facts import Facts
from xerte.forecaster import Queries
from xerte.graph.index import TemporalIndex
from xerte.graph.slots import NOBODY
from xerte.model import XERTE
from xerte.nn.layers import Layer
from xerte.settings import QueryFeatures, ScoredEdges, Update

Row = tuple[float, float, float, float]
NOTHING: Row = (0, 0, 0, 0)


def one_dimensional(
    entity: Sequence[float],
    relation: Sequence[float],
    subject_rows: list[Row],
    object_rows: list[Row],
    **switches: object,
) -> XERTE:
    """A model of vectors of length 1 without time: h⁰ is the entity's number, dense layers change nothing.

    `relation` gives the R relations' numbers, then those of their reciprocals, then the self-loop's.
    """
    R = (len(relation) - 1) // 2
    given = {"dims": (1, 1, 1, 1), "static_dim": 1, "time_dim": 0, "sampling": "last", "self_loop": False}
    settings = settings_of(**(given | switches))
    model = XERTE(settings, len(entity), R).double()
    with torch.no_grad():
        model.encoding.entity.copy_(torch.tensor(entity)[:, None])
        model.encoding.project.weight.fill_(1)
        model.encoding.project.bias.fill_(0)
        model.relation.copy_(torch.tensor([*zip(relation[:R], relation[R:-1], strict=True)]).view(-1, 1))
        model.self_loop.fill_(relation[-1])
        for layer in model.layers:
            assert isinstance(layer, Layer)
            layer.attention.W_sub.copy_(torch.tensor(subject_rows))
            layer.attention.W_obj.copy_(torch.tensor(object_rows))
            if isinstance(layer.dense, nn.Linear):
                layer.dense.weight.fill_(1)
                layer.dense.bias.fill_(0)
    return model


def entity_scores(model: XERTE, history: TemporalIndex, query: tuple[int, int, int]) -> dict[int, float]:
    subject, relation, time = (torch.tensor([x]) for x in query)
    graph = model.infer(history, Queries.at(subject, relation, time), 0)
    return dict(zip(graph.entity.tolist(), graph.entity_score.tolist(), strict=True))


@pytest.fixture
def four_facts() -> TemporalIndex:
    """The graph of the paper's first appendix figure; p1, p2, p3 are relations 0, 1, 2 and times are t0 … t3.

                  (e0, t3)  <- the query (e0, p1, ?, t3)
        p1 /     p2 |     | p3     \\ p1
    (e1, t1)  (e1, t2)  (e2, t2)  (e2, t0)
             p1⁻¹ |         | p1⁻¹
               (e0, t1)  (e0, t0)       <- second step
    """
    return TemporalIndex.build(Facts.of([(0, 0, 1, 1), (0, 1, 1, 2), (0, 2, 2, 2), (0, 0, 2, 0)]), 3, 3)


FOUR_FACTS_QUERY = (0, 0, 3)


@pytest.mark.parametrize(
    ("switches", "expected"),
    [
        # Four edges, 1/4 each, two of them to each entity.
        ({"steps": 1}, {1: 1 / 2, 2: 1 / 2}),
        ({"steps": 1, "aggregation": "mean"}, {1: 1 / 4, 2: 1 / 4}),
        # The self-loop is a fifth edge: 1/5 each.
        ({"steps": 1, "self_loop": True}, {0: 1 / 5, 1: 2 / 5, 2: 2 / 5}),
        # All tie: of four edges in the order of time the three earliest stay, (e2, t0), (e1, t1), (e1, t2).
        ({"steps": 1, "k": 3}, {1: 2 / 3, 2: 1 / 3}),
        # (e1, t2) leads on to (e0, t1), (e2, t2) to (e0, t0); (e1, t1) and (e2, t0) are the first of their entity.
        # 1/4 each; what the dead ends held is gone when the rest is divided by its sum: 1/2 each.
        ({"steps": 2}, {0: 1}),
        ({"steps": 2, "aggregation": "mean"}, {0: 1 / 2}),
        # With self-loops nothing is lost. After step 1 five nodes hold 1/5. Of that, at step 2,
        #   (e0, t3) gives 1/25 to each of its four neighbours and keeps 1/25;
        #   (e1, t1), (e2, t0) have no other edge and keep 1/5;
        #   (e1, t2) keeps 1/10 and gives 1/10 to (e0, t1); so does (e2, t2), to (e0, t0).
        #   e0: 1/25 + 1/10 + 1/10; e1: (1/25 + 1/5) + (1/25 + 1/10); e2 the same.
        ({"steps": 2, "self_loop": True}, {0: 0.24, 1: 0.38, 2: 0.38}),
        ({"steps": 2, "self_loop": True, "aggregation": "mean"}, {0: 0.08, 1: 0.19, 2: 0.19}),
        # K = 4. Step 1 drops the last of five ties, the self-loop: 1/4 for each of the four neighbours. Step 2 has two
        # edges of 1/4, the self-loops of the dead ends, and four of 1/8, of which those of (e1, t2), which joined
        # before (e2, t2), stay: to (e0, t1) and its self-loop. They sum to 3/4.
        ({"steps": 2, "self_loop": True, "k": 4}, {0: 1 / 6, 1: 1 / 6 + 1 / 3, 2: 1 / 3}),
    ],
)
def test_four_facts_with_uniform_attention(
    four_facts: TemporalIndex, switches: dict[str, object], expected: dict[int, float]
) -> None:
    model = one_dimensional([1, 2, 3], [1, 2, 3, 4, 5, 6, 7], [NOTHING] * 4, [NOTHING] * 4, **switches)
    assert entity_scores(model, four_facts, FOUR_FACTS_QUERY) == pytest.approx(expected)


# Each row of the two matrices picks one entry of (h ‖ p_k ‖ h_q ‖ p_q), so that Eq. 1 becomes
#     e = h_v·h_u + ln2·h_q·p_k + p_k·h_u + p_q·h_u = h_u (h_v + p_k + p_q) + ln2·h_q·p_k.
SUBJECT_ROWS: list[Row] = [(1, 0, 0, 0), (0, 0, log(2), 0), (0, 1, 0, 0), (0, 0, 0, 1)]
OBJECT_ROWS: list[Row] = [(1, 0, 0, 0), (0, 1, 0, 0), (1, 0, 0, 0), (1, 0, 0, 0)]


@pytest.mark.parametrize(
    ("switches", "expected"),
    [
        # With h_e0 = 1, h_e1 = ln2, h_e2 = ln3, p1 = 1, p2 = -1, p3 = 0 and p_q = p1:
        #   (p1, e2, t0): 3 ln3 + ln2 -> e^· = 54        (p2, e1, t2): 1 ln2 - ln2 -> 1
        #   (p1, e1, t1): 3 ln2 + ln2 -> 16              (p3, e2, t2): 2 ln3       -> 9        in all 80
        ({}, {1: 17 / 80, 2: 63 / 80}),
        ({"aggregation": "mean"}, {1: 17 / 160, 2: 63 / 160}),
        ({"k": 3}, {1: 16 / 79, 2: 63 / 79}),
        ({"k": 1}, {2: 1}),
        # The self-loop has p = -2: e = 1 · (1 - 2 + 1) - 2 ln2, so 1/4 on top of 80.
        ({"self_loop": True}, {0: 1 / 321, 1: 68 / 321, 2: 252 / 321}),
        # As written, all sampled edges carry attention. K = 2 keeps (e2, t0) and (e1, t1), to which no pruned edge
        # leads here: 54 and 16 of 70.
        ({"k": 2, "scored_edges": ScoredEdges.SAMPLED}, {1: 16 / 70, 2: 54 / 70}),
    ],
)
def test_four_facts_with_chosen_weights(
    four_facts: TemporalIndex, switches: dict[str, object], expected: dict[int, float]
) -> None:
    relation = [1, -1, 0, 9, 9, 9, -2]
    model = one_dimensional([1, log(2), log(3)], relation, SUBJECT_ROWS, OBJECT_ROWS, **({"steps": 1} | switches))
    assert entity_scores(model, four_facts, FOUR_FACTS_QUERY) == pytest.approx(expected)


def test_sampled_edges_that_are_pruned_still_carry_attention() -> None:
    """Two facts lead to e1, e^· = 54 by p1 and 3 / 2 by p2; one leads to e2, 16.

    K = 2 keeps 54 to e1 and 16 to e2. As run e1 has 54/70; as written the pruned edge to e1 counts too: 55.5/71.5.
    """
    history = TemporalIndex.build(Facts.of([(0, 0, 1, 0), (0, 1, 1, 0), (0, 0, 2, 0)]), 3, 2)
    for scored, of_e1 in [(ScoredEdges.KEPT, 54 / 70), (ScoredEdges.SAMPLED, (54 + 1.5) / 71.5)]:
        model = one_dimensional(
            [1, log(3), log(2)], [1, -1, 0, 0, 0], SUBJECT_ROWS, OBJECT_ROWS, steps=1, k=2, scored_edges=scored
        )
        assert entity_scores(model, history, (0, 0, 1)) == pytest.approx({1: of_e1, 2: 1 - of_e1})


@pytest.fixture
def two_hops() -> TemporalIndex:
    """The example of the paper's appendix on the reverse update. Node i is entity i; step 1 finds t = 2, step 2 t = 1.

                       0          t = 3, the query
                 /     |     \\
               1       2       3        t = 2
              / \\     / \\      |
             4   5   7   8     6        t = 1
    """
    edges = [(0, 1, 2), (0, 2, 2), (0, 3, 2), (1, 4, 1), (1, 5, 1), (2, 7, 1), (2, 8, 1), (3, 6, 1)]
    return TemporalIndex.build(Facts.of([(s, 0, o, t) for s, o, t in edges]), 9, 1)


def vectors_before_dense(model: XERTE, history: TemporalIndex, step: int) -> dict[int, Tensor]:
    """After a step's messages, before its dense layer: entity -> vector; every node has an entity of its own here."""
    seen: list[Tensor] = []
    layer = model.layers[step - 1]
    assert isinstance(layer, Layer)
    hook = layer.dense.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0]))
    growth = model.grow(history, Queries.at(torch.tensor([0]), torch.tensor([0]), torch.tensor([3])), 0)
    hook.remove()
    slots = growth.slots.key[0, : len(growth.scores[step])].tolist()
    of_query = next(i for i, vectors in enumerate(seen) if len(vectors) == 1)
    hidden = seen[of_query - 1]  # relations pass it first, then the nodes, then the query
    return {key >> 32: vector for key, vector in zip(slots, hidden[:, 0], strict=True) if key != NOBODY}


def uniform_two_hops(update: Update) -> XERTE:
    """Uniform attention, γ = 1/2, h⁰ of node i is i, of node 0 it is 10; the first dense layer makes 2 x + 1."""
    entity = [10.0, 1, 2, 3, 4, 5, 6, 7, 8]
    model = one_dimensional(entity, [1, 1, 1], [NOTHING] * 4, [NOTHING] * 4, steps=3, gamma=0.5, update=update)
    first = model.layers[0]
    assert isinstance(first, Layer)
    assert isinstance(first.dense, nn.Linear)
    with torch.no_grad():
        first.dense.weight.fill_(2)
        first.dense.bias.fill_(1)
    return model


@pytest.mark.parametrize("update", list(Update))
def test_first_step_of_two_hops(two_hops: TemporalIndex, update: Update) -> None:
    """Node 0 hears the mean of 1, 2, 3: 10/2 + 2/2 = 6; the others have heard nothing yet."""
    vectors = vectors_before_dense(uniform_two_hops(update), two_hops, 1)
    assert {i: h.item() for i, h in vectors.items()} == pytest.approx({0: 6, 1: 1, 2: 2, 3: 3})


# Behind the first dense layer nodes 0 … 3 hold 13, 3, 5, 7; the new nodes 4 … 8 pass it too and hold 9, 11, 13, 15, 17.
# Along the new edges:  node 1: 3/2 + 10/2 = 6.5;  node 2: 5/2 + 16/2 = 10.5;  node 3: 7/2 + 13/2 = 10.
@pytest.mark.parametrize(
    ("update", "expected"),
    [
        # Then along the edges of the first step: node 0: 13/2 + (6.5 + 10.5 + 10)/3/2 = 11.
        (Update.REVERSE, {0: 11, 1: 6.5, 2: 10.5, 3: 10}),
        (Update.NONE, {0: 13, 1: 6.5, 2: 10.5, 3: 10}),
        # All edges at once, twice. First: node 0: 13/2 + (3 + 5 + 7)/3/2 = 9; nodes 1 … 3 as above.
        # Second: node 0: 9/2 + 9/2 = 9; 1: 6.5/2 + 10/2 = 8.25; 2: 10.5/2 + 16/2 = 13.25; 3: 10/2 + 13/2 = 11.5.
        (Update.VANILLA, {0: 9, 1: 8.25, 2: 13.25, 3: 11.5}),
    ],
)
def test_second_step_of_two_hops(two_hops: TemporalIndex, update: Update, expected: dict[int, float]) -> None:
    vectors = vectors_before_dense(uniform_two_hops(update), two_hops, 2)
    late = {4: 9, 5: 11, 6: 13, 7: 15, 8: 17}
    assert {i: h.item() for i, h in vectors.items()} == pytest.approx(expected | late)


LOGIT_IS_H_U: tuple[list[Row], list[Row]] = ([(0, 0, 0, 1), *[NOTHING] * 3], [(1, 0, 0, 0), *[NOTHING] * 3])  # p_q·h_u


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        # h⁰ of nodes 1, 2, 3 is ln 1, ln 2, ln 3, so that their edges weigh 1, 2, 3; 4 and 5: ln 1, ln 3; 7, 8: ln 2;
        # 6: ln 5. With γ = 0, step 2 makes h_1 = 3/4 ln3, h_2 = ln2, h_3 = ln5.
        # Then the edges of step 1 are weighed anew, by the vectors as they are now: 3^(3/4), 2, 5.
        (40, (3**0.75 * 0.75 * log(3) + 2 * log(2) + 5 * log(5)) / (3**0.75 + 7)),
        # K = 2. Step 1 keeps nodes 2 and 3 with a = 2/5, 3/5. Step 2 weighs 2 -> 7, 2 -> 8 with 1/2 · 2/5, 3 -> 6 with
        # 3/5, and drops 2 -> 8; the attention of 2 -> 7 stays 1/2, so that h_2 = ln2 / 2, and h_3 = ln5.
        # Weighed anew among the survivors of step 1: 2^(1/2), 5.
        (2, (sqrt(2) * log(2) / 2 + 5 * log(5)) / (sqrt(2) + 5)),
    ],
)
def test_earlier_edges_are_weighed_anew(two_hops: TemporalIndex, k: int, expected: float) -> None:
    entity = [1, 0, log(2), log(3), 0, log(3), log(5), log(2), log(2)]
    model = one_dimensional(entity, [1, 1, 1], *LOGIT_IS_H_U, steps=3, k=k)
    # Step 1: (1 ln1 + 2 ln2 + 3 ln3) / 6, by the attention before pruning, which is not made to sum to 1 again.
    assert vectors_before_dense(model, two_hops, 1)[0].item() == pytest.approx((2 * log(2) + 3 * log(3)) / 6)
    assert vectors_before_dense(model, two_hops, 2)[0].item() == pytest.approx(expected)


@pytest.mark.parametrize("gamma", [0.0, 0.75])
@pytest.mark.parametrize("features", list(QueryFeatures))
@pytest.mark.parametrize("update", list(Update))
def test_who_hears_of_the_second_hop(
    two_hops: TemporalIndex, update: Update, features: QueryFeatures, gamma: float
) -> None:
    """After step 2 the query node depends on nodes 4 … 8 with the reverse update (and the vanilla one), else not."""
    torch.manual_seed(0)
    settings = settings_of(
        dims=(1, 1, 1), static_dim=4, time_dim=4, steps=3, self_loop=False, gamma=gamma, update=update
    )
    model = XERTE(settings.model_copy(update={"query_features": features}), 9, 1).double()
    of_query_node = vectors_before_dense(model, two_hops, 2)[0]
    (gradient,) = torch.autograd.grad(of_query_node, model.encoding.entity)
    hears = gradient.abs().amax(dim=1) > 0
    if gamma:
        assert hears[:4].tolist() == [True] * 4
    assert hears[4:].tolist() == [update is not Update.NONE] * 5
