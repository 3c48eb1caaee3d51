"""xERTE: the method on one page, in the order of the paper's section on subgraph reasoning.

The inference graph of a question starts with the query node v_q = (e_q, t_q). L times: sample prior edges of the
attended nodes, attend to them, keep the K best, let their targets join and be attended next, and update the nodes'
vectors in reverse. The attention that nodes hold at the end, summed by entity, is the forecast.

A batch of graphs grows at once. Letters in shapes: Q questions, V slots of nodes per question, A attended nodes per
question, W edges sampled per attended node, K kept edges per question, d the width of vectors at the step. A node's
vector is row slot · Q + question of `hidden` [V · Q, d].
"""

from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor, nn

from xerte import precision
from xerte.errors import InputError
from xerte.forecaster import Learner, Loss, Part, Queries, Scores
from xerte.graph.growth import Growth, Kept, Sampled, Step
from xerte.graph.index import TemporalIndex
from xerte.graph.inference_graph import InferenceGraph
from xerte.graph.noise import combine, extend
from xerte.graph.sampler import Sampler
from xerte.graph.slots import NOBODY, Frontier, Slots
from xerte.nn.attention import AttentionTables, EdgeRows
from xerte.nn.encoding import EncodedParts, NodeEncoding
from xerte.nn.execution import EAGER, RECORDED, Execution
from xerte.nn.initial import xavier_normal
from xerte.nn.layers import Layer, Prepared
from xerte.nn.loss import LossFunction, binary_cross_entropy, negative_log_likelihood
from xerte.nn.propagation import entity_scores, keep_largest, pass_messages
from xerte.nn.replay import Columns, Replays
from xerte.segment import LEAST, segment_sum
from xerte.settings import Clock, ModelSettings, QueryFeatures, ScoredEdges, Update
from xerte.types import Bool, Float, Int


@dataclass(frozen=True)
class _Pass:
    """What stays the same through one forward pass.

    Attributes:
        history, queries: what is read, what is asked.
        noise: int64 [Q], a hash of the seed and the question.
        prepared: the weights, and what follows from them.
        clocks: all clock times that nodes can have, ascending; None where they are too many.
        execution: how it is run.
    """

    history: TemporalIndex
    queries: Queries
    noise: Int[Tensor, "Q"]
    prepared: Prepared
    clocks: Int[Tensor, "T"] | None
    execution: Execution


