/** The page: a question, its answers, and why. */
import { render } from "preact";
import { useEffect } from "preact/hooks";
import "./app.css";
import { get, useToken, type Statistics } from "./api";
import { AskPage } from "./ask";
import { EntityPage } from "./entity";
import { ModelPage } from "./model";
import { Problem } from "./parts";
import { EMPTY, toUrl, useAddress, type Go, type State } from "./url";
import { useFetched } from "./use";

function Link({ to, go, here, children }: { to: Partial<State>; go: Go; here: boolean; children: string }) {
  return (
    <a
      href={toUrl({ ...EMPTY, ...to })}
      aria-current={here ? "page" : undefined}
      onClick={(event) => {
        event.preventDefault();
        go({ ...EMPTY, ...to });
      }}
    >
      {children}
    </a>
  );
}

function Token() {
  return (
    <form
      class="token"
      onSubmit={(event) => {
        event.preventDefault();
        useToken(new FormData(event.currentTarget).get("token") as string);
        location.reload();
      }}
    >
      <label for="token">Token</label>
      <input id="token" name="token" type="password" autocomplete="off" required />
      <button>Use it in this tab</button>
    </form>
  );
}

function App() {
  const [state, go] = useAddress();
  const about = useFetched("about", (signal) => get<Statistics>("statistics", {}, signal));
  const asked = [state.subject, state.relation, state.object, state.time].filter((word) => word && word !== "?");
  useEffect(() => {
    document.title = [state.view === "entity" ? state.entity : asked.join(" · "), "xerte"].filter(Boolean).join(" – ");
  });
  return (
    <>
      <header>
        <strong>xerte</strong>
        <nav aria-label="Pages">
          <Link to={{}} go={go} here={state.view === "ask"}>
            Ask
          </Link>
          <Link to={{ view: "model" }} go={go} here={state.view === "model"}>
            Models and data
          </Link>
        </nav>
        {about.value && (
          <span class="about">
            {about.value.name}, {about.value.first} to {about.value.last}
          </span>
        )}
      </header>
      <main>
        <Problem error={about.error} />
        {about.error?.status === 401 && <Token />}
        {about.value && state.view === "ask" && <AskPage state={state} go={go} about={about.value} />}
        {about.value && state.view === "entity" && <EntityPage state={state} go={go} about={about.value} />}
        {about.value && state.view === "model" && <ModelPage about={about.value} />}
      </main>
    </>
  );
}

const host = document.getElementById("app");
if (host) render(<App />, host);
