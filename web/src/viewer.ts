/** The interactive viewer: a story in an element, with replay, filter, candidates, zoom and keys. */
import { select } from "d3-selection";
import { zoom, zoomIdentity } from "d3-zoom";
import { unpack, type Packed } from "./document";
import { bounds, draw, type Emphasis, type Scene } from "./draw";
import { element } from "./elements";
import { aboutLink, aboutNode, candidates, evidence, same, type Spot } from "./side";
import type { Room } from "./layout";
import { onEscape } from "./release";
import { figure, sceneOf } from "./scene";
import { patch } from "./shape";
import style from "./style.css?inline";
import { byCanvas, byTable, readable, widest } from "./text";
import { DARK, LIGHT, type Theme } from "./theme";
import { frames, LEASTS, moment, tidy, type Choice, type Frame, type Moment } from "./view";

export interface Options {
  /** "auto" follows the reader's system. */
  readonly theme?: "light" | "dark" | "auto";
  /** Whether the mouse wheel zooms; off where the page around scrolls. */
  readonly wheel?: boolean;
}

export interface Viewer {
  /** Shows another explanation in the same place. */
  update(document: Packed): void;
  destroy(): void;
}

const FEW = 24;
const BEAT = 1300;
/** What the buttons at the top take of the stage. */
const BUTTONS = 34;
let mounted = 0;

const toldFrame = (frame: Frame, steps: number): string => {
  if (frame.kind === "initialise") return "Start at the question";
  if (frame.kind === "expand") return `Step ${String(frame.step)}: look back at facts`;
  return `Step ${String(frame.step)}: prune${frame.step === steps ? ", and answer" : ""}`;
};

const toldLeast = (least: number): string => {
  if (least === 0) return "everything kept";
  return least < 1e-6 ? "all that carried some" : `at least ${String(100 * least)} % of the score`;
};

