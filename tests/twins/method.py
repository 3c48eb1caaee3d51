"""The slow, obvious twin of xERTE: one query, loops over nodes and edges, Eq. 1 with its concatenations.

Nodes are (entity, time) pairs, vectors live in dictionaries. It borrows the model's parameters and its sampler, which
it asks for one node at a time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from xerte.forecaster import Queries
from xerte.graph.index import TemporalIndex
from xerte.graph.noise import combine, extend
from xerte.model import XERTE
from xerte.nn.layers import Layer
from xerte.nn.propagation import Aggregation
from xerte.segment import LEAST
from xerte.settings import Clock, ModelSettings, QueryFeatures, ScoredEdges, Update

Node = tuple[int, int]
Vectors = Mapping[Node, Tensor]


@dataclass(frozen=True)
class Edge:
    """(source, relation, target), with the attention it was judged by."""

    source: Node
    relation: int
    target: Node
    attention: Tensor
    contribution: Tensor


@dataclass(frozen=True)
class Outcome:
    """What the twin found for one query.

    Attributes:
        edges: of every step, all sampled edges.
        kept: of every step, the edges that survive.
        node_score: after 0 … L steps, the attention of every node that has any.
        entity_score: of every entity in the final graph.
        margin: how far, relative to the larger, the last kept contribution lies above the first dropped one.
    """

    edges: list[list[Edge]]
    kept: list[list[Edge]]
    node_score: list[dict[Node, Tensor]]
    entity_score: dict[int, Tensor]
    margin: float


def settings_of(**switches: object) -> ModelSettings:
    """The settings with some switches turned, which may come from a table."""
    return ModelSettings.model_validate(switches)


def encode(model: XERTE, entity: int, clock: int) -> Tensor:
    """h⁰ = W_v [ē ‖ Φ(t)] + b_v."""
    encoding, s = model.encoding, model.settings
    parts = [encoding.entity[entity]]
    if encoding.time is not None:
        own = entity if s.diachronic else ...
        frequency, phase = encoding.time.frequency[own], encoding.time.phase[own]
        factor = (1 / s.time_dim) ** 0.5 if s.time_factor else 1.0
        parts.append(factor * torch.cos(frequency * clock + phase))
    return encoding.project.weight @ torch.cat(parts) + encoding.project.bias


def dense(layer: Layer, vector: Tensor, activated: bool = True) -> Tensor:
    """σ(W_h x + b_h), or without σ."""
    assert isinstance(layer.dense, torch.nn.Linear)
    out = layer.dense.weight @ vector + layer.dense.bias
    return torch.where(out > 0, out, 0.01 * out) if activated else out


def logit(layer: Layer, h_v: Tensor, p_k: Tensor, h_u: Tensor, h_q: Tensor, p_q: Tensor) -> Tensor:
    """Eq. 1 as it is written."""
    as_subject = layer.attention.W_sub @ torch.cat([h_v, p_k, h_q, p_q])
    as_object = layer.attention.W_obj @ torch.cat([h_u, p_k, h_q, p_q])
    return as_subject @ as_object


def softmax_by_source(edges: Sequence[tuple[Node, int, Node]], logits: Sequence[Tensor]) -> list[Tensor]:
    """Eq. 2: over all edges of one source."""
    attention = []
    for (source, _, _), x in zip(edges, logits, strict=True):
        mine = torch.stack([y for (other, _, _), y in zip(edges, logits, strict=True) if other == source])
        attention.append(torch.exp(x - mine.max()) / torch.exp(mine - mine.max()).sum())
    return attention


def pass_messages(
    hidden: Vectors, edges: Iterable[tuple[Node, int, Node]], attention: Iterable[Tensor], gamma: float
) -> dict[Node, Tensor]:
    """h_v ← γ h_v + (1 - γ) Σ α h_u where v has edges; all read the old vectors."""
    message: dict[Node, Tensor] = {}
    for (v, _, u), alpha in zip(edges, attention, strict=True):
        message[v] = message.get(v, torch.zeros_like(hidden[v])) + alpha * hidden[u]
    return {v: gamma * h + (1 - gamma) * message[v] if v in message else h for v, h in hidden.items()}


def prior_edges(
    model: XERTE, history: TemporalIndex, query: tuple[int, int, int], node: Node, seed: int, step: int
) -> list[tuple[Node, int, Node]]:
    """The prior edges the sampler draws for one node, its self-loop behind them."""
    entity, time = (torch.tensor([x]) for x in node)
    of_query = combine(seed, *(torch.tensor([x]) for x in query))
    noise = extend(extend(of_query, step), (entity << 32) | (query[2] - time))
    position = model.sampler.sample(history, entity, time, model.offered[query[1]][None], noise)[0]
    drawn = history.edges(position[position >= 0])
    edges = [
        (node, r, (o, t))
        for r, o, t in zip(drawn.relation.tolist(), drawn.object.tolist(), drawn.time.tolist(), strict=True)
    ]
    return [*edges, (node, 2 * model.num_relations, node)] if model.settings.self_loop else edges


def infer(model: XERTE, history: TemporalIndex, query: tuple[int, int, int], seed: int) -> Outcome:
    """Answers (e_q, p_q, ?, t_q)."""
    s = model.settings
    layers = [layer for layer in model.layers if isinstance(layer, Layer)]
    e_q, p_q, t_q = query
    v_q = (e_q, t_q)

    def clock(time: int) -> int:
        return time - t_q if s.clock is Clock.RELATIVE else time

    hidden = {v_q: encode(model, e_q, clock(t_q))}
    initial = hidden[v_q]
    relation = [*model.relation, *model.self_loop]
    score = {v_q: torch.ones((), dtype=initial.dtype)}
    attended = [v_q]
    all_edges, all_kept, scores, margin = list[list[Edge]](), list[list[Edge]](), [score], 1.0
    kept_before: list[list[tuple[Node, int, Node]]] = []

    for step, layer in enumerate(layers, start=1):
        edges = [edge for node in attended for edge in prior_edges(model, history, query, node, seed, step)]
        vectors = dict(hidden)
        for _, _, target in edges:
            if target not in vectors:
                vectors[target] = encode(model, target[0], clock(target[1]))
                for earlier in layers[: step - 1]:
                    vectors[target] = dense(earlier, vectors[target])

        h_q = initial if s.query_features is QueryFeatures.INITIAL else hidden[v_q]

        def attend(
            some: Sequence[tuple[Node, int, Node]],
            vectors: Vectors,
            layer: Layer = layer,
            h_q: Tensor = h_q,
            relation: Sequence[Tensor] = relation,
        ) -> list[Tensor]:
            logits = [logit(layer, vectors[v], relation[k], vectors[u], h_q, relation[p_q]) for v, k, u in some]
            return softmax_by_source(some, logits)

        attention = attend(edges, vectors)
        judged = [Edge(v, k, u, alpha, alpha * score[v]) for (v, k, u), alpha in zip(edges, attention, strict=True)]
        # Ten digits, so that true ties are ties: of these the first stays.
        value = [float(f"{edge.contribution.item():.10e}") for edge in judged]
        order = sorted(range(len(judged)), key=lambda i: -value[i])
        kept = [judged[i] for i in sorted(order[: s.k])]
        if len(order) > s.k:
            least, next = value[order[s.k - 1]], value[order[s.k]]
            margin = min(margin, 1 - next / least if least else 0.0)  # both may be too small for a number
        all_edges.append(judged)
        all_kept.append(kept)

        attended = list(dict.fromkeys(edge.target for edge in kept))
        hidden = {**{node: vectors[node] for node in attended}, **hidden}
        carriers = kept if s.scored_edges is ScoredEdges.KEPT else [e for e in judged if e.target in attended]
        total: dict[Node, Tensor] = {}
        for edge in carriers:
            total[edge.target] = total.get(edge.target, 0) + edge.contribution
        whole = torch.stack([*total.values(), torch.zeros_like(initial[0])]).sum()
        score = {node: a / whole if whole > LEAST else a for node, a in total.items()}
        scores.append(score)

        if step == s.steps:
            break  # another update would feed nothing
        triples = [(edge.source, edge.relation, edge.target) for edge in kept]
        kept_before.append(triples)
        if s.update is Update.VANILLA:
            everything = [edge for step_edges in kept_before for edge in step_edges]
            for _ in range(step):
                hidden = pass_messages(hidden, everything, attend(everything, hidden), s.gamma)
        else:
            hidden = pass_messages(hidden, triples, [edge.attention for edge in kept], s.gamma)
            if s.update is Update.REVERSE:
                for step_edges in reversed(kept_before[:-1]):
                    hidden = pass_messages(hidden, step_edges, attend(step_edges, hidden), s.gamma)
        hidden = {node: dense(layer, vector) for node, vector in hidden.items()}
        initial = dense(layer, initial)
        relation = [dense(layer, vector, activated=s.relation_activation) for vector in relation]

    entity_score = {}
    for entity in sorted({node[0] for node in attended}):
        of_entity = torch.stack([score[node] for node in attended if node[0] == entity])
        entity_score[entity] = of_entity.sum() if s.aggregation is Aggregation.SUM else of_entity.mean()
    return Outcome(all_edges, all_kept, scores, entity_score, margin)


def infer_each(model: XERTE, history: TemporalIndex, queries: Queries, seed: int) -> list[Outcome]:
    """Every query for itself."""
    columns = (queries.subject.tolist(), queries.relation.tolist(), queries.time.tolist())
    return [infer(model, history, query, seed) for query in zip(*columns, strict=True)]


def loss(scores: Iterable[tuple[Tensor, bool]]) -> Tensor:
    """Binary cross-entropy, mean over all entities of all final graphs, on 0.999 · score + 0.0009."""
    terms = []
    for score, is_answer in scores:
        probability = 0.999 * score + 0.0009
        terms.append(-torch.log(probability if is_answer else 1 - probability))
    return torch.stack(terms).mean()
