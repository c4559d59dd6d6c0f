// A value that follows another after a moment of rest.

import { useEffect, useState } from "preact/hooks";

/** For so long nothing is typed before it is looked for, in milliseconds: less than what a reader notices. */
export const REST_MILLISECONDS = 40;

export function useDebounced<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), REST_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
