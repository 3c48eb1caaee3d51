/** The page: a question, its answers, and why. */
import { render } from "preact";
import { useEffect } from "preact/hooks";
import "./app.css";
import { get, useToken, type Statistics } from "./api";
import { AskPage } from "./ask";
import { EntityPage } from "./entity";
import { DataPage } from "./data";
import { LivePage } from "./live";
import { ScanPage } from "./scan";
import { ModelPage } from "./model";
import { Link, Problem } from "./parts";
import { useAddress } from "./url";
import { useFetched } from "./use";

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

const TITLES = { scan: "What may come next", live: "Live events", model: "Models", data: "Data" } as const;

function App() {
  const [state, go] = useAddress();
  const about = useFetched("about", (signal) => get<Statistics>("statistics", {}, signal));
  const asked = [state.subject, state.relation, state.object, state.time].filter((word) => word && word !== "?");
  useEffect(() => {
    const named =
      state.view === "entity" ? state.entity : state.view === "ask" ? asked.join(" · ") : TITLES[state.view];
    document.title = [named, "xerte"].filter(Boolean).join(" – ");
  });
  return (
    <>
      <header>
        <strong>xerte</strong>
        <nav aria-label="Pages">
          <Link to={{}} go={go} here={state.view === "ask"}>
            Ask
          </Link>
          <Link to={{ view: "scan" }} go={go} here={state.view === "scan"}>
            Scan
          </Link>
          <Link to={{ view: "live" }} go={go} here={state.view === "live"}>
            Live
          </Link>
          <Link to={{ view: "model" }} go={go} here={state.view === "model"}>
            Models
          </Link>
          <Link to={{ view: "data" }} go={go} here={state.view === "data"}>
            Data
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
        {about.value && state.view === "scan" && <ScanPage state={state} go={go} about={about.value} />}
        {about.value && state.view === "live" && <LivePage state={state} go={go} about={about.value} />}
        {about.value && state.view === "model" && <ModelPage state={state} go={go} about={about.value} />}
        {about.value && state.view === "data" && <DataPage about={about.value} />}
      </main>
    </>
  );
}

const host = document.getElementById("app");
if (host) render(<App />, host);
