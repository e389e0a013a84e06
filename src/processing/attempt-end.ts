import { isError } from '../errors.ts';
import type { ClaimedEvent, Settlement } from '../inbox/work.ts';
import { oneLine } from '../printable.ts';
import { chainOf, ownCodeOf } from './attempt-error.ts';

/** How an attempt ended: with a settlement to write, or without a lease. */
export type AttemptEnd =
  | Settlement
  /** its function has committed the transaction by itself, so its event is dead */
  | { readonly outcome: 'committed alone' }
  | { readonly outcome: 'lost' };

/** Which attempt a line is about. */
export interface AttemptFacts {
  readonly endpoint: string;
  readonly id: string;
  /** `null` where the body says none any more */
  readonly type: string | null;
  readonly attempt: number;
}

/** What is known of an attempt that has ended. */
export interface EndedAttempt extends AttemptFacts {
  /** how long its handler ran */
  readonly durationMs: number;
  /** the `code` of what it threw, or of what caused that: the SQLSTATE of an error of Postgres */
  readonly code?: string;
}

/** @param type - of its event, which is the sender's text */
export function factsOf({ endpoint, id, attempt }: ClaimedEvent, type: string | null): AttemptFacts {
  return { endpoint, id, type: type === null ? null : oneLine(type), attempt };
}

/** The `code` of an error, or of its causes: `23505`, `ECONNREFUSED`, `SQLITE_CONSTRAINT_UNIQUE`. */
export function codeOf(thrown: unknown): string | undefined {
  return isError(thrown)
    ? chainOf(thrown)
        .map(ownCodeOf)
        .find((code) => code !== undefined)
    : undefined;
}
