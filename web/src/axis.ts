/** What lies behind the graph: the axis of time, and a row for every entity that comes more than once. */
import type { Scene } from "./draw";
import type { Lane, Layout } from "./layout";
import { shape, type Shape } from "./shape";
import type { Theme } from "./theme";

/** Of the axis below the lowest nodes: a date has room between. */
export const AXIS = 22;

export function axis({ layout, labels, candidate }: Scene, theme: Theme): Shape[] {
  const y = layout.bottom + AXIS;
  const named = new Set(labels.filter((label) => label.kind === "axis").map((label) => label.of));
  const grid = layout.columns.map(({ time, x }) => {
    const [long, width] = named.has(time) ? [6, 1] : [3, 0.5];
    const set = { x1: x, x2: x, y1: layout.top, y2: y + long, stroke: theme.faint, "stroke-width": width };
    return shape("line", set, [], `grid ${time}`);
  });
  const rows = layout.lanes.filter((lane) => lane.nodes.length > 1 && lane.entity !== candidate?.entity);
  const band = layout.lanes.filter((lane) => lane.entity === candidate?.entity);
  const from = (layout.columns[0]?.x ?? 0) - 14;
  const end = layout.right + 14;
  const time = `M${String(from)} ${String(y)}H${String(end)}m-5 -4l5 4l-5 4`;
  return [
    ...band.map((lane) => row(lane, { stroke: theme.tint, "stroke-width": bandWidth(layout) })),
    ...grid,
    ...rows.map((lane) => row(lane, { stroke: theme.faint, "stroke-dasharray": "2 4" })),
    shape("path", { d: time, fill: "none", stroke: theme.quiet }, [], "time"),
  ];
}

const bandWidth = ({ scale }: Layout): number => Math.min(2 * scale.radius + 6, scale.row - 3);

function row(lane: Lane, set: Shape["set"]): Shape {
  const [x1, x2] = [lane.nodes[0]?.x, lane.nodes.at(-1)?.x];
  return shape(
    "line",
    { x1, x2, y1: lane.y, y2: lane.y, "stroke-linecap": "round", ...set },
    [],
    `lane ${lane.entity}`,
  );
}
