import type { IncomingEvent } from '../../../src/inbox/event.ts';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { AttemptError, Settlement } from '../../../src/inbox/work.ts';
import { pauseType, previewBulk, rerunEvents } from '../../../src/ops/index.ts';
import { later } from '../../helpers/incoming-event.ts';
import { HOUR, MINUTE, operationsIn, SECOND } from './passed-time.ts';

export const ENDPOINTS = ['default', 'berlin-outlet', 'marketplace-eu-west'] as const;
const SUBJECTS = [
  'loyalty',
  'gift_card',
  'subscription',
  'shipment',
  'returns',
  'supplier_invoice',
  'shelf',
  'courier',
];
const HAPPENED = [
  'created',
  'points_expired',
  'renewed.early',
  'label_printed',
  'handed_over',
  'reconciled',
  'escalated',
];
export const OWN_TYPES = SUBJECTS.flatMap((subject, n) =>
  HAPPENED.concat('recalculated_for_tier_gold').map((what) =>
    n % 3 === 2 ? `com.acme.${subject}.${what}` : `${subject}.${what}`,
  ),
).slice(0, 60);

const ULID = '01JDB7Q4XKZ8M3TNVRWC';

const FAILURES: readonly AttemptError[] = [
  { name: 'StockUnavailable', message: 'POST https://stock.shop.internal/v2/reservations answered 503', stack: null },
  { name: 'TypeError', message: "Cannot read properties of undefined (reading 'vat')", stack: null },
];

/**
 * A shop with sixty types of its own at three endpoints, whose events are in every state, late ones and repeated ones among
 * them; and what operators, senders and processors leave on every screen.
 */
export async function manyTypes(inbox: Inbox, now: number): Promise<void> {
  const operations = operationsIn(inbox);
  for (const [n, type] of OWN_TYPES.entries()) {
    const event = eventOf(n, type, now);
    await inbox.accept(event, later());
    const settlements = settlementsOf(n, now);
    for (const [attempt, settlement] of settlements.entries()) {
      const at = event.receivedAt + 10 + attempt * SECOND;
      const taken = { endpoints: '*', types: '*', ordered: false, leaseMs: 60_000, now: at } as const;
      const claimed = await inbox.claimOne(event, taken);
      if (typeof claimed === 'string') throw new Error(`${event.id} is ${claimed}`);
      await inbox.settle(claimed.lease, settlement, at + 5);
    }
    if (n % 5 === 1) await inbox.accept(event, later());
    if (n % 10 === 1) await inbox.accept({ ...event, body: Buffer.from(`${event.body.toString()} `) }, later());
  }
  const by = { actor: 'ada.lovelace@shop.example', reason: 'the stock system is back since the release 2026.11.2' };
  for (const endpoint of ENDPOINTS) {
    const announced = { endpoints: [endpoint], types: OWN_TYPES, name: `worker-7f9c4d5b68-${endpoint}` };
    await inbox.announce(announced, now, null);
    await operations.noteRejected([
      {
        endpoint,
        reason: 'signature-mismatch',
        source: '2001:db8:85a3::8a2e:370:7334',
        bytes: 812,
        sha256: null,
        count: 3,
        at: now,
      },
    ]);
    await previewBulk(inbox, 'rerun', { endpoint, types: OWN_TYPES.slice(0, 9), states: ['dead'], error: 'stock' }, by);
  }
  await pauseType(inbox, OWN_TYPES[5] ?? '', by, { endpoint: 'berlin-outlet' });
  await rerunEvents(inbox, [eventOf(1, OWN_TYPES[1] ?? '', now)], by);
}

function eventOf(n: number, type: string, now: number): IncomingEvent {
  const about = n % 4 === 3 ? n - 1 : n;
  const id = `evt_${ULID}${String(n).padStart(6, '0')}`;
  const endpoint = ENDPOINTS[Math.floor(n / 4) % ENDPOINTS.length] ?? 'default';
  const at = now - (OWN_TYPES.length - n) * 7 * MINUTE;
  const created = { ms: at - 900, ns: 0 };
  const entity = `order:mer_5tGk9QmXwL2RvC8e:ord_${ULID}${String(about).padStart(6, '0')}`;
  const body = Buffer.from(JSON.stringify({ id, type, created: new Date(created.ms).toISOString(), data: { n } }));
  return { endpoint, id, body, type, created, entity, verified: true, valid: true, receivedAt: at };
}

function settlementsOf(n: number, now: number): readonly Settlement[] {
  const error = FAILURES[n % FAILURES.length] ?? null;
  if (error === null) return [];
  const retry = { outcome: 'retry', error, dueAt: now + (n % 3) * 9 * HOUR + 5 * MINUTE } as const;
  const soon = { ...retry, dueAt: 0 };
  switch (n % 4) {
    case 0:
      return n % 8 === 0 ? [{ outcome: 'processed' }] : [soon, { outcome: 'processed' }];
    case 1:
      return [soon, soon, { outcome: 'dead', reason: 'failed', error }];
    case 2:
      return [soon, retry];
    default:
      return [];
  }
}
