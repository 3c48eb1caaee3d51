/** Why: one sentence, the picture, the facts; each of them can be clicked away. */
import { useState } from "preact/hooks";
import type { Evidence, Explanation, Fact } from "./api";
import { Combobox } from "./combobox";
import { Bar, chanceOf, Entity, Extras, percent, short, Told } from "./parts";
import { Picture } from "./picture";
import { shift } from "./time";
import { same, type Go, type State } from "./url";

interface Props {
  readonly found: Explanation;
  readonly state: State;
  readonly go: Go;
}

const FEW = 8;
const LITTLE = 0.0005;

export function Why({ found, state, go }: Props) {
  if (found.answer === null) return null;
  return (
    <section class="why" aria-labelledby="why">
      <h2 id="why">
        Why <Entity name={found.answer} go={go} />?
      </h2>
      <p class="verdict">
        <Told text={found.verdict ?? found.paths[0]?.sentence} />
      </p>
      <Supposed found={found} state={state} go={go} />
      <Picture state={state} />
      <h3>Facts that carried it</h3>
      <Facts facts={found.evidence} state={state} go={go} />
      <Suppose state={state} go={go} />
    </section>
  );
}

export function Facts({ facts, state, go }: { facts: readonly Evidence[]; state: State; go: Go }) {
  const [all, setAll] = useState(false);
  const few = facts.slice(0, FEW).filter((fact, place) => !place || fact.share >= LITTLE);
  const shown = all ? facts : few;
  if (!facts.length) return <p>No fact is known to speak for it.</p>;
  return (
    <>
      <ul class="facts">
        {shown.map((fact) => {
          const supposed = state.given.some((one) => same(one, fact));
          return (
            <li key={`${fact.subject}|${fact.relation}|${fact.object}|${fact.time}`}>
              <span class="share">{percent(fact.share)}</span>
              <Bar share={fact.share} />
              <span class="sentence" dir="auto">
                <Told text={fact.sentence} />
                {supposed && <em> (supposed)</em>} <Extras of={fact.source} />
              </span>
              <button
                class="plain away"
                aria-label={`What if this had not happened: ${fact.sentence}`}
                title="What if this had not happened?"
                onClick={() => {
                  const { subject, relation, object, time } = fact;
                  if (supposed) go({ given: state.given.filter((one) => !same(one, fact)) });
                  else go({ without: [...state.without, { subject, relation, object, time }] });
                }}
              >
                ×
              </button>
            </li>
          );
        })}
      </ul>
      {facts.length > shown.length && (
        <button
          class="plain"
          onClick={() => {
            setAll(true);
          }}
        >
          {`Show ${String(facts.length - shown.length)} more`}
        </button>
      )}
    </>
  );
}

/** What was changed about the past, to be taken back. */
function Supposed({ found, state, go }: Props) {
  if (!state.without.length && !state.given.length) return null;
  const row = (fact: Fact, verb: string, back: () => void) => (
    <li key={`${verb} ${fact.subject}|${fact.relation}|${fact.object}|${fact.time}`}>
      <span dir="auto">
        {verb}: {short(fact.subject)} {fact.relation} {short(fact.object)}, {fact.time}
      </span>
      <button class="plain" onClick={back}>
        take back
      </button>
    </li>
  );
  return (
    <div class="supposed">
      <strong>What if</strong>
      <p>{moved(found)}</p>
      <ul>
        {state.without.map((fact) =>
          row(fact, "without", () => {
            go({ without: state.without.filter((one) => !same(one, fact)) });
          }),
        )}
        {state.given.map((fact) =>
          row(fact, "with", () => {
            go({ given: state.given.filter((one) => !same(one, fact)) });
          }),
        )}
      </ul>
    </div>
  );
}

/** What that does to the best answer. */
function moved({ answers, original }: Explanation): string {
  const [now, then] = [answers[0], original?.[0]];
  if (!now || !then) return "";
  if (now.entity !== then.entity)
    return `${now.entity} (${chanceOf(now)}) comes first instead of ${then.entity} (${chanceOf(then)}).`;
  const [is, was] = [chanceOf(now), chanceOf(then)];
  return is === was ? `${now.entity} stays first, at ${is}.` : `${now.entity} stays first, at ${is} instead of ${was}.`;
}

/** A fact to suppose. */
function Suppose({ state, go }: { state: State; go: Go }) {
  const [fact, setFact] = useState<Fact>({ subject: "", relation: "", object: "", time: shift(state.time, -1, "day") });
  const put = (change: Partial<Fact>) => {
    setFact((old) => ({ ...old, ...change }));
  };
  return (
    <details class="suppose">
      <summary>Suppose something had happened</summary>
      <form
        aria-label="Suppose a fact"
        onSubmit={(event) => {
          event.preventDefault();
          go({ given: [...state.given.filter((one) => !same(one, fact)), fact] });
        }}
      >
        <Combobox
          label="Supposed: who"
          of="entities"
          value={fact.subject}
          choose={(subject) => {
            put({ subject });
          }}
        />
        <Combobox
          label="did what"
          of="relations"
          value={fact.relation}
          choose={(relation) => {
            put({ relation });
          }}
        />
        <Combobox
          label="to whom"
          of="entities"
          value={fact.object}
          choose={(object) => {
            put({ object });
          }}
        />
        <div class="field">
          <label for="supposed-when">on</label>
          <input
            id="supposed-when"
            value={fact.time}
            onInput={(event) => {
              put({ time: event.currentTarget.value });
            }}
          />
        </div>
        <button disabled={!fact.subject || !fact.relation || !fact.object || !fact.time}>Suppose it</button>
      </form>
    </details>
  );
}
