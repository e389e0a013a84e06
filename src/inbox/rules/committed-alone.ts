import type { Settlement } from '../work.ts';

/** What the error says of an event whose function has committed by itself. */
export const COMMITTED_BY_ITSELF =
  'The function in ctx.transaction ran COMMIT itself. The writes before COMMIT are committed, so the event is dead ' +
  'and is not retried. Leave COMMIT to hookbox. Before you rerun the event, check which writes were committed.';

/** How the attempt of such a function ends. */
export const COMMITTED_ALONE: Extract<Settlement, { readonly outcome: 'dead' }> = {
  outcome: 'dead',
  reason: 'failed',
  error: { name: 'TransactionError', message: COMMITTED_BY_ITSELF, stack: null },
};

/** Whether an attempt has ended so, by its error. */
export function isCommittedAlone(message: string | null): boolean {
  return message === COMMITTED_BY_ITSELF;
}
