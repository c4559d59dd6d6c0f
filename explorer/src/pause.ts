// Pauses between attempts.

/** The pause before a second attempt, in milliseconds. It doubles each time, and varies so that readers do not come together. */
const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 30_000;

/** How long to wait after so many failures, one or more, in milliseconds. */
export function pauseAfter(failures: number): number {
  return Math.min(FIRST_PAUSE * 2 ** (failures - 1), LONGEST_PAUSE) * (0.75 + Math.random() / 2);
}
