import { inspect } from 'node:util';
import type { AttemptError } from '../inbox/work.ts';

/** Enough to understand a failure; more would fill the file with the same stack a thousand times over. */
const MESSAGE_CHARACTERS = 2_000;
const STACK_CHARACTERS = 8_000;

/** What is kept of whatever a handler threw, be it an Error or not. */
export function attemptError(thrown: unknown): AttemptError {
  if (!(thrown instanceof Error))
    return {
      name: typeof thrown,
      message: cut(typeof thrown === 'string' ? thrown : inspect(thrown), MESSAGE_CHARACTERS),
      stack: null,
    };
  return {
    name: thrown.name,
    message: cut(thrown.message, MESSAGE_CHARACTERS),
    stack: thrown.stack === undefined ? null : cut(thrown.stack, STACK_CHARACTERS),
  };
}

function cut(text: string, characters: number): string {
  return text.length <= characters ? text : `${text.slice(0, characters)}…`;
}
