import { describe } from 'vitest';

/** Makes a suite for several engines: `testActs('acts in SQLite', open)`. */
export function suite<Given>(tests: (given: Given) => void): (name: string, given: Given) => void {
  return (name, given) => describe(name, () => tests(given));
}
