// Numbers that are the same in every run (mulberry32).

/** Draws from a seed: a number below a bound, or one of some choices. */
export function draws(seed) {
  let state = seed;
  const below = (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
  return { below, pick: (...choices) => choices[below(choices.length)] };
}
