// The field for the name of a package, with suggestions from the catalogs while it is typed.

import { useId, useState } from "preact/hooks";

import { SuggestPackages } from "../generated/documents";
import { useDebounced } from "../use-debounced";
import { useQuery } from "../use-query";
import { TextField } from "./text-field";

export interface PackageFieldProps {
  value: string;
  onChoose: (name: string) => void;
}

export function PackageField({ value, onChoose }: PackageFieldProps) {
  /** The name while it is typed. */
  const [typed, setTyped] = useState<string>();
  const text = useDebounced(typed?.trim() ?? "");
  const found = useQuery(SuggestPackages, { text }, { skip: text === "" }).data?.suggest ?? [];
  // Several catalogs may have a package of one name.
  const suggestions = [...new Map(found.map((each) => [each.text, each.displayName]))];
  const list = useId();
  const choose = (name: string) => {
    setTyped(undefined);
    onChoose(name);
  };
  return (
    <>
      <TextField label="Package" value={value} example="prometheus" list={list} onChoose={choose} onType={setTyped} />
      <datalist id={list}>
        {suggestions.map(([text, displayName]) => (
          <option key={text} value={text}>
            {displayName ?? ""}
          </option>
        ))}
      </datalist>
    </>
  );
}
