import type { Inbox } from '../../../src/inbox/contract.ts';
import { EVERYTHING, type ClaimRequest } from '../../../src/inbox/work.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';

type Claimable = Pick<Inbox, 'accept' | 'claim' | 'settle'>;

const ERROR = { name: 'Error', message: 'fails', stack: null };
const HOUR_MS = 3_600_000;
const LEASE_MS = 60_000;

/** Their entity waits an hour for one failed event. */
export async function manyBehind(inbox: Claimable, count: number, now: number): Promise<void> {
  for (let n = 0; n <= count; n += 1_000) {
    const events = Array.from({ length: Math.min(1_000, count + 1 - n) }, (_, more) => {
      const created = { ms: now + n + more, ns: 0 };
      return incoming({ id: `behind_${n + more}`, entity: 'order::fails', created, receivedAt: now });
    });
    await Promise.all(events.map((event) => inbox.accept(event, later())));
  }
  const request = { ...EVERYTHING, leaseMs: LEASE_MS, ordered: true, now };
  const [front, ...others] = await inbox.claim(request, 10);
  if (front?.id !== 'behind_0' || others.length > 0) throw new Error('The first one is the only one whose turn it is.');
  await inbox.settle(front.lease, { outcome: 'retry', error: ERROR, dueAt: now + HOUR_MS }, now);
  // The first claim parks them.
  const waiting = await inbox.claim(request, 10);
  if (waiting.length > 0) throw new Error('Nothing may be claimed.');
}

/** They failed, run again in an hour, and let newer events pass. */
export async function manyYielding(inbox: Claimable, count: number, now: number): Promise<void> {
  for (let n = 0; n < count; n += 1_000) {
    const some = Math.min(1_000, count - n);
    const events = Array.from({ length: some }, (_, more) => {
      const created = { ms: now + n + more, ns: 0 };
      return incoming({ id: `yields_${n + more}`, entity: 'order::yields', created, receivedAt: now });
    });
    await Promise.all(events.map((event) => inbox.accept(event, later())));
    // A processor without an order claims them side by side.
    const claimed = await inbox.claim({ ...EVERYTHING, leaseMs: LEASE_MS, ordered: false, now }, some);
    const retry = { outcome: 'retry', error: ERROR, dueAt: now + HOUR_MS, yields: true } as const;
    const settled = await Promise.all(claimed.map(({ lease }) => inbox.settle(lease, retry, now)));
    if (settled.length !== some || settled.includes(false)) throw new Error('Each of them has to fail.');
  }
}

/** Each has an entity of its own, and is processed. */
export async function claimAfresh(
  inbox: Claimable,
  names: readonly string[],
  now: number,
  lookAt: <T>(claim: () => Promise<T>) => Promise<T>,
  how: { readonly request?: Partial<ClaimRequest>; readonly entity?: string } = {},
): Promise<void> {
  const created = { ms: now, ns: 0 };
  const events = names.map((name) =>
    incoming({ id: name, entity: how.entity ?? `order::${name}`, created, receivedAt: now }),
  );
  await Promise.all(events.map((event) => inbox.accept(event, later())));
  const request = { ...EVERYTHING, leaseMs: LEASE_MS, ordered: true, now, ...how.request };
  const claimed = await lookAt(() => inbox.claim(request, names.length));
  if (claimed.length !== names.length) throw new Error(`Of ${names.length} events ${claimed.length} were claimed.`);
  await Promise.all(claimed.map(({ lease }) => inbox.settle(lease, { outcome: 'processed' }, now)));
}
