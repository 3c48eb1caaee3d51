/** Hooks that fetch. */
import { useEffect, useState } from "preact/hooks";
import { Refusal } from "./api";

export interface Fetched<T> {
  readonly value: T | null;
  readonly error: Refusal | null;
  readonly busy: boolean;
}

/** What a request brings, asked anew whenever `key` changes; an empty key asks nothing. Answers that are late are lost. */
export function useFetched<T>(key: string, ask: (signal: AbortSignal) => Promise<T>): Fetched<T> {
  const [found, setFound] = useState<Fetched<T>>({ value: null, error: null, busy: false });
  useEffect(() => {
    if (!key) {
      setFound({ value: null, error: null, busy: false });
      return;
    }
    const stop = new AbortController();
    setFound((old) => ({ ...old, busy: true }));
    ask(stop.signal).then(
      (value) => {
        if (!stop.signal.aborted) setFound({ value, error: null, busy: false });
      },
      (error: unknown) => {
        if (stop.signal.aborted) return;
        const told = error instanceof Refusal ? error : new Refusal(0, "page", String(error), "");
        setFound({ value: null, error: told, busy: false });
      },
    );
    return () => {
      stop.abort();
    };
  }, [key]);
  return found;
}
