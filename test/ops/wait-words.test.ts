import { expect, it } from 'vitest';
import type { Wait } from '../../src/inbox/rules/waiting.ts';
import { waitInWords } from '../../src/ops/words/event-words.ts';
import { HOSTILE } from './filled-inbox.ts';
import { ago, NOW, summary } from './page/stub-visit.ts';

const none = { count: 0, more: false };
const failing = summary({
  id: 'evt_X',
  failures: 15,
  attempts: 15,
  dueAt: ago(-5),
  lastError: { name: 'Error', message: HOSTILE },
});
const behind = (parts: object): Wait => ({
  reason: 'behind',
  blocker: { event: failing, runningSince: null, waiting: { count: 63, more: false }, ...parts },
});

it.each<[Wait | null, string]>([
  [behind({}), String.raw`is waiting behind evt_X, which has failed 15 times: Error: \u{0}`],
  [behind({}), '; next attempt in 5 min; 63 events are waiting behind it'],
  [behind({ waiting: { count: 1_000, more: true } }), '; 1,000+ events are waiting behind it'],
  [behind({ runningSince: ago(3) }), ' and has been running for 3 min; 63 events are waiting behind it'],
  [
    behind({ event: summary({ id: 'evt_Y', dueAt: ago(1) }) }),
    'behind evt_Y, which is due; no attempt has started; 63',
  ],
  [behind({ event: summary({ id: 'evt_Y', attempts: 1 }) }), 'behind evt_Y, which was rerun; 63'],
  [
    behind({ event: { ...failing, failures: 0, lastOutcome: 'failed' } }),
    'which has failed, without using up an attempt: Error: ',
  ],
  [behind({ event: summary({ attempts: 1, lastOutcome: 'interrupted' }) }), ', which was interrupted; 63'],
  [
    behind({ event: summary({ attempts: 1, lastOutcome: 'crashed' }) }),
    ', which was running when its process ended; 63',
  ],
  [{ reason: 'no processor', lastSeen: null }, 'is waiting; no processor for order.created has ever run'],
  [
    { reason: 'no processor', lastSeen: ago(90) },
    'is waiting; no processor for order.created has run in the last 1 h 30 min',
  ],
  [
    { reason: 'later', dueAt: ago(-5), waiting: { count: 1, more: false } },
    'is delayed; first attempt in 5 min; 1 event is waiting behind',
  ],
  [{ reason: 'next', lastSeen: ago(4), waiting: none }, 'is due, and a processor that handles order.created'],
  [{ reason: 'running', since: ago(2), waiting: none }, 'has been running for 2 min'],
  [{ reason: 'suspect', waiting: none }, 'is waiting for its turn: a process crashed while its handler was running'],
  [
    { reason: 'rate', rate: { count: 10, perMs: 1_000 }, freeAt: ago(-1), waiting: none },
    'has not been tried; its type has a rate limit: at most 10 attempts in 1 s',
  ],
  [
    { reason: 'rate', rate: { count: 1, perMs: 3_600_000 }, freeAt: ago(-5), waiting: none },
    'its type has a rate limit: at most 1 attempt in 1 h; the next one may begin in 5 min',
  ],
  [{ reason: 'discarded' }, 'was discarded by an operator'],
  [{ reason: 'not handled', lastSeen: null }, 'was ignored; no processor for order.created has ever run'],
  [null, 'is no longer waiting'],
])('%o is said in words', (wait, words) => {
  const said = waitInWords(summary(), wait, NOW)
    .map((part) => (typeof part === 'string' ? part : part.id))
    .join('');
  expect(said).toContain(words);
});
