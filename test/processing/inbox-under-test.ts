import { expect, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { ClaimedEvent, ClaimRequest, Lease, Settlement } from '../../src/inbox/work.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { START } from '../helpers/virtual-clock.ts';

export type Parts = NonNullable<Parameters<typeof incoming>[0]>;
export const LEASE_MS = 1_000;
export const KEY = { endpoint: 'default', id: 'evt_1' };
export const PROCESSED: Settlement = { outcome: 'processed' };

/** The inbox of the running test, on which all functions below work. */
export let inbox: Inbox;

export type Claim = Partial<Omit<ClaimRequest, 'now'>> & { readonly limit?: number };

export function openers(open: () => Inbox) {
  const empty = (): void => {
    const opened = open();
    onTestFinished(() => opened.close());
    inbox = opened;
  };
  /** With a processor for all types. */
  const holding = async (...events: Parts[]): Promise<void> => {
    empty();
    await announce('*', START);
    await store(...events);
  };
  return { empty, holding };
}

export function announce(types: readonly string[] | '*', now: number, ignoreBefore: number | null = null) {
  return inbox.announce({ endpoints: '*', types }, now, ignoreBefore);
}

/** Each event is due a millisecond after the one before. */
export async function store(...events: Parts[]): Promise<void> {
  for (const [n, event] of events.entries()) {
    await inbox.accept(incoming({ receivedAt: START + n, ...event }), later());
  }
}

export function at(ms: number): { readonly ms: number; readonly ns: number } {
  return { ms: (incoming().created?.ms ?? 0) + ms, ns: 0 };
}

export function claim(now: number, { limit = 10, ...request }: Claim = {}): Promise<readonly ClaimedEvent[]> {
  return inbox.claim({ endpoints: '*', leaseMs: LEASE_MS, types: '*', ordered: true, ...request, now }, limit);
}

export async function claimIds(now: number, request?: Claim): Promise<readonly string[]> {
  return (await claim(now, request)).map(({ id }) => id);
}

export function claimOne(key: { readonly endpoint: string; readonly id: string }, now: number, request?: Claim) {
  return inbox.claimOne(key, { endpoints: '*', leaseMs: LEASE_MS, types: '*', ordered: true, ...request, now });
}

export async function handleAll(now = START + 100): Promise<readonly string[]> {
  const ids: string[] = [];
  for (;;) {
    const claimed = await claim(now);
    if (claimed.length === 0) return ids;
    for (const { id, lease } of claimed) {
      ids.push(id);
      expect(await inbox.settle(lease, PROCESSED, now)).toBe(true);
    }
  }
}

export function leaseOf(claimed: ClaimedEvent | undefined): Lease {
  if (claimed === undefined) throw new Error('nothing was claimed');
  return claimed.lease;
}

export async function stateOf(id = 'evt_1', endpoint = 'default'): Promise<string | undefined> {
  return (await inbox.get({ endpoint, id }))?.state;
}

export async function outcomes(id = 'evt_1'): Promise<readonly string[]> {
  return (await inbox.attempts({ endpoint: 'default', id })).map(({ outcome }) => outcome);
}
