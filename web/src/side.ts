/** The panel beside the picture: candidates to choose from, what is pointed at, and the evidence as a list. */
import type { Link, Node, Story } from "./document";
import { element, percent } from "./elements";
import { readable } from "./text";
import { shareOf, wasKept } from "./view";

/** A node or a link that is pointed at. */
export type Spot = { readonly kind: "node" | "link"; readonly id: number } | null;

export const same = (a: Spot, b: Spot): boolean => a?.kind === b?.kind && a?.id === b?.id;

export interface Actions {
  readonly choose: (candidate: number) => void;
  readonly hover: (spot: Spot) => void;
  readonly pin: (spot: Spot) => void;
}

const MOST_FACTS = 40;

export function candidates(story: Story, chosen: number, group: string, act: Actions): HTMLElement {
  const best = Math.max(1e-9, ...story.candidates.map(({ score }) => score));
  const rows = story.candidates.map((candidate, place) => {
    const radio = element("input", { type: "radio", name: group, value: String(place) }, [], {
      change: () => {
        act.choose(place);
      },
    });
    radio.checked = place === chosen;
    const bar = element("i", { style: `width:${((100 * candidate.score) / best).toFixed(1)}%` });
    return element("label", { class: "candidate" }, [
      radio,
      element("span", {}, [readable(candidate.entity)]),
      element("span", { class: "share" }, [candidate.score.toPrecision(3)]),
      element("span", { class: "bar", "aria-hidden": "true" }, [bar]),
    ]);
  });
  const legend = element("legend", {}, [element("h2", {}, ["Candidates and scores"])]);
  return element("fieldset", {}, [legend, ...rows]);
}

/** Every fact that carried some of the score, heaviest first, once. */
export function evidence(story: Story, chosen: number, pinned: Spot, act: Actions): HTMLElement {
  const candidate = story.candidates[chosen];
  const facts = new Map<string, { share: number; link: Link; best: number }>();
  for (const link of story.links) {
    const share = shareOf(candidate, link.id);
    if (share <= 0) continue;
    const [subject, object] = link.inverse ? [link.target, link.source] : [link.source, link.target];
    const key = [story.nodes[subject]?.entity, link.relation, story.nodes[object]?.entity, link.time].join("\n");
    const had = facts.get(key);
    const heavier = !had || share > had.best;
    facts.set(key, {
      share: (had?.share ?? 0) + share,
      link: heavier ? link : had.link,
      best: heavier ? share : had.best,
    });
  }
  const order = [...facts.values()].toSorted((a, b) => b.share - a.share);
  const rows = order.slice(0, MOST_FACTS).map(({ share, link }) => {
    const spot: Spot = { kind: "link", id: link.id };
    const look = (): void => {
      act.hover(spot);
    };
    const leave = (): void => {
      act.hover(null);
    };
    const pin = (): void => {
      act.pin(spot);
    };
    const set = {
      type: "button",
      class: "fact",
      "data-fact": String(link.id),
      "aria-pressed": String(same(pinned, spot)),
    };
    const inside = [element("span", { class: "share" }, [percent(share)]), element("span", {}, [link.sentence])];
    const on = { pointerenter: look, pointerleave: leave, focus: look, blur: leave, click: pin };
    return element("li", {}, [element("button", set, inside, on)]);
  });
  const rest = order.length - rows.length;
  return element("section", {}, [
    element("h2", {}, [candidate ? `Why ${readable(candidate.entity)}?` : "No answer"]),
    rows.length ? element("ol", {}, rows) : element("p", { class: "quiet" }, ["Nothing that was read speaks for it."]),
    ...(rest > 0 ? [element("p", { class: "quiet" }, [`and ${String(rest)} more`])] : []),
  ]);
}

export function aboutLink(story: Story, link: Link, chosen: number): string[] {
  const candidate = story.candidates[chosen];
  const share = shareOf(candidate, link.id);
  const strongest = link.looks.reduce((best, look) => (look.contribution > best.contribution ? look : best));
  const carried = wasKept(link)
    ? `carried ${percent(share)} of ${readable(candidate?.entity ?? "the answer")}’s score`
    : `pruned`;
  return [
    link.sentence,
    `${link.time} · ${carried} · contribution ${strongest.contribution.toPrecision(2)} in step ${String(strongest.step)}`,
  ];
}

export function aboutNode(story: Story, node: Node, chosen: number): string[] {
  const candidate = story.candidates[chosen];
  const facts = story.links.filter((link) => link.target === node.id && wasKept(link));
  const share = facts.reduce((sum, link) => sum + shareOf(candidate, link.id), 0);
  const through =
    node.id === 0
      ? "the question"
      : `${percent(share)} of ${readable(candidate?.entity ?? "the answer")}’s score came this way`;
  const attention = node.attention.map((value) => value.toFixed(3)).join(" → ");
  const told = [...new Set(facts.map((link) => link.sentence))].slice(0, 4);
  return [`${readable(node.entity)}, ${node.time}`, `${through} · attention ${attention}`, ...told];
}
