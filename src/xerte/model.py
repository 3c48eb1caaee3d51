"""xERTE: the method on one page.

Initialise the graph with (e_q, t_q); L times: sample prior edges of the attended nodes, embed new nodes, attend, prune
to K edges per query, propagate attention, update vectors in reverse; then aggregate node scores to entities.
"""

from typing import Self

import torch
from torch import Tensor, nn

from xerte import precision
from xerte.errors import InputError
from xerte.forecaster import Learner, Loss, Part, Queries, Scores
from xerte.graph.growth import NOBODY, Growth, Sampled, Slots, Step
from xerte.graph.index import TemporalIndex
from xerte.graph.inference_graph import InferenceGraph
from xerte.graph.noise import combine, extend
from xerte.graph.sampler import Sampler
from xerte.nn.attention import AttentionTables, EdgeRows
from xerte.nn.encoding import EncodedParts, NodeEncoding
from xerte.nn.initial import xavier_normal
from xerte.nn.layers import KnownClocks, Layer, Prepared, fresh_vectors, prepare
from xerte.nn.loss import LossFunction, binary_cross_entropy, negative_log_likelihood
from xerte.nn.propagation import entity_scores, keep_largest, pass_messages
from xerte.segment import LEAST, segment_sum
from xerte.settings import Clock, ModelSettings, QueryFeatures, ScoredEdges, Update

