/** What sizes and shades mean, for a figure that stands alone. */
import type { Scene } from "./draw";
import { shape, type Shape } from "./shape";
import { FONT, readable, type Measure } from "./text";
import { mixed, type Theme } from "./theme";

const SIZE = 11;

/** A line of keys that starts at (x, y) and is `width` wide. */
export function legend(
  { candidate }: Scene,
  theme: Theme,
  measure: Measure,
  x: number,
  y: number,
): { shapes: Shape[]; width: number } {
  const middle = y - SIZE * 0.35;
  const circle = (cx: number, r: number, fill: string, stroke: string): Shape =>
    shape("circle", { cx, cy: middle, r, fill, stroke });
  const stroke = (x1: number, part: number, width: number): Shape =>
    shape("path", {
      d: `M${String(x1)} ${String(middle)}h12`,
      stroke: mixed(theme.paper, theme.ink, part),
      "stroke-width": width,
    });
  const keys: [number, (at: number) => Shape[], string][] = [
    [14, (at) => [circle(at + 7, 6, theme.accent, theme.accent)], "question and answer"],
    [30, (at) => [circle(at + 4, 3, theme.node, theme.rim), circle(at + 20, 8, theme.node, theme.rim)], "attention"],
    [26, (at) => [stroke(at, 0.25, 1.5), stroke(at + 13, 1, 1.5)], "contribution"],
    [
      26,
      (at) => [stroke(at, 0.7, 1), stroke(at + 13, 0.7, 4)],
      `share of ${candidate ? `${readable(candidate.entity)}’s` : "the"} score`,
    ],
  ];
  const shapes: Shape[] = [];
  let at = x;
  for (const [wide, icon, text] of keys) {
    const set = { x: at + wide + 5, y, "font-family": FONT, "font-size": SIZE, fill: theme.quiet };
    shapes.push(...icon(at), shape("text", set, text));
    at += wide + 5 + measure(text, SIZE) + 22;
  }
  return { shapes, width: at - x - 22 };
}
