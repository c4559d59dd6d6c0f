// A value that components show and follow.

import { useEffect, useState } from "preact/hooks";

/** A value with those who want to know when it changes. */
export interface Store<Value> {
  get(): Value;
  set(value: Value): void;
  /** Calls back after each change. Returns what ends that. */
  subscribe(changed: () => void): () => void;
}

export function createStore<Value>(value: Value): Store<Value> {
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const changed of [...listeners]) changed();
    },
    subscribe(changed) {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
  };
}

/** The value of a store; the component is rendered again when it changes. */
export function useStore<Value>(store: Store<Value>): Value {
  const [, render] = useState({});
  // A change between rendering and this effect must not be missed.
  const rendered = store.get();
  useEffect(() => {
    if (store.get() !== rendered) render({});
    return store.subscribe(() => render({}));
  }, [store]);
  return rendered;
}
