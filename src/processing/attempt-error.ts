import { inspect } from 'node:util';
import { isInstance } from '../errors.ts';
import type { AttemptError } from '../inbox/work.ts';

/** Enough to understand a failure; more would fill the file with the same stack a thousand times over. */
const NAME_CHARACTERS = 100;
const MESSAGE_CHARACTERS = 2_000;
const STACK_CHARACTERS = 8_000;

/** What is kept of whatever a handler threw, be it an Error or not; never fails, or the failure would be lost. */
export function attemptError(thrown: unknown): AttemptError {
  if (!isInstance(thrown, Error)) {
    return { name: typeof thrown, message: textOf(() => thrown, MESSAGE_CHARACTERS), stack: null };
  }
  return {
    name: textOf(() => thrown.name, NAME_CHARACTERS),
    message: textOf(() => thrown.message, MESSAGE_CHARACTERS),
    stack: textOf(() => thrown.stack, STACK_CHARACTERS),
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
