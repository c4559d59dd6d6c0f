// The field to search in. What is typed is in the address after a moment.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { Glyph } from "../parts/glyph";
import { REST_MILLISECONDS } from "../use-debounced";

export interface SearchFieldProps {
  label: string;
  /** What is searched for now. */
  value: string;
  onChange: (value: string) => void;
  /** The reader goes on to the results, by Enter or by the arrow down. */
  onLeave: (key: "Enter" | "ArrowDown") => void;
}

export function SearchField({ label, value, onChange, onLeave }: SearchFieldProps) {
  const [text, setText] = useState(value);
  const said = useRef(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // What is done after the rest is up to the list as it is then, perhaps with another filter.
  const say = useRef(onChange);
  say.current = onChange;
  useEffect(() => () => clearTimeout(timer.current), []);
  const typed = (text: string) => {
    setText(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => search(text), REST_MILLISECONDS);
  };
  const search = (text: string) => {
    clearTimeout(timer.current);
    if (text.trim() === said.current) return;
    said.current = text.trim();
    say.current(said.current);
  };
  const pressed = (event: KeyboardEvent) => {
    // Enter may also end a composition, for example of Chinese characters.
    if (event.isComposing || (event.key !== "Enter" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    search(text);
    onLeave(event.key);
  };
  // A link or the way back changed it. At once, since the next text may be said before the page is painted.
  useLayoutEffect(() => {
    if (value === said.current) return;
    clearTimeout(timer.current);
    said.current = value;
    setText(value);
  }, [value]);
  return (
    <search class="search-field">
      <Glyph name="search" />
      <input
        type="search"
        id="search"
        aria-label={label}
        aria-keyshortcuts="/"
        placeholder={label}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => typed(currentTarget.value)}
        onKeyDown={pressed}
      />
      <kbd aria-hidden="true">/</kbd>
    </search>
  );
}
