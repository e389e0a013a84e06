import { inspect } from 'node:util';
import { messageOf, isError } from '../errors.ts';
import { type Logger, throttle } from '../host/logger.ts';
import { withoutPasswords } from '../host/postgres-url.ts';
import { namesOf } from '../host/shell-words.ts';
import type { Inbox } from '../inbox/contract.ts';
import { COMMITTED_BY_ITSELF, ERROR_CHARACTERS } from '../inbox/rules/attempt.ts';
import type { AttemptError, BreakerNews, CrashedEvent, ClaimedEvent, Settlement } from '../inbox/work.ts';
import { oneLine, printableLines } from '../printable.ts';
import { eventCommand } from './endpoint.ts';

const SAID = {
  processed: 'event processed',
  skipped: 'event skipped by its handler',
  failed: 'handler failed and will be retried; for details, run the command in this log entry',
  later: 'handler requested a later retry; for details, run the command in this log entry',
  failedInline: 'handler failed; the next delivery of the event runs the handler again',
  dead: 'event is dead; to see why, run the command in this log entry',
  lost: 'the lease expired before the handler ended; the handler will run again',
  lostInline: 'the lease expired before the handler ended; the next delivery of the event runs the handler again',
  failedLate: 'handler failed after its transaction was committed, so the handler does not run again',
  withoutFile: 'ctx.transaction is not available now; the handler will run again, and this attempt does not count',
  spoiled: COMMITTED_BY_ITSELF,
  unused:
    'ctx.transaction ended without a statement, so it wrote nothing; use the connection that it passes, and with an ' +
    'ORM, run or await each query',
  outlived:
    'handler was still running after close() aborted ctx.signal; it will run again. Make the handler stop when ' +
    'ctx.signal aborts, or raise processing.closeMs',
  killed:
    'a process was killed before close() finished; the handler will run again, and the attempt does not count. Set ' +
    'processing.closeMs below the shutdown timeout of your platform, or raise that timeout',
} as const;

const LINES: ReadonlySet<string> = new Set(Object.values(SAID));

/** Whether hookbox, not a handler, logged this line about an attempt. */
export function isAboutAttempt(message: string): boolean {
  return LINES.has(message);
}

interface AttemptLogOptions {
  readonly logger: Logger;
  readonly inbox: Pick<Inbox, 'file'>;
  readonly logErrors: boolean;
  /** the service's redelivery runs the handler again */
  readonly inline?: boolean;
}

const OF_BREAKERS = {
  'breaker opened': 'breaker opened: events of the type wait until the handler succeeds for one of them',
  'probe failed': 'breaker stays open: the handler failed again, so the type waits until the next event is tried',
  'breaker closed': 'breaker closed: events of the type are handled again',
} as const satisfies Record<BreakerNews, string>;

export type AttemptLog = ReturnType<typeof attemptLog>;