class XERTE(Learner):
    """Forecasts (e_q, p_q, ?, t_q) by attention over an inference graph grown backwards in time.

    Args:
        settings: every switch.
        num_entities, num_relations: |E|, R.
        ticks_per_unit: how many ticks of the history's times make one unit of its rhythm.
        seed: of the sampling noise; parameters are initialised by torch's generator.
    """

    name = "xerte"
    replayable = True
    settings: ModelSettings
    offered: Tensor
    """[2R, m]: for every relation of a query, those whose latest edges are offered beside the sample; itself first."""

    def __init__(
        self, settings: ModelSettings, num_entities: int, num_relations: int, ticks_per_unit: int = 1, seed: int = 0
    ) -> None:
        super().__init__()
        self._cache: tuple[object, Prepared] | None = None
        self._replays = Replays()
        self.settings, self.seed = settings, seed
        self.num_entities, self.num_relations, self.ticks_per_unit = num_entities, num_relations, ticks_per_unit
        s, dims = settings, settings.dims[: settings.steps]
        self.encoding = NodeEncoding(num_entities, s.static_dim, s.time_dim, dims[0], s.diachronic, s.time_factor)
        relation, loop = torch.split(xavier_normal(torch.empty(2 * num_relations + 1, dims[0])), [2 * num_relations, 1])
        self.relation, self.self_loop = nn.Parameter(relation.clone()), nn.Parameter(loop.clone())
        # The last step's update would feed nothing, so it has no dense layer.
        self.layers = nn.ModuleList([Layer(dim, after) for dim, after in zip(dims, (*dims[1:], None), strict=True)])
        self.register_buffer("offered", self._offered(), persistent=False)
        named = self.offered.shape[1]
        self.sampler = Sampler(s.sampling, s.n, s.time_scale * ticks_per_unit, s.replacement, s.same_relation, named)

    @property
    def width(self) -> int:
        """W, the edges offered per attended node: the sample and, behind it, the self-loop."""
        return self.sampler.width + self.settings.self_loop

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
        """Scores of every entity, with the graphs that made them."""
        with torch.inference_mode():
            growth, score, reached = self._replayed(history, queries) or self._forecast(history, queries)
            score, reached = score[: len(queries)], reached[: len(queries)]
            return Scores((Part("graph", score, growth.evidence, growth, besides=growth.evidence),), reached)

    def _forecast(
        self,
        history: TemporalIndex,
        queries: Queries,
        execution: Execution = EAGER,
        clocks: Int[Tensor, "T"] | None = None,
    ) -> tuple[Growth, Float[Tensor, "Q E"], Bool[Tensor, "Q E"]]:
        growth = self.grow(history, queries, self.seed, execution, clocks)
        return growth, *growth.dense()

    def _replayed(
        self, history: TemporalIndex, queries: Queries
    ) -> tuple[Growth, Float[Tensor, "q E"], Bool[Tensor, "q E"]] | None:
        """The same from a recording on a GPU, for q >= Q questions; None where there is none."""
        if not (history.device.type == "cuda" and history.plain and len(queries)) or self.training:
            return None
        clocks: Tensor | None = None
        if self.settings.clock is Clock.RELATIVE and history.ages is not None:
            clocks = history.ages_at(queries.time)
            if clocks is None:
                return None

        def run(columns: Columns) -> tuple[Growth, Tensor, Tensor]:
            return self._forecast(history, Queries(*columns), RECORDED, clocks)

        return self._replays(run, queries.columns(), self._prepared(), history)

    def loss(self, history: TemporalIndex, queries: Queries, answer: Int[Tensor, "Q"], seed: int | Tensor) -> Loss:
        """What training makes small, for queries whose answers are known."""
        return self._loss(self.grow(history, queries, seed), answer)

    def fixed_loss(self, history: TemporalIndex, queries: Queries, answer: Int[Tensor, "Q"], seed: Tensor) -> Loss:
        """The same, with every size fixed, so that a CUDA graph can replay it."""
        return self._loss(self.grow(history, queries, seed, RECORDED), answer)

    def _loss(self, growth: Growth, answer: Int[Tensor, "Q"]) -> Loss:
        final = growth.score, growth.entity, growth.mask
        if self.settings.loss is LossFunction.NLL:
            return Loss(*negative_log_likelihood(*final, answer))
        return Loss(*binary_cross_entropy(*final, answer, self.settings.loss_mean))

    def infer(self, history: TemporalIndex, queries: Queries, seed: int) -> InferenceGraph:
        """The inference graphs, as an explanation reads them."""
        return self.grow(history, queries, seed).graph

    def grow(
        self,
        history: TemporalIndex,
        queries: Queries,
        seed: int | Tensor,
        execution: Execution = EAGER,
        clocks: Int[Tensor, "T"] | None = None,
    ) -> Growth:
        """Grows the inference graphs, L steps. Differentiable in the parameters; reads nothing that is not known yet.

        Args:
            history: where prior edges are looked up.
            queries: what is asked.
            seed: of the sampling noise.
            execution: how to run it; the result is the same.
            clocks: all clock times that nodes can have, ascending; by default those of questions about times at which
                the history has facts, as in training. Only a pass that is not `RECORDED` notices others.
        """
        s, num_queries = self.settings, len(queries)
        run = self._start(history, queries, seed, execution, clocks)
        # v_q stands where knowledge ends; clocks count from t_q, where what is asked about begins.
        attended = Frontier.of_queries(queries.subject, queries.known_before)
        hidden = query = self._query_vectors(queries)  # [Q, d]
        score = hidden.new_ones(num_queries)  # a_v [V · Q]; v_q holds all attention
        scores, steps, kept_edges = [score], list[Step](), list[EdgeRows]()

        for step, (layer, weights) in enumerate(zip(run.prepared.layers, run.prepared.tables, strict=True), start=1):
            # Sample prior edges of the attended nodes, and find or embed their targets.
            edges = self._sample(run, attended, step)  # [Q, A · W]
            key = torch.where(edges.mask, attended.slots.keys(edges.entity, edges.time), NOBODY)
            found = attended.slots.find(key)
            vectors, edge_vector = self._embed(run, attended.slots, edges, found, hidden, step)

            # Attend: α_vu, a softmax over the prior edges of each attended node v (Eq. 1, 2).
            features = query if s.query_features is QueryFeatures.INITIAL else hidden[:num_queries]
            tables = weights.of(features, weights.relation.index_select(0, queries.relation))
            attention = self._attend(run, tables, attended, edges, edge_vector, hidden, vectors)  # [Q, A, W]

            # Prune: keep the K edges of each query that contribute most, by α_vu a_v. Their targets join the graph.
            held = score.index_select(0, attended.row.flatten()).view_as(attended.mask)
            contribution = (attention * torch.where(attended.mask, held, 0)[:, :, None]).flatten(1)
            place, mask = keep_largest(contribution.detach(), edges.mask, s.k)  # [Q, K]
            following, target = attended.join(key.gather(1, place), found.gather(1, place))
            kept = Kept(place, mask, target)

            # Propagate attention to the targets: a_u = Σ_v α_vu a_v (Eq. 5), scaled to sum to 1 per query.
            score, edge_target = self._propagate(following.slots, key, contribution, kept)
            scores.append(score)
            steps.append(Step(attended.slot, edges, attention.flatten(1), contribution, kept.among(edges), edge_target))

            # Update vectors along the new edges, then along earlier ones (Eq. 3, 4); query and relations follow.
            if step < s.steps:
                hidden = torch.cat([hidden, vectors.index_select(0, edge_vector.gather(1, place).T.flatten())])
                kept_edges.append(self._rows(attended, following, edges, kept))
                kept_attention = torch.where(mask, attention.flatten(1).gather(1, place), 0).flatten()
                hidden = layer(self._update(hidden, kept_edges, kept_attention, tables))
                query = layer(query)
            attended = following

        # Aggregate the scores of the nodes that the last step reached to entities: a_e = g(a_v) (Eq. 6).
        entity, _ = attended.nodes()
        last = score.index_select(0, attended.row.flatten()).view_as(entity)
        entity_score, mask = entity_scores(last, entity, attended.mask, s.aggregation)
        final = entity, entity_score, mask
        return Growth(history, attended.slots, tuple(scores), tuple(steps), *final, self.num_entities)

    def _start(
        self,
        history: TemporalIndex,
        queries: Queries,
        seed: int | Tensor,
        execution: Execution,
        clocks: Int[Tensor, "T"] | None,
    ) -> _Pass:
        noise = combine(seed, queries.subject, queries.relation, queries.time)
        prepared = self._prepared()
        # Facts that were added may have clock times of their own; a pass that is not recorded notices them.
        if clocks is None and (not execution.static_shapes or history.plain):
            clocks = history.ages if self.settings.clock is Clock.RELATIVE else history.few_moments
        return _Pass(history, queries, noise, prepared, clocks, execution)

    def _clock(self, time: Int[Tensor, "Q *n"], query_time: Int[Tensor, "Q *one"]) -> Int[Tensor, "Q *n"]:
        """What Φ is applied to."""
        return time - query_time if self.settings.clock is Clock.RELATIVE else time

    def _query_vectors(self, queries: Queries) -> Float[Tensor, "Q d"]:
        """h⁰ of the query nodes [Q, d]."""
        own = torch.arange(len(queries), device=queries.subject.device)
        clock = self._clock(queries.time, queries.time)
        parts: EncodedParts = self.encoding(queries.subject, clock, queries.subject)
        return parts.sum(own, own)

    def _sample(self, run: _Pass, attended: Frontier, step: int) -> Sampled:
        """The prior edges of every attended node, its self-loop behind them; [Q, A · W]."""
        entity, time = attended.nodes()
        relation = self.offered.index_select(0, run.queries.relation)  # [Q, m]
        relation = relation[:, None].expand(*entity.shape, -1).flatten(0, 1)
        noise = extend(extend(run.noise, step)[:, None], attended.key)
        live = run.execution.rows(attended.mask.flatten())
        nodes = live.take(entity.flatten()), live.take(time.flatten()), live.take(relation)
        drawn = self.sampler.sample(run.history, *nodes, live.take(noise.flatten()), run.execution.static_shapes)
        position = live.put(drawn, -1)
        position = torch.where(attended.mask.view(-1, 1), position, -1)
        mask = position >= 0
        read = (torch.where(mask, column.long().view_as(mask), 0) for column in run.history.read(position.flatten()))
        columns = [position, *read, mask]
        if self.settings.self_loop:
            loop = torch.full_like(entity, -1), torch.full_like(entity, len(self.relation)), entity, time, attended.mask
            columns = [torch.cat([c, own.view(-1, 1)], dim=1) for c, own in zip(columns, loop, strict=True)]
        return Sampled(*(column.view(len(entity), entity.shape[1] * self.width) for column in columns))

    def _embed(
        self,
        run: _Pass,
        slots: Slots,
        edges: Sampled,
        found: Int[Tensor, "Q AW"],
        hidden: Float[Tensor, "VQ d"],
        step: int,
    ) -> tuple[Float[Tensor, "U d"], Int[Tensor, "Q AW"]]:
        """Vectors of all targets: of the nodes in the graph, then of new ones; and every edge's row among them.

        A new node's vector depends on its entity and clock alone: it is embedded once for all queries.
        """
        new = run.execution.rows((edges.mask & (found < 0)).flatten())
        clock = self._clock(edges.time, run.queries.time[:, None])
        entity, clock, which = run.execution.distinct_nodes(new.take(edges.entity.flatten()), new.take(clock.flatten()))
        joining = run.prepared.joining(step, entity, clock, run.clocks, run.execution)
        row = torch.where(found >= 0, slots.rows(found), new.put(len(hidden) + which, 0).view_as(found))
        return torch.cat([hidden, joining]), row

    def _attend(
        self,
        run: _Pass,
        tables: AttentionTables,
        attended: Frontier,
        edges: Sampled,
        edge_vector: Int[Tensor, "Q AW"],
        hidden: Float[Tensor, "VQ d"],
        vectors: Float[Tensor, "U d"],
    ) -> Float[Tensor, "Q A W"]:
        """α of every edge [Q, A, W]: a softmax over the edges of its source; 0 where there is no edge."""
        num_queries, num_sources = attended.mask.shape
        query = torch.arange(num_queries, device=hidden.device).repeat_interleave(num_sources)
        mask = edges.mask.view(num_queries * num_sources, self.width)
        live = run.execution.rows(attended.mask.flatten())
        columns = attended.row.flatten(), query, edge_vector.view_as(mask), edges.relation.view_as(mask)
        source, of, target, relation = (live.take(column) for column in columns)
        logits = tables.logits(EdgeRows(source, of, None, target.flatten(), relation.flatten()), hidden, vectors)
        least = torch.finfo(logits.dtype).min
        logits = live.put(logits.view(-1, self.width), least)
        attention = torch.softmax(torch.where(mask, logits, least), dim=1) * mask
        return attention.view(num_queries, num_sources, self.width)

    def _propagate(
        self, slots: Slots, key: Int[Tensor, "Q AW"], contribution: Float[Tensor, "Q AW"], kept: Kept
    ) -> tuple[Float[Tensor, "VQ"], Int[Tensor, "Q AW"]]:
        """a_u = Σ_v α_vu a_v over the edges that lead to u (Eq. 5); 0 where no kept edge leads.

        Edges are those that were kept, or all that were sampled (`scored_edges`). Then a is divided by the query's
        sum, which the equation does not say: what pruned edges would have carried is shared by the others.

        Returns:
            a by node row, and for every edge [Q, A · W] the slot of the node whose attention it brought, -1 where none.
        """
        num_queries, num_slots = slots.key.shape
        amount, target = torch.where(kept.mask, contribution.gather(1, kept.place), 0), kept.target
        edge_target = torch.full_like(key, -1).scatter(1, kept.place, torch.where(kept.mask, target, -1))
        if self.settings.scored_edges is ScoredEdges.SAMPLED:
            marks = torch.zeros_like(slots.key, dtype=torch.int32).scatter_add(1, target, kept.mask.to(torch.int32))
            slot = slots.find(key)
            edge_target = torch.where((slot >= 0) & (marks.gather(1, slot.clamp(min=0)) > 0), slot, -1)
            amount, target = torch.where(edge_target >= 0, contribution, 0), edge_target.clamp(min=0)
        rows = slots.rows(target).flatten()
        score = segment_sum(amount.flatten(), rows, num_queries * num_slots).view(num_slots, num_queries)
        total = score.sum(0)
        return (score / torch.where(total > LEAST, total, 1)).flatten(), edge_target

    def _rows(self, attended: Frontier, following: Frontier, edges: Sampled, kept: Kept) -> EdgeRows:
        """The kept edges, from node row to node row."""
        num_queries, num_sources = attended.mask.shape
        query = torch.arange(num_queries, device=kept.place.device)
        source = query[:, None] * num_sources + kept.place // self.width
        target = torch.where(kept.mask, following.slots.rows(kept.target), 0)
        columns = source, target, edges.relation.gather(1, kept.place), kept.mask
        of_source = attended.row.flatten(), query.repeat_interleave(num_sources)
        return EdgeRows(*of_source, *(column.flatten() for column in columns))

    def _update(
        self,
        hidden: Float[Tensor, "VQ d"],
        kept: list[EdgeRows],
        attention: Float[Tensor, "QK"],
        tables: AttentionTables,
    ) -> Float[Tensor, "VQ d"]:
        """Messages along kept edges, before the dense layer (Eq. 3, 4).

        Reverse (Algorithm 1): along the new edges with the attention they were chosen by, then along those of every
        earlier step, latest first, each with attention computed anew on the vectors as they are now; so the farthest
        node's message reaches the query in one sweep. Vanilla: along all edges at once, once per step so far.
        """
        if self.settings.update is Update.VANILLA:
            every = EdgeRows.merged(kept, len(hidden), len(tables.query_relation))
            for _ in kept:
                hidden = self._pass(hidden, every, every.softmax(tables, hidden))
            return hidden
        hidden = self._pass(hidden, kept[-1], attention)
        if self.settings.update is Update.REVERSE:
            for rows in reversed(kept[:-1]):
                hidden = self._pass(hidden, rows, rows.softmax(tables, hidden))
        return hidden

    def _pass(
        self, hidden: Float[Tensor, "VQ d"], rows: EdgeRows, attention: Float[Tensor, "QK"]
    ) -> Float[Tensor, "VQ d"]:
        assert rows.mask is not None
        edges = (rows.place, rows.edge_target, attention, rows.mask)
        return pass_messages(hidden, rows.source, *edges, self.settings.gamma)

    def _prepared(self) -> Prepared:
        """The weights with what follows from them, from the cache where nothing learns.

        A change in place is seen by the version a tensor counts. Fused and replayed optimisers do not count, so that
        nothing is cached while training, nor over a change between training and not. A model with more entities and
        the same weights (`experiment/growing`) is given the cache of the one before.
        """
        learning = torch.is_grad_enabled() or self.training
        weights = None if learning else tuple((p.data_ptr(), p._version) for p in self.parameters())
        made_of = weights, precision.now(self.relation.device)
        if not learning and self._cache is not None and self._cache[0] == made_of:
            kept = self._cache[1]
            return kept if kept.encoding is self.encoding else replace(kept, encoding=self.encoding)
        relation = torch.cat([self.relation, self.self_loop])
        layers = [layer for layer in self.layers if isinstance(layer, Layer)]
        different = self.num_entities
        if self.lineage is not None:
            different = min(different, self.lineage.entities.count + 1)  # those never seen are all alike
        for_all = None if learning else different
        made = Prepared.of(self.encoding, layers, relation, self.settings.relation_activation, for_all)
        self._cache = None if learning else (made_of, made)
        return made

    def train(self, mode: bool = True) -> Self:
        """As every module's; empties the cache."""
        self._cache = None
        return super().train(mode)

    def _offered(self) -> Int[Tensor, "D m"]:
        """The relations whose latest edges are offered; numbers, even where the model is made to be loaded."""
        own = range(2 * self.num_relations)
        related = self.settings.related or [()] * len(own)
        if len(related) != len(own) or any(one not in own for row in related for one in row):
            raise InputError(f"related must name, for each of the {len(own)} relations, others of these")
        rows = [[relation, *others] for relation, others in zip(own, related, strict=True)]
        return torch.tensor(rows, dtype=torch.int64, device="cpu").view(len(own), -1 if rows else 1)
