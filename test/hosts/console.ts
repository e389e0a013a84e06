import { expect } from 'vitest';

/** Lines of another process may come later than its answers. */
interface HasConsole {
  output(): string;
}

export function expectConsole(of: HasConsole) {
  return expect.poll(() => of.output(), { timeout: 10_000, interval: 20 });
}
