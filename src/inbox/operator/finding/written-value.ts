import { isSameNumber } from './same-number.ts';

/** The text that a token of JSON means, if it is one. */
export function textOf(token: string | null): string | null {
  return token?.startsWith('"') === true ? (JSON.parse(token) as string) : null;
}

/** Whether what is written in a body reads as a value: a text by what it says, a number however it is written. */
export function readsAs(token: string | null, value: string): boolean {
  if (token === null) return false;
  if (token.startsWith('"')) return textOf(token) === value;
  return token === value || isSameNumber(token, value);
}
