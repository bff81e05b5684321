/** Tests and time: to wait for something, and to let time pass by hand. */

import type { TestContext } from "node:test";

const { setTimeout } = globalThis; // the clock may be stopped

/** Wait until something is so, however long a busy machine takes; the runner's time limit is the only one. */
export async function eventually(isSo: () => unknown): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** Let everything happen that is due now. */
export function aTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

/** Timers run by hand from now on until the test is over; returns how to let some seconds pass. */
export async function stopTheClock(t: TestContext): Promise<(seconds: number) => void> {
  await aTurn(); // what ran before can stop its timers only while these are real
  const { timers } = t.mock;
  timers.enable({ apis: ["setTimeout"] });
  return (seconds) => timers.tick(1000 * seconds);
}
