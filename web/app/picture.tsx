/** The viewer, in a room of its own. Script and picture are fetched when everything else is there. */
import { useEffect, useRef } from "preact/hooks";
import type { Viewer } from "../src/index";
import { post, type Explanation } from "./api";
import { Problem } from "./parts";
import { request } from "./request";
import type { State } from "./url";
import { useFetched } from "./use";

export function Picture({ state }: { readonly state: State }) {
  const host = useRef<HTMLDivElement>(null);
  const viewer = useRef<Viewer | null>(null);
  const asked = request(state);
  const found = useFetched(JSON.stringify(asked), (signal) => post<Explanation>("explain?picture=true", asked, signal));
  const picture = found.value?.picture;
  useEffect(() => {
    if (!picture) return;
    let gone = false;
    void import("../src/index").then(({ mount }) => {
      if (gone || !host.current?.isConnected) return;
      if (viewer.current) viewer.current.update(picture);
      else viewer.current = mount(host.current, picture, { wheel: false, header: false });
    });
    return () => {
      gone = true;
    };
  }, [picture]);
  useEffect(
    () => () => {
      viewer.current?.destroy();
    },
    [],
  );
  return (
    <>
      <Problem error={found.error} />
      <div class="picture" ref={host} aria-busy={found.busy} />
    </>
  );
}
