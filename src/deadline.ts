/** What `withinDeadline` resolves with when the time is up. */
export const LATE = Symbol('late');

/**
 * Waits for a promise until a deadline on the clock of `performance.now()`. Something that blocks the event loop past the
 * deadline and then succeeds is not late: its promise settles before the timer can fire.
 */
export async function withinDeadline<T>(promise: Promise<T>, deadline: number): Promise<T | typeof LATE> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => resolve(LATE), deadline - performance.now());
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
