/** The picture in its element: drawn, zoomed, pointed at, walked with keys, printed whole. */
import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import type { Candidate, Story } from "./document";
import { bounds, draw, type Emphasis, type Scene } from "./draw";
import { element } from "./elements";
import type { Room } from "./layout";
import { legend } from "./legend";
import { zoomOf } from "./scene";
import { patch } from "./shape";
import type { Spot } from "./side";
import type { Measure } from "./text";
import type { Theme } from "./theme";
import type { Moment } from "./view";

/** What the buttons at the top take of the stage. */
const BUTTONS = 34;
/** What a page of A4 has room for, in pixels: as wide as it is printed, as high as the style has it. */
const PAPER: Room = { width: 700, height: 450 };
const SVG = "http://www.w3.org/2000/svg";

export interface Stage {
  readonly root: HTMLElement;
  readonly legend: HTMLElement;
  /** What the picture may fill. */
  room(): Room;
  /** What sizes and shades mean; before anything is laid out, since it takes room. */
  explain(story: Story, candidate: Candidate | undefined, theme: Theme): void;
  show(scene: Scene, now: Moment, theme: Theme, emphasis: Emphasis | undefined): void;
  /** Zooms so that all of it is seen. */
  fit(): void;
  hideTip(): void;
  destroy(): void;
}

interface Actions {
  readonly hover: (spot: Spot) => void;
  readonly pin: (spot: Spot) => void;
  readonly letGo: () => void;
  /** What is told of a node or link. */
  readonly about: (spot: NonNullable<Spot>) => readonly string[];
  readonly resized: () => void;
  readonly recolor: () => void;
  readonly save: () => void;
}

const button = (text: string, label: string, click: () => void): HTMLButtonElement =>
  element("button", { type: "button", "aria-label": label, title: label }, [text], { click });

