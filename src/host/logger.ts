import { ConfigurationError, messageOf } from '../errors.ts';
import { oneLine } from '../printable.ts';
import { performance } from './real-timers.ts';

/**
 * A logger for hookbox: pino, bunyan, roarr, tslog, the console, or any object with `info`, `warn` and `error`. hookbox
 * also recognises winston, LogTape and Powertools for AWS, which take the message as the first argument. For any other
 * logger of that kind, pass `{ info: (facts, message) => log.info(message, facts), … }`.
 */
export interface Logger {
  info(facts: Readonly<Record<string, unknown>>, message: string): void;
  warn(facts: Readonly<Record<string, unknown>>, message: string): void;
  error(facts: Readonly<Record<string, unknown>>, message: string): void;
}

export const consoleLogger: Logger = {
  info() {},
  warn: (facts, message) => console.warn(inline(facts, message)),
  error: (facts, message) => console.error(inline(facts, message)),
};

const LEVELS = ['info', 'warn', 'error'] as const satisfies readonly (keyof Logger)[];

export function loggerOf(given: Logger | false | undefined): Logger {
  if (given === false) return { info() {}, warn() {}, error() {} };
  const logger: Partial<Logger> | null = given ?? (given === undefined ? consoleLogger : null);
  if (logger !== null && LEVELS.every((level) => typeof logger[level] === 'function')) {
    return unfailing(logger as Logger, takesMessageFirst(logger));
  }
  throw new ConfigurationError(
    'INVALID_OPTION',
    `logger must have the methods ${LEVELS.join(', ')}, which hookbox calls with (facts, message) as in pino. To disable logging, set it to false.`,
  );
}

/** winston, LogTape, Powertools for AWS: an object as the first argument would lose the message. */
const MESSAGE_FIRST: readonly (readonly string[])[] = [
  ['transports', 'exitOnError', 'configure'],
  ['category', 'parent', 'getChild'],
  ['appendKeys', 'addContext', 'setLogLevel'],
];

function takesMessageFirst(logger: object): boolean {
  return MESSAGE_FIRST.some((names) => names.every((name) => name in logger));
}

function unfailing(logger: Logger, messageFirst: boolean): Logger {
  const quietly = (level: keyof Logger) => (facts: Readonly<Record<string, unknown>>, message: string) => {
    try {
      if (messageFirst) Reflect.apply(logger[level], logger, [message, facts]);
      else logger[level](facts, message);
    } catch {}
  };
  return { info: quietly('info'), warn: quietly('warn'), error: quietly('error') };
}

/** A fact may contain the sender's text, which must not begin a line or control a terminal. */
function inline(facts: Readonly<Record<string, unknown>>, message: string): string {
  const shown = Object.entries(facts).map(([name, value]) => `${name}=${String(value)}`);
  const line = oneLine(`hookbox: ${message}${shown.length === 0 ? '' : ` (${shown.join(', ')})`}`, Infinity);
  return [line, ...Object.values(facts).flatMap(placesOf)].join('\n');
}

/** Indented lines cannot be mistaken for log lines. */
function placesOf(value: unknown): readonly string[] {
  const stack: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'stack') : undefined;
  if (typeof stack !== 'string') return [];
  const places = stack.split('\n').filter((line) => /^(?:\s+at |\[cause\]: )/.test(line));
  return places.map((place) => `    ${oneLine(place.trim())}`);
}

/** Writes the first line of each kind, then one in ten seconds with the number of skipped ones. @returns whether it was written */
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

/** @returns whether a line was written */
export function failureLog(logger: Logger): (what: string, failure: unknown) => boolean {
  const seldom = throttle();
  return (what, failure) => seldom(what, (suppressed) => logger.error({ cause: messageOf(failure), suppressed }, what));
}

export function upkeepLog(logger: Logger): (problem: { readonly what: string; readonly advice: string }) => void {
  return ({ what, advice }) => logger.error({ toDo: advice }, what);
}

interface OutageLog {
  /** `isReported`: a log line reported the failure, so another line reports its end. */
  failed(isReported: boolean): void;
  answered(): void;
}

export function outageLog(
  logger: Logger,
  message: string,
  { facts = {}, times = 1 }: { readonly facts?: Readonly<Record<string, unknown>>; readonly times?: number } = {},
): OutageLog {
  let since: number | null = null;
  let last = 0;
  let answers = 0;
  return {
    failed(isReported) {
      answers = 0;
      last = performance.now();
      if (isReported) since ??= last;
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
