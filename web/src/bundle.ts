/** Fewer nodes and lines that say the same: repeats of a fact become one, then all facts between two, then "others". */
import type { Candidate, Link, Node, Story } from "./document";
import { moments } from "./document";
import { peak, shareOf } from "./view";

/** How much is drawn as one. */
export interface Bundling {
  /** Facts that differ by their dates, or all facts with the same entity. */
  readonly by: "relation" | "entity";
  /** How many nodes keep their names; the others of a node are drawn as one. */
  readonly most: number;
}

export interface Drawn {
  readonly nodes: readonly Node[];
  readonly links: readonly Link[];
  /** What a node of the story is drawn as. */
  readonly standsIn: ReadonlyMap<number, number>;
}

/** From repeats alone to next to nothing left. */
export const LEVELS: readonly Bundling[] = [
  { by: "relation", most: Infinity },
  { by: "entity", most: Infinity },
  ...[48, 32, 24, 18, 13, 9, 6, 4, 3, 2, 1].map((most) => ({ by: "entity", most }) as const),
];

export function nodesOf(story: Story, links: readonly Link[]): Node[] {
  const ids = new Set([0, ...links.flatMap((link) => [link.source, link.target])]);
  return story.nodes.filter((node) => ids.has(node.id));
}

/** The links as they are drawn: those between nodes that are drawn as one become one. */
export function bundled(
  story: Story,
  links: readonly Link[],
  candidate: Candidate | undefined,
  { by, most }: Bundling,
): Drawn {
  const nodes = nodesOf(story, links);
  const weight = (link: Link): number => shareOf(candidate, link) + 1e-6 * peak(link);
  const last = by === "relation" ? lastOf(story, links) : new Map<number, number>();
  const atLast = (link: Link): Link => {
    const end = last.get(link.id);
    return end === undefined
      ? link
      : { ...link, target: end, heads: link.heads.map((id) => (id === link.target ? end : id)) };
  };
  const classOf = alike(story, links, nodes, weight, by, last);
  const key = (id: number): string => classOf.get(id) ?? String(id);
  const groups = new Map<string, Node[]>();
  for (const node of nodes) groups.set(key(node.id), [...(groups.get(key(node.id)) ?? []), node]);
  const kept = new Set([key(0), ...heaviest(groups, links, key, weight, candidate).slice(0, most)]);
  const merged = new Map<string, Node[]>();
  const home = new Map<string, string>();
  const parent = new Map<string, string>();
  for (const link of links) if (!parent.has(key(link.target))) parent.set(key(link.target), key(link.source));
  const others = (group: string): string => {
    let up = parent.get(group);
    for (let hops = 0; up !== undefined && !kept.has(up) && hops < 20; hops++) up = parent.get(up);
    return `others of ${up ?? (story.loose.has(groups.get(group)?.[0]?.id ?? 0) ? "nobody" : key(0))}`;
  };
  for (const [group, mine] of groups) {
    const place = kept.has(group) ? group : others(group);
    home.set(group, place);
    merged.set(place, [...(merged.get(place) ?? []), ...mine]);
  }
  const standsIn = new Map<number, number>();
  const drawn = [...merged.entries()].flatMap(([place, mine]) => {
    const [first] = mine;
    if (!first) return [];
    const others = place.startsWith("others of ") || story.loose.has(first.id);
    const one = asOne(first, mine, others, ledBy(story, mine, links, weight));
    for (const node of mine) standsIn.set(node.id, one.id);
    return one;
  });
  return {
    nodes: drawn.toSorted((a, b) => a.id - b.id),
    links: joined(links.map(atLast), standsIn, weight, by, kindOf(story)),
    standsIn,
  };
}

/** With more steps a walk could run over the same line twice, and its share would be counted twice. */
const TO_AND_FRO = 3;

/**
 * Where what the question's entity did again and again is drawn as one line: at the last time. By links.
 *
 * A day on which much happened is of no use to bundle by: only where a walk goes on does it matter which day it was.
 */
function lastOf(story: Story, links: readonly Link[]): Map<number, number> {
  const last = new Map<number, number>();
  if (story.grown) return last;
  const left = new Set(links.map(({ source }) => source));
  const mutual = mirrored(story, links);
  const repeated = new Map<string, Link[]>();
  for (const link of links) {
    if (link.source !== 0 || left.has(link.target)) continue;
    const head = mutual.has(between(story, link)) ? "" : String(link.heads.includes(link.target));
    const key = [story.nodes[link.target]?.entity, link.relation, head].join("\n");
    repeated.set(key, [...(repeated.get(key) ?? []), link]);
  }
  for (const group of repeated.values()) {
    const when = moments(group.map(({ target }) => story.nodes[target]?.time ?? ""));
    const latest = group[when.indexOf(Math.max(...when))];
    for (const link of group) last.set(link.id, latest?.target ?? link.target);
  }
  return last;
}