export function makeStage(act: Actions, measure: Measure, wheel: boolean): Stage {
  let scene: Scene;
  let now: Moment;
  let current = 0;
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("role", "group");
  svg.setAttribute("tabindex", "-1"); // its nodes are tabbed to, not the whole
  const says = "Inference graph. Arrow keys move from node to node, Enter holds on to one, Escape lets go.";
  svg.setAttribute("aria-label", says);
  const world = document.createElementNS(SVG, "g");
  svg.append(world);
  const tip = element("div", { class: "tip", hidden: true });
  const keys = document.createElementNS(SVG, "svg");
  keys.setAttribute("aria-hidden", "true");
  const canvas = select<SVGSVGElement, unknown>(svg);
  const zoomer = zoom<SVGSVGElement, unknown>()
    // what it would read by itself, a length in percent, has no value while the picture is hidden
    .extent(function () {
      return [
        [0, 0],
        [this.clientWidth, this.clientHeight],
      ];
    })
    .scaleExtent([0.1, 8])
    .filter((event: Event) => (event.type === "wheel" ? wheel || (event as WheelEvent).ctrlKey : true))
    .on("zoom", (event: { transform: { toString(): string } }) => {
      world.setAttribute("transform", event.transform.toString());
    });
  const root = element("div", { class: "stage" }, [
    svg,
    tip,
    element("div", { class: "zoom" }, [
      button("+", "Zoom in", () => {
        zoomer.scaleBy(canvas, 1.3);
      }),
      button("−", "Zoom out", () => {
        zoomer.scaleBy(canvas, 1 / 1.3);
      }),
      button("⤢", "Show all", fit),
      button("◐", "Light or dark", act.recolor),
      button("SVG", "Save the picture as SVG", act.save),
    ]),
  ]);

  const paper = matchMedia("print");
  function room(): Room {
    if (paper.matches) return PAPER;
    const { width, height } = root.getBoundingClientRect();
    return width > 0 && height > BUTTONS ? { width, height: height - BUTTONS } : { width: 1000, height: 625 };
  }

  let fitted = ""; // the room that the picture was last fitted to: it may change before it is first observed
  const sizeOf = ({ width, height }: Room): string => `${width.toFixed(0)} ${height.toFixed(0)}`;

  function fit(): void {
    const { width, height } = room();
    fitted = sizeOf({ width, height });
    const box = bounds(scene);
    const scale = zoomOf(scene, room());
    const x = width / 2 - (box.x + box.width / 2) * scale;
    const y = BUTTONS + height / 2 - (box.y + box.height / 2) * scale;
    zoomer.transform(canvas, zoomIdentity.translate(x, y).scale(scale));
  }

  const under = (target: EventTarget | null): Spot => {
    const one = target instanceof Element ? target.closest<SVGGElement>("[data-node],[data-link]") : null;
    if (!one) return null;
    return one.dataset.node === undefined
      ? { kind: "link", id: Number(one.dataset.link) }
      : { kind: "node", id: Number(one.dataset.node) };
  };

  /** The nearest node in a direction: along the row for left and right, across for up and down. */
  function neighbour(key: string): number {
    const from = scene.layout.places.get(current);
    if (!from) return 0;
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key] ?? [0, 0];
    let [best, nearest] = [current, Infinity];
    for (const [id, { x, y }] of scene.layout.places) {
      if ((now.node.get(id) ?? "absent") === "absent") continue;
      const ahead = (x - from.x) * (dx ?? 0) + (y - from.y) * (dy ?? 0);
      const aside = Math.abs((x - from.x) * (dy ?? 0)) + Math.abs((y - from.y) * (dx ?? 0));
      if (ahead > 0 && ahead + 2 * aside < nearest) [best, nearest] = [id, ahead + 2 * aside];
    }
    return best;
  }

  function tabStop(): void {
    for (const one of world.querySelectorAll<SVGGElement>(".node"))
      one.setAttribute("tabindex", Number(one.dataset.node) === current ? "0" : "-1");
  }

  svg.addEventListener("pointermove", (event) => {
    const at = under(event.target);
    act.hover(at);
    if (!at || event.pointerType === "touch") return; // a finger covers it: what is tapped is told below
    const box = root.getBoundingClientRect();
    tip.replaceChildren(
      ...act
        .about(at)
        .slice(0, 2)
        .map((line) => element("div", {}, [line])),
    );
    tip.hidden = false;
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    tip.style.left = `${String(Math.max(4, Math.min(x + 14, box.width - tip.offsetWidth - 8)))}px`;
    tip.style.top = `${String(y + 18 + tip.offsetHeight > box.height ? y - tip.offsetHeight - 12 : y + 18)}px`;
  });
  svg.addEventListener("pointerleave", () => {
    act.hover(null);
  });
  svg.addEventListener("click", (event) => {
    const at = under(event.target);
    if (at?.kind === "node") current = at.id;
    if (at) act.pin(at);
    else act.letGo();
  });
  svg.addEventListener("focusin", (event) => {
    const at = under(event.target);
    if (at?.kind !== "node") return;
    current = at.id;
    act.hover(at);
  });
  svg.addEventListener("focusout", () => {
    act.hover(null);
  });
  svg.addEventListener("keydown", (event) => {
    if (event.key.startsWith("Arrow")) {
      current = neighbour(event.key);
      tabStop();
      world.querySelector<SVGGElement>(`[data-node="${String(current)}"]`)?.focus();
    } else if (event.key === "Enter" || event.key === " ") act.pin({ kind: "node", id: current });
    else return;
    event.preventDefault();
  });
  canvas.call(zoomer).on("dblclick.zoom", null);

  // On paper the picture is laid out for the page, as wide as it and whole, however it is zoomed on the screen.
  const toPrint = (): void => {
    act.resized();
    const box = bounds(scene);
    svg.setAttribute("viewBox", [box.x, box.y, box.width, box.height].join(" "));
    world.removeAttribute("transform");
  };
  const printed = (): void => {
    svg.removeAttribute("viewBox");
    act.resized();
  };
  const turned = (): void => {
    (paper.matches ? toPrint : printed)();
  };
  paper.addEventListener("change", turned);
  const resized = new ResizeObserver(() => {
    const next = sizeOf(room());
    if (next !== fitted && fitted && !paper.matches) act.resized();
    fitted = next;
  });
  resized.observe(root);

  return {
    root,
    legend: element("div", { class: "legend" }, [keys]),
    room,
    show(next, moment, theme, emphasis): void {
      [scene, now] = [next, moment];
      if (!scene.layout.places.has(current)) current = 0;
      patch(world, draw(scene, now, theme, emphasis));
      for (const one of world.querySelectorAll<SVGGElement>(".node")) {
        one.setAttribute("role", "img");
        one.setAttribute("aria-label", act.about({ kind: "node", id: Number(one.dataset.node) }).join(". "));
      }
      tabStop();
    },
    explain(story, candidate, theme): void {
      const key = legend(story, candidate, theme, measure, 0, 14, room().width - 32);
      const [width, height] = [key.width + 2, key.height + 4].map((size) => size.toFixed(0));
      keys.setAttribute("viewBox", `0 0 ${width ?? ""} ${height ?? ""}`);
      keys.setAttribute("width", width ?? "");
      patch(keys, key.shapes);
    },
    fit,
    hideTip(): void {
      tip.hidden = true;
    },
    destroy(): void {
      resized.disconnect();
      paper.removeEventListener("change", turned);
    },
  };
}
