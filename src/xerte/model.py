"""xERTE: the method on one page.

Initialise the graph with (e_q, t_q); L times: sample prior edges of the attended nodes, embed new nodes, attend, prune
to K edges per query, propagate attention, update vectors in reverse; then aggregate node scores to entities.
"""

import torch
from torch import Tensor, nn

from xerte.forecaster import Queries, Scores
from xerte.graph.index import Edges, TemporalIndex
from xerte.graph.inference_graph import InferenceGraph, Nodes, StepEdges
from xerte.graph.noise import combine
from xerte.graph.sampler import Sampler
from xerte.nn.attention import Attention, AttentionTables, EdgeRows
from xerte.nn.encoding import NodeEncoding
from xerte.nn.loss import Loss, binary_cross_entropy, negative_log_likelihood
from xerte.nn.propagation import entity_scores, keep_largest, pass_messages
from xerte.segment import segment_normalise, segment_softmax, segment_sum
from xerte.settings import Clock, ModelSettings, QueryFeatures, ScoredEdges, Update

_LOW = 0xFFFFFFFF
_EARLIEST = 1 << 31


class Layer(nn.Module):
    """The parameters of one inference step: attention and, but for the last step, the dense layer behind it."""

    def __init__(self, dim: int, next_dim: int | None) -> None:
        super().__init__()
        self.attention = Attention(dim)
        self.dense = nn.Linear(dim, next_dim) if next_dim else nn.Identity()
        if isinstance(self.dense, nn.Linear):
            nn.init.xavier_normal_(self.dense.weight)

    def forward(self, hidden: Tensor) -> Tensor:
        """σ(W_h x + b_h), σ = LeakyReLU."""
        return nn.functional.leaky_relu(self.dense(hidden))