/**
 * Nodes of one entity that the same facts lead to from the same place, by their heaviest link; later nodes first.
 * A walk that comes back by the same relation (she is married to him, who is married to her) ends where it was before.
 */
function alike(
  story: Story,
  links: readonly Link[],
  nodes: readonly Node[],
  weight: (link: Link) => number,
  by: Bundling["by"],
  last: ReadonlyMap<number, number>,
): Map<number, string> {
  const incoming = new Map<number, Link>();
  for (const link of links) {
    const best = incoming.get(link.target);
    if (link.source !== link.target && (!best || weight(link) > weight(best))) incoming.set(link.target, link);
  }
  const when = moments(nodes.map((node) => node.time));
  const order = nodes.map((node, place) => ({ node, at: when[place] ?? 0 })).toSorted((a, b) => b.at - a.at);
  const classOf = new Map<number, string>([[0, "0"]]);
  const mutual = mirrored(story, links);
  const told = ({ relation, heads }: Link, id: number): string => `${relation}${heads.includes(id) ? ">" : "<"}`;
  for (const link of links)
    if (story.loose.has(link.source))
      classOf.set(link.source, ["others", told(link, link.target), story.nodes[link.target]?.entity].join("\n"));
  for (const end of new Set(last.values())) classOf.set(end, `last\n${String(end)}`);
  for (const { node } of order) {
    const link = incoming.get(node.id);
    if (node.id === 0 || classOf.has(node.id)) continue;
    const end = link && last.get(link.id);
    if (end !== undefined) {
      classOf.set(node.id, `last\n${String(end)}`);
      continue;
    }
    const led = link && incoming.get(link.source);
    const before = led?.relation === link?.relation ? story.nodes[led?.source ?? 0] : undefined;
    if (before?.id && before.entity === node.entity && story.steps <= TO_AND_FRO) {
      classOf.set(node.id, classOf.get(before.id) ?? String(before.id));
      continue;
    }
    const from = link ? (classOf.get(link.source) ?? String(link.source)) : "";
    const head = link && !mutual.has(between(story, link)) ? (link.heads.includes(node.id) ? ">" : "<") : "";
    const way = link && by === "relation" ? `${link.relation}${head}` : "";
    classOf.set(node.id, [from, node.entity, way].join("\n"));
  }
  return classOf;
}

/** A relation and the two entities that have it, whoever acted. */
function between(story: Story, { source, target, relation }: Link): string {
  return [...[source, target].map((id) => story.nodes[id]?.entity ?? "").sort(), relation].join("\n");
}

/** Whose facts mirror each other: both have the relation to the other at the same time. */
function mirrored(story: Story, links: readonly Link[]): ReadonlySet<string> {
  const heads = new Map<string, number>();
  const found = new Set<string>();
  for (const link of links) {
    const [head, ...more] = link.heads.map((id) => (id === link.target ? 1 : 0));
    if (head === undefined || more.length) continue;
    const key = [link.source, link.target, link.relation].join("\n");
    if ((heads.get(key) ?? head) !== head) found.add(between(story, link));
    heads.set(key, head);
  }
  return found;
}

/** Groups by what came through them; the answer's own first, so that it is always named. */
function heaviest(
  groups: ReadonlyMap<string, readonly Node[]>,
  links: readonly Link[],
  key: (id: number) => string,
  weight: (link: Link) => number,
  candidate: Candidate | undefined,
): string[] {
  const total = new Map<string, number>();
  for (const link of links) total.set(key(link.target), (total.get(key(link.target)) ?? 0) + weight(link));
  const sure = (group: string): number => (groups.get(group)?.[0]?.entity === candidate?.entity ? 1 : 0);
  return [...groups.keys()]
    .filter((group) => group !== key(0))
    .toSorted((a, b) => sure(b) - sure(a) || (total.get(b) ?? 0) - (total.get(a) ?? 0));
}

/**
 * What a link says but for its date: the relation, and who was acted upon. Of what two mostly do together the relation
 * alone; not of what each also did to the other, though both happened on one day.
 */
function kindOf(story: Story): (link: Link) => string {
  const mutual = together(story);
  return (link) =>
    mutual.has(between(story, link)) ? link.relation : [link.relation, ...headsOf(story, link)].join("\n");
}

const headsOf = (story: Story, { heads }: Link): string[] => heads.map((id) => story.nodes[id]?.entity ?? "");

const known = new WeakMap<Story, ReadonlySet<string>>();

/** Relations of two, by whoever had them, that both told of each other at half of the times or more. */
function together(story: Story): ReadonlySet<string> {
  const before = known.get(story);
  if (before) return before;
  const times = new Map<string, Map<string, Set<string>>>();
  for (const link of story.links) {
    const key = between(story, link);
    const mine = times.get(key) ?? new Map<string, Set<string>>();
    times.set(key, mine.set(link.time, new Set([...(mine.get(link.time) ?? []), ...headsOf(story, link)])));
  }
  const both = (mine: ReadonlyMap<string, ReadonlySet<string>>): number =>
    [...mine.values()].filter(({ size }) => size > 1).length;
  const found = new Set([...times].filter(([, mine]) => 2 * both(mine) >= mine.size).map(([key]) => key));
  known.set(story, found);
  return found;
}

