import { expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { By } from '../../src/inbox/operator/acts.ts';
import {
  bulkOutcome,
  type BulkOutcome,
  discardEvents,
  eraseEntity,
  getEvent,
  listEvents,
  previewBulk,
  replayEvent,
  runBulk,
} from '../../src/ops/index.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { filterOfFate, outcomeInWords } from '../../src/ops/words/act-words.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { suite } from '../helpers/suite.ts';
import { FAILED, handleAgain, handled, invalidThen, key, RETRY } from './events-in-states.ts';

const ADA: By = { actor: 'ada', via: 'cli', reason: 'the shop is up again', now: START + 1_000 };
const GRACE: By = { actor: 'grace', via: 'page', now: START + 2_000 };
const DAY_MS = 24 * 3_600_000;
const none: BulkOutcome['counts'] = {
  processed: 0,
  processing: 0,
  waiting: 0,
  retrying: 0,
  dead: 0,
  ignored: 0,
  discarded: 0,
  erased: 0,
};

export const testBulkOutcomes = suite((open: () => Promise<Inbox>) => {
  it('what became of the events of a rerun is counted as they stand now, listed, and told by each', async () => {
    const inbox = await open();
    const ids = ['gone', 'well', 'again', 'later', 'open', 'put away', 'erased'];
    await handled(inbox, FAILED, ...ids.map((id) => orderEvent(id)));
    await store(inbox, { ...invalidThen(orderEvent('wrong')), body: Buffer.from('{"id":"wrong"}') });
    const { id } = await previewBulk(inbox, 'rerun', { states: ['dead'] }, ADA);
    expect((await bulkOutcome(inbox, id))?.acted).toBe(0);
    const { counts } = await runBulk(inbox, id, ADA);
    expect(counts).toEqual({ done: 7, 'still invalid': 1 });
    await handled(inbox, FAILED, orderEvent('another'));

    await handleAgain(inbox, { outcome: 'processed' }, orderEvent('well'), orderEvent('gone'));
    await handleAgain(inbox, FAILED, orderEvent('again'));
    await handleAgain(inbox, RETRY, orderEvent('later'));
    await discardEvents(inbox, [key('put away')], GRACE);
    await eraseEntity(inbox, 'erased', GRACE);
    // Changes nothing, so it is not counted.
    await replayEvent(inbox, key('well'), GRACE, { to: 'http://127.0.0.1:1/', secret: null });

    const outcome = await bulkOutcome(inbox, id);
    expect(outcome).toEqual({
      acted: 7,
      counts: { ...none, processed: 2, waiting: 1, retrying: 1, dead: 1, discarded: 1, erased: 1 },
      again: 2,
      forgotten: 0,
    });
    expect(outcome && outcomeInWords('rerun', outcome)).toBe(
      'Of 7 events rerun, 2 are processed, 1 is waiting to be handled, 1 is waiting for a retry, ' +
        '1 is dead again, 1 is discarded and 1 is erased. ' +
        'Operators have since acted on 2 of these events; they are counted in their current states.',
    );
    const listed = async (fate: Parameters<typeof filterOfFate>[1]) =>
      (await listEvents(inbox, filterOfFate(id, fate) ?? {})).events.map((event) => event.id);
    expect(await listed('dead')).toEqual(['again']);
    expect(await listed('waiting')).toEqual(['open']);
    expect(await listed('retrying')).toEqual(['later']);
    expect(await listed('processed')).toEqual(['well', 'gone']);
    expect((await listEvents(inbox, { bulk: id })).events).toHaveLength(7);

    const operations = operationsOf(inbox);
    const parts = [];
    for (let after: number | null = 0; after !== null;) {
      const part = await operations.outcomePart(id, after, 3);
      parts.push(part);
      after = part?.next ?? null;
    }
    expect(parts).toHaveLength(3);
    const dead = parts.map((part) => part?.counts.dead ?? 0);
    expect(dead.reduce((sum, count) => sum + count)).toBe(1);
    expect(await operations.outcomePart(id + 1, 0, 3)).toBeNull();
    expect(await bulkOutcome(inbox, id + 1)).toBeNull();

    const history = await getEvent(inbox, key('put away'));
    expect(history?.timeline.map((entry) => (entry.what === 'act' ? entry.act : entry.what))).toEqual([
      'stored',
      'attempt',
      expect.objectContaining({ act: 'rerun', actor: 'ada', via: 'cli', reason: ADA.reason, bulk: id }),
      expect.objectContaining({ act: 'discard', actor: 'grace', via: 'page', reason: null, bulk: null }),
      'settled',
    ]);
    const erased = await getEvent(inbox, key('erased'));
    expect(erased?.timeline.flatMap((entry) => (entry.what === 'act' ? entry.act.act : []))).toEqual([
      'rerun',
      'erase',
    ]);
    const wrong = await getEvent(inbox, key('wrong'));
    expect(wrong?.timeline.map(({ what }) => what)).not.toContain('act');
  });

  it('a week after a bulk has ended, what became of its events is no longer known, and that is said', async () => {
    const inbox = await open();
    await handled(inbox, FAILED, orderEvent('a'), orderEvent('b'));
    const { id } = await previewBulk(inbox, 'rerun', {}, ADA);
    await runBulk(inbox, id, ADA);
    // The next preview clears away what is old.
    await previewBulk(inbox, 'rerun', {}, { ...ADA, now: START + 8 * DAY_MS });
    const outcome = await bulkOutcome(inbox, id);
    expect(outcome).toEqual({ acted: 2, counts: none, again: 0, forgotten: 2 });
    expect(outcome && outcomeInWords('rerun', outcome)).toBe(
      'The outcome of 2 events is no longer known: the list of its events is kept for only a week after a bulk action ends.',
    );
    const history = await getEvent(inbox, key('a'));
    expect(history?.timeline.filter(({ what }) => what === 'act')).toHaveLength(1);
  });
});
