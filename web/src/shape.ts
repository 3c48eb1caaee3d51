/** Drawings as plain data: the same tree becomes markup without a browser, or elements within one. */

export interface Shape {
  readonly tag: string;
  /** Names a child among its siblings; where the tree changes, the element of that name is kept and moved. */
  readonly key?: string;
  readonly set: Readonly<Record<string, string | number | undefined>>;
  readonly inside: readonly Shape[] | string;
}

export function shape(tag: string, set: Shape["set"], inside: Shape["inside"] = [], key?: string): Shape {
  return key === undefined ? { tag, set, inside } : { tag, key, set, inside };
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Control characters, which XML cannot hold, except tab and line ends. */
const ILLEGAL = /[^\t\n\r\u0020-\ufffd]/g;

const escaped = (text: string): string => text.replace(ILLEGAL, "").replace(/[&<>"]/g, (one) => ENTITIES[one] ?? "");

const written = (value: string | number): string =>
  typeof value === "number" ? String(Math.round(value * 100) / 100) : value;

export function markup(one: Shape): string {
  const set = Object.entries(one.set)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}="${escaped(written(value ?? ""))}"`)
    .join("");
  const inside = typeof one.inside === "string" ? escaped(one.inside) : one.inside.map(markup).join("");
  return inside ? `<${one.tag}${set}>${inside}</${one.tag}>` : `<${one.tag}${set}/>`;
}

const SVG = "http://www.w3.org/2000/svg";

/** What every element was last drawn as; attributes that were never drawn, such as tabindex, are left alone. */
const last = new WeakMap<Element, Shape>();

/** Makes an element's children those of the tree; elements of the same key stay, so that changes can be seen to pass. */
export function patch(parent: Element, children: readonly Shape[]): void {
  const keyOf = (child: Shape, place: number): string => child.key ?? `#${String(place)}`;
  const had = new Map<string, Element>();
  for (const [place, child] of [...parent.children].entries()) {
    const old = last.get(child);
    if (old) had.set(keyOf(old, place), child);
  }
  const now = children.map((child, place) => {
    const old = had.get(keyOf(child, place));
    const element = old?.tagName === child.tag ? old : document.createElementNS(SVG, child.tag);
    redraw(element, last.get(element), child);
    last.set(element, child);
    return element;
  });
  const same = now.length === parent.children.length && now.every((one, place) => parent.children[place] === one);
  if (!same) parent.replaceChildren(...now);
}

function redraw(element: Element, old: Shape | undefined, child: Shape): void {
  for (const name of Object.keys(old?.set ?? {})) if (child.set[name] === undefined) element.removeAttribute(name);
  for (const [name, value] of Object.entries(child.set))
    if (value !== undefined && value !== old?.set[name]) element.setAttribute(name, written(value));
  if (typeof child.inside !== "string") patch(element, child.inside);
  else if (child.inside !== old?.inside) element.textContent = child.inside;
}
