// The questionnaire: one page, no network. Answers are kept in the key's numbering, whatever order a respondent sees.
// @ts-check
"use strict";

/**
 * @typedef {{event: string, evidence: string[]}} Round
 * @typedef {Round & {order: number[]}} Example
 * @typedef {{name: string, question: string, options: string[]}} Choice
 * @typedef {{id: string, rounds: Round[], example: Example | null, population: Choice[]}} Survey
 * @typedef {{relevant: number | null, irrelevant: number | null, order: number[]}} Given
 * @typedef {{seed: number, respondent: string, step: number, rounds: Given[], population: Record<string, string>, saved: boolean}} State
 */

const LETTERS = ["A", "B", "C", "D"];
const TASKS = 3;
/** @type {Survey} */
const survey = JSON.parse(element("survey").textContent ?? "");
const store = `xerte survey ${survey.id}`;

/** @param {string} id @returns {HTMLElement} */
function element(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`there is no #${id}`);
  return found;
}

/**
 * An element with attributes and children; text is always text, never HTML.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Record<string, string | EventListener>} [attributes] @param {...(Node | string)} children
 */
function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "string") made.setAttribute(name, value);
    else made.addEventListener(name, value);
  }
  made.append(...children);
  return made;
}

/** Mulberry32: the same seed gives the same order everywhere. @param {number} seed @returns {() => number} */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** 0 … count - 1 in random order. @param {number} count @param {() => number} next */
function shuffled(count, next) {
  const order = Array.from({ length: count }, (_, place) => place);
  for (let place = count - 1; place > 0; place--) {
    const other = Math.floor(next() * (place + 1));
    [order[place], order[other]] = [/** @type {number} */ (order[other]), /** @type {number} */ (order[place])];
  }
  return order;
}

/** @returns {State} */
function fresh() {
  const numbers = crypto.getRandomValues(new Uint32Array(3));
  const asked = /seed=(\d+)/.exec(location.hash)?.[1];
  return {
    seed: asked === undefined ? Number(numbers[0]) : Number(asked) >>> 0,
    respondent: [numbers[1], numbers[2]].map((one) => Number(one).toString(16).padStart(8, "0")).join(""),
    step: 0,
    rounds: survey.rounds.map(() => ({ relevant: null, irrelevant: null, order: [] })),
    population: {},
    saved: false,
  };
}

/** What a reload brings back; a closed tab forgets it. @returns {State} */
function remembered() {
  try {
    return JSON.parse(sessionStorage.getItem(store) ?? "null") ?? fresh();
  } catch {
    return fresh();
  }
}

function remember() {
  try {
    sessionStorage.setItem(store, JSON.stringify(state));
  } catch {
    // Without storage, a reload starts anew: all else works.
  }
}

let state = remembered();
let warned = false;
/** The order of the rounds and, for every round, of its pieces: both as numbers of the key. */
let asked = permuted();

function permuted() {
  const next = random(state.seed);
  const rounds = shuffled(survey.rounds.length, next);
  return rounds.map((round) => ({ round, pieces: shuffled(LETTERS.length, next) }));
}

/** @param {number} round @returns {Given} */
function given(round) {
  return /** @type {Given} */ (state.rounds[round]);
}

function answers() {
  return {
    format: "xerte-answers-1",
    survey: survey.id,
    respondent: state.respondent,
    seed: state.seed,
    rounds: state.rounds.map((one) => ({ ...one, order: one.order.length === LETTERS.length ? one.order : null })),
    population: state.population,
  };
}

/** How many of a round's tasks are open. @param {Given} one */
function open(one) {
  return Number(one.relevant === null) + Number(one.irrelevant === null) + Number(one.order.length < LETTERS.length);
}

// The steps: introduction, every round, population (where something is asked), the end.

const hasPopulation = survey.population.length > 0;
const lastStep = survey.rounds.length + (hasPopulation ? 2 : 1);

/** @param {number} step */
function go(step) {
  state.step = step;
  warned = false;
  remember();
  show();
}