/** Puts a viewer into an element; several on one page do not touch each other. */
export function mount(host: HTMLElement, packed: Packed, options: Options = {}): Viewer {
  const shadow = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const measure = byCanvas();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const group = `candidate-${String(mounted++)}`;

  let story = unpack(packed);
  let all = frames(story.steps);
  let choice: Choice = { candidate: 0, least: 0, pruned: false };
  let place = 0;
  let wanted = options.theme ?? "auto";
  let hovered: Spot = null;
  let pinned: Spot = null;
  let current = 0;
  let scene: Scene;
  let now: Moment;
  let timer: ReturnType<typeof setInterval> | undefined;

  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("role", "group");
  svg.setAttribute("tabindex", "-1"); // its nodes are tabbed to, not the whole
  svg.setAttribute(
    "aria-label",
    "Inference graph. Arrow keys move from node to node, Enter holds on to one, Escape lets go.",
  );
  const world = document.createElementNS("http://www.w3.org/2000/svg", "g");
  svg.append(world);
  const tip = element("div", { class: "tip", hidden: true });
  const title = element("h1");
  const byline = element("p");
  const notes = element("div", { class: "notes" });
  const button = (text: string, label: string, click: () => void): HTMLButtonElement =>
    element("button", { type: "button", "aria-label": label, title: label }, [text], { click });
  const play = button("▶", "Replay", () => {
    replay(timer === undefined);
  });
  const slider = (label: string, most: number, input: () => void): HTMLInputElement =>
    element("input", { type: "range", min: "0", max: String(most), step: "1", "aria-label": label }, [], { input });
  const step = slider("Moment of the replay", all.length - 1, () => {
    replay(false);
    goTo(Number(step.value));
  });
  const stepText = element("output");
  const least = slider("Least share of the score", LEASTS.length - 1, () => {
    choose({ ...choice, least: LEASTS[Number(least.value)] ?? 0 });
  });
  const leastText = element("output");
  const pruned = element("input", { type: "checkbox" }, [], {
    change: () => {
      choose({ ...choice, pruned: pruned.checked });
    },
  });
  const zoomer = zoom<SVGSVGElement, unknown>()
    .scaleExtent([0.1, 8])
    .filter((event: Event) =>
      event.type === "wheel" ? (options.wheel ?? true) || (event as WheelEvent).ctrlKey : true,
    )
    .on("zoom", (event: { transform: { toString(): string } }) => {
      world.setAttribute("transform", event.transform.toString());
    });
  const canvas = select<SVGSVGElement, unknown>(svg);
  const stage = element("div", { class: "stage" }, [
    svg,
    tip,
    element("div", { class: "zoom" }, [
      button("+", "Zoom in", () => {
        zoomer.scaleBy(canvas, 1.3);
      }),
      button("−", "Zoom out", () => {
        zoomer.scaleBy(canvas, 1 / 1.3);
      }),
      button("⤢", "Show all", () => {
        fit(0.1);
      }),
      button("◐", "Light or dark", () => {
        wanted = theme() === DARK ? "light" : "dark";
        redraw();
      }),
      button("SVG", "Save the picture as SVG", save),
    ]),
  ]);
  const detail = element("div", { class: "detail", "aria-live": "polite" });
  const side = element("aside", { "aria-label": "Candidates and evidence" });
  const root = element("div", { class: "root" }, [
    element("header", {}, [title, byline, notes]),
    stage,
    element("div", { class: "tools" }, [
      element("div", { class: "replay" }, [play, step, stepText]),
      element("label", {}, ["Show", least, leastText]),
      element("label", {}, [pruned, "and what was pruned"]),
    ]),
    side,
  ]);
  shadow.replaceChildren(element("style", {}, [style]), root);

  const theme = (): Theme => (wanted === "dark" || (wanted === "auto" && dark.matches) ? DARK : LIGHT);

  function load(document: Packed): void {
    story = unpack(document);
    all = frames(story.steps);
    place = all.length - 1;
    [hovered, pinned, current] = [null, null, 0];
    step.max = String(all.length - 1);
    const { query } = story;
    title.replaceChildren(
      ...[query.subject, " – ", query.relation, " – ", query.object].map((part) =>
        part === "?" ? element("b", {}, ["?"]) : readable(part),
      ),
    );
    byline.textContent = `${query.time}, as ${story.model} sees it`;
    if (story.unseen > 0) byline.textContent += ` · ${String(story.unseen)} more facts were looked at and pruned`;
    notes.replaceChildren(...story.notes.map((note) => element("p", {}, [note])));
    choose({ candidate: 0, least: tidy(story, 0, FEW), pruned: false });
  }

  function choose(next: Choice): void {
    const other = next.candidate !== choice.candidate;
    choice = other ? { ...next, least: tidy(story, next.candidate, FEW) } : next;
    least.value = String(LEASTS.indexOf(choice.least));
    leastText.textContent = toldLeast(choice.least);
    pruned.checked = choice.pruned;
    scene = sceneOf(story, choice, measure, room());
    hovered = null;
    if (!scene.layout.places.has(current)) current = 0;
    if (pinned && (other || !shown(pinned))) pinned = null;
    redraw();
    name();
    list();
    fit();
  }

  /** What a screen reader says of every node. */
  function name(): void {
    for (const one of world.querySelectorAll<SVGGElement>(".node")) {
      const node = story.nodes[Number(one.dataset.node)];
      one.setAttribute("role", "img");
      if (node) one.setAttribute("aria-label", aboutNode(story, node, choice.candidate).join(". "));
    }
  }

  const room = (): Room => {
    const { width, height } = stage.getBoundingClientRect();
    return width > 0 && height > BUTTONS ? { width, height: height - BUTTONS } : { width: 1000, height: 625 };
  };

  const shown = (spot: NonNullable<Spot>): boolean =>
    spot.kind === "node" ? scene.layout.places.has(spot.id) : scene.links.some((link) => link.id === spot.id);

  function list(): void {
    const act = {
      choose: (candidate: number): void => {
        choose({ ...choice, candidate });
        shadow.querySelector<HTMLInputElement>(`input[value="${String(candidate)}"]`)?.focus();
      },
      hover,
      pin,
    };
    side.replaceChildren(
      candidates(story, choice.candidate, group, act),
      evidence(story, choice.candidate, pinned, act),
      detail,
    );
  }

  function redraw(): void {
    const frame = all[place] ?? { kind: "initialise", step: 0 };
    const colors = theme();
    for (const [name, color] of Object.entries(colors)) root.style.setProperty(`--${name}`, String(color));
    root.style.colorScheme = colors === DARK ? "dark" : "light";
    now = moment(story, scene.links, frame);
    step.value = String(place);
    stepText.textContent = toldFrame(frame, story.steps);
    step.setAttribute("aria-valuetext", stepText.textContent);
    least.setAttribute("aria-valuetext", leastText.textContent);
    patch(world, draw(scene, now, colors, emphasis()));
    for (const one of world.querySelectorAll<SVGGElement>(".node"))
      one.setAttribute("tabindex", Number(one.dataset.node) === current ? "0" : "-1");
    tell();
  }

  const spot = (): Spot => hovered ?? pinned;

  function emphasis(): Emphasis | undefined {
    const at = spot();
    if (!at || !shown(at)) return undefined;
    const links = scene.links.filter((link) =>
      at.kind === "link" ? link.id === at.id : link.source === at.id || link.target === at.id,
    );
    const nodes = new Set(links.flatMap((link) => [link.source, link.target]));
    if (at.kind === "node") nodes.add(at.id);
    return { nodes, links: new Set(links.map((link) => link.id)) };
  }

  function about(at: NonNullable<Spot>): string[] {
    const [node, link] = [story.nodes[at.id], story.links[at.id]];
    if (at.kind === "node") return node ? aboutNode(story, node, choice.candidate) : [];
    return link ? aboutLink(story, link, choice.candidate) : [];
  }

  function tell(): void {
    const at = spot();
    const hint = "Point at a node or a line, or walk the nodes with the arrow keys.";
    const lines = at ? about(at) : [hint];
    detail.replaceChildren(...lines.map((line, row) => element("p", row > 0 || !at ? { class: "quiet" } : {}, [line])));
    for (const one of side.querySelectorAll<HTMLElement>(".fact"))
      one.setAttribute("aria-pressed", String(same(pinned, { kind: "link", id: Number(one.dataset.fact) })));
  }

  function hover(next: Spot): void {
    if (same(hovered, next)) return;
    hovered = next;
    if (!next) tip.hidden = true;
    redraw();
  }

  function pin(next: Spot): void {
    pinned = same(pinned, next) ? null : next;
    redraw();
  }

  function goTo(next: number): void {
    place = Math.max(0, Math.min(all.length - 1, next));
    if (place < all.length - 1 && !choice.pruned) choose({ ...choice, pruned: true });
    else redraw();
  }

  function replay(on: boolean): void {
    clearInterval(timer);
    timer = undefined;
    play.textContent = on ? "❚❚" : "▶";
    if (!on) return;
    goTo(place === all.length - 1 ? 0 : place + 1);
    timer = setInterval(() => {
      if (place === all.length - 1) replay(false);
      else goTo(place + 1);
    }, BEAT);
  }

  /** All of it where that stays legible; otherwise the end of it, where the question is. */
  function fit(smallest = 0.6): void {
    const { width, height } = room();
    const box = bounds(scene);
    const scale = Math.max(smallest, Math.min(1.25, width / box.width, height / box.height));
    const question = scene.layout.places.get(0)?.y ?? 0;
    const x =
      box.width * scale > width ? width - (box.x + box.width) * scale : width / 2 - (box.x + box.width / 2) * scale;
    const middle = box.height * scale > height ? question : box.y + box.height / 2;
    zoomer.transform(canvas, zoomIdentity.translate(x, BUTTONS + height / 2 - middle * scale).scale(scale));
  }

  function save(): void {
    const blob = new Blob([figure(story, choice, theme(), widest(measure, byTable))], { type: "image/svg+xml" });
    const link = element("a", { href: URL.createObjectURL(blob), download: "explanation.svg" });
    link.click();
    setTimeout(() => {
      URL.revokeObjectURL(link.href);
    }, 1000);
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

  svg.addEventListener("pointermove", (event) => {
    const at = under(event.target);
    hover(at);
    if (!at) return;
    const box = stage.getBoundingClientRect();
    tip.replaceChildren(
      ...about(at)
        .slice(0, 2)
        .map((line) => element("div", {}, [line])),
    );
    tip.hidden = false;
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    tip.style.left = `${String(Math.max(4, Math.min(x + 14, box.width - tip.offsetWidth - 8)))}px`;
    tip.style.top = `${String(y + 18 + tip.offsetHeight > box.height ? y - tip.offsetHeight - 12 : y + 18)}px`;
  });
  svg.addEventListener("pointerleave", () => {
    hover(null);
  });
  svg.addEventListener("click", (event) => {
    const at = under(event.target);
    if (at?.kind === "node") current = at.id;
    if (at || pinned) pin(at);
  });
  svg.addEventListener("focusin", (event) => {
    const at = under(event.target);
    if (at?.kind !== "node") return;
    current = at.id;
    hover(at);
  });
  svg.addEventListener("focusout", () => {
    hover(null);
  });
  svg.addEventListener("keydown", (event) => {
    if (event.key.startsWith("Arrow")) {
      current = neighbour(event.key);
      redraw();
      world.querySelector<SVGGElement>(`[data-node="${String(current)}"]`)?.focus();
    } else if (event.key === "Enter" || event.key === " ") pin({ kind: "node", id: current });
    else return;
    event.preventDefault();
  });
  const deafen = onEscape(root, (event) => {
    if (!spot()) return false;
    [pinned, hovered, tip.hidden] = [null, null, true];
    redraw();
    if (event.composedPath().includes(root)) event.preventDefault(); // elsewhere it may be meant for others, too
    return true;
  });
  canvas.call(zoomer).on("dblclick.zoom", null);
  const recolor = (): void => {
    redraw();
  };
  dark.addEventListener("change", recolor);
  const resized = new ResizeObserver(() => {
    fit();
  });
  resized.observe(stage);
  load(packed);

  return {
    update: load,
    destroy(): void {
      clearInterval(timer);
      deafen();
      resized.disconnect();
      dark.removeEventListener("change", recolor);
      shadow.replaceChildren();
    },
  };
}
