/** Escape lets go wherever on the page it is pressed; of several viewers, the one used last that holds something. */

/** Lets go of what a viewer holds; false where that is nothing. */
type LetGo = (event: KeyboardEvent) => boolean;

const USES = ["pointerdown", "focusin"] as const; // a pointer that passes by uses nothing
/** In the order of their last use. */
const viewers = new Set<LetGo>();

function pressed(event: KeyboardEvent): void {
  if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
  [...viewers].findLast((letGo) => letGo(event));
}

/** Has `letGo` called for Escape; clicks and focus inside `root` are its use. Returns what ends that. */
export function onEscape(root: HTMLElement, letGo: LetGo): () => void {
  const use = (): void => {
    viewers.delete(letGo);
    viewers.add(letGo);
  };
  for (const kind of USES) root.addEventListener(kind, use);
  use();
  document.addEventListener("keydown", pressed); // once, however many there are
  return () => {
    for (const kind of USES) root.removeEventListener(kind, use);
    viewers.delete(letGo);
    if (viewers.size === 0) document.removeEventListener("keydown", pressed);
  };
}