export function attemptLog({ logger, inbox, logErrors, inline = false }: AttemptLogOptions) {
  const seldom = throttle();
  /** The message and stack too, unless `logErrors` is `false`. */
  const why = ({ endpoint, id }: AttemptFacts, error: AttemptError) => ({
    error: oneLine(error.name),
    command: `npx ${eventCommand('show', { endpoint, id }, namesOf(inbox))}`,
    ...(logErrors && { err: loggedError(error) }),
  });

  return {
    logErrors,
    ended(attempt: EndedAttempt, end: AttemptResult): void {
      switch (end.outcome) {
        case 'processed':
        case 'committed':
          if (end.outcome === 'processed' && end.skipped !== undefined) {
            logger.info({ ...attempt, ...(logErrors && { reason: end.skipped }) }, SAID.skipped);
          } else {
            logger.info({ ...attempt }, SAID.processed);
          }
          return;
        case 'retry':
        case 'dead':
          // An invalid event is not retried, in inline mode either.
          if (inline && !(end.outcome === 'dead' && end.reason === 'invalid')) {
            logger.warn({ ...attempt, ...why(attempt, end.error) }, SAID.failedInline);
          } else if (end.outcome === 'dead') {
            logger.error({ ...attempt, reason: end.reason, ...why(attempt, end.error) }, SAID.dead);
          } else {
            const dueAt = new Date(end.dueAt).toISOString();
            const { pauseUntil } = end;
            const pause = pauseUntil !== undefined && { typePausedUntil: new Date(pauseUntil).toISOString() };
            // The stack of a requested wait is useless to a reader.
            const isPlanned = end.error.name === 'RetryLaterError';
            const error = isPlanned ? { ...end.error, stack: null } : end.error;
            logger.warn({ ...attempt, dueAt, ...pause, ...why(attempt, error) }, isPlanned ? SAID.later : SAID.failed);
          }
          return;
        case 'lost':
          logger.warn({ ...attempt }, inline ? SAID.lostInline : SAID.lost);
          return;
        case 'committed alone':
          logger.error({ ...attempt }, SAID.spoiled);
          return;
        case 'interrupted':
      }
    },
    /** Its handler threw after its transaction was committed. */
    failedLate: (attempt: EndedAttempt, error: AttemptError): void =>
      logger.error({ ...attempt, ...why(attempt, error) }, SAID.failedLate),
    withoutFile: (attempt: EndedAttempt, thrown: unknown): void =>
      logger.error({ ...attempt, cause: messageOf(thrown) }, SAID.withoutFile),
    unused: ({ type, ...attempt }: EndedAttempt): void =>
      void seldom(`unused ${type}`, (suppressed) => logger.warn({ type, ...attempt, suppressed }, SAID.unused)),
    breaker({ endpoint, type, id }: EndedAttempt, news: BreakerNews, probeAt: number): void {
      const facts = { endpoint, type, id };
      if (news === 'breaker closed') logger.info(facts, OF_BREAKERS[news]);
      else logger.warn({ ...facts, nextAttemptAt: new Date(probeAt).toISOString() }, OF_BREAKERS[news]);
    },
    outlived: (attempt: EndedAttempt): void => logger.warn({ ...attempt }, SAID.outlived),
    found(crashed: readonly CrashedEvent[]): void {
      for (const { endpoint, id, type, attempt, wasClosing } of crashed) {
        if (wasClosing !== true) continue;
        const facts = { endpoint, id, type: type === null ? null : oneLine(type), attempt };
        logger.warn(facts, SAID.killed);
      }
    },
  };
}

/** The logged part of an error, as `err`. */
interface LoggedError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
}

const MOST_BYTES = 4_096;
const NAME_CHARACTERS = 100;
const MESSAGE_BYTES = 1_536;
const FRAME_BYTES = 64;

const FIRST_PLACE = /\n\s+at /;

/** pino shows the class of an error, or its `name`. */
const PROTOTYPE: object = Object.create(Object.prototype, {
  constructor: { value: undefined },
  toString: {
    value(this: LoggedError) {
      return `${this.name}: ${this.message}`;
    },
  },
});

/** The name, message and stack of an error, in at most 4 KiB. Leaves out other fields, such as the values of a row. */
export function loggedError({ name, message, stack }: AttemptError): LoggedError {
  const called = oneLine(name, NAME_CHARACTERS);
  const said = fitting(oneLine(message, Infinity), MESSAGE_BYTES);
  const logged = Object.assign(Object.create(PROTOTYPE) as object, { name: called, message: said });
  if (stack === null) return logged;
  const left = MOST_BYTES - FRAME_BYTES - bytesOf(called) - bytesOf(said);
  const written = printableLines(withShortHead(stack, `${called}: ${said}`));
  return Object.assign(logged, { stack: fitting(written, left) });
}

/** A stack begins with the message, and a long message would leave no room for the places. */
function withShortHead(stack: string, head: string): string {
  const at = stack.search(FIRST_PLACE);
  return at <= MESSAGE_BYTES ? stack : head + stack.slice(at);
}

function bytesOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}

function fitting(text: string, bytes: number): string {
  if (bytesOf(text) <= bytes) return text;
  let left = bytes - bytesOf('…');
  let end = 0;
  for (const character of text) {
    left -= bytesOf(character) - bytesOf('');
    if (left < 0) break;
    end += character.length;
  }
  return `${text.slice(0, end)}…`;
}

/**
 * The stored error of any thrown value. The message names its causes, because `fetch failed` alone is useless.
 * Signatures and passwords in URLs are removed. Never throws.
 */
export function attemptError(thrown: unknown): AttemptError {
  if (!isError(thrown)) {
    return { name: typeof thrown, message: textOf(() => thrown, ERROR_CHARACTERS.message), stack: null };
  }
  const [, ...causes] = chainOf(thrown);
  const stacks = causes.map((cause) => `[cause]: ${textOf(() => cause.stack, ERROR_CHARACTERS.stack)}`);
  return {
    name: textOf(() => thrown.name, ERROR_CHARACTERS.name),
    message: cut(saidBy(thrown), ERROR_CHARACTERS.message),
    stack: cut([textOf(() => thrown.stack, ERROR_CHARACTERS.stack), ...stacks].join('\n'), ERROR_CHARACTERS.stack),
  };
}

