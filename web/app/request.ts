/** The body of a request, from the address. */
import type { State } from "./url";

export function request(state: State) {
  const { subject, relation, object, time, without, given, answer, model } = state;
  const body = { subject, relation, object, time, without, given, top: 10, paths: 5 };
  return { ...body, ...(answer && { answer }), ...(model && { model }) };
}
