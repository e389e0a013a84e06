import { inspect } from 'node:util';
import { isError } from '../errors.ts';
import type { Logger } from '../host/logger.ts';
import { performance } from '../host/real-timers.ts';
import { LOG_LIMITS } from '../inbox/rules/attempt.ts';
import type { LogLine } from '../inbox/work.ts';
import { attemptError, storedLine, type AttemptFacts } from './attempt-log.ts';
import type { HandlerLog } from './handlers.ts';

const MOST_FIELDS = 20;
const SHORT = { depth: 2, breakLength: Infinity, compact: true, customInspect: false, maxArrayLength: 10 } as const;

/** @param keeps - keeps the last lines, to be stored with the attempt */
export function handlerLog(
  logger: Logger,
  about: AttemptFacts,
  keeps: boolean,
): { readonly log: HandlerLog; readonly lines: () => readonly LogLine[] } {
  const kept: LogLine[] = [];
  const begunAt = performance.now();
  const at =
    (level: keyof Logger): HandlerLog[typeof level] =>
    (...given: [string] | [Readonly<Record<string, unknown>>, string]) => {
      const [fields, message] =
        given.length === 1 && typeof given[0] === 'string' ? [{}, given[0]] : [given[0] as object, given[1] ?? ''];
      if (keeps) {
        kept.push({ afterMs: Math.round(performance.now() - begunAt), level, text: textOf(fields, message) });
        if (kept.length > LOG_LIMITS.lines) kept.shift();
      }
      logger[level]({ ...about, ...fields }, message);
    };
  return { log: { info: at('info'), warn: at('warn'), error: at('error') }, lines: () => lastOf(kept) };
}

function lastOf(lines: readonly LogLine[]): readonly LogLine[] {
  let left = LOG_LIMITS.bytes - '[]'.length;
  const from = lines.findLastIndex((line) => (left -= Buffer.byteLength(`${JSON.stringify(line)},`)) < 0);
  return lines.slice(from + 1);
}

/** `late (carrier=DHL, days=3)`, like a line of the console. Logging never throws. */
function textOf(fields: object, message: unknown): string {
  return storedLine(() => {
    const shown = Object.keys(fields ?? {}).slice(0, MOST_FIELDS);
    const pairs = shown.map((name) => `${name}=${valueOf(Reflect.get(fields, name))}`);
    return `${String(message)}${pairs.length === 0 ? '' : ` (${pairs.join(', ')})`}`;
  }, LOG_LIMITS.characters);
}

function valueOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (!isError(value)) return inspect(value, { ...SHORT, maxStringLength: LOG_LIMITS.characters });
  const { name, message } = attemptError(value);
  return `${name}: ${message}`;
}
