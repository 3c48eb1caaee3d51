/** What the picture is drawn from: one question's inference graph and, for its best candidates, who carried what. */

/** The document as it is stored: columns, names and times by their place in `names`. See docs/explanations.md. */
export interface Packed {
  readonly format: string;
  readonly query: Query;
  readonly model: string;
  /** Not in the earliest documents of this form. */
  readonly notes?: readonly string[];
  readonly answers: readonly Answer[];
  readonly answer: string | null;
  readonly steps: number;
  readonly unseen: number;
  readonly names: readonly string[];
  readonly nodes: {
    readonly entity: readonly number[];
    readonly time: readonly number[];
    readonly attention: readonly (readonly number[])[];
  };
  readonly facts: {
    readonly subject: readonly number[];
    readonly relation: readonly number[];
    readonly object: readonly number[];
    readonly time: readonly number[];
    readonly sentence: readonly string[];
  };
  readonly edges: {
    readonly source: readonly number[];
    readonly target: readonly number[];
    readonly fact: readonly number[];
    readonly step: readonly number[];
    readonly contribution: readonly number[];
    readonly kept: readonly number[];
  };
  readonly candidates: readonly PackedCandidate[];
}

export interface Query {
  readonly subject: string;
  readonly relation: string;
  readonly object: string;
  readonly time: string;
}

export interface Answer {
  readonly entity: string;
  readonly score: number;
  readonly reached: boolean;
}

interface PackedCandidate {
  readonly entity: string;
  readonly edge: readonly number[];
  readonly share: readonly number[];
  readonly paths: readonly Path[];
}

export interface Path {
  readonly share: number;
  readonly sentence: string;
}

/** An entity at a time. `attention` after steps 0 … L. */
export interface Node {
  readonly id: number;
  readonly entity: string;
  readonly time: string;
  readonly attention: readonly number[];
}

/** When a link was looked at, and what became of it. */
export interface Look {
  readonly step: number;
  readonly contribution: number;
  readonly kept: boolean;
}

/** A fact as the way from a node back to an earlier one; the model may have looked at it in several steps. */
export interface Link {
  readonly id: number;
  readonly source: number;
  readonly target: number;
  readonly relation: string;
  readonly time: string;
  readonly sentence: string;
  /** Whether the fact is walked from its object to its subject. */
  readonly inverse: boolean;
  readonly looks: readonly Look[];
}

/** One who might be the answer; `share` is the part of its score that came by each link. */
export interface Candidate {
  readonly entity: string;
  readonly score: number;
  readonly share: ReadonlyMap<number, number>;
  readonly paths: readonly Path[];
}

export interface Story {
  readonly query: Query;
  readonly model: string;
  /** What a reader should know, such as facts that were hidden or supposed. */
  readonly notes: readonly string[];
  readonly answer: string | null;
  readonly steps: number;
  /** How many looks at facts that were pruned the document leaves out. */
  readonly unseen: number;
  readonly nodes: readonly Node[];
  readonly links: readonly Link[];
  readonly candidates: readonly Candidate[];
}

export const FORMAT = "xerte-picture-1";

function at<T>(column: readonly T[], place: number | undefined): T {
  const value = place === undefined ? undefined : column[place];
  if (value === undefined) throw new RangeError(`the document has no row ${String(place)}`);
  return value;
}

/** Unpacks a document: rows in names, and one link for all looks at the same fact from the same node. */
export function unpack(packed: Packed): Story {
  if (packed.format !== FORMAT) throw new Error(`this is no document of the form ${FORMAT}`);
  const { nodes: n, facts: f, edges: e } = packed;
  const name = (place: number | undefined): string => at(packed.names, place);
  const nodes = n.entity.map((entity, id) => ({
    id,
    entity: name(entity),
    time: name(n.time[id]),
    attention: at(n.attention, id),
  }));
  const looks: Look[][] = [];
  const links: Link[] = [];
  const known = new Map<string, number>();
  const linkOf: (number | undefined)[] = e.source.map((source, row) => {
    const fact = at(e.fact, row);
    if (fact < 0) return undefined;
    const target = at(e.target, row);
    const key = `${String(source)} ${String(target)} ${String(fact)}`;
    let id = known.get(key);
    if (id === undefined) {
      id = links.length;
      known.set(key, id);
      const mine: Look[] = [];
      looks.push(mine);
      links.push({
        id,
        source,
        target,
        relation: name(f.relation[fact]),
        time: name(f.time[fact]),
        sentence: at(f.sentence, fact),
        inverse:
          name(f.subject[fact]) !== at(nodes, source).entity && name(f.object[fact]) === at(nodes, source).entity,
        looks: mine,
      });
    }
    at(looks, id).push({ step: at(e.step, row), contribution: at(e.contribution, row), kept: at(e.kept, row) === 1 });
    return id;
  });
  const score = new Map(packed.answers.map((answer) => [answer.entity, answer.score]));
  const candidates = packed.candidates.map((candidate) => {
    const share = new Map<number, number>();
    candidate.edge.forEach((edge, place) => {
      const link = linkOf[edge];
      if (link !== undefined) share.set(link, (share.get(link) ?? 0) + at(candidate.share, place));
    });
    return { entity: candidate.entity, score: score.get(candidate.entity) ?? 0, share, paths: candidate.paths };
  });
  const { query, model, notes = [], answer, steps, unseen } = packed;
  return { query, model, notes, answer, steps, unseen, nodes, links, candidates };
}

/** Times as numbers that can be subtracted: years and steps as they are, dates as milliseconds. */
export function moments(times: readonly string[]): number[] {
  if (times.every((time) => /^-?\d+$/.test(time))) return times.map(Number);
  const numbers = times.map((time) => {
    const [date = "", clock = ""] = time.split("T");
    const full = clock.length === 0 ? date : `${date}T${clock.length === 2 ? `${clock}:00` : clock}Z`;
    return Date.parse(full);
  });
  if (numbers.every(Number.isFinite)) return numbers;
  const order = new Map([...new Set(times)].sort().map((time, place) => [time, place]));
  return times.map((time) => order.get(time) ?? 0);
}
