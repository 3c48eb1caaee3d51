/** Which labels are shown and where: none may lie on another or on a node. What finds no room is told on hover. */
import { AXIS } from "./axis";
import type { Link } from "./document";
import { pointAt, type Curve } from "./curve";
import { PHONE_LETTERS, type Box, type Layout, type Place } from "./layout";
import { wrapped, type Measure } from "./text";

export interface Label {
  readonly key: string;
  readonly kind: "name" | "date" | "relation" | "axis" | "question";
  readonly lines: readonly string[];
  readonly size: number;
  /** How many lines are bold, from the first. */
  readonly bold: number;
  readonly anchor: "start" | "middle" | "end";
  /** Of the anchor, and the first line's baseline. */
  readonly x: number;
  readonly y: number;
  readonly box: Box;
  /** The entity, node or link it belongs to. */
  readonly of: string | number;
  /** The node it lies beside, and where: while the node is larger it moves on that way. */
  readonly beside?: { readonly node: number; readonly x: number; readonly y: number };
}

export const LINE = 1.18;
const ASCENT = 0.86;
/** After how many columns a row's name is repeated. */
const AGAIN = 7;
/** How far apart rows must lie for a name to be told above or below its node, where no line leaves through it. */
const TELLING = 60;

export function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

type Wanted = Omit<Label, "box">;

function boxed(wanted: Wanted, measure: Measure): Label {
  const width = Math.max(...wanted.lines.map((line, row) => measure(line, wanted.size, row < wanted.bold))) + 4;
  const height = wanted.lines.length * wanted.size * LINE + 2;
  const x = { start: wanted.x, middle: wanted.x - width / 2, end: wanted.x - width }[wanted.anchor];
  return {
    ...wanted,
    box: { x: x - (wanted.anchor === "start" ? 2 : 0), y: wanted.y - wanted.size * ASCENT - 1, width, height },
  };
}

/** Boxes in squares of a grid, so that asking what lies in the way stays quick with hundreds of them. */
class Crowd {
  private readonly squares = new Map<string, Box[]>();
  constructor(private readonly side: number) {}

  private *keys(box: Box): Generator<string> {
    const cell = (value: number): number => Math.floor(value / this.side);
    for (let i = cell(box.x); i <= cell(box.x + box.width); i++)
      for (let j = cell(box.y); j <= cell(box.y + box.height); j++) yield `${String(i)} ${String(j)}`;
  }

  add(box: Box): void {
    for (const key of this.keys(box)) this.squares.set(key, [...(this.squares.get(key) ?? []), box]);
  }

  /** @param but a box that may lie there. */
  free(box: Box, but?: Box): boolean {
    for (const key of this.keys(box))
      if (this.squares.get(key)?.some((other) => other !== but && overlap(box, other))) return false;
    return true;
  }

  count(box: Box): number {
    const found = new Set<Box>();
    for (const key of this.keys(box))
      for (const other of this.squares.get(key) ?? []) if (overlap(box, other)) found.add(other);
    return found.size;
  }
}

/** The question's text: whom it is about, and the rest of it. */
export interface Asked {
  readonly known: readonly string[];
  readonly rest: readonly string[];
}

/** Of a relation on a phone: where its label would lie on more lines than about five, a tap tells it. */
const CROSSED = 7;

/** About so many lines a relation is written on, however long it is. */
const LINES = 3;

/** How many relations are written on their lines, by how many nodes there are. */
const written = (nodes: number): number => (nodes <= 60 ? 60 : 24);

