/** Waiting for something, unless a signal says otherwise; and signals that also mind the time. */

/** How whoever waits is told. */
export interface Waiter<T> {
  settle(value: T | PromiseLike<T>): void;
  fail(error: unknown): void;
}

/** Seconds on a clock that never goes back. */
export function now(): number {
  return performance.now() / 1000;
}

/** A promise that `begin` hands out to settle; a signal rejects it with its reason, after `leave`. */
export function waitFor<T>(
  signal: AbortSignal | undefined,
  begin: (waiter: Waiter<T>) => void,
  leave: () => void,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = whenAborted(signal, (reason) => {
      leave();
      reject(reason);
    });
    if (signal?.aborted) return;
    begin({
      settle: (value) => {
        stop();
        resolve(value);
      },
      fail: (error) => {
        stop();
        reject(error);
      },
    });
  });
}

/** Call `then` with the reason when a signal is aborted, at once if it is; returns how to call that off. */
export function whenAborted(signal: AbortSignal | undefined, then: (reason: unknown) => void): () => void {
  const aborted = () => then(signal!.reason);
  if (signal?.aborted) aborted();
  signal?.addEventListener("abort", aborted);
  return () => signal?.removeEventListener("abort", aborted);
}

/** Call what may throw, or return a promise that fails: `failed` is told, nobody else. */
export function attempt(work: () => unknown, failed: (error: unknown) => void): void {
  (async () => work())().catch(failed);
}

/** Call `then` in some seconds, or never if they are infinite; returns how to call that off. */
export function later(seconds: number, then: () => void): () => void {
  const timer = seconds < Infinity ? setTimeout(then, Math.min(seconds * 1000, 2 ** 31 - 1)) : undefined;
  return () => clearTimeout(timer);
}

/**
 * Do something with a signal that follows another, and aborts with `late()` when the time is over. What does not
 * heed the signal is left alone; once it is done, the signal aborts no more.
 */
export function limited<T>(
  seconds: number,
  signal: AbortSignal | undefined,
  late: () => Error,
  work: (limit: AbortSignal) => Promise<T>,
): Promise<T> {
  const control = new AbortController();
  const stop = later(seconds, () => control.abort(late()));
  const leave = whenAborted(signal, (reason) => control.abort(reason));
  const end = () => {
    stop();
    leave();
  };
  const begin = ({ settle, fail }: Waiter<T>) => void work(control.signal).finally(end).then(settle, fail);
  return waitFor(control.signal, begin, end);
}