function show() {
  const { step } = state;
  const isRound = step >= 1 && step <= survey.rounds.length;
  const content = step === 0 ? introduction() : isRound ? round(step - 1) : step < lastStep ? population() : end();
  element("main").replaceChildren(...content);
  const bar = /** @type {HTMLProgressElement} */ (element("progress"));
  bar.value = step / lastStep;
  const heading = element("main").querySelector("h1");
  document.title = `${heading?.textContent ?? ""} – Which evidence counts?`;
  window.scrollTo(0, 0);
  heading?.focus();
}

/** @param {string} text */
function heading(text) {
  return make("h1", { tabindex: "-1" }, text);
}

/** @param {string} text @param {() => void} act @param {string} [kind] */
function button(text, act, kind = "") {
  return make("button", { type: "button", class: kind, click: act }, text);
}

/** @param {string[]} sentences */
function evidence(sentences) {
  const items = sentences.map((text, place) =>
    make("li", {}, make("b", {}, LETTERS[place] ?? ""), make("span", {}, text)),
  );
  return make("ul", { class: "evidence" }, ...items);
}

/** @returns {Node[]} */
function introduction() {
  const rounds = survey.rounds.length === 1 ? "one round" : `${survey.rounds.length} rounds`;
  /** @type {Node[]} */
  const intro = [
    heading("Which evidence counts?"),
    make(
      "p",
      {},
      `There are ${rounds}. Each tells an event and four things that happened before it. Some of them may help to ` +
        "explain the event, others have little to do with it.",
    ),
    make(
      "p",
      {},
      "In every round you name the most relevant of the four, name the most irrelevant, and sort all four.",
    ),
    make(
      "p",
      {},
      "You need no special knowledge: if you are not sure, guess. Please look nothing up (a dictionary is fine) " +
        "and do not talk to others who take part.",
    ),
  ];
  const { example } = survey;
  if (example) {
    const letters = example.order.map((number) => LETTERS[number] ?? "");
    intro.push(
      make("h2", {}, "An example, solved"),
      make("p", { class: "event" }, example.event),
      evidence(example.evidence),
      make(
        "p",
        {},
        `Most relevant: ${letters[0] ?? ""}. Most irrelevant: ${letters.at(-1) ?? ""}. ` +
          `From the most to the least relevant: ${letters.join(", ")}.`,
      ),
    );
  }
  return [
    ...intro,
    make(
      "p",
      { class: "row steps" },
      button("Start", () => go(1), "main"),
    ),
  ];
}

/** @param {number} place @returns {Node[]} */
function round(place) {
  const shown = asked[place];
  if (!shown) throw new Error(`there is no round ${place}`);
  const { pieces } = shown;
  const one = given(shown.round);
  const told = /** @type {Round} */ (survey.rounds[shown.round]);
  const sentences = pieces.map((number) => told.evidence[number] ?? "");
  const alert = make("p", { class: "alert", role: "alert" });
  const next = () => {
    const left = open(one);
    if (left && !warned) {
      warned = true;
      alert.textContent = `${left} of ${TASKS} tasks ${left === 1 ? "is" : "are"} open. Press Next again to leave ${left === 1 ? "it" : "them"} out.`;
      return;
    }
    go(state.step + 1);
  };
  return [
    heading(`Round ${place + 1} of ${survey.rounds.length}`),
    make("p", { class: "event" }, told.event),
    make("h2", {}, "What happened before"),
    evidence(sentences),
    pick("relevant", "1. Which is the most relevant?", one, pieces, sentences),
    pick("irrelevant", "2. Which is the most irrelevant?", one, pieces, sentences),
    sort(one, pieces, sentences),
    alert,
    make(
      "p",
      { class: "row steps" },
      button("Back", () => go(state.step - 1)),
      button("Next", next, "main"),
    ),
  ];
}

/**
 * @param {"relevant" | "irrelevant"} task @param {string} legend @param {Given} one
 * @param {number[]} pieces @param {string[]} sentences
 */
function pick(task, legend, one, pieces, sentences) {
  const labels = pieces.map((number, place) => {
    const input = make("input", { type: "radio", name: task, value: String(number) });
    input.checked = one[task] === number;
    input.addEventListener("change", () => {
      one[task] = number;
      changed();
    });
    return make(
      "label",
      {},
      input,
      LETTERS[place] ?? "",
      make("span", { class: "hidden" }, `: ${sentences[place] ?? ""}`),
    );
  });
  return make("fieldset", {}, make("legend", {}, legend), make("div", { class: "row" }, ...labels));
}

