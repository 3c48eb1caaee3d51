/** The way of a link from the later node to the earlier one; its arrow's head is where the fact's object is. */
import type { Link } from "./document";
import type { Layout, Place } from "./layout";

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A cubic curve and its direction at the end. */
export interface Curve {
  readonly from: Point;
  readonly out: Point;
  readonly in: Point;
  readonly to: Point;
}

export const HEAD = 8;

export function pointAt({ from, out, in: back, to }: Curve, t: number): Point {
  const s = 1 - t;
  const mix = (a: number, b: number, c: number, d: number): number =>
    s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * c + t * t * t * d;
  return { x: mix(from.x, out.x, back.x, to.x), y: mix(from.y, out.y, back.y, to.y) };
}

/** Links between the same two nodes are fanned out; those within a row bow over what lies between. */
export function curves(
  links: readonly Link[],
  layout: Layout,
  radius: (place: Place) => number = (place) => place.radius,
): Map<number, Curve> {
  const beside = new Map<string, Link[]>();
  for (const link of links) {
    const key = `${String(link.source)} ${String(link.target)}`;
    beside.set(key, [...(beside.get(key) ?? []), link]);
  }
  const made = new Map<number, Curve>();
  for (const group of beside.values()) {
    group.forEach((link, place) => {
      const source = layout.places.get(link.source);
      const target = layout.places.get(link.target);
      if (!source || !target) return;
      const ends = [source, target].map((end) => ({ ...end, radius: radius(end) })) as [Place, Place];
      made.set(link.id, curve(...ends, place - (group.length - 1) / 2, Math.min(layout.scale.row, 110)));
    });
  }
  return made;
}

function curve(source: Place, target: Place, offset: number, row: number): Curve {
  const wide = source.x - target.x;
  const high = target.y - source.y;
  const bow = high === 0 ? -Math.min(0.62 * row, 14 + 0.12 * wide) : 0;
  const fan = offset * Math.min(0.42 * row, 26);
  const out = { x: source.x - wide * 0.42, y: source.y + 0.1 * high + bow + fan };
  const back = { x: target.x + Math.min(wide * 0.5, 46 + 0.3 * Math.abs(high)), y: target.y - 0.22 * high + bow + fan };
  const from = toward(source, out, source.radius + 1.5);
  const to = toward(target, back, target.radius + 2.5);
  return { from, out, in: back, to };
}

function toward(place: Point, aim: Point, distance: number): Point {
  const [dx, dy] = [aim.x - place.x, aim.y - place.y];
  const length = Math.hypot(dx, dy) || 1;
  return { x: place.x + (dx / length) * distance, y: place.y + (dy / length) * distance };
}