/**
 * Of nodes that are drawn as one those that the fact led to which is written at the line: it has its own date. Where
 * attention goes on from them they are told apart by no fact: it goes back in time from the latest.
 */
function ledBy(
  story: Story,
  mine: readonly Node[],
  links: readonly Link[],
  weight: (link: Link) => number,
): readonly Node[] {
  const ids = new Set(mine.map(({ id }) => id));
  const kind = kindOf(story);
  if (story.grown && links.some(({ source, target }) => ids.has(source) && !ids.has(target))) return mine;
  const into = links.filter((link) => ids.has(link.target) && !ids.has(link.source));
  const [best] = into.toSorted((a, b) => weight(b) - weight(a));
  if (!best) return mine;
  const led = new Set(into.filter((link) => kind(link) === kind(best)).map((link) => link.target));
  return mine.filter(({ id }) => led.has(id));
}

/** @param dated of these nodes the latest says when. */
function asOne(first: Node, mine: readonly Node[], others: boolean, dated: readonly Node[]): Node {
  if (mine.length === 1) return first;
  const when = moments(dated.map((node) => node.time));
  const latest = dated[when.indexOf(Math.max(...when))] ?? first;
  const attention = latest.attention.map((_, step) => mine.reduce((sum, node) => sum + (node.attention[step] ?? 0), 0));
  const names = new Set(mine.map((node) => node.entity));
  const one = { ...latest, attention, count: mine.length };
  if (!others || names.size === 1) return one;
  return { ...one, entity: `\u0000others ${String(latest.id)}`, label: `${String(names.size)} others` };
}

function joined(
  links: readonly Link[],
  standsIn: ReadonlyMap<number, number>,
  weight: (link: Link) => number,
  by: Bundling["by"],
  kind: (link: Link) => string,
): Link[] {
  const end = (id: number): number => standsIn.get(id) ?? 0;
  const groups = new Map<string, Link[]>();
  const into = new Map<number, Set<number>>();
  for (const link of links) {
    const [source, target] = [end(link.source), end(link.target)];
    if (source !== target) into.set(target, (into.get(target) ?? new Set()).add(source));
  }
  // Whoever came to a node from one other alone and goes back there runs over one line, to and fro.
  const returns = (source: number, target: number): boolean =>
    into.get(source)?.size === 1 && into.get(source)?.has(target) === true;
  for (const link of links) {
    const [source, target] = [end(link.source), end(link.target)];
    if (source === target && link.source !== link.target) continue; // within what is drawn as one
    const way = by === "entity" ? "" : link.relation;
    const ends = returns(source, target) ? [target, source] : [source, target];
    const key = [...ends, way].join("\n");
    groups.set(key, [...(groups.get(key) ?? []), link]);
  }
  return [...groups.entries()].flatMap(([key, group]) => {
    const [source = 0, target = 0] = key.split("\n").map(Number);
    const [best] = group.toSorted((a, b) => weight(b) - weight(a));
    if (!best) return [];
    const back = group.filter((link) => end(link.source) !== source).map((link) => link.id);
    return {
      ...best,
      source,
      target,
      // Heads go with what is written: what else the line stands for may go the other way.
      heads: [...new Set(group.filter((link) => kind(link) === kind(best)).flatMap(({ heads }) => heads.map(end)))],
      looks: group.flatMap((link) => link.looks),
      members: group.map((link) => link.id),
      ...(back.length ? { back } : {}),
    };
  });
}

/** A drawn link's label: its relation, how often, and how many other kinds of facts it stands for. */
export function toldLink(story: Story, link: Link): string {
  const mine = link.members.flatMap((id) => story.links[id] ?? []);
  const kind = kindOf(story);
  const told = mine.filter((one) => kind(one) === kind(story.links[link.id] ?? link));
  const facts = new Set(told.map((one) => `${one.time} ${between(story, one)}`)).size; // a mirrored fact is no second one
  const others = new Set(mine.map(kind)).size - 1;
  const kinds = others > 0 ? ` + ${String(others)} more` : "";
  return `${story.name(link.relation)}${facts > 1 ? ` ×${String(facts)}${years(told)}` : ""}${kinds}`;
}

/** From when to when, where that is short enough to be written at a line. */
function years(links: readonly Link[]): string {
  const when = links.map(({ time }) => time);
  if (!when.every((time) => /^\d{4}$/.test(time))) return "";
  const [first = "", last = ""] = [when.toSorted()[0], when.toSorted().at(-1)];
  return first === last ? "" : `, ${first}–${last}`;
}
