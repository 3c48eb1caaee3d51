/** A name, found as one types: the combobox of the ARIA practices. */
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { get, type Found, type Match } from "./api";
import { short } from "./parts";

/** No name is chosen where nothing was typed. */
const NONE = -1;

interface Props {
  readonly label: string;
  readonly of: "entities" | "relations";
  readonly value: string;
  readonly choose: (name: string) => void;
}

export function Combobox({ label, of, value, choose }: Props) {
  const id = useId();
  const [text, setText] = useState(value);
  const [names, setNames] = useState<readonly Match[]>([]);
  const [searched, setSearched] = useState("");
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const typed = useRef(0);

  useEffect(() => {
    setText(value);
  }, [value]);

  /** The names that fit `words`; null where they came too late, or not at all. */
  const search = async (words: string): Promise<readonly Match[] | null> => {
    const turn = ++typed.current;
    try {
      const found = await get<Found>(of, { search: words, limit: "8" });
      if (turn !== typed.current) return null;
      setNames(found.names);
      setSearched(words);
      setAt(words ? 0 : NONE);
      setOpen(document.activeElement?.id === id);
      return found.names;
    } catch {
      setOpen(false);
      return null;
    }
  };
  const take = (name: string) => {
    typed.current++;
    setText(name);
    setOpen(false);
    choose(name);
  };
  const key = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!open) void search(text);
      else if (names.length) setAt((at + (event.key === "ArrowDown" ? 1 : names.length - 1)) % names.length);
    } else if (event.key === "Enter" && ((open && at > NONE) || text !== value)) {
      event.preventDefault();
      // Who types faster than the names come gets the best of those that fit, not one of the list before.
      if (open && at > NONE && searched === text) take(names[at]?.name ?? text);
      else
        void search(text).then((fitting) => {
          if (fitting) take(fitting[0]?.name ?? text);
        });
    } else if (event.key === "Escape") setOpen(false);
  };

  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        role="combobox"
        aria-expanded={open}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={open && names.length && at > NONE ? `${id}-${String(at)}` : undefined}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          void search(event.currentTarget.value);
        }}
        onFocus={(event) => {
          event.currentTarget.select();
          if (!text) void search("");
        }}
        onKeyDown={key}
        onBlur={() => {
          setOpen(false);
          if (text !== value) choose(text);
        }}
      />
      <ul id={`${id}-list`} role="listbox" aria-label={`Names for ${label}`} hidden={!open || !names.length}>
        {names.map((one, place) => (
          <li
            key={one.name}
            id={`${id}-${String(place)}`}
            role="option"
            aria-selected={place === at}
            onMouseDown={(event) => {
              event.preventDefault();
              take(one.name);
            }}
          >
            <span dir="auto">{short(one.name)}</span> <small>{one.facts.toLocaleString("en")} facts</small>
          </li>
        ))}
      </ul>
    </div>
  );
}
