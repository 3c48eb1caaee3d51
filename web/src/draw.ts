/** The picture, drawn: node size is attention, a line's darkness its contribution and its width its share. */
import { axis, AXIS } from "./axis";
import { curves, HEAD, pointAt, type Curve, type Point } from "./curve";
import type { Drawn } from "./bundle";
import type { Candidate, Link, Story } from "./document";
import { LINE, type Label } from "./labels";
import type { Box, Layout, Place } from "./layout";
import { shape, type Shape } from "./shape";
import { FONT } from "./text";
import { mixed, type Theme } from "./theme";
import { shareOf, type Moment, type Standing } from "./view";

export interface Scene {
  readonly story: Story;
  /** Nodes and links as they are drawn, some of them for several. */
  readonly drawn: Drawn;
  readonly layout: Layout;
  readonly links: readonly Link[];
  readonly labels: readonly Label[];
  readonly candidate: Candidate | undefined;
}

/** Links and nodes that are looked at; the others step back. */
export interface Emphasis {
  readonly nodes: ReadonlySet<number>;
  readonly links: ReadonlySet<number>;
}

/** How much of its colour something keeps before the paper. Colours are mixed: many see-through layers are slow. */
const STRENGTH: Readonly<Record<Standing, number>> = { present: 1, fading: 0.45, absent: 0 };
const BACK = 0.2;
/** Around letters, so wide that no line shows in the gaps between words. */
const HALO = 5;
/** Lines by the part of the model's sum that they come from; those of the past and of an inference graph are whole. */
export const DASHES: Readonly<Record<string, string>> = { walk: "9 4", prior: "2 4" };
const MARGIN = 18;

export function bounds({ layout, labels }: Scene): Box {
  const left = Math.min(layout.left, ...labels.map(({ box }) => box.x)) - MARGIN;
  const right = Math.max(layout.right, ...labels.map(({ box }) => box.x + box.width)) + MARGIN;
  const top = Math.min(layout.top, ...labels.map(({ box }) => box.y)) - MARGIN;
  const bottom = layout.bottom + AXIS + layout.scale.small * 4;
  return { x: left, y: top, width: right - left, height: bottom - top };
}

export function draw(scene: Scene, now: Moment, theme: Theme, emphasis?: Emphasis): Shape[] {
  const radius = ({ node, radius }: Place): number =>
    node.id === 0 ? radius : scene.layout.radius(now.attention.get(node.id) ?? 0);
  const strength = {
    node: (id: number) => STRENGTH[now.node.get(id) ?? "absent"] * (emphasis?.nodes.has(id) === false ? BACK : 1),
    link: (id: number) => STRENGTH[now.link.get(id) ?? "absent"] * (emphasis?.links.has(id) === false ? BACK : 1),
  };
  const groups: [string, Shape[]][] = [
    ["axis", axis(scene, theme)],
    ["links", links(scene, now, theme, radius, strength.link)],
    ["nodes", nodes(scene, theme, radius, strength.node)],
    ["labels", scene.labels.map((label) => labelled(scene, label, theme, radius, strength))],
  ];
  return groups.map(([name, inside]) => shape("g", { class: name }, inside, name));
}

type Strength = (id: number) => number;

const gone = (strength: number): Shape["set"] => (strength === 0 ? { opacity: 0, "pointer-events": "none" } : {});

function links(
  { layout, links, candidate }: Scene,
  now: Moment,
  theme: Theme,
  radius: (place: Place) => number,
  strength: Strength,
): Shape[] {
  const ways = curves(links, layout, radius);
  const contribution = (link: Link): number => now.contribution.get(link.id) ?? 0;
  const strongest = Math.max(1e-9, ...links.map(contribution));
  const share = (link: Link): number => shareOf(candidate, link);
  const order = links.toSorted(
    (a, b) => strength(a.id) - strength(b.id) || share(a) - share(b) || contribution(a) - contribution(b),
  );
  return order.flatMap((link) => {
    const way = ways.get(link.id);
    if (!way) return [];
    const fading = now.link.get(link.id) === "fading";
    const dark = fading ? 0.6 : 0.2 + 0.8 * Math.sqrt(contribution(link) / strongest);
    const stroke = mixed(theme.paper, theme.ink, dark * strength(link.id));
    const width = 1 + 3 * Math.sqrt(share(link));
    const ends = [link.heads.includes(link.source), link.heads.includes(link.target)] as const;
    const { body, head } = arrow(way, width, ...ends);
    const dash = fading ? "3 3" : DASHES[link.part ?? ""];
    const dashed = dash ? { "stroke-dasharray": dash } : {};
    const inside = [
      shape("path", { class: "grip", d: body, fill: "none", stroke: "none", "stroke-width": 12 }, [], "grip"),
      shape("path", { class: "body", d: body, fill: "none", stroke, "stroke-width": width, ...dashed }, [], "body"),
      shape("path", { class: "head", d: head, fill: stroke }, [], "head"),
    ];
    return [
      shape(
        "g",
        { class: "link", "data-link": link.id, ...gone(strength(link.id)) },
        inside,
        `link ${String(link.id)}`,
      ),
    ];
  });
}

