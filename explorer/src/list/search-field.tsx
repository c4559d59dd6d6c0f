// The field to search in. What is typed is in the address after a moment.

import { useEffect, useRef, useState } from "preact/hooks";

import { Glyph } from "../parts/glyph";
import { useDebounced } from "../use-debounced";

export interface SearchFieldProps {
  label: string;
  /** What is searched for now. */
  value: string;
  onChange: (value: string) => void;
}

export function SearchField({ label, value, onChange }: SearchFieldProps) {
  const [text, setText] = useState(value);
  const settled = useDebounced(text);
  const said = useRef(value);
  useEffect(() => {
    if (settled.trim() === said.current) return;
    said.current = settled.trim();
    onChange(said.current);
  }, [settled]);
  // A link or the way back changed it.
  useEffect(() => {
    if (value === said.current) return;
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
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <kbd aria-hidden="true">/</kbd>
    </search>
  );
}
