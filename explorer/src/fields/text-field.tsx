// A field of free text, which says what was chosen when the reader leaves it.

import { useId, useLayoutEffect, useState } from "preact/hooks";

export interface TextFieldProps {
  label: string;
  /** What is asked for now. */
  value: string;
  example: string;
  /** What can be written, where the example does not say it all; it stays in sight. */
  hint?: string | undefined;
  onChoose: (value: string) => void;
  /** Gets the text while it is typed. */
  onType?: (text: string) => void;
  /** The id of the list of suggestions. */
  list?: string;
}

/** A field of free text. What is typed in it stays while something else of the form is loaded. */
export function TextField({ label, value, example, hint, onChoose, onType, list }: TextFieldProps) {
  const [text, setText] = useState(value);
  const hintId = useId();
  // A link or the way back changed it.
  useLayoutEffect(() => setText(value), [value]);
  const typed = ({ currentTarget, inputType }: InputEvent & { currentTarget: HTMLInputElement }) => {
    setText(currentTarget.value);
    // What is chosen from the list needs no key to be pressed after it.
    if (list && inputType === "insertReplacementText") onChoose(currentTarget.value.trim());
    else onType?.(currentTarget.value);
  };
  const field = (
    <label class="stacked">
      <span>{label}</span>
      <input
        value={text}
        placeholder={example}
        spellcheck={false}
        autocomplete="off"
        aria-describedby={hint ? hintId : undefined}
        {...({ list, onInput: typed } as object)}
        onChange={({ currentTarget }) => onChoose(currentTarget.value.trim())}
      />
    </label>
  );
  if (!hint) return field;
  return (
    <div class="hinted">
      {field}
      <small id={hintId} class="subtle">
        {hint}
      </small>
    </div>
  );
}
