/** Hooks that fetch. */
import { useEffect, useState } from "preact/hooks";
import { toRefusal, type Refusal } from "./api";

export interface Fetched<T> {
  readonly value: T | null;
  readonly error: Refusal | null;
  readonly busy: boolean;
}

interface Answered<T> {
  readonly key: string;
  readonly value: T | null;
  readonly error: Refusal | null;
}

/**
 * What a request brings, asked anew whenever `key` changes; an empty key asks nothing. Answers that are late are lost.
 * Busy from the very render that changes the key on: until the answer comes, `value` is that of the key before.
 */
export function useFetched<T>(key: string, ask: (signal: AbortSignal) => Promise<T>): Fetched<T> {
  const [found, setFound] = useState<Answered<T>>({ key: "", value: null, error: null });
  useEffect(() => {
    if (!key) {
      setFound({ key, value: null, error: null });
      return;
    }
    const stop = new AbortController();
    ask(stop.signal).then(
      (value) => {
        if (!stop.signal.aborted) setFound({ key, value, error: null });
      },
      (error: unknown) => {
        if (stop.signal.aborted) return;
        setFound({ key, value: null, error: toRefusal(error) });
      },
    );
    return () => {
      stop.abort();
    };
  }, [key]);
  return { value: found.value, error: found.error, busy: found.key !== key };
}
