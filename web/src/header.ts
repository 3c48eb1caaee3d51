/** Above the picture: the verdict in one sentence, then what was asked, of which model, and what it may have read. */
import type { Story } from "./document";
import { element, prose } from "./elements";

export interface Header {
  readonly root: HTMLElement;
  show(story: Story): void;
}

export function makeHeader(): Header {
  const title = element("h1");
  const question = element("p", { class: "question" });
  const byline = element("p", { class: "quiet" });
  const notes = element("div", { class: "notes" });
  return {
    root: element("header", {}, [title, question, byline, notes]),
    show(story): void {
      const { subject, relation, object, time } = story.query;
      const asked = [subject, relation, object].flatMap((part, place) => [
        ...(place > 0 ? [" – "] : []),
        part === "?" ? element("b", {}, ["?"]) : story.name(part),
      ]);
      title.replaceChildren(...(story.verdict ? prose(story.verdict) : asked));
      question.replaceChildren(...(story.verdict ? asked : []), ...prose(story.verdict ? `, ${time}` : time));
      byline.replaceChildren(...prose(about(story).join(" · ")));
      notes.replaceChildren(...story.notes.map((note) => element("p", {}, [note])));
    },
  };
}

function about(story: Story): string[] {
  const lines = [`model ${story.model}`];
  if (story.dataset) lines.push(`dataset ${story.dataset}`);
  lines.push(`known: what happened before ${story.knownBefore}`);
  if (story.pruned > 0) {
    const rest = story.unseen > 0 ? "; the faintest are not in this page" : "";
    const facts = story.pruned === 1 ? "fact was" : "facts were";
    lines.push(`${String(story.pruned)} more ${facts} looked at and pruned${rest}`);
  }
  return lines;
}