_LOW = 0xFFFFFFFF


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
        self._kept: tuple[object, Prepared] | None = None
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

    def _offered(self) -> Tensor:
        """The relations whose latest edges are offered; numbers, even where the model is made to be loaded."""
        own = range(2 * self.num_relations)
        related = self.settings.related or [()] * len(own)
        if len(related) != len(own) or any(one not in own for row in related for one in row):
            raise InputError(f"related must name, for each of the {len(own)} relations, others of these")
        rows = [[relation, *others] for relation, others in zip(own, related, strict=True)]
        return torch.tensor(rows, dtype=torch.int64, device="cpu").view(len(own), -1 if rows else 1)

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
        """Scores of every entity, with the graphs that made them."""
        with torch.inference_mode():
            growth = self.grow(history, queries, self.seed)
            score, reached = growth.dense()
            return Scores((Part("graph", score, growth.evidence, growth),), reached)

    def loss(
        self, history: TemporalIndex, queries: Queries, answer: Tensor, seed: int | Tensor, fixed: bool = False
    ) -> Loss:
        """What training makes small, for queries whose answers are known."""
        growth, s = self.grow(history, queries, seed, fixed), self.settings
        final = growth.score, growth.entity, growth.there
        if s.loss is LossFunction.NLL:
            return Loss(*negative_log_likelihood(*final, answer))
        return Loss(*binary_cross_entropy(*final, answer, s.loss_mean))

    def fixed_loss(self, history: TemporalIndex, queries: Queries, answer: Tensor, seed: Tensor) -> Loss:
        """The same, with every size fixed, so that a CUDA graph can replay it."""
        return self.loss(history, queries, answer, seed, fixed=True)

    def infer(self, history: TemporalIndex, queries: Queries, seed: int) -> InferenceGraph:
        """The inference graphs, as an explanation reads them."""
        return self.grow(history, queries, seed).graph

    def grow(self, history: TemporalIndex, queries: Queries, seed: int | Tensor, fixed: bool = False) -> Growth:
        """The method. Differentiable in the parameters; reads nothing at or after any node's time.

        Args:
            history: where prior edges are looked up.
            queries: what is asked.
            seed: of the sampling noise.
            fixed: let all sizes follow from the settings and the number of queries, so that a CUDA graph can replay
                it; otherwise what is empty or known already is left out of the costly parts. The result is the same.
                Queries are then about times at which the history has facts, as in training.
        """
        s, num_queries = self.settings, len(queries)
        noise = combine(seed, queries.subject, queries.relation, queries.time)
        slots = Slots.of_queries(queries.subject, queries.known_before)
        attended = torch.zeros_like(slots.key)
        live = torch.ones_like(slots.key, dtype=torch.bool)
        hidden = query = self._query_vectors(queries)
        prepared = self._prepared()
        known = self._clocks(history, fixed) if fixed or prepared.parts else None
        score = hidden.new_ones(num_queries)
        scores = [score]
        steps: list[Step] = []
        kept_edges: list[EdgeRows] = []

        for step, (layer, tables_of) in enumerate(zip(self._layers(), prepared.tables, strict=True), start=1):
            # Sample prior edges of the attended nodes; look up their targets, or embed them.
            edges = self._sample(history, slots, attended, live, queries, extend(noise, step), fixed)
            key = torch.where(edges.there, slots.keys(edges.entity, edges.time), NOBODY)
            found = slots.find(key)
            vectors, edge_vector = self._embed(hidden, slots, queries, found, edges, step, prepared, known, fixed)

            # Attend: a softmax over the prior edges of each attended node (Eq. 1, 2).
            features = query if s.query_features is QueryFeatures.INITIAL else hidden[:num_queries]
            tables = tables_of.of(features, tables_of.relation.index_select(0, queries.relation))
            source = slots.rows(attended)
            attention = self._attend(tables, source, live, edges, edge_vector, hidden, vectors, fixed)
            source_score = torch.where(live, score.index_select(0, source.flatten()).view_as(source), 0)
            contribution = (attention * source_score[:, :, None]).flatten(1)

            # Prune to the K largest contributions of each query; their targets join the graph.
            kept, there = keep_largest(contribution.detach(), edges.there, s.k)
            slots, target, is_first = slots.join(key.gather(1, kept), found.gather(1, kept))

            # Propagate attention to the prior neighbours (Eq. 5), which are attended next.
            score, carried = self._propagate(slots, key, contribution, kept, there, target)
            scores.append(score)
            was_kept = torch.zeros_like(edges.there).scatter(1, kept, there)
            steps.append(Step(attended, edges, attention.flatten(1), contribution, was_kept, carried))
            # Only the first edge to a node makes it attended; the others' places stay empty.
            own = slots.key.shape[1] - kept.shape[1] + torch.arange(kept.shape[1], device=kept.device)
            attended, live, before = torch.where(is_first, target, own), is_first, source

            # Update vectors along the new edges, then along earlier ones (Eq. 3, 4); queries and relations follow.
            if step < s.steps:
                joining = edge_vector.gather(1, kept).T.flatten()
                hidden = torch.cat([hidden, vectors.index_select(0, joining)])
                rows = self._kept_rows(slots, before, edges, kept, there, target)
                kept_edges.append(rows)
                along = torch.where(there, attention.flatten(1).gather(1, kept), 0).flatten()
                hidden = layer(self._update(hidden, kept_edges, along, tables))
                query = layer(query)

        # Aggregate node scores to entities (Eq. 6).
        entity, _ = slots.at(attended)
        entity = torch.where(live, entity, 0)
        last_score = score.index_select(0, slots.rows(attended).flatten()).view_as(attended)
        final_score, final_there = entity_scores(last_score, entity, live, s.aggregation)
        return Growth(history, slots, tuple(scores), tuple(steps), entity, final_score, final_there, self.num_entities)

    def _layers(self) -> list[Layer]:
        return [layer for layer in self.layers if isinstance(layer, Layer)]

    def _clock(self, time: Tensor, query_time: Tensor) -> Tensor:
        return time - query_time if self.settings.clock is Clock.RELATIVE else time

    def _prepared(self) -> Prepared:
        """What follows from weights alone, made once where weights do not learn.

        A change in place is seen by the version a tensor counts. Fused and replayed optimisers do not count, so that
        nothing is kept while training, nor over a change between training and not.
        """
        learning = torch.is_grad_enabled() or self.training
        weights = None if learning else tuple((p.data_ptr(), p._version) for p in self.parameters())
        made_of = weights, precision.now(self.relation.device)
        if not learning and self._kept is not None and self._kept[0] == made_of:
            return self._kept[1]
        relation = torch.cat([self.relation, self.self_loop])
        made = prepare(self.encoding, self._layers(), relation, self.settings.relation_activation, not learning)
        self._kept = None if learning else (made_of, made)
        return made

    def train(self, mode: bool = True) -> Self:
        """As every module's; forgets what was kept of the weights."""
        self._kept = None
        return super().train(mode)

    def _clocks(self, history: TemporalIndex, certain: bool) -> KnownClocks:
        """The clock times that edges can have, where there are not too many; added facts may have others."""
        if certain and history.overlay is not None:
            return KnownClocks(None)
        return KnownClocks(history.ages if self.settings.clock is Clock.RELATIVE else history.few_moments)

    def _query_vectors(self, queries: Queries) -> Tensor:
        """h⁰ of the query nodes [Q, d]."""
        own = torch.arange(len(queries), device=queries.subject.device)
        clock = self._clock(queries.time, queries.time)
        parts: EncodedParts = self.encoding(queries.subject, clock, queries.subject)
        return parts.sum(own, own)

    def _sample(
        self,
        history: TemporalIndex,
        slots: Slots,
        attended: Tensor,
        live: Tensor,
        queries: Queries,
        noise: Tensor,
        fixed: bool,
    ) -> Sampled:
        """The prior edges of every attended node, its self-loop behind them."""
        num_queries, num_sources = attended.shape
        entity, time = (torch.where(live, column, 0) for column in slots.at(attended))
        row = None if fixed else torch.nonzero(live.flatten())[:, 0]

        def of_live(column: Tensor) -> Tensor:
            flat = column.expand(num_queries, num_sources, *column.shape[2:]).flatten(0, 1)
            return flat if row is None else flat.index_select(0, row)

        offered = self.offered.index_select(0, queries.relation)[:, None]
        nodes = of_live(entity), of_live(time), of_live(offered)
        noise = of_live(extend(noise[:, None], slots.key.gather(1, attended)))
        position = self.sampler.sample(history, *nodes, noise, fixed)
        if row is None:
            position = torch.where(live.flatten()[:, None], position, -1)
        else:
            everyone = position.new_full((num_queries * num_sources, self.sampler.width), -1)
            position = everyone.index_copy(0, row, position)
        relation, object, when = (column.long() for column in history.read(position.flatten()))
        there = position >= 0
        columns = [position, *(torch.where(there, c.view_as(there), 0) for c in (relation, object, when)), there]
        if self.settings.self_loop:
            nowhere = torch.full_like(entity, -1)
            loop = (nowhere, torch.full_like(entity, len(self.relation)), entity, time, live)
            columns = [torch.cat([c, own.view(-1, 1)], dim=1) for c, own in zip(columns, loop, strict=True)]
        return Sampled(*(column.view(num_queries, num_sources * column.shape[1]) for column in columns))

    def _embed(
        self,
        hidden: Tensor,
        slots: Slots,
        queries: Queries,
        found: Tensor,
        edges: Sampled,
        step: int,
        prepared: Prepared,
        known: KnownClocks | None,
        fixed: bool,
    ) -> tuple[Tensor, Tensor]:
        """Vectors of all targets: those of nodes in the graph, then new ones, and every edge's row among them.

        A new node's vector depends on its entity and clock alone, so each distinct pair is embedded once for all
        queries (where sizes need not be fixed), and passes the dense layers of the steps it was not there for.
        """
        row = slots.rows(found)
        clock = self._clock(edges.time, queries.time[:, None])
        if fixed:
            own = torch.arange(found.numel(), device=found.device).view_as(found)
            nodes = edges.entity.flatten(), clock.flatten()
            place = torch.where(found >= 0, row, len(hidden) + own)
        else:
            absent = torch.nonzero((edges.there & (found < 0)).flatten())[:, 0]
            # Counted from its least, a clock time fits into 32 bits beside the entity: t - t_q > -2³², t ≥ -2³¹.
            least = -_LOW if self.settings.clock is Clock.RELATIVE else -(1 << 31)
            pairs = (edges.entity << 32) | (clock - least)
            pair, which = torch.unique(pairs.flatten().index_select(0, absent), return_inverse=True)
            nodes = pair >> 32, (pair & _LOW) + least
            place = row.clamp(min=0).flatten().index_copy(0, absent, len(hidden) + which).view_as(row)
        fresh = fresh_vectors(self.encoding, self._layers()[: step - 1], *nodes, prepared, known, fixed)
        return torch.cat([hidden, fresh]), place

    def _attend(
        self,
        tables: AttentionTables,
        source: Tensor,
        live: Tensor,
        edges: Sampled,
        edge_vector: Tensor,
        hidden: Tensor,
        vectors: Tensor,
        fixed: bool,
    ) -> Tensor:
        """α of every edge [Q, A, width]: a softmax over the edges of its source; 0 where there is no edge."""
        num_queries, num_sources = source.shape
        width = edges.there.shape[1] // num_sources
        query = torch.arange(num_queries, device=source.device).repeat_interleave(num_sources)
        columns = [source.flatten(), query, edge_vector.view(-1, width), edges.relation.view(-1, width)]
        there = edges.there.view(-1, width)
        row = None if fixed else torch.nonzero(live.flatten())[:, 0]
        if row is not None:
            columns = [column.index_select(0, row) for column in columns]
        start, of, target, relation = columns
        logits = tables.logits(EdgeRows(start, of, None, target.flatten(), relation.flatten()), hidden, vectors)
        logits = logits.view(-1, width)
        least = torch.finfo(logits.dtype).min
        if row is not None:
            logits = logits.new_full(there.shape, least).index_copy(0, row, logits)
        attention = torch.softmax(torch.where(there, logits, least), dim=1) * there
        return attention.view(num_queries, num_sources, width)

    def _propagate(
        self, slots: Slots, key: Tensor, contribution: Tensor, kept: Tensor, there: Tensor, target: Tensor
    ) -> tuple[Tensor, Tensor]:
        """a_u = Σ_v α_vu a_v over the edges that lead to u, divided by the query's sum; 0 where no kept edge leads.

        Returns:
            a by node row, and for every edge [Q, n] the slot of the node whose attention it brought, -1 where none.
        """
        num_queries, num_slots = slots.key.shape
        brought = torch.where(there, contribution.gather(1, kept), 0)
        carried = torch.full_like(key, -1).scatter(1, kept, torch.where(there, target, -1))
        if self.settings.scored_edges is ScoredEdges.SAMPLED:
            mark = torch.zeros_like(slots.key, dtype=torch.uint8).scatter_add(1, target, there.to(torch.uint8)) > 0
            slot = slots.find(key)
            carried = torch.where((slot >= 0) & mark.gather(1, slot.clamp(min=0)), slot, -1)
            brought, target = torch.where(carried >= 0, contribution, 0), carried.clamp(min=0)
        rows = slots.rows(target).flatten()
        score = segment_sum(brought.flatten(), rows, num_queries * num_slots).view(num_slots, num_queries)
        total = score.sum(0)
        return (score / torch.where(total > LEAST, total, 1)).flatten(), carried

    def _kept_rows(
        self, slots: Slots, source: Tensor, edges: Sampled, kept: Tensor, there: Tensor, target: Tensor
    ) -> EdgeRows:
        """The kept edges, from node row to node row."""
        num_queries, num_sources = source.shape
        first = torch.arange(num_queries, device=kept.device)[:, None] * num_sources
        edge_source = first + kept // (edges.there.shape[1] // num_sources)
        query = torch.arange(num_queries, device=kept.device).repeat_interleave(num_sources)
        columns = edge_source, torch.where(there, slots.rows(target), 0), edges.relation.gather(1, kept), there
        return EdgeRows(source.flatten(), query, *(column.flatten() for column in columns))

    def _update(self, hidden: Tensor, kept: list[EdgeRows], attention: Tensor, tables: AttentionTables) -> Tensor:
        """Messages along kept edges, before the dense layer.

        Reverse: along the new edges with the attention they were chosen by, then along those of every earlier step,
        latest first, each with attention computed anew on the vectors as they are now; so the farthest node's message
        reaches the query in one sweep. Vanilla: along all edges at once, once per step so far.
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

    def _pass(self, hidden: Tensor, rows: EdgeRows, attention: Tensor) -> Tensor:
        assert rows.there is not None
        edges = (rows.place, rows.edge_target, attention, rows.there)
        return pass_messages(hidden, rows.source, *edges, self.settings.gamma)
