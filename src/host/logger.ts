import { ConfigurationError, messageOf } from '../errors.ts';
import { oneLine } from '../printable.ts';
import { performance } from './real-timers.ts';

/**
 * A logger for hookbox. The logger can be pino, bunyan, roarr, tslog, the console, or any object with the methods
 * `info`, `warn` and `error`. hookbox also recognises winston, LogTape and the logger of Powertools for AWS, which take
 * the message as the first argument. For any other logger of that kind, pass
 * `{ info: (facts, message) => log.info(message, facts), … }`.
 */
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

const LEVELS = ['info', 'warn', 'error'] as const satisfies readonly (keyof Logger)[];

/**
 * The `logger` option made ready: the console unless set, and silence for `false`.
 *
 * @throws ConfigurationError `INVALID_OPTION` for what is no logger
 */
export function loggerOf(given: Logger | false | undefined): Logger {
  if (given === false) return { info() {}, warn() {}, error() {} };
  const logger: Partial<Logger> | null = given ?? (given === undefined ? consoleLogger : null);
  if (logger !== null && LEVELS.every((level) => typeof logger[level] === 'function')) {
    return unfailing(logger as Logger, takesMessageFirst(logger)); // it has every method
  }
  throw new ConfigurationError(
    'INVALID_OPTION',
    `logger must have the methods ${LEVELS.join(', ')}, which hookbox calls with (facts, message) as in pino. To disable logging, set it to false.`,
  );
}

/** winston, LogTape, Powertools for AWS. They take an object for the whole line, so the message would be lost. */
const MESSAGE_FIRST: readonly (readonly string[])[] = [
  ['transports', 'exitOnError', 'configure'],
  ['category', 'parent', 'getChild'],
  ['appendKeys', 'addContext', 'setLogLevel'],
];

function takesMessageFirst(logger: object): boolean {
  return MESSAGE_FIRST.some((names) => names.every((name) => name in logger));
}

/** A logger that fails must not fail a delivery with it. */
function unfailing(logger: Logger, messageFirst: boolean): Logger {
  const quietly = (level: keyof Logger) => (facts: Readonly<Record<string, unknown>>, message: string) => {
    try {
      if (messageFirst) Reflect.apply(logger[level], logger, [message, facts]);
      else logger[level](facts, message);
    } catch {
      // No other place is left to report it to.
    }
  };
  return { info: quietly('info'), warn: quietly('warn'), error: quietly('error') };
}

/** Facts may hold the sender's text, such as an id: it must not begin another line, or steer a terminal. */
function inline(facts: Readonly<Record<string, unknown>>, message: string): string {
  const shown = Object.entries(facts).map(([name, value]) => `${name}=${String(value)}`);
  const line = oneLine(`hookbox: ${message}${shown.length === 0 ? '' : ` (${shown.join(', ')})`}`, Infinity);
  return [line, ...Object.values(facts).flatMap(placesOf)].join('\n');
}

/** Where an error was thrown: lines that nobody takes for others, as they are indented and say nothing else. */
function placesOf(value: unknown): readonly string[] {
  const stack: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'stack') : undefined;
  if (typeof stack !== 'string') return [];
  const places = stack.split('\n').filter((line) => /^(?:\s+at |\[cause\]: )/.test(line));
  return places.map((place) => `    ${oneLine(place.trim())}`);
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

/** Reports what an operator has to mend, which the upkeep of an inbox has found. */
export function upkeepLog(logger: Logger): (problem: { readonly what: string; readonly advice: string }) => void {
  return ({ what, advice }) => logger.error({ toDo: advice }, what);
}

/** What may fail for a while, with a line of its own when it is over. */
interface OutageLog {
  /**
   * It has failed.
   *
   * @param isTold - a line says so: without one, nobody waits to hear of the end
   */
  failed(isTold: boolean): void;
  /** It was asked, and has not failed. */
  answered(): void;
}

/**
 * Says once for each outage that it is over, and for how long it was seen to fail: it may be asked again only long after that.
 *
 * @param times - so many answers, one after the other, end an outage; one unless set
 */
export function outageLog(
  logger: Logger,
  message: string,
  { facts = {}, times = 1 }: { readonly facts?: Readonly<Record<string, unknown>>; readonly times?: number } = {},
): OutageLog {
  let since: number | null = null;
  let last = 0;
  let answers = 0;
  return {
    failed(isTold) {
      answers = 0;
      last = performance.now();
      if (isTold) since ??= last;
    },
    answered() {
      if (since === null) return;
      answers += 1;
      if (answers < times) return;
      const failedForSeconds = Math.round((last - since) / 1_000);
      since = null;
      logger.warn({ ...facts, failedForSeconds }, message);
    },
  };
}
