/** Where everything lies: time runs to the right, the question at its end; every entity keeps to a row of its own. */
import { scaleSqrt } from "d3-scale";
import type { Drawn } from "./bundle";
import { moments, type Node, type Story } from "./document";
import { namesInLines, type Measure } from "./text";

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Place {
  readonly node: Node;
  readonly x: number;
  readonly y: number;
  /** At the end. While a replay runs the node may be larger. */
  readonly radius: number;
}

/** An entity's nodes, which lie in one row; named once, left of the earliest. */
export interface Lane {
  readonly entity: string;
  readonly name: readonly string[];
  readonly nodes: readonly Place[];
  readonly y: number;
}

export interface Column {
  readonly time: string;
  readonly x: number;
}

/** What a picture should fill where nothing in it is made smaller. */
export interface Room {
  readonly width: number;
  readonly height: number;
}

/** Sizes by how much there is to show. */
export interface Scale {
  readonly row: number;
  readonly column: number;
  readonly radius: number;
  readonly least: number;
  readonly name: number;
  readonly small: number;
  /** How many letters a line of a name has, and how many lines. */
  readonly letters: number;
  readonly lines: number;
  /** How narrow columns may become to fit: letters stay legible as long as nothing is zoomed. */
  readonly narrow: number;
}

export interface Layout {
  readonly places: ReadonlyMap<number, Place>;
  readonly lanes: readonly Lane[];
  readonly laneOf: ReadonlyMap<string, Lane>;
  readonly columns: readonly Column[];
  readonly scale: Scale;
  readonly radius: (attention: number) => number;
  /** Of rows and columns, without names, axis and the question's text. */
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  readonly right: number;
}

const ROOMY: Scale = {
  row: 118,
  column: 128,
  radius: 27,
  least: 6,
  name: 15,
  small: 12,
  letters: 30,
  lines: 3,
  narrow: 96,
};
const USUAL: Scale = {
  row: 60,
  column: 84,
  radius: 20,
  least: 4.5,
  name: 13,
  small: 11,
  letters: 30,
  lines: 3,
  narrow: 56,
};
const DENSE: Scale = {
  row: 27,
  column: 34,
  radius: 12,
  least: 3,
  name: 12,
  small: 10,
  letters: 26,
  lines: 2,
  narrow: 19,
};
/** A line of a name on a phone has no more letters. */
export const PHONE_LETTERS = 17;
const TIGHT: Scale = {
  row: 54,
  column: 64,
  radius: 16,
  least: 4.5,
  name: 11,
  small: 9.5,
  letters: PHONE_LETTERS,
  lines: 3,
  narrow: 44,
};
const TINY: Scale = {
  row: 46,
  column: 50,
  radius: 13,
  least: 4,
  name: 10,
  small: 9,
  letters: 12,
  lines: 3,
  narrow: 28,
};
/** Below so many pixels a room is a phone's. */
export const PHONE = 560;

/** The largest distance of rows, however few there are; or this part of what the columns take, if that is more. */
const ROOMIEST = 220;
const STEEPEST = 0.6;
/** How much wider than usual columns may be, however few there are. */
const ROOMIER = 1.5;
/** What labels above the first row, the axis and margins take. */
const ABOVE_AND_BELOW = 76;
/** Between names, columns and the question's text, and around it all. */
const MARGINS = 80;

/** The sizes to try, largest first. */
export function scalesFor(count: number, room: Room): readonly Scale[] {
  if (room.width < PHONE) return [TIGHT, TINY];
  if (count <= 12) return [ROOMY, USUAL, DENSE];
  return count <= 60 ? [USUAL, DENSE] : [DENSE];
}

/** Times get one column each; a long gap is wider than a short one, but only by its logarithm. */
export function columns(times: readonly string[], step: number): Column[] {
  const distinct = [...new Set(times)];
  const when = moments(distinct);
  const order = distinct.map((time, place) => ({ time, at: when[place] ?? 0 })).toSorted((a, b) => a.at - b.at);
  const gaps = order.slice(1).map(({ at }, place) => at - (order[place]?.at ?? at));
  const shortest = Math.min(...gaps.filter((gap) => gap > 0));
  let x = 0;
  return order.map(({ time }, place) => {
    if (place > 0) x += step * Math.min(2, 1 + Math.log2((gaps[place - 1] ?? 0) / shortest || 1) / 6);
    return { time, x };
  });
}

/**
 * @param asked how wide the question's text is.
 * @param usual sizes, of which the distances of rows and columns are made larger where there is room.
 * @param room that is to be filled: where there are many columns they move together, few rows lie further apart.
 */
