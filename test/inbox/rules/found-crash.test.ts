import { expect, it } from 'vitest';
import { foundCrash } from '../../../src/inbox/rules/attempt.ts';

const found = {
  endpoint: 'default',
  id: 'evt_1',
  type: 'order.created',
  attempt: 3,
  outcome: 'crashed',
  ended_ms: 2_000,
  error_name: null,
  error_message: null,
  error_stack: null,
  due_ms: 2_500,
  state: 'pending',
  dead_reason: null,
} as const;
const told = { endpoint: 'default', id: 'evt_1', type: 'order.created', attempt: 3, error: null };

it.each([
  ['waits', found, { ...told, deadReason: null, dueAt: 2_500 }],
  ['is dead', { ...found, state: 'dead', dead_reason: 'crashed' }, { ...told, deadReason: 'crashed', dueAt: null }],
  [
    'was interrupted',
    { ...found, outcome: 'interrupted' },
    { ...told, deadReason: null, dueAt: 2_500, wasClosing: true },
  ],
  ['has gone on since', { ...found, state: null }, { ...told, deadReason: null, dueAt: 2_000 }],
  [
    'is dead, as its function had committed by itself',
    { ...found, state: 'dead', dead_reason: 'failed', error_name: 'TransactionError', error_message: 'COMMIT' },
    {
      ...told,
      deadReason: 'failed',
      dueAt: null,
      error: { name: 'TransactionError', message: 'COMMIT', stack: null },
    },
  ],
] as const)('what was found crashed is told as of its event, which %s', (_, row, expected) => {
  expect(foundCrash(row)).toEqual(expected);
});
