import { messageOf } from '../errors.ts';
import { oneLine } from '../printable.ts';

/** What hookbox reports through: pino fits as it is, and so does anything with these three methods. */
export interface Logger {
  info(facts: Readonly<Record<string, unknown>>, message: string): void;
  warn(facts: Readonly<Record<string, unknown>>, message: string): void;
  error(facts: Readonly<Record<string, unknown>>, message: string): void;
}

/** The default: warnings and errors on the console, a line each. */
export const consoleLogger: Logger = {
  info() {},
  warn: (facts, message) => console.warn(inline(facts, message)),
  error: (facts, message) => console.error(inline(facts, message)),
};

/** A logger that fails must not fail a delivery with it. */
export function unfailing(logger: Logger): Logger {
  const quietly = (level: keyof Logger) => (facts: Readonly<Record<string, unknown>>, message: string) => {
    try {
      logger[level](facts, message);
    } catch {
      // No other place is left to report it to.
    }
  };
  return { info: quietly('info'), warn: quietly('warn'), error: quietly('error') };
}

/** Facts may hold the sender's text, such as an id: it must not begin another line, or steer a terminal. */
function inline(facts: Readonly<Record<string, unknown>>, message: string): string {
  const shown = Object.entries(facts).map(([name, value]) => `${name}=${String(value)}`);
  return oneLine(`hookbox: ${message}${shown.length === 0 ? '' : ` (${shown.join(', ')})`}`, Infinity);
}

/**
 * Lets the first of each kind of line through and then one in ten seconds, with the number left out in between: a flood
 * of forged deliveries must not become a flood of log lines.
 *
 * @returns what answers whether it has let the line through
 */
export function throttle(everyMs = 10_000): (kind: string, log: (suppressed: number) => void) => boolean {
  const kinds = new Map<string, { last: number; suppressed: number }>();
  return (kind, log) => {
    const now = performance.now();
    const before = kinds.get(kind);
    if (before !== undefined && now - before.last < everyMs) {
      before.suppressed += 1;
      return false;
    }
    kinds.set(kind, { last: now, suppressed: 0 });
    log(before?.suppressed ?? 0);
    return true;
  };
}

/**
 * Reports failures that may come again and again: each kind seldom.
 *
 * @returns what answers whether it has written a line
 */
export function failureLog(logger: Logger): (what: string, failure: unknown) => boolean {
  const seldom = throttle();
  return (what, failure) => seldom(what, (suppressed) => logger.error({ cause: messageOf(failure), suppressed }, what));
}
