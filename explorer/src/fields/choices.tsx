// Boxes to check, folded where there are many.

import { counted } from "../parts/format";

export interface Choice {
  value: string;
  label: string;
}

export interface ChoicesProps {
  title: string;
  none: string;
  items: readonly Choice[];
  chosen: readonly string[];
  /** Whether what is chosen is named while the boxes are folded. */
  names?: boolean;
  onChoose: (chosen: readonly string[]) => void;
}

/** Boxes to check; names of the address that are not known are among them. */
export function Choices({ title, none, items, chosen, names = false, onChoose }: ChoicesProps) {
  const unknown = chosen.filter((value) => !items.some((item) => item.value === value));
  const all = [...items, ...unknown.map((value) => ({ value, label: `${value} · unknown` }))];
  if (all.length === 0) return null;
  const toggle = (value: string, isOn: boolean) =>
    onChoose(isOn ? [...chosen, value] : chosen.filter((other) => other !== value));
  return (
    <details class="choices" open={(all.length <= 8 && !names) || undefined}>
      <summary>
        {title}: {chosen.length === 0 ? none : names ? <bdi>{chosen.join(", ")}</bdi> : counted(chosen.length, "chosen", "chosen")}
      </summary>
      <fieldset>
        <legend class="unseen">{title}</legend>
        {all.map(({ value, label }) => (
          <label key={value} class="check">
            <input
              type="checkbox"
              checked={chosen.includes(value)}
              onChange={({ currentTarget }) => toggle(value, currentTarget.checked)}
            />
            <bdi>{label}</bdi>
          </label>
        ))}
      </fieldset>
    </details>
  );
}
