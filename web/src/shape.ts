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
const KEY = "data-key";
/** The attributes that were drawn; others, such as what can be focused, are left alone. */
const drawn = new WeakMap<Element, readonly string[]>();

/** Makes an element's children those of the tree; elements of the same key stay, so that changes can be seen to pass. */
export function patch(parent: Element, children: readonly Shape[]): void {
  const had = new Map<string, Element>();
  for (const child of parent.children) had.set(child.getAttribute(KEY) ?? "", child);
  const now = children.map((child, place) => {
    const key = child.key ?? `#${String(place)}`;
    const old = had.get(key);
    const element = old?.tagName === child.tag ? old : document.createElementNS(SVG, child.tag);
    const set: Record<string, string | number | undefined> = { ...child.set, [KEY]: key };
    for (const name of drawn.get(element) ?? []) if (set[name] === undefined) element.removeAttribute(name);
    drawn.set(element, Object.keys(set));
    for (const [name, value] of Object.entries(set)) {
      if (value !== undefined && element.getAttribute(name) !== written(value))
        element.setAttribute(name, written(value));
    }
    if (typeof child.inside === "string") {
      if (element.textContent !== child.inside) element.textContent = child.inside;
    } else patch(element, child.inside);
    return element;
  });
  const same =
    now.length === parent.children.length && now.every((element, place) => parent.children[place] === element);
  if (!same) parent.replaceChildren(...now);
}