const round = (value: number): string => String(Math.round(value * 100) / 100);

/** The line between the necks of its heads, and the heads: at the later end, at the earlier one, or both. */
function arrow(way: Curve, width: number, atFrom: boolean, atTo: boolean): { body: string; head: string } {
  const long = HEAD + width;
  const half = 2.6 + 0.9 * width;
  const end = (tip: Point, before: Point): { neck: string; head: string } => {
    const length = Math.hypot(tip.x - before.x, tip.y - before.y) || 1;
    const [ux, uy] = [(tip.x - before.x) / length, (tip.y - before.y) / length];
    const at = (back: number, aside: number): string =>
      `${round(tip.x - ux * back - uy * aside)} ${round(tip.y - uy * back + ux * aside)}`;
    const neck = at(0.8 * long, 0);
    return { neck, head: `M${at(0, 0)}L${at(long, half)}L${neck}L${at(long, -half)}Z` };
  };
  const [from, out, back, to] = [way.from, way.out, way.in, way.to].map(({ x, y }) => `${round(x)} ${round(y)}`);
  const [early, late] = [end(way.to, pointAt(way, 0.94)), end(way.from, pointAt(way, 0.06))];
  return {
    body: `M${(atFrom ? late.neck : from) ?? ""}C${out ?? ""} ${back ?? ""} ${(atTo ? early.neck : to) ?? ""}`,
    head: `${atTo ? early.head : ""}${atFrom ? late.head : ""}`,
  };
}

function nodes(
  { layout, candidate }: Scene,
  theme: Theme,
  radius: (place: Place) => number,
  strength: Strength,
): Shape[] {
  return [...layout.places.values()].map((place) => {
    const { node, x, y } = place;
    const strong = node.id === 0 || node.entity === candidate?.entity;
    const color = (one: string): string => mixed(theme.paper, one, strength(node.id));
    const [fill, stroke] = strong ? [theme.accent, theme.accent] : [theme.node, theme.rim];
    const inside = [
      shape("circle", { class: "grip", r: Math.max(place.radius, 9), fill: "none" }, [], "grip"),
      shape(
        "circle",
        { class: "disc", r: radius(place), fill: color(fill), stroke: color(stroke), "stroke-width": strong ? 2 : 1.2 },
        [],
        "disc",
      ),
    ];
    if (node.id === 0) {
      const size = Math.max(layout.scale.small, place.radius * 1.05);
      const set = {
        "text-anchor": "middle",
        y: size * 0.35,
        "font-family": FONT,
        "font-size": size,
        "font-weight": "bold",
      };
      inside.push(shape("text", { ...set, fill: theme.paper, "pointer-events": "none" }, "?", "mark"));
    }
    const set = {
      class: "node",
      "data-node": node.id,
      "data-count": node.count ?? 1,
      transform: `translate(${round(x)} ${round(y)})`,
    };
    return shape("g", { ...set, ...gone(strength(node.id)) }, inside, `node ${String(node.id)}`);
  });
}

function labelled(
  { layout, candidate }: Scene,
  label: Label,
  theme: Theme,
  radius: (place: Place) => number,
  strength: Record<"node" | "link", Strength>,
): Shape {
  const mine = label.kind === "question" || (label.kind === "name" && label.of === candidate?.entity);
  const quiet = label.kind === "axis" || label.kind === "date";
  const ink = mine ? theme.accent : quiet ? theme.quiet : theme.ink;
  const strong = labelStrength(layout, label, strength);
  const beside = label.beside && layout.places.get(label.beside.node);
  const more = beside ? Math.max(0, radius(beside) - beside.radius) : 0;
  const [x, y] = [label.x + more * (label.beside?.x ?? 0), label.y + more * (label.beside?.y ?? 0)];
  const lines = label.lines.map((line, place) => {
    const set = { x, dy: place > 0 ? round(label.size * LINE) : undefined };
    return shape("tspan", { ...set, "font-weight": place < label.bold ? "bold" : undefined }, line);
  });
  const set = {
    class: `label ${label.kind}`,
    x,
    y,
    "font-family": FONT,
    "font-size": label.size,
    "text-anchor": label.anchor,
    fill: mixed(theme.paper, ink, strong),
    "pointer-events": "none",
    ...(strong === 0 ? { opacity: 0 } : {}),
    ...(label.kind === "axis"
      ? {}
      : { stroke: theme.paper, "stroke-width": HALO, "stroke-linejoin": "round", "paint-order": "stroke" }),
  };
  return shape("text", set, lines, label.key);
}

/** A label is as strong as what it belongs to; names of what is fading stay legible. */
function labelStrength(layout: Layout, label: Label, { node, link }: Record<"node" | "link", Strength>): number {
  if (label.kind === "relation") return link(Number(label.of));
  if (label.kind === "date") return node(Number(label.of));
  if (label.kind !== "name") return 1;
  const lane = layout.laneOf.get(String(label.of));
  const named = (lane?.nodes ?? []).map((place) => place.node.id).filter((id) => id > 0); // the question has its own text
  const most = Math.max(0, ...named.map(node));
  return most > 0 && most < 1 ? 0.25 + 0.75 * most : most;
}