/** Names first, then dates and relations in the order of the links given. */
export function placed(
  layout: Layout,
  links: readonly Link[],
  ways: ReadonlyMap<number, Curve>,
  asked: Asked,
  measure: Measure,
  told: (link: Link) => string,
): Label[] {
  const { scale } = layout;
  const crowd = new Crowd(64);
  const lines = new Crowd(64);
  const labels: Label[] = [];
  const put = (label: Label): void => {
    labels.push(label);
    crowd.add(label.box);
  };
  const offer = (wanted: Wanted): void => {
    const label = boxed(wanted, measure);
    if (crowd.free(label.box)) put(label);
  };
  for (const { x, y, radius } of layout.places.values())
    crowd.add({ x: x - radius - 1, y: y - radius - 1, width: 2 * radius + 2, height: 2 * radius + 2 });
  const parts = ways.size <= 60 ? 96 : 24; // of a line, by whose ends labels know it
  const sampled = new Map(
    [...ways].map(([id, way]) => [id, [...Array(parts + 1).keys()].map((part) => pointAt(way, part / parts))] as const),
  );
  for (const points of sampled.values()) for (const { x, y } of points) lines.add({ x, y, width: 1, height: 1 });

  const question = layout.places.get(0);
  if (question) {
    const lines = [...asked.known, ...asked.rest];
    const y = question.y - ((lines.length - 1) / 2) * scale.name * LINE + scale.name * 0.35;
    const x = question.x + question.radius + 10;
    put(
      boxed(
        {
          key: "question",
          kind: "question",
          lines,
          size: scale.name,
          bold: asked.known.length,
          anchor: "start",
          x,
          y,
          of: 0,
        },
        measure,
      ),
    );
  }
  const more = (lines: readonly string[]): number => (lines.length - 1) * scale.name * LINE; // below the first line
  const named = layout.lanes.flatMap((lane) => {
    const first = lane.nodes[0];
    if (!first || (first.node.id === 0 && lane.nodes.length === 1)) return [];
    const base = {
      key: `name ${lane.entity}`,
      kind: "name",
      lines: lane.name,
      size: scale.name,
      bold: lane.name.length,
      of: lane.entity,
    } as const;
    const left = ({ node, x, y, radius }: Place): Wanted => ({
      ...base,
      anchor: "end",
      x: x - radius - 7,
      y: y + scale.name * 0.35 - more(lane.name) / 2,
      beside: { node: node.id, x: -1, y: 0 },
    });
    return [{ lane, first, left, label: boxed(left(first), measure) }];
  });
  const reserved = new Crowd(64); // the layout has kept room beside every node that is named
  for (const { label } of named) reserved.add(label.box);
  for (const { first, label } of named) {
    const { node, x, y, radius } = first;
    const above = {
      ...label,
      anchor: "middle",
      x,
      y: y - radius - scale.name / 2 - 2 - more(label.lines),
      beside: { node: node.id, x: 0, y: -1 },
    } as const;
    const below = { ...above, y: y + radius + scale.name + 1, beside: { node: node.id, x: 0, y: 1 } } as const;
    const others = scale.row >= TELLING ? [above, below].map((one) => boxed(one, measure)) : [];
    const free = [label, ...others.filter(({ box }) => crowd.free(box) && reserved.free(box, label.box))];
    const crossed = free.map(({ box }) => lines.count(box));
    put(free[crossed.indexOf(Math.min(...crossed))] ?? label);
  }
  // Who looks at the recent end of a long row should not have to follow it back to its name.
  for (const { lane, first, left, label } of named) {
    let last = first.x;
    for (const place of lane.nodes.slice(1)) {
      if (place.node.id === 0 || place.x - last < AGAIN * scale.column) continue;
      offer({ ...left(place), key: `${label.key} ${String(place.node.id)}`, bold: 0 });
      last = place.x;
    }
  }
  const axis = layout.bottom + AXIS + 20;
  for (const column of layout.columns.toReversed())
    offer({
      key: `axis ${column.time}`,
      kind: "axis",
      lines: [column.time],
      size: scale.small,
      bold: 0,
      anchor: "middle",
      x: column.x,
      y: axis,
      of: column.time,
    });

  const roomy = scale.letters > PHONE_LETTERS;
  const wide = Math.max(14, Math.floor(scale.column / scale.small / 0.52));
  for (const link of links.slice(0, written(layout.places.size))) {
    const way = ways.get(link.id);
    if (!way) continue;
    const whole = told(link);
    const text = wrapped(whole, Math.max(wide, Math.ceil(whole.length / LINES)), LINES + 2);
    const own = new Set(sampled.get(link.id));
    let best: Label | undefined;
    let least = Infinity;
    for (const t of [0.62, 0.7, 0.54, 0.78, 0.46, 0.38, 0.84, 0.3, 0.22]) {
      const { x, y } = pointAt(way, t);
      const high = text.length * scale.small * LINE;
      for (const dy of [-high - 3, -high / 2, 4]) {
        const wanted = {
          key: `relation ${String(link.id)}`,
          kind: "relation",
          lines: text,
          size: scale.small,
          bold: 0,
          anchor: "middle",
          x,
          y: y + dy + scale.small * ASCENT,
          of: link.id,
        } as const;
        const label = boxed(wanted, measure);
        if (!crowd.free(label.box)) continue;
        const crossed =
          lines.count(label.box) -
          [...own].filter((point) => overlap(label.box, { ...point, width: 1, height: 1 })).length;
        const cost = (24 / parts) * crossed + 3 * Math.abs(t - 0.62) + (dy < -high / 2 ? 0 : 0.6);
        if (cost < least) [best, least] = [label, cost];
      }
    }
    if (best && (roomy || least < CROSSED)) put(best);
  }
  const dated = [...layout.places.values()].filter(({ node }) => node.id > 0 && layout.places.size <= 60);
  for (const { node, x, y, radius } of dated.toSorted((a, b) => b.radius - a.radius)) {
    const base = { key: `date ${String(node.id)}`, kind: "date", lines: [node.time], size: scale.small } as const;
    const found = [1, -1]
      .map((side) => {
        const away = side > 0 ? radius + scale.small + 1 : -radius - 0.4 * scale.small - 2;
        const beside = { node: node.id, x: 0, y: side };
        return boxed({ ...base, bold: 0, anchor: "middle", x, y: y + away, of: node.id, beside }, measure);
      })
      .find(({ box }) => crowd.free(box) && lines.count(box) === 0); // the axis has the date, too
    if (found) put(found);
  }
  return labels;
}
