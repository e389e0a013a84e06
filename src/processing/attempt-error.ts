import { inspect } from 'node:util';
import { isError } from '../errors.ts';
import { withoutPasswords } from '../host/postgres-url.ts';
import { ERROR_CHARACTERS } from '../inbox/rules/attempt.ts';
import type { AttemptError } from '../inbox/work.ts';
import { oneLine } from '../printable.ts';

/**
 * The stored error of a value that a handler threw, an Error or not. The message names its causes too, as `fetch failed` alone says
 * nothing; signatures and the passwords in URLs are left out. It never throws itself, or the failure would be lost.
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

/** So many errors of a chain are looked at: one may be its own cause, and an AggregateError have thousands. */
const MOST_ERRORS = 10;

/** An error and the chain of its causes; of an AggregateError, all errors that it has collected. */
export function chainOf(thrown: Error): readonly Error[] {
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

/** The `code` of one error: `23505`, `ECONNREFUSED`, `SQLITE_CONSTRAINT_UNIQUE`. */
export function ownCodeOf(error: Error): string | undefined {
  try {
    const code: unknown = Reflect.get(error, 'code');
    return typeof code === 'string' && CODE.test(code) ? code : undefined;
  } catch {
    return undefined;
  }
}

/** `fetch failed: connect ECONNREFUSED 127.0.0.1:80`. What an error says of its cause itself is not said twice. */
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

/** An AggregateError often says nothing itself. */
function withCode(error: Error): string {
  const [words, code] = [ownWords(error), ownCodeOf(error)];
  if (words === '' && causesOf(error).length > 0) return '';
  const named = words === '' ? textOf(() => error.name, ERROR_CHARACTERS.name) : words;
  return code === undefined || named.includes(code) ? named : `${named} (code ${code})`;
}

/** What is kept of why a handler has let its event go by, whatever it has given as a text. */
export function skipReason(given: unknown): string {
  const text = oneLine(textOf(() => given, ERROR_CHARACTERS.skipped).trim(), ERROR_CHARACTERS.skipped);
  return text === '' ? 'no reason given' : text;
}

/** What a signature looks like: a handler may have quoted one. */
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
