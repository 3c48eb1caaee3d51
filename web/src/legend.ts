/** What sizes, shades and arrows mean; for a figure that stands alone, and below the picture in the page. */
import type { Candidate, Story } from "./document";
import { DASHES } from "./draw";
import { shape, type Shape } from "./shape";
import { FONT, type Measure } from "./text";
import { mixed, type Theme } from "./theme";

const SIZE = 11;
const LINE = 18;
const APART = 20;
/** What the parts of a model's sum are, in a few words. */
export const PARTS: Readonly<Record<string, string>> = {
  graph: "graph: attention along facts",
  past: "past: facts between the two",
  walk: "walk: over others",
  prior: "prior: what is usual",
};

/** Keys in rows from (x, y) on, each at most `wide`. */
export function legend(
  story: Story,
  candidate: Candidate | undefined,
  theme: Theme,
  measure: Measure,
  x: number,
  y: number,
  wide: number,
): { shapes: Shape[]; width: number; height: number } {
  const circle = (cx: number, cy: number, r: number, fill: string, stroke: string): Shape =>
    shape("circle", { cx, cy, r, fill, stroke });
  const stroke = (x1: number, y1: number, part: number, width: number): Shape =>
    shape("path", {
      d: `M${String(x1)} ${String(y1)}h12`,
      stroke: mixed(theme.paper, theme.ink, part),
      "stroke-width": width,
    });
  const arrow = (at: number, y1: number): Shape[] => [
    stroke(at, y1, 0.8, 1.5),
    shape("path", { d: `M${String(at + 20)} ${String(y1)}l-9 -4v8z`, fill: theme.ink }),
  ];
  const line = (part: string): [number, (at: number, y: number) => Shape[], string] => [
    30,
    (at, y) => [
      shape("path", {
        d: `M${String(at)} ${String(y)}h30`,
        stroke: theme.ink,
        "stroke-width": 2,
        "stroke-dasharray": DASHES[part],
      }),
    ],
    PARTS[part] ?? part,
  ];
  const parts = Object.keys(PARTS).filter((name) => story.links.some(({ part }) => part === name));
  const share = `width: share of ${candidate ? `${story.name(candidate.entity)}’s` : "the"} score`;
  const keys: [number, (at: number, y: number) => Shape[], string][] = [
    [14, (at, y) => [circle(at + 7, y, 6, theme.accent, theme.accent)], "question and answer"],
    [20, arrow, "from who acted to whom"],
    ...(parts.length > 1 ? parts.map(line) : []),
    [26, (at, y) => [stroke(at, y, 0.7, 1), stroke(at + 13, y, 0.7, 4)], share],
    [
      26,
      (at, y) => [stroke(at, y, 0.25, 1.5), stroke(at + 13, y, 1, 1.5)],
      story.grown ? "darkness: contribution of the step" : "darkness: weight for all candidates",
    ],
    [
      30,
      (at, y) => [circle(at + 4, y, 3, theme.node, theme.rim), circle(at + 20, y, 8, theme.node, theme.rim)],
      story.grown ? "size: attention" : "size: what came there, for all candidates",
    ],
    [0, () => [], "time runs to the right, gaps by their logarithm"],
  ];
  const shapes: Shape[] = [];
  let [at, row, width] = [x, y, 0];
  for (const [icon, drawn, text] of keys) {
    const long = icon + (icon > 0 ? 5 : 0) + measure(text, SIZE);
    if (at > x && at + long > x + wide) [at, row] = [x, row + LINE];
    const set = { x: at + long - measure(text, SIZE), y: row, "font-family": FONT, "font-size": SIZE };
    shapes.push(...drawn(at, row - SIZE * 0.35), shape("text", { ...set, fill: theme.quiet }, text));
    width = Math.max(width, at + long - x);
    at += long + APART;
  }
  return { shapes, width, height: row - y + LINE };
}
