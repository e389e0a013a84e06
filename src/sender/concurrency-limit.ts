/** Lets so many in at a time, first come, first served. Resolves with a slot's way back, which is called once. */
export function concurrencyLimit(count: number): () => Promise<() => void> {
  const waiting: (() => void)[] = [];
  let free = count;
  const giveBack = (): void => {
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next();
  };
  return async () => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return giveBack;
  };
}
