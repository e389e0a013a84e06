import type { Inbox, Operations } from '../../../src/inbox/contract.ts';
import type { StoredBulk } from '../../../src/inbox/operator/acts.ts';
import type { Gauges } from '../../../src/inbox/operator/gauges.ts';
import type { CountRow } from '../../../src/inbox/rules/counted.ts';
import type { DeadGroup, EventSummary } from '../../../src/inbox/operator/search.ts';
import { createMask } from '../../../src/ops/body/mask.ts';
import type { Screen, Visit } from '../../../src/page/visit.ts';

export const NOW = new Date('2026-03-14T03:59:07.000Z');

export function ago(minutes: number): Date {
  return new Date(NOW.getTime() - minutes * 60_000);
}

interface StubOptions {
  readonly path?: string;
  readonly role?: Visit['visitor']['role'];
  readonly base?: string;
  readonly masked?: readonly string[];
  readonly handling?: Partial<Pick<Inbox, 'unhandled' | 'ignoredSince' | 'processors'>>;
}

export function stubVisit(
  operations: Partial<Operations> = {},
  { path = '/', role = 'operator', base = '/ops', masked = [], handling = {} }: StubOptions = {},
): Visit {
  const inbox: Partial<Inbox> = {
    attempts: async () => [],
    file: 'hookbox.db',
    operations: { ...empty, ...operations } as Operations,
    unhandled: async () => [],
    ignoredSince: async () => [],
    processors: async () => ({ processors: [], handled: [] }),
    ...handling,
  };
  return {
    operated: { inbox: inbox as Inbox },
    lasting: inbox as Inbox,
    visitor: { role, name: 'ada' },
    base,
    replays: false,
    csrf: 'token-of-ada',
    url: new URL(`http://127.0.0.1:3223${base}${path}`),
    now: NOW,
    named: {},
    liveOnly: false,
    ...createMask(masked),
  };
}

const nobody = { count: 0, more: false };

export const noGauges: Gauges = {
  pending: nobody,
  retrying: nobody,
  processing: nobody,
  dead: nobody,
  ignored: nobody,
  discarded: nobody,
  oldestPending: null,
  oldest: [],
};

const empty: Partial<Operations> = {
  search: async () => ({ events: [], next: null, examined: 0 }),
  deadGroups: async () => [],
  waits: async (keys) => keys.map(() => null),
  totals: async () => [],
  totalsIn: async (spans) => spans.map(() => []),
  deliveries: async () => ({ begin: null, rows: [] }),
  marks: async () => [],
  gauges: async () => noGauges,
  rejected: async () => [],
  bulk: async () => null,
  bulks: async () => [],
  bulkEvents: async () => ({ events: [], next: null }),
  pausedTypes: async () => [],
  outcomePart: async () => ({ counts: {}, again: 0, next: null }),
  lines: async () => ({ lines: [], next: null }),
  ping: async () => {},
};

export function summary(parts: Partial<EventSummary> = {}): EventSummary {
  return {
    seq: 1,
    endpoint: 'default',
    id: 'evt_1',
    type: 'order.created',
    entity: 'order:mer_7:ord_42',
    verified: true,
    state: 'pending',
    deadReason: null,
    receivedAt: ago(47),
    settledAt: null,
    dueAt: null,
    attempts: 0,
    failures: 0,
    lastOutcome: null,
    redeliveries: 0,
    conflicts: 0,
    lastError: null,
    fingerprint: null,
    pruned: false,
    ...parts,
  };
}

export function deadGroup(parts: Partial<DeadGroup> = {}): DeadGroup {
  const dead = { state: 'dead', deadReason: 'failed', settledAt: ago(30) } as const;
  return {
    fingerprint: '0123456789abcdef',
    reason: 'failed',
    sample: { name: 'TypeError', message: 'Cannot read properties of undefined' },
    count: 12,
    more: false,
    oldest: summary({ seq: 3, id: 'evt_3', receivedAt: ago(200), ...dead }),
    newest: summary({ seq: 9, id: 'evt_9', receivedAt: ago(90), ...dead }),
    firstDeadAt: ago(30),
    lastDeadAt: ago(30),
    recent: Array.from({ length: 24 }, (_, hour) => (hour === 23 ? 12 : 0)),
    types: { 'order.created': 12 },
    open: true,
    acknowledged: null,
    ...parts,
  };
}

export function bulkOf(parts: Partial<StoredBulk> = {}): StoredBulk {
  return {
    heartbeat: null,
    id: 7,
    act: 'rerun',
    state: 'previewed',
    filter: { states: ['dead'], fingerprint: '0123456789abcdef' },
    force: false,
    actor: 'ada',
    reason: null,
    createdAt: ago(5),
    startedAt: null,
    endedAt: null,
    total: 128,
    breakdown: {
      states: { dead: 128 },
      types: { 'order.ready': 8, 'order.created': 120 },
      deadReasons: { failed: 128 },
      endpoints: { default: 128 },
    },
    worked: 0,
    counts: {},
    ratePerSecond: null,
    ranMs: 0,
    audit: null,
    ...parts,
  };
}

export function counting(rows: readonly CountRow[]): Pick<Operations, 'totals' | 'totalsIn'> {
  return {
    totals: async () => rows,
    totalsIn: async (spans) => spans.map(({ since, until }) => rows.filter(({ at }) => at >= since && at < until)),
  };
}

export async function htmlOf(screen: Screen): Promise<string> {
  // With components that wait for something it would be a promise, which its type does not say.
  const html: unknown = (await screen.content).toString();
  return String(await html);
}
