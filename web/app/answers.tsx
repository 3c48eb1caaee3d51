/** The candidates, likeliest first; where facts were hidden or supposed, beside their old places. */
import { post, type Explanation, type Reply } from "./api";
import { Bar, Chance, Entity } from "./parts";
import { useFetched } from "./use";
import type { Go, State } from "./url";

interface Props {
  readonly found: Explanation;
  readonly state: State;
  readonly go: Go;
}

export function Answers({ found, state, go }: Props) {
  const best = Math.max(...found.answers.map((one) => one.score), 1e-12);
  const changes = new Map(found.changes?.map((one) => [one.entity, one]));
  const chances = useChances(found, state);
  return (
    <section class="answers" aria-labelledby="answers">
      <h1 id="answers">
        {state.subject === "?" ? "Who" : "Whom or what"} on {found.query.time}
      </h1>
      {!found.answers.length && <p>Nothing that was read leads to an answer.</p>}
      <ol>
        {found.answers.map((one, place) => {
          const change = changes.get(one.entity);
          const shown = one.entity === found.answer;
          return (
            <li key={one.entity} class={shown ? "shown" : undefined}>
              <button
                class="answer"
                aria-pressed={shown}
                onClick={() => {
                  go({ answer: one.entity, versus: "" });
                }}
              >
                <span class="name" dir="auto">
                  {one.entity}
                </span>
                <Bar share={one.score / best} />
                <Chance answer={one} chance={chances.get(one.entity)} />
              </button>
              {change && change.original_place !== place + 1 && (
                <small class="was">
                  was {change.original_place === null ? "not reached" : `${String(change.original_place)}.`}
                </small>
              )}
              <span class="more">
                <Entity name={one.entity} go={go} label="its past" />
                {!shown && found.answer && (
                  <button
                    class="plain"
                    aria-label={`Compare ${one.entity} with ${found.answer}`}
                    onClick={() => {
                      go({ answer: found.answer ?? "", versus: one.entity });
                    }}
                  >
                    compare
                  </button>
                )}
              </span>
            </li>
          );
        })}
      </ol>
      {found.notes.map((note) => (
        <p key={note} class="note">
          {note}
        </p>
      ))}
      <p class="source">
        {found.source} {found.versions && `· data ${found.versions.dataset} · model ${found.versions.model}`}
      </p>
    </section>
  );
}

/** Where the model gives no probabilities and nothing is supposed: those from rates of past events. */
function useChances(found: Explanation, state: State): ReadonlyMap<string, number> {
  const { subject, relation, object, time } = found.query;
  const known = found.answers.some((one) => typeof one.probability === "number");
  const asked = { subject, relation, object, at: time, top: 1000 };
  const key = known || state.without.length || state.given.length ? "" : JSON.stringify(asked);
  const reply = useFetched(key, (signal) => post<Reply>("ask", asked, signal));
  const hole = subject === "?" ? "subject" : "object";
  return new Map(reply.value?.answers.map((one) => [one[hole], one.probability]));
}
