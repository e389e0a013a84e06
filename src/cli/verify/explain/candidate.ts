import type { Found } from './causes.ts';

/** Bytes or a text that may have been signed, with the mistake that made them. */
export interface Candidate {
  readonly content: Uint8Array | string;
  readonly found: Found;
}

/** One mistake with what it may have made; `null` where it cannot be made. */
export function* candidates(
  cause: Found['cause'],
  what: string,
  ...contents: readonly (Uint8Array | string | null)[]
): Generator<Candidate> {
  for (const content of contents) if (content !== null) yield { content, found: { cause, what } };
}

/** What a conversion gives, or `null` where it cannot be made. */
export function attempt<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    return null;
  }
}
