/** The candidates, likeliest first; where facts were hidden or supposed, beside their old places. */
import { post, type Answer, type Change, type Explanation, type Reply } from "./api";
import { Bar, Chance, chanceOf, Entity, lengths, ordinal, Told } from "./parts";
import { useFetched } from "./use";
import type { Go, State } from "./url";

interface Props {
  readonly found: Explanation;
  readonly state: State;
  readonly go: Go;
}

export function Answers({ found, state, go }: Props) {
  const length = lengths(found.answers);
  const changes = new Map(found.changes?.map((one) => [one.entity, one]));
  const original = new Map(found.original?.map((one) => [one.entity, one]));
  const chances = useChances(found, state);
  const { subject, relation, object, time } = found.query;
  const asked = [subject, relation, object, time].join(" · ");
  const meaning = found.answers.some((one) => typeof one.probability === "number")
    ? "How likely each one is, should it happen at all. Several may be right, so this does not add up to 100 %."
    : chances.size
      ? `How likely it is to happen on ${time} at all, from rates of past events.`
      : "Scores, which compare the candidates with each other and are no probabilities.";
  return (
    <section class="answers" aria-labelledby="answers">
      <h1 id="answers">
        {state.subject === "?" ? "Who" : "Whom or what"} on <span class="date">{found.query.time}</span>
      </h1>
      <p class="paper">{asked}</p>
      {found.notes.map((note) => (
        <p key={note} class="note">
          <Told text={note} />
        </p>
      ))}
      {!found.answers.length && <p>Nothing that was read leads to an answer.</p>}
      <ol>
        {found.answers.map((one, place) => {
          const was = before(one, place, changes.get(one.entity), original.get(one.entity));
          const shown = one.entity === found.answer;
          return (
            <li key={one.entity} class={shown || one.entity === state.versus ? "shown" : undefined}>
              <button
                class="answer"
                aria-pressed={shown}
                onClick={() => {
                  go({ answer: one.entity, versus: "" });
                  toReasons();
                }}
              >
                <span class="name" dir="auto">
                  {one.entity}
                </span>
                <Bar share={length[place] ?? 0} />
                <Chance answer={one} chance={chances.get(one.entity)} />
              </button>
              {was && <small class="was">was {was}</small>}
              <span class="more">
                <Entity name={one.entity} go={go} label="its past" />
                {!shown && found.answer && (
                  <button
                    class="plain"
                    aria-label={`Compare ${one.entity} with ${found.answer}`}
                    onClick={() => {
                      go({ answer: found.answer ?? "", versus: one.entity });
                      toReasons();
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
      {found.answers.length > 0 && <p class="meaning">{meaning}</p>}
      <p class="source">
        {found.source} {found.versions && `· data ${found.versions.dataset} · model ${found.versions.model}`}
      </p>
    </section>
  );
}

/** Its place and chance without what was hidden or supposed, as far as they differ. */
function before(one: Answer, place: number, change: Change | undefined, original: Answer | undefined): string {
  const then = change?.original_place === null ? "not reached" : ordinal(change?.original_place ?? place + 1);
  const chance = original && chanceOf(original) !== chanceOf(one) ? chanceOf(original) : "";
  return [change && change.original_place !== place + 1 ? then : "", chance].filter(Boolean).join(", ");
}

/** Where the reasons stand below the answers, a choice among these leads there. */
function toReasons(): void {
  if (!matchMedia("(max-width: 900px)").matches) return;
  requestAnimationFrame(() => {
    document.querySelector(".why, .versus")?.scrollIntoView({ block: "start" });
  });
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