export function layOut(
  story: Story,
  { nodes, links }: Drawn,
  answer: string | null,
  measure: Measure,
  room: Room,
  usual: Scale,
  asked: number,
): Layout {
  const times = nodes.map((node) => node.time);
  const steps = Math.max(1, columns(times, 1).at(-1)?.x ?? 0);
  const full = ({ entity, label }: Node): string => label ?? story.name(entity);
  const short = namesInLines(nodes.map(full), usual.letters, usual.lines);
  const named = (node: Node): readonly string[] => short.get(full(node)) ?? [full(node)];
  const wideOf = (name: readonly string[]): number =>
    Math.max(0, ...name.map((line) => measure(line, usual.name, true)));
  const widest = Math.max(...nodes.slice(1).map((node) => wideOf(named(node))), 0);
  const beside = widest + asked + MARGINS;
  const column = Math.min(ROOMIER * usual.column, Math.max(usual.narrow, (room.width - beside) / steps));
  let scale = { ...usual, column };
  const byTime = columns(times, scale.column);
  const x = new Map(byTime.map((column) => [column.time, column.x]));
  const strongest = Math.max(1e-9, ...nodes.filter((node) => node.id > 0).flatMap((node) => node.attention));
  const root = scaleSqrt([0, strongest], [scale.least, scale.radius]).clamp(true);
  const radius = (attention: number): number => root(attention);
  const most = (node: Node): number => radius(Math.max(...node.attention));
  const size = (node: Node): number => (node.id > 0 ? radius(node.attention.at(-1) ?? 0) : most(node));
  const xOf = (node: Node): number => x.get(node.time) ?? 0;

  const grouped = new Map<string, Node[]>();
  for (const node of nodes) grouped.set(node.entity, [...(grouped.get(node.entity) ?? []), node]);
  const weight = (group: readonly Node[]): number => {
    const first = group[0];
    if (first?.id === 0) return Infinity;
    if (first?.entity === answer) return 1e9;
    return group.reduce((sum, node) => sum + Math.max(...node.attention), 0);
  };
  const order = [...grouped.entries()].toSorted((a, b) => weight(b[1]) - weight(a[1]) || (a[0] < b[0] ? -1 : 1));
  const rowOf = new Map<string, number>();
  const taken = new Map<number, [number, number][]>();
  const entityOf = new Map(nodes.map((node) => [node.id, node.entity]));
  const near = new Map<string, Set<string>>();
  for (const link of links) {
    const [a, b] = [entityOf.get(link.source) ?? "", entityOf.get(link.target) ?? ""];
    if (a !== b)
      for (const [one, other] of [
        [a, b],
        [b, a],
      ] as const)
        near.set(one, (near.get(one) ?? new Set()).add(other));
  }
  const name = ([first]: readonly Node[]): readonly string[] => (first ? named(first) : []);
  for (const [entity, group] of order) {
    const wide = wideOf(name(group)) + 14;
    const from = Math.min(...group.map((node) => xOf(node) - most(node))) - wide;
    const to = Math.max(...group.map((node) => xOf(node) + most(node))) + 10;
    rowOf.set(entity, freeRow(taken, rowOf, near.get(entity), from, to));
    const row = rowOf.get(entity) ?? 0;
    taken.set(row, [...(taken.get(row) ?? []), [from, to]]);
  }
  const rows = [...new Set(rowOf.values())].toSorted((a, b) => a - b);
  const high = Math.max(1, (scale.column * steps + beside) / room.width) * room.height;
  const apart = (high - 2 * scale.radius - ABOVE_AND_BELOW - 4 * scale.small) / Math.max(1, rows.length - 1);
  scale = { ...scale, row: Math.max(usual.row, Math.min(Math.max(ROOMIEST, STEEPEST * scale.column * steps), apart)) };
  const yOf = new Map(rows.map((row, place) => [row, place * scale.row]));
  const places = new Map<number, Place>();
  const lanes = order.map(([entity, group]) => {
    const y = yOf.get(rowOf.get(entity) ?? 0) ?? 0;
    const mine = group.map((node) => ({ node, x: xOf(node), y, radius: size(node) })).toSorted((a, b) => a.x - b.x);
    for (const place of mine) places.set(place.node.id, place);
    return { entity, name: name(group), nodes: mine, y };
  });
  const left = Math.min(
    ...lanes.map((lane) => (lane.nodes[0]?.x ?? 0) - (lane.nodes[0]?.radius ?? 0) - 14 - wideOf(lane.name)),
  );
  return {
    places,
    lanes,
    laneOf: new Map(lanes.map((lane) => [lane.entity, lane])),
    columns: byTime,
    scale,
    radius,
    top: -scale.radius,
    bottom: (rows.length - 1) * scale.row + scale.radius,
    left,
    right: byTime.at(-1)?.x ?? 0,
  };
}

/** The free row nearest to the rows of the entity's neighbours and to the middle, but in no neighbour's own row. */
function freeRow(
  taken: ReadonlyMap<number, readonly (readonly [number, number])[]>,
  rowOf: ReadonlyMap<string, number>,
  neighbours: ReadonlySet<string> | undefined,
  from: number,
  to: number,
): number {
  const rows = [...(neighbours ?? [])].flatMap((one) => rowOf.get(one) ?? []);
  const middle = rows.reduce((sum, row) => sum + row, 0) / Math.max(1, rows.length);
  const used = [...taken.keys()];
  const first = Math.min(0, ...used) - 1;
  const last = Math.max(0, ...used) + 1;
  let best = last;
  let least = Infinity;
  for (let row = first; row <= last; row++) {
    if ((taken.get(row) ?? []).some(([a, b]) => from < b && a < to)) continue;
    const cost = Math.abs(row - middle) + 0.2 * Math.abs(row) + (rows.includes(row) ? 1.5 : 0) + (row > 0 ? 0.01 : 0);
    if (cost < least) [best, least] = [row, cost];
  }
  return best;
}
