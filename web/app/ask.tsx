/** The question, and what follows from it. */
import { useEffect, useState } from "preact/hooks";
import { get, post, type AboutEntity, type Explanation, type Found, type Statistics } from "./api";
import { Answers } from "./answers";
import { Combobox } from "./combobox";
import { Days } from "./days";
import { Link, Problem } from "./parts";
import { request } from "./request";
import { shift } from "./time";
import type { Go, State } from "./url";
import { useFetched } from "./use";
import { Versus } from "./versus";
import { Why } from "./why";

interface Props {
  readonly state: State;
  readonly go: Go;
  readonly about: Statistics;
}

const EXAMPLES = 4;

/** A change of the question forgets what belonged to the old one. */
const ANEW = { answer: "", versus: "", without: [], given: [] } as const;

export function AskPage({ state, go, about }: Props) {
  const whole = Boolean(state.subject && state.relation && state.object && state.time);
  const key = whole ? JSON.stringify(request(state)) : "";
  const found = useFetched(key, (signal) => post<Explanation>("explain", request(state), signal));
  return (
    <>
      <Form state={state} go={go} about={about} />
      <Problem error={found.error} />
      <p class="status" role="status">
        {found.busy ? "Asking …" : found.value ? `${String(found.value.answers.length)} answers` : ""}
      </p>
      {(!whole || found.error) && <Hello about={about} go={go} />}
      {found.value && (
        <div class="result" aria-busy={found.busy}>
          <Answers found={found.value} state={state} go={go} />
          {state.versus ? (
            <Versus found={found.value} state={state} go={go} />
          ) : (
            <Why found={found.value} state={state} go={go} />
          )}
          <Days state={state} go={go} about={about} found={found.value} />
        </div>
      )}
    </>
  );
}

function Form({ state, go, about }: Props) {
  const forSubject = state.subject === "?";
  const known = forSubject ? state.object : state.subject;
  const [time, setTime] = useState(state.time);
  useEffect(() => {
    setTime(state.time);
  }, [state.time]);
  const name = (chosen: string) => {
    go({ ...ANEW, ...(forSubject ? { object: chosen } : { subject: chosen }), ...latest(state, about) });
  };
  const when = {
    id: "when",
    value: time,
    onInput: (event: InputEvent) => {
      setTime((event.currentTarget as HTMLInputElement).value);
    },
    onChange: (event: Event) => {
      go({ ...ANEW, time: (event.currentTarget as HTMLInputElement).value });
    },
  };
  return (
    <form
      class="question"
      aria-label="Question"
      onSubmit={(event) => {
        event.preventDefault();
        go({ ...ANEW, time });
      }}
    >
      <Combobox label={forSubject ? "To whom" : "Who"} of="entities" value={known === "?" ? "" : known} choose={name} />
      <Combobox
        label="Does what"
        of="relations"
        value={state.relation}
        choose={(relation) => {
          go({ ...ANEW, relation, ...latest(state, about) });
        }}
      />
      <div class="field">
        <label for="when">When</label>
        {/^\d{4}-\d\d-\d\d$/.test(about.last) ? (
          <input {...when} type="date" />
        ) : (
          <input {...when} type="text" placeholder={about.last} />
        )}
      </div>
      <div class="field">
        <label for="asked">Asked for</label>
        <select
          id="asked"
          value={forSubject ? "subject" : "object"}
          onChange={(event) => {
            const turned = event.currentTarget.value === "subject";
            go({ ...ANEW, subject: turned ? "?" : known, object: turned ? known : "?" });
          }}
        >
          <option value="object">to whom</option>
          <option value="subject">who does it</option>
        </select>
      </div>
    </form>
  );
}

/** Where no time is given yet: the first one after everything that is known. */
function latest(state: State, about: Statistics): Partial<State> {
  return state.time ? {} : { time: shift(about.last, 1, about.unit) };
}

/** What those that act most do most, asked about the time after all that is known. */
function useExamples(about: Statistics) {
  const time = shift(about.last, 1, about.unit);
  const found = useFetched("examples", async (signal) => {
    const { names } = await get<Found>("entities", { limit: String(EXAMPLES) }, signal);
    const told = names.map(async ({ name }) => get<AboutEntity>("entity", { entity: name }, signal));
    return (await Promise.all(told)).flatMap(({ entity, does }) =>
      does[0] ? [{ subject: entity, relation: does[0].name, time }] : [],
    );
  });
  return found.value ?? [];
}

function Hello({ about, go }: { readonly about: Statistics; readonly go: Go }) {
  const examples = useExamples(about);
  return (
    <section class="hello">
      <h1>What happens next?</h1>
      <p>
        Type a name, say what is done and when. {about.model} answers from what happened before, and shows which facts
        led to its answer.
        {!about.trained && " Nothing is trained on this data yet: it goes by what happened often and lately."}
      </p>
      {examples.length > 0 && (
        <>
          <h2>For example</h2>
          <ul class="examples">
            {examples.map((one) => (
              <li key={one.subject}>
                <Link to={one} go={go}>
                  {one.subject} · {one.relation} · whom, on {one.time}?
                </Link>
              </li>
            ))}
          </ul>
        </>
      )}
      <p>
        Or see{" "}
        <Link to={{ view: "scan" }} go={go}>
          what may come next
        </Link>{" "}
        of everything.
      </p>
    </section>
  );
}
