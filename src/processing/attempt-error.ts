import { inspect } from 'node:util';
import { isInstance } from '../errors.ts';
import { ERROR_CHARACTERS } from '../inbox/rules/error-limits.ts';
import type { AttemptError } from '../inbox/work.ts';
import { oneLine } from '../printable.ts';

/** What is kept of what a handler threw, an Error or not. It never throws itself, or the failure would be lost. */
export function attemptError(thrown: unknown): AttemptError {
  if (!isInstance(thrown, Error)) {
    return { name: typeof thrown, message: textOf(() => thrown, ERROR_CHARACTERS.message), stack: null };
  }
  return {
    name: textOf(() => thrown.name, ERROR_CHARACTERS.name),
    message: textOf(() => thrown.message, ERROR_CHARACTERS.message),
    stack: textOf(() => thrown.stack, ERROR_CHARACTERS.stack),
  };
}

/** What is kept of why a handler has let its event go by, whatever it has given as a text. */
export function skipReason(given: unknown): string {
  const text = oneLine(textOf(() => given, ERROR_CHARACTERS.skipped).trim(), ERROR_CHARACTERS.skipped);
  return text === '' ? 'no reason was given' : text;
}

/** A getter may throw, and may return anything. */
function textOf(read: () => unknown, characters: number): string {
  try {
    const value = read();
    const text = typeof value === 'string' ? value : inspect(value);
    return text.length <= characters ? text : `${text.slice(0, characters)}…`;
  } catch {
    return 'something that has no text';
  }
}
