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
  const classOf = alike(nodes, links, weight, by);
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
    return `others of ${up ?? key(0)}`;
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
    const one = asOne(first, mine, place.startsWith("others of "));
    for (const node of mine) standsIn.set(node.id, one.id);
    return one;
  });
  return { nodes: drawn.toSorted((a, b) => a.id - b.id), links: joined(links, standsIn, weight, by), standsIn };
}

/** Nodes of one entity that the same facts lead to from the same place, by their heaviest link; later nodes first. */
function alike(
  nodes: readonly Node[],
  links: readonly Link[],
  weight: (link: Link) => number,
  by: Bundling["by"],
): Map<number, string> {
  const incoming = new Map<number, Link>();
  for (const link of links) {
    const best = incoming.get(link.target);
    if (link.source !== link.target && (!best || weight(link) > weight(best))) incoming.set(link.target, link);
  }
  const when = moments(nodes.map((node) => node.time));
  const order = nodes.map((node, place) => ({ node, at: when[place] ?? 0 })).toSorted((a, b) => b.at - a.at);
  const classOf = new Map<number, string>([[0, "0"]]);
  for (const { node } of order) {
    const link = incoming.get(node.id);
    if (node.id === 0) continue;
    const from = link ? (classOf.get(link.source) ?? String(link.source)) : "";
    const way = link && by === "relation" ? `${link.relation}${link.heads.includes(node.id) ? ">" : "<"}` : "";
    classOf.set(node.id, [from, node.entity, way].join("\n"));
  }
  return classOf;
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

function asOne(first: Node, mine: readonly Node[], others: boolean): Node {
  if (mine.length === 1) return first;
  const when = moments(mine.map((node) => node.time));
  const latest = mine[when.indexOf(Math.max(...when))] ?? first;
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
): Link[] {
  const groups = new Map<string, Link[]>();
  for (const link of links) {
    const [source, target] = [standsIn.get(link.source) ?? 0, standsIn.get(link.target) ?? 0];
    if (source === target && link.source !== link.target) continue; // within what is drawn as one
    const way = by === "entity" ? "" : link.relation;
    const key = [source, target, way].join("\n");
    groups.set(key, [...(groups.get(key) ?? []), link]);
  }
  const end = (id: number): number => standsIn.get(id) ?? 0;
  return [...groups.values()].flatMap((group) => {
    const [best] = group.toSorted((a, b) => weight(b) - weight(a));
    if (!best) return [];
    return {
      ...best,
      source: end(best.source),
      target: end(best.target),
      // Heads go with the relation that is written: what else the line stands for may go the other way.
      heads: [...new Set(same(group, best).flatMap((link) => link.heads.map(end)))],
      looks: group.flatMap((link) => link.looks),
      members: group.map((link) => link.id),
    };
  });
}

const same = (group: readonly Link[], one: Link): Link[] => group.filter(({ relation }) => relation === one.relation);

/** A drawn link's label: its relation, how often, and how many other relations it stands for. */
export function toldLink(story: Story, link: Link): string {
  const mine = link.members.flatMap((id) => story.links[id] ?? []);
  const facts = new Set(same(mine, link).map((one) => `${one.time} ${String(one.target)}`)).size; // a mirrored fact is no second one
  const others = new Set(mine.map((one) => one.relation)).size - 1;
  const kinds = others > 0 ? ` + ${String(others)} more` : "";
  return `${story.name(link.relation)}${facts > 1 ? ` ×${String(facts)}` : ""}${kinds}`;
}