/** An error may be its cause, and an AggregateError may have thousands. */
const MOST_ERRORS = 10;

/** The causes of an error, and all errors of an AggregateError. */
function chainOf(thrown: Error): readonly Error[] {
  const chain = new Set([thrown]);
  // The loop also visits errors that it adds.
  for (const error of chain) {
    for (const cause of causesOf(error)) if (chain.size < MOST_ERRORS) chain.add(cause);
  }
  return [...chain];
}

function causesOf(error: Error): readonly Error[] {
  try {
    const collected: unknown = Reflect.get(error, 'errors');
    const among: readonly unknown[] = Array.isArray(collected) ? collected.slice(0, MOST_ERRORS) : [];
    return [error.cause, ...among].filter(isError);
  } catch {
    return []; // a getter may throw
  }
}

/** Any other code may be text that a person wrote. */
const CODE = /^[A-Z0-9_]{1,60}$/;

function ownCodeOf(error: Error): string | undefined {
  try {
    const code: unknown = Reflect.get(error, 'code');
    return typeof code === 'string' && CODE.test(code) ? code : undefined;
  } catch {
    return undefined;
  }
}

/** `fetch failed: connect ECONNREFUSED 127.0.0.1:80`. Omits a cause that the error itself quotes. */
function saidBy(thrown: Error): string {
  const [first = '', ...causes] = chainOf(thrown).map((error, at) => (at === 0 ? ownWords(error) : withCode(error)));
  let said = first;
  for (const words of causes) {
    if (said.length > ERROR_CHARACTERS.message) break;
    if (!said.includes(words)) said += said === '' ? words : `: ${words}`;
  }
  return said;
}

function ownWords(error: Error): string {
  return textOf(() => error.message, ERROR_CHARACTERS.message);
}

/** An AggregateError often has no message. */
function withCode(error: Error): string {
  const [words, code] = [ownWords(error), ownCodeOf(error)];
  if (words === '' && causesOf(error).length > 0) return '';
  const named = words === '' ? textOf(() => error.name, ERROR_CHARACTERS.name) : words;
  return code === undefined || named.includes(code) ? named : `${named} (code ${code})`;
}

/** The stored reason for a skip, from any value. */
export function skipReason(given: unknown): string {
  const text = storedLine(() => given, ERROR_CHARACTERS.skipped);
  return text === '' ? 'no reason given' : text;
}

export function storedLine(read: () => unknown, characters: number): string {
  return oneLine(textOf(read, characters).trim(), characters);
}

/** A signature, which a handler may have quoted. */
const SIGNATURE = /\b[0-9a-f]{64}\b/gi;

/** A getter may throw, and may return anything. */
function textOf(read: () => unknown, characters: number): string {
  try {
    const value = read();
    const text = typeof value === 'string' ? value : inspect(value);
    // Cuts a far too long text first, and searches only the rest for secrets.
    return cut(withoutPasswords(cut(text, 2 * characters)).replaceAll(SIGNATURE, '…'), characters);
  } catch {
    return 'a value that cannot be converted to text';
  }
}

function cut(text: string, characters: number): string {
  return text.length <= characters ? text : `${text.slice(0, characters)}…`;
}

export type AttemptResult =
  | Settlement
  /** its function ran COMMIT itself, so its event is dead */
  | { readonly outcome: 'committed alone' }
  | { readonly outcome: 'lost' };

export interface AttemptFacts {
  readonly endpoint: string;
  readonly id: string;
  /** `null` if the body no longer has a type */
  readonly type: string | null;
  readonly attempt: number;
}

export interface EndedAttempt extends AttemptFacts {
  readonly durationMs: number;
  /** of the thrown error or its causes, such as the SQLSTATE */
  readonly code?: string;
}

export function factsOf({ endpoint, id, attempt }: ClaimedEvent, type: string | null): AttemptFacts {
  return { endpoint, id, type: type === null ? null : oneLine(type), attempt };
}

/** `23505`, `ECONNREFUSED`, `SQLITE_CONSTRAINT_UNIQUE` */
export function codeOf(thrown: unknown): string | undefined {
  return isError(thrown)
    ? chainOf(thrown)
        .map(ownCodeOf)
        .find((code) => code !== undefined)
    : undefined;
}
