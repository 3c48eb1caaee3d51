/** HTML elements, made of plain text only: names are users' data and never become markup. */

type Handlers = Partial<
  Record<"click" | "input" | "change" | "pointerenter" | "pointerleave" | "focus" | "blur", () => void>
>;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  set: Readonly<Record<string, string | boolean>> = {},
  inside: readonly (Node | string)[] = [],
  on: Handlers = {},
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(set)) {
    if (typeof value === "boolean") made.toggleAttribute(name, value);
    else made.setAttribute(name, value);
  }
  made.append(...inside);
  for (const [event, handler] of Object.entries(on)) made.addEventListener(event, handler);
  return made;
}

/** Text whose dates stay in one line. */
export const prose = (text: string): (Node | string)[] =>
  text
    .split(/(\d{4}-\d\d(?:-\d\d)?)/)
    .map((part, place) => (place % 2 ? element("span", { class: "date" }, [part]) : part))
    .filter((part) => part !== "");

export const percent = (share: number): string => {
  const value = 100 * share;
  return `${value > 0 && value < 0.1 ? "<0.1" : value.toFixed(1)} %`;
};
