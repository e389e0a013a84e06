import type { Clock } from '../../../src/host/clock.ts';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { CountRow } from '../../../src/inbox/rules/counted.ts';
import { HOUR, operationsIn, passTime, SECOND, type Sent } from './passed-time.ts';

export const USUAL_GAP_MS = 8 * SECOND;
export const SILENT_MS = 2 * HOUR;
export const LEFT_WAITING = 40;
const DAYS = 28;
const DAY = 24 * HOUR;
const KEPT_MS = 3 * HOUR;

/**
 * A silent shop: for four weeks an event every eight seconds, and for two hours none. The processor went away shortly before,
 * so the last forty events wait.
 *
 * @param inbox - one whose thread is the test's own, such as that of `opsSite`
 * @param why - with `refused` the service goes on to send, and each delivery has the wrong signature since
 */
export async function silentShop(
  inbox: Inbox,
  clock: Pick<Clock, 'now'>,
  why: 'nothing comes' | 'refused' = 'nothing comes',
): Promise<void> {
  const now = clock.now();
  const operations = operationsIn(inbox);
  const silentSince = now - SILENT_MS;
  await operations.count(countsBetween(now - DAYS * DAY, silentSince - KEPT_MS));

  const sent = sentBetween(silentSince - KEPT_MS, silentSince);
  const goneAt = sent.at(-LEFT_WAITING)?.at ?? silentSince;
  await passTime(inbox, sent.slice(0, -LEFT_WAITING), HOUR / 4, () => ({ outcome: 'processed' }));
  await inbox.announce({ endpoints: ['default'], types: ['order.created', 'order.ready'] }, goneAt, null);
  await passTime(inbox, sent.slice(-LEFT_WAITING), HOUR, () => null);

  if (why !== 'refused') return;
  const from = { endpoint: 'default', sha256: null, source: '203.0.113.7', reason: 'signature-mismatch' } as const;
  await operations.noteRejected(
    Array.from({ length: SILENT_MS / USUAL_GAP_MS - 1 }, (_, n) => {
      return { ...from, bytes: 600 + (n % 9), count: 1, at: silentSince + (n + 1) * USUAL_GAP_MS };
    }),
  );
}

function countsBetween(from: number, until: number): readonly CountRow[] {
  const rows: CountRow[] = [];
  for (let at = Math.ceil(from / HOUR) * HOUR; at < until; at += HOUR) {
    const count = Math.round(Math.min(HOUR, until - at) / USUAL_GAP_MS / 2);
    for (const detail of ['order.created', 'order.ready']) {
      rows.push({ at, what: 'stored', detail, count }, { at, what: 'processed', detail, count });
    }
  }
  return rows;
}

function sentBetween(from: number, until: number): readonly Sent[] {
  return Array.from({ length: (until - from) / USUAL_GAP_MS }, (_, n) => {
    const type = n % 2 === 0 ? 'order.created' : 'order.ready';
    return { at: from + (n + 1) * USUAL_GAP_MS, id: `evt_silent${n}`, type, order: `ord_silent${Math.floor(n / 2)}` };
  });
}
