/** Below the picture: the replay, and how much is shown. */
import type { Story } from "./document";
import { element } from "./elements";
import { counted, frames, LEASTS, type Choice, type Frame } from "./view";

const BEAT = 1300;

export interface Tools {
  readonly root: HTMLElement;
  /** Another story: the replay stands at its end. */
  load(story: Story): void;
  show(choice: Choice): void;
  /** The moment that is shown. */
  readonly frame: () => Frame;
  stop(): void;
}

interface Actions {
  readonly choose: (change: Partial<Choice>) => void;
  readonly redraw: () => void;
}

const toldFrame = (frame: Frame, story: Story): string => {
  if (frame.kind === "initialise") return "Start at the question";
  const { seen, kept } = counted(story, frame.step);
  const step = `Step ${String(frame.step)}:`;
  if (frame.kind === "expand") return `${step} look back at ${String(seen)} facts`;
  return `${step} keep ${String(kept)}, prune ${String(seen - kept)}`;
};

const toldLeast = (least: number): string => {
  if (least === 0) return "everything";
  return least < 1e-6 ? "all that carried some" : `at least ${String(100 * least)} % of the score`;
};

export function makeTools({ choose, redraw }: Actions): Tools {
  let story: Story;
  let all: Frame[] = [];
  let place = 0;
  let timer: ReturnType<typeof setInterval> | undefined;
  const slider = (label: string, most: number, input: () => void): HTMLInputElement =>
    element("input", { type: "range", min: "0", max: String(most), step: "1", "aria-label": label }, [], { input });
  const play = element("button", { type: "button", "aria-label": "Replay", title: "Replay" }, ["▶"], {
    click: () => {
      replay(timer === undefined);
    },
  });
  const step = slider("Moment of the replay", 0, () => {
    replay(false);
    goTo(Number(step.value));
  });
  const stepText = element("output");
  const least = slider("Least share of the score", LEASTS.length - 1, () => {
    choose({ least: LEASTS[Number(least.value)] ?? 0 });
  });
  const leastText = element("output");
  const pruned = element("input", { type: "checkbox" }, [], {
    change: () => {
      choose({ pruned: pruned.checked });
    },
  });

  const frame = (): Frame => all[place] ?? { kind: "initialise", step: 0 };

  function told(): void {
    step.value = String(place);
    stepText.textContent = toldFrame(frame(), story);
    step.setAttribute("aria-valuetext", stepText.textContent);
  }

  function goTo(next: number): void {
    place = Math.max(0, Math.min(all.length - 1, next));
    told();
    redraw();
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

  const replayed = element("div", { class: "replay" }, [play, step, stepText]);
  const dropped = element("label", {}, [pruned, "and what was pruned"]);
  return {
    root: element("div", { class: "tools" }, [replayed, element("label", {}, ["Show", least, leastText]), dropped]),
    load(next): void {
      replay(false);
      story = next;
      replayed.hidden = dropped.hidden = !story.grown;
      all = frames(story.steps);
      place = all.length - 1;
      step.max = String(place);
      told();
    },
    show(choice): void {
      least.value = String(LEASTS.indexOf(choice.least));
      leastText.textContent = toldLeast(choice.least);
      least.setAttribute("aria-valuetext", leastText.textContent);
      pruned.checked = choice.pruned;
    },
    frame,
    stop(): void {
      replay(false);
    },
  };
}
