/** The viewer, in a room of its own. It is loaded when there is something to draw. */
import { useEffect, useRef } from "preact/hooks";
import type { Packed, Viewer } from "../src/index";

export function Picture({ document }: { readonly document: Packed }) {
  const host = useRef<HTMLDivElement>(null);
  const viewer = useRef<Viewer | null>(null);
  useEffect(() => {
    let gone = false;
    void import("../src/index").then(({ mount }) => {
      if (gone || !host.current) return;
      if (viewer.current) viewer.current.update(document);
      else viewer.current = mount(host.current, document, { wheel: false });
    });
    return () => {
      gone = true;
    };
  }, [document]);
  useEffect(
    () => () => {
      viewer.current?.destroy();
    },
    [],
  );
  return <div class="picture" ref={host} />;
}
