const STEPS = 3_000_000;
const TRIES = 10;

/**
 * How long a fixed piece of work takes, in milliseconds: the least of some tries, so that only a slower processor shows.
 * A host that lends the other half of a core to somebody else tells nobody, but makes everything a third slower.
 */
export function paceMs(): number {
  let least = Infinity;
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const startedAt = performance.now();
    if (work() === 0) throw new Error('This sequence never comes to zero.');
    least = Math.min(least, performance.now() - startedAt);
  }
  return least;
}

/** Numbers that depend on each other (xorshift), so that nothing of it can be left out. */
function work(): number {
  let value = 88_675_123;
  for (let step = 0; step < STEPS; step += 1) {
    value ^= value << 13;
    value ^= value >>> 17;
    value ^= value << 5;
  }
  return value;
}