class XERTE(nn.Module):
    """Forecasts (e_q, p_q, ?, t_q) by attention over an inference graph grown backwards in time.

    Args:
        settings: every switch.
        num_entities, num_relations: |E|, R.
        ticks_per_unit: how many ticks of the history's times make one unit of its rhythm.
        seed: of the sampling noise; parameters are initialised by torch's generator.
    """

    name = "xerte"

    def __init__(
        self, settings: ModelSettings, num_entities: int, num_relations: int, ticks_per_unit: int = 1, seed: int = 0
    ) -> None:
        super().__init__()
        self.settings, self.seed = settings, seed
        self.num_entities, self.num_relations, self.ticks_per_unit = num_entities, num_relations, ticks_per_unit
        s, dims = settings, settings.dims[: settings.steps]
        self.encoding = NodeEncoding(num_entities, s.static_dim, s.time_dim, dims[0], s.diachronic, s.time_factor)
        self.relation = nn.Parameter(nn.init.xavier_normal_(torch.empty(2 * num_relations + 1, dims[0])))
        # The last step's update would feed nothing, so it has no dense layer.
        self.layers = nn.ModuleList([Layer(dim, after) for dim, after in zip(dims, (*dims[1:], None), strict=True)])
        self.sampler = Sampler(s.sampling, s.n, s.time_scale * ticks_per_unit, s.replacement, s.same_relation)

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
        """Scores of every entity, with the graphs that made them."""
        with torch.inference_mode():
            graph = self.infer(history, queries, self.seed)
            return Scores(*graph.dense(), graph)

    def loss(self, history: TemporalIndex, queries: Queries, answer: Tensor, seed: int) -> Tensor:
        """What training makes small, for queries whose answers are known."""
        graph, s = self.infer(history, queries, seed), self.settings
        score, entity, query = graph.entity_score, graph.entity, graph.entity_query
        if s.loss is Loss.NLL:
            return negative_log_likelihood(score, entity, query, answer)
        return binary_cross_entropy(score, entity, query, answer, len(queries), s.loss_mean)

    def infer(self, history: TemporalIndex, queries: Queries, seed: int) -> InferenceGraph:
        """The method. Differentiable in the parameters; reads nothing at or after any node's time."""
        s, num_queries = self.settings, len(queries)
        noise = combine(seed, queries.subject, queries.relation, queries.time)
        nodes = Nodes.of_queries(queries.subject, queries.time, self.num_entities)
        attended = nodes.query
        hidden = query = self.encoding(nodes.entity, self._clock(nodes.time, nodes.time))
        relation: Tensor = self.relation
        score = hidden.new_ones(num_queries)
        scores, steps, kept_edges = [score], list[StepEdges](), list[EdgeRows]()

        for step, layer in enumerate(self._layers(), start=1):
            # Sample prior edges of the attended nodes; look up their targets, or embed them.
            edge_source, edges = self._sample(history, nodes, attended, queries, combine(noise, step))
            source_query = nodes.query.index_select(0, attended)
            edge_query = source_query.index_select(0, edge_source)
            key = nodes.keys(edge_query, edges.object, edges.time)
            vectors, edge_vector = self._embed(hidden, nodes, key, edges, edge_query, step)

            # Attend: a softmax over the prior edges of each attended node (Eq. 1, 2).
            features = query if s.query_features is QueryFeatures.INITIAL else hidden[:num_queries]
            tables = layer.attention(relation, features, relation.index_select(0, queries.relation))
            rows = EdgeRows(attended, source_query, edge_source, edge_vector, edges.relation)
            attention = segment_softmax(tables.logits(rows, hidden, vectors), edge_source, len(attended))
            contribution = attention * score.index_select(0, attended).index_select(0, edge_source)

            # Prune to the K largest contributions of each query; their targets join the graph.
            kept = torch.nonzero(keep_largest(contribution.detach(), edge_query, s.k))[:, 0]
            nodes, target, named_by = nodes.join(key.index_select(0, kept), step)
            joining = edge_vector.index_select(0, kept.index_select(0, named_by))
            hidden = torch.cat([hidden, vectors.index_select(0, joining)])

            # Propagate attention to the prior neighbours (Eq. 5), which are attended next.
            score, carried = self._propagate(nodes, key, contribution, kept, target)
            scores.append(score)
            steps.append(_record(attended, edge_source, edges, attention, contribution, kept, carried))
            rows = rows.among(kept, target)
            attended = torch.unique(target)
            attended = attended[torch.argsort(nodes.query.index_select(0, attended), stable=True)]

            # Update vectors along the new edges, then along earlier ones (Eq. 3, 4); queries and relations follow.
            if step < s.steps:
                kept_edges.append(rows)
                hidden = layer(self._update(hidden, kept_edges, attention.index_select(0, kept), tables))
                query = layer(query)
                relation = layer(relation) if s.relation_activation else layer.dense(relation)

        # Aggregate node scores to entities (Eq. 6).
        last_score, of_query, of_entity = (c.index_select(0, attended) for c in (score, nodes.query, nodes.entity))
        entities = entity_scores(last_score, of_query, of_entity, self.num_entities, s.aggregation)
        by_step = torch.stack([nn.functional.pad(a.detach(), (0, len(nodes) - len(a))) for a in scores])
        return InferenceGraph(nodes, by_step, tuple(steps), *entities)

    def _layers(self) -> list[Layer]:
        return [layer for layer in self.layers if isinstance(layer, Layer)]

    def _clock(self, time: Tensor, query_time: Tensor) -> Tensor:
        return time - query_time if self.settings.clock is Clock.RELATIVE else time

    def _sample(
        self, history: TemporalIndex, nodes: Nodes, attended: Tensor, queries: Queries, noise: Tensor
    ) -> tuple[Tensor, Edges]:
        """The prior edges of every attended node, its self-loop behind them: (place in attended, edges)."""
        entity, time, query = (c.index_select(0, attended) for c in (nodes.entity, nodes.time, nodes.query))
        relation, noise = queries.relation.index_select(0, query), noise.index_select(0, query)
        row, position = self.sampler.sample(history, entity, time, relation, combine(noise, entity, time))
        edges = history.edges(position)
        if not self.settings.self_loop:
            return row, edges
        # Edges ascend by source and every source has one loop: places follow by counting, without a sort.
        source = torch.arange(len(attended), device=row.device)
        edge_place = torch.arange(len(row), device=row.device) + row
        loop_place = torch.searchsorted(row, source, right=True) + source
        loop = Edges(torch.full_like(source, 2 * self.num_relations), entity, time, torch.full_like(source, -1))

        def merged(of_edges: Tensor, of_loops: Tensor) -> Tensor:
            out = of_edges.new_empty(len(row) + len(source))
            return out.index_copy_(0, edge_place, of_edges).index_copy_(0, loop_place, of_loops)

        columns = zip(vars(edges).values(), vars(loop).values(), strict=True)
        return merged(row, source), Edges(*(merged(*pair) for pair in columns))

    def _embed(
        self, hidden: Tensor, nodes: Nodes, key: Tensor, edges: Edges, edge_query: Tensor, step: int
    ) -> tuple[Tensor, Tensor]:
        """Vectors of all targets: those of nodes in the graph, then new ones, and every edge's row among them.

        A new node's vector depends on its entity and clock alone, so each distinct pair is embedded once for all
        queries, and passes the dense layers of the steps it was not there for.
        """
        found = nodes.find(key)
        absent = torch.nonzero(found < 0)[:, 0]
        entity, time, query = (c.index_select(0, absent) for c in (edges.object, edges.time, edge_query))
        # Ages fill 32 bits from 0 up, absolute times from -2³¹: either fits beside the entity.
        relative = self.settings.clock is Clock.RELATIVE
        low = nodes.query_time.index_select(0, query) - time if relative else time + _EARLIEST
        pair, place = torch.unique((entity << 32) | low, return_inverse=True)
        low = pair & _LOW
        fresh = self.encoding(pair >> 32, -low if relative else low - _EARLIEST)
        for layer in self._layers()[: step - 1]:
            fresh = layer(fresh)
        return torch.cat([hidden, fresh]), found.index_copy(0, absent, len(hidden) + place)

    def _propagate(
        self, nodes: Nodes, key: Tensor, contribution: Tensor, kept: Tensor, target: Tensor
    ) -> tuple[Tensor, Tensor]:
        """a_u = Σ_v α_vu a_v over the edges that lead to u, divided by the query's sum; 0 where no kept edge leads.

        Returns:
            a [V], and for every edge the row of the node whose attention it brought, -1 where it brought none.
        """
        carried = torch.full_like(key, -1).index_copy(0, kept, target)
        if self.settings.scored_edges is ScoredEdges.SAMPLED:
            attended = torch.zeros_like(nodes.key, dtype=torch.bool).index_fill(0, target, True)
            row = nodes.find(key)
            carried = torch.where((row >= 0) & attended[row], row, -1)
            kept = torch.nonzero(carried >= 0)[:, 0]
            target = carried.index_select(0, kept)
        score = segment_sum(contribution.index_select(0, kept), target, len(nodes))
        return segment_normalise(score, nodes.query, len(nodes.query_time)), carried

    def _update(self, hidden: Tensor, kept: list[EdgeRows], attention: Tensor, tables: AttentionTables) -> Tensor:
        """Messages along kept edges, before the dense layer.

        Reverse: along the new edges with the attention they were chosen by, then along those of every earlier step,
        latest first, each with attention computed anew on the vectors as they are now; so the farthest node's message
        reaches the query in one sweep. Vanilla: along all edges at once, once per step so far.
        """
        if self.settings.update is Update.VANILLA:
            every = EdgeRows.merged(kept)
            for _ in kept:
                hidden = self._pass(hidden, every, every.softmax(tables, hidden))
            return hidden
        hidden = self._pass(hidden, kept[-1], attention)
        if self.settings.update is Update.REVERSE:
            for rows in reversed(kept[:-1]):
                hidden = self._pass(hidden, rows, rows.softmax(tables, hidden))
        return hidden

    def _pass(self, hidden: Tensor, rows: EdgeRows, attention: Tensor) -> Tensor:
        source = rows.source.index_select(0, rows.edge_source)
        return pass_messages(hidden, source, rows.edge_target, attention, self.settings.gamma)


def _record(
    attended: Tensor,
    edge_source: Tensor,
    edges: Edges,
    attention: Tensor,
    contribution: Tensor,
    kept: Tensor,
    carried: Tensor,
) -> StepEdges:
    """What a step looked at, for the explanation."""
    return StepEdges(
        source=attended.index_select(0, edge_source),
        target=carried,
        relation=edges.relation,
        entity=edges.object,
        time=edges.time,
        fact=edges.fact,
        attention=attention.detach(),
        contribution=contribution.detach(),
        kept=torch.zeros_like(carried, dtype=torch.bool).index_fill(0, kept, True),
    )
