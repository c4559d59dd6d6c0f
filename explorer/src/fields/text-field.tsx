// A field of free text, which says what was chosen when the reader leaves it.

import { useLayoutEffect, useState } from "preact/hooks";

export interface TextFieldProps {
  label: string;
  /** What is asked for now. */
  value: string;
  example: string;
  onChoose: (value: string) => void;
  /** Gets the text while it is typed. */
  onType?: (text: string) => void;
  /** The id of the list of suggestions. */
  list?: string;
}

/** A field of free text. What is typed in it stays while something else of the form is loaded. */
export function TextField({ label, value, example, onChoose, onType, list }: TextFieldProps) {
  const [text, setText] = useState(value);
  // A link or the way back changed it.
  useLayoutEffect(() => setText(value), [value]);
  const typed = ({ currentTarget, inputType }: InputEvent & { currentTarget: HTMLInputElement }) => {
    setText(currentTarget.value);
    // What is chosen from the list needs no key to be pressed after it.
    if (list && inputType === "insertReplacementText") onChoose(currentTarget.value.trim());
    else onType?.(currentTarget.value);
  };
  return (
    <label class="stacked">
      <span>{label}</span>
      <input
        value={text}
        placeholder={example}
        spellcheck={false}
        autocomplete="off"
        {...({ list, onInput: typed } as object)}
        onChange={({ currentTarget }) => onChoose(currentTarget.value.trim())}
      />
    </label>
  );
}
