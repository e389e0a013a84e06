import { readEvent } from '../../src/events/parse.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { IncomingEvent } from '../../src/inbox/event.ts';
import type { By } from '../../src/inbox/operator/acts.ts';
import type { EventFilter } from '../../src/inbox/operator/search.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { eraseEntity, exportEvents } from '../../src/ops/index.ts';
import { incoming, invalidIncoming, later } from '../helpers/incoming-event.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { FAILED, handleAgain, handled, RETRY } from './events-in-states.ts';

export const ADA: By = { actor: 'ada', reason: 'a new machine', now: START + 5 };
export const HOSTILE = '\u0000"\\\n\u2028<script>\u{1F4A3}\ufffd\u202e';

/** An event in every state, with everything that can be kept about one. */
export async function fill(inbox: Inbox): Promise<void> {
  const conflicting = (event: IncomingEvent, body: string | Buffer): Promise<unknown> =>
    inbox.accept({ ...event, body: Buffer.from(body), receivedAt: START + 3 }, later());
  await handled(inbox, { outcome: 'processed' }, orderEvent('processed'), orderEvent('pruned'));
  await inbox.prune('*', START + 9, 1);
  await handled(inbox, RETRY, orderEvent('retrying'));
  await handled(inbox, FAILED, orderEvent('dead'), orderEvent('rerun'), orderEvent('dead and pruned'));
  await operationsOf(inbox).pruneSome({ settledBefore: new Date(START + 9), states: ['dead'] }, 1);
  await inbox.rerun(orderEvent('rerun'), orderEvent('rerun'), START + 4);
  await handled(inbox, { outcome: 'interrupted' }, orderEvent('interrupted'));
  await handleAgain(inbox, FAILED, orderEvent('interrupted'));
  const message = `${HOSTILE} no such order`;
  const error = { name: HOSTILE, message, stack: null };
  await handled(inbox, { outcome: 'dead', reason: 'failed', error }, orderEvent(HOSTILE));
  await handled(inbox, { outcome: 'processed' }, orderEvent('again'));
  for (let n = 0; n < 25; n += 1) await inbox.accept({ ...orderEvent('again'), receivedAt: START + n }, later());
  await conflicting(orderEvent('again'), '{"id":"again"}');
  await conflicting(orderEvent('again'), '{"id":"again","id":"\\u0061gain", "other":"\\ud800"}\n');
  await store(
    inbox,
    invalidIncoming({ id: 'invalid', type: 'order.ready', body: '{"id":"invalid","type":"order.ready"}' }),
  );
  await store(
    inbox,
    invalidIncoming({ id: 'invalid without type', verified: false, body: '{"id":"invalid without type"}' }),
  );
  await store(inbox, { ...orderEvent('of a rule of ours'), entity: 'table:7', verified: false });
  await store(inbox, { ...orderEvent('mebibyte', { order: 'x'.repeat(1_048_576) }), endpoint: 'second', entity: null });
  await store(
    inbox,
    read('{"id":"nanoseconds","type":"shop.opened","created":"0001-01-01T00:00:00.000999999","data":{}}'),
  );
  await store(inbox, orderEvent('erased'));
  await conflicting(orderEvent('erased'), '{"id":"erased"}');
  await eraseEntity(inbox, 'erased', ADA);
  await conflicting(orderEvent('erased'), '{"id":"erased", "n":2}');
  await inbox.announce({ endpoints: '*', types: ['order.ready'] }, START + 3_600_000, START - 1);
}

function read(body: string): IncomingEvent {
  const { parsed, facts } = readEvent(Buffer.from(body));
  if (!parsed.ok || facts === null) throw new Error('no event');
  return incoming({ id: parsed.event.id, body, ...facts, entity: null });
}

export async function exported(inbox: Inbox, filter: EventFilter = {}): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of exportEvents(inbox, ADA, filter)) lines.push(line);
  return lines;
}