const PLACES = ["1st", "2nd", "3rd", "4th"];

/** Pressing a piece gives it the next place; pressing it again takes it out. @param {Given} one @param {number[]} pieces @param {string[]} sentences */
function sort(one, pieces, sentences) {
  const status = make("p", { class: "hint", role: "status" });
  const buttons = pieces.map((number) => {
    const made = button("", () => {
      one.order = one.order.includes(number) ? one.order.filter((other) => other !== number) : [...one.order, number];
      changed();
      tell();
    });
    return made;
  });
  const tell = () => {
    buttons.forEach((made, place) => {
      const at = one.order.indexOf(/** @type {number} */ (pieces[place]));
      made.setAttribute("aria-pressed", String(at >= 0));
      const letter = LETTERS[place] ?? "";
      made.replaceChildren(
        at < 0 ? letter : `${letter} is ${PLACES[at] ?? ""}`,
        make("span", { class: "hidden" }, `: ${sentences[place] ?? ""}`),
      );
    });
    const letters = one.order.map((number) => LETTERS[pieces.indexOf(number)] ?? "");
    const sorted = letters.length ? `Your order: ${letters.join(", ")}.` : "";
    status.textContent =
      letters.length === LETTERS.length ? sorted : `${sorted} Next: your ${PLACES[letters.length] ?? ""}.`.trim();
  };
  tell();
  return make(
    "fieldset",
    {},
    make("legend", {}, "3. Sort all four, the most relevant first"),
    make("p", { class: "hint" }, "Press the pieces in your order. Press one again to take it out."),
    make("div", { class: "row" }, ...buttons),
    status,
  );
}

/** @returns {Node[]} */
function population() {
  const groups = survey.population.map(({ name, question, options }) => {
    const labels = ["Rather not say", ...options].map((option, place) => {
      const input = make("input", { type: "radio", name, value: option });
      input.checked = place ? state.population[name] === option : !(name in state.population);
      input.addEventListener("change", () => {
        if (place) state.population[name] = option;
        else delete state.population[name];
        changed();
      });
      return make("label", {}, input, option);
    });
    return make("fieldset", {}, make("legend", {}, question), make("div", { class: "row" }, ...labels));
  });
  return [
    heading("About you"),
    make("p", {}, "This helps to describe who took part. Every question may be left out."),
    ...groups,
    make(
      "p",
      { class: "row steps" },
      button("Back", () => go(state.step - 1)),
      button("Next", () => go(state.step + 1), "main"),
    ),
  ];
}

/** @returns {Node[]} */
function end() {
  const text = JSON.stringify(answers(), null, 1);
  const left = state.rounds.reduce((sum, one) => sum + open(one), 0);
  const every = TASKS * survey.rounds.length;
  const status = make("p", { role: "status" });
  const area = make("textarea", { readonly: "", "aria-label": "Your answers as text" });
  area.value = text;
  const save = () => {
    const url = URL.createObjectURL(new Blob([text + "\n"], { type: "application/json" }));
    make("a", { href: url, download: `answers-${state.respondent}.json` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
    state.saved = true;
    remember();
    status.textContent = `Saved as answers-${state.respondent}.json. Please send this file to whoever asked you.`;
  };
  const again = () => {
    state = fresh();
    asked = permuted();
    go(0);
  };
  return [
    heading("Thank you"),
    make("p", {}, `You answered ${every - left} of ${every} questions.`),
    make(
      "p",
      { class: "row" },
      button("Save my answers", save, "main"),
      button("Back", () => go(state.step - 1)),
    ),
    status,
    make("h2", {}, "If saving does not work"),
    make("p", {}, "Copy this text and send it."),
    area,
    make("p", { class: "row steps" }, button("Clear all for the next respondent", again)),
  ];
}

function changed() {
  state.saved = false;
  warned = false;
  remember();
}

window.addEventListener("beforeunload", (event) => {
  if (state.step > 0 && !state.saved) event.preventDefault();
});
show();
