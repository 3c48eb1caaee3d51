/** The interactive viewer: a story in an element. Holds what is chosen and pointed at; its parts show it. */
import { unpack, type Link, type Packed, type Story } from "./document";
import type { Emphasis, Scene } from "./draw";
import { element } from "./elements";
import { makeHeader } from "./header";
import { onEscape } from "./release";
import { figure, sceneOf } from "./scene";
import { aboutLink, aboutNode, aboutReason, makeSide, same, type Spot } from "./side";
import { makeStage } from "./stage";
import style from "./style.css?inline";
import { byCanvas, byTable, widest } from "./text";
import { DARK, LIGHT, type Theme } from "./theme";
import { makeTools } from "./tools";
import { moment, tidy, type Choice } from "./view";

export interface Options {
  /** "auto" follows the reader's system. */
  readonly theme?: "light" | "dark" | "auto";
  /** Whether the mouse wheel zooms; off where the page around scrolls. */
  readonly wheel?: boolean;
  /** Whether question and verdict stand above the picture; off where the page around tells them, and the reasons. */
  readonly header?: boolean;
}

export interface Viewer {
  /** Shows another explanation in the same place. */
  update(document: Packed): void;
  destroy(): void;
}

/** About how many nodes are shown at first. */
const FEW = 24;

/** Puts a viewer into an element; several on one page do not touch each other. */
export function mount(host: HTMLElement, packed: Packed, options: Options = {}): Viewer {
  const shadow = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const measure = byCanvas();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let wanted = options.theme ?? "auto";
  let story: Story;
  let scene: Scene;
  let choice: Choice = { candidate: 0, least: 0, pruned: false };
  let hovered: Spot = null;
  let pinned: Spot = null;

  const header = makeHeader();
  const inside = options.header === false;
  if (inside) header.root.style.display = "none";
  const tools = makeTools({ choose, redraw });
  const side = makeSide({
    choose: (candidate) => {
      choose({ candidate });
    },
    hover,
    pin,
  });
  const stage = makeStage(
    { hover, pin, letGo, about, resized: relayOut, recolor: turnColors, save },
    measure,
    options.wheel ?? true,
  );
  const root = element("div", { class: inside ? "root inside" : "root" }, [
    header.root,
    stage.root,
    stage.legend,
    tools.root,
    side.root,
  ]);
  shadow.replaceChildren(element("style", {}, [style]), root);

  const theme = (): Theme => (wanted === "dark" || (wanted === "auto" && dark.matches) ? DARK : LIGHT);
  const spot = (): Spot => hovered ?? pinned;

  function load(document: Packed): void {
    story = unpack(document);
    [hovered, pinned] = [null, null];
    header.show(story);
    tools.load(story);
    const candidate = Math.max(
      0,
      story.candidates.findIndex(({ entity }) => entity === story.answer),
    );
    choice = { candidate, least: tidy(story, candidate, FEW), pruned: false };
    relayOut();
  }

  function choose(change: Partial<Choice>): void {
    const next = { ...choice, ...change };
    const other = next.candidate !== choice.candidate;
    choice = other ? { ...next, least: tidy(story, next.candidate, FEW) } : next;
    hovered = null;
    if (other) pinned = null;
    relayOut();
  }

  function relayOut(): void {
    tools.show(choice);
    stage.explain(story, story.candidates[choice.candidate], theme());
    scene = sceneOf(story, choice, measure, stage.room());
    if (pinned && !shown(pinned)) pinned = null;
    side.show(story, choice.candidate, pinned);
    redraw();
    stage.fit();
  }

  function redraw(): void {
    const colors = theme();
    for (const [name, color] of Object.entries(colors)) root.style.setProperty(`--${name}`, String(color));
    root.style.colorScheme = colors === DARK ? "dark" : "light";
    const now = moment(story.steps, scene.drawn.nodes, scene.links, tools.frame());
    stage.explain(story, scene.candidate, colors);
    stage.show(scene, now, colors, emphasis());
    const at = spot();
    side.tell(at ? about(at) : [], pinned);
  }

  /** The drawn links that a spot is about. */
  function linksAt(at: NonNullable<Spot>): Link[] {
    if (at.kind === "link") return scene.links.filter((link) => link.id === at.id);
    if (at.kind === "node") return scene.links.filter((link) => link.source === at.id || link.target === at.id);
    const mine = new Set(story.candidates[choice.candidate]?.reasons[at.id]?.links);
    return scene.links.filter((link) => link.members.some((id) => mine.has(id)));
  }

  const shown = (at: NonNullable<Spot>): boolean =>
    at.kind === "node" ? scene.layout.places.has(at.id) : linksAt(at).length > 0;

  function emphasis(): Emphasis | undefined {
    const at = spot();
    if (!at || !shown(at)) return undefined;
    const links = linksAt(at);
    const nodes = new Set(links.flatMap((link) => [link.source, link.target]));
    if (at.kind === "node") nodes.add(at.id);
    return { nodes, links: new Set(links.map((link) => link.id)) };
  }

  function about(at: NonNullable<Spot>): readonly string[] {
    if (at.kind === "reason") return aboutReason(story, at.id, choice.candidate);
    const node = scene.drawn.nodes.find(({ id }) => id === at.id);
    const link = scene.links.find(({ id }) => id === at.id);
    if (at.kind === "node") return node ? aboutNode(scene, node) : [];
    return link ? aboutLink(scene, link) : [];
  }

  function hover(next: Spot): void {
    if (same(hovered, next)) return;
    hovered = next;
    if (!next) stage.hideTip();
    redraw();
  }

  function pin(next: Spot): void {
    pinned = same(pinned, next) ? null : next;
    redraw();
  }

  function letGo(): void {
    if (pinned) pin(pinned);
  }

  function turnColors(): void {
    wanted = theme() === DARK ? "light" : "dark";
    redraw();
  }

  function save(): void {
    const blob = new Blob([figure(story, choice, theme(), widest(measure, byTable))], { type: "image/svg+xml" });
    const link = element("a", { href: URL.createObjectURL(blob), download: "explanation.svg" });
    link.click();
    setTimeout(() => {
      URL.revokeObjectURL(link.href);
    }, 1000);
  }

  const deafen = onEscape(root, (event) => {
    if (!spot()) return false;
    [pinned, hovered] = [null, null];
    stage.hideTip();
    redraw();
    if (event.composedPath().includes(root)) event.preventDefault(); // elsewhere it may be meant for others, too
    return true;
  });
  dark.addEventListener("change", redraw);
  load(packed);

  return {
    update: load,
    destroy(): void {
      tools.stop();
      deafen();
      stage.destroy();
      dark.removeEventListener("change", redraw);
      shadow.replaceChildren();
    },
  };
}
