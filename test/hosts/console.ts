import { expect } from 'vitest';

/** Another process, whose lines may come later than the answers they are about. */
interface HasConsole {
  output(): string;
}

export function expectConsole(of: HasConsole) {
  return expect.poll(() => of.output(), { timeout: 10_000, interval: 20 });
}
