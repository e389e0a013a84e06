import { inspect } from 'node:util';
import { isInstance } from '../errors.ts';
import { ERROR_CHARACTERS } from '../inbox/rules/error-limits.ts';
import type { AttemptError } from '../inbox/work.ts';

/** What is kept of whatever a handler threw, be it an Error or not; never fails, or the failure would be lost. */
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

/** Getters may throw, and what should be a text may be anything. */
function textOf(read: () => unknown, characters: number): string {
  try {
    const value = read();
    const text = typeof value === 'string' ? value : inspect(value);
    return text.length <= characters ? text : `${text.slice(0, characters)}…`;
  } catch {
    return 'something that has no text';
  }
}
