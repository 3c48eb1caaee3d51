/** Two candidates side by side: what spoke for each. */
import { post, type Explanation } from "./api";
import { Problem, Told } from "./parts";
import { request } from "./request";
import type { Go, State } from "./url";
import { useFetched } from "./use";
import { Facts } from "./why";

interface Props {
  readonly found: Explanation;
  readonly state: State;
  readonly go: Go;
}

export function Versus({ found, state, go }: Props) {
  const asked = { ...request(state), answer: state.versus };
  const other = useFetched(JSON.stringify(asked), (signal) => post<Explanation>("explain", asked, signal));
  return (
    <section class="versus" aria-labelledby="versus">
      <h2 id="versus">
        {found.answer} or {state.versus}?
      </h2>
      <p>
        <button
          class="plain"
          onClick={() => {
            go({ versus: "" });
          }}
        >
          Back to one answer
        </button>
      </p>
      <Problem error={other.error} />
      <div class="sides">
        {[found, other.value].map(
          (one) =>
            one && (
              <div key={one.answer}>
                <h3 dir="auto">
                  {one.answer} {one.score === null && <small>not reached</small>}
                </h3>
                <p class="verdict">
                  <Told text={one.verdict ?? one.paths[0]?.sentence} />
                </p>
                <Facts facts={one.evidence} state={state} go={go} />
              </div>
            ),
        )}
      </div>
    </section>
  );
}
