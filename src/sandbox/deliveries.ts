import { assertOption, whole, oneOf } from '../option-rules.ts';
import { Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { nameOf } from '../errors.ts';
import { delay } from '../host/real-timers.ts';
import { DeliveryError, requestWith, sentWith, signatureOf, type Answer, type Seen } from '../sender/deliver.ts';
import {
  copiesIn,
  delayedBy,
  FAULT_KINDS,
  noFaults,
  randomFault,
  retryAfter,
  seeded,
  type Fault,
  type FaultKind,
  type FaultPlan,
  type WireFault,
} from '../sender/faults.ts';
import type { Secret } from '../signing/signature.ts';
import { answerInTime, DEFAULT_PATH } from '../testing/deliver-to.ts';
import { signedHeaders } from '../testing/signed-request.ts';
import { clearDue, createDueRunner, DUE_TABLES, setDue, type Due, type DueRunner, type Step } from './due.ts';
import { ENDPOINT_TABLES, giveEndpoints, type LocalReceiver, type Webhook } from './endpoints.ts';
import { DELIVERY_TABLES, EVENT_TABLES, TRY } from './events.ts';
import type { Reading, Store, Transaction } from './store.ts';

const FAULT_TABLES = `
  CREATE TABLE delivery_faults (
    seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, remaining INTEGER NOT NULL CHECK (remaining > 0)
  ) STRICT;
`;

export const DISPATCH_TABLES = [DUE_TABLES, EVENT_TABLES, ENDPOINT_TABLES, DELIVERY_TABLES, FAULT_TABLES] as const;

export interface DispatchOptions {
  /** Replaces the webhooks that code set before. */
  readonly webhooks?: readonly Webhook[] | undefined;
  /** whether `webhooks` may name other machines */
  readonly allowRemote?: boolean;
  readonly steps: Readonly<Record<string, Step>>;
  /** In real time (interface 6.4). */
  readonly timeoutMs?: number | undefined;
  /** For one endpoint on a real clock. */
  readonly concurrency?: number | undefined;
  readonly faults?: FaultPlan | undefined;
  readonly onTry?: ((delivery: number) => void) | undefined;
  readonly onFailure: (failure: unknown) => void;
}

export interface Dispatch extends DueRunner {
  /** @returns `false` if the delivery was delivered, its endpoint was removed, or it is under way */
  retry(delivery: number): boolean;
  retryDead(endpoint: string): number;
  underWay(): readonly number[];
}

interface WaitingDelivery {
  readonly id: number;
  readonly eventId: string;
  readonly body: Uint8Array;
  readonly endpoint: string;
  readonly url: string | null;
  readonly secret: Secret | null;
  readonly tries: number;
  /** The tries of the schedule. */
  readonly onSchedule: number;
  readonly byHand: number;
  /** When the schedule continues after a try by hand; `null` for a dead letter. */
  readonly resumesAt: number | null;
  readonly faults: string | null;
}

const WAITING = `SELECT d.id, e.id AS eventId, e.body, d.endpoint, p.url, p.secret, d.tries, d.on_schedule AS onSchedule,
    d.by_hand AS byHand, d.resumes_at AS resumesAt, d.faults
  FROM deliveries d JOIN events e ON e.seq = d.event JOIN endpoints p ON p.id = d.endpoint
  WHERE d.id = ? AND d.state = 'waiting'`;

/** Delivers as in interface 6.3 and 6.4. A delivery is a row, so it survives the process. */
export function createDispatch(store: Store, options: DispatchOptions): Dispatch {
  const { webhooks, allowRemote = false, timeoutMs = 10_000, concurrency = 16, faults: plan = noFaults } = options;
  const receivers: ReadonlyMap<string, LocalReceiver> =
    webhooks === undefined ? new Map() : store.write((tx) => giveEndpoints(tx, webhooks, allowRemote));
  const agents = { 'http:': new Agent({ keepAlive: true }), 'https:': new HttpsAgent({ keepAlive: true }) };
  const underWay = new Set<number>();
  let isClosed = false;

  async function attempt({ subject }: Due): Promise<void> {
    const waiting = store.get<WaitingDelivery>(WAITING, Number(subject));
    if (waiting === undefined) {
      store.write((tx) => clearDue(tx, TRY, subject));
      return;
    }
    underWay.add(waiting.id);
    try {
      const faults = faultsOf(waiting);
      if (faults === null) return;
      const at = store.clock.now();
      const copies = Array.from({ length: copiesIn(faults) }, () => send(waiting, []));
      const [seen] = await Promise.all([send(waiting, faults), ...copies]);
      // An unfinished try counts as never sent: the next process that opens the file sends it.
      if (isClosed) return;
      store.write((tx) => settle(tx, waiting, at, faults, seen));
    } finally {
      underWay.delete(waiting.id);
    }
    options.onTry?.(waiting.id);
  }

  /** Stores the faults of a try, so that a kill does not change them. `null` if they delay the try. */
  function faultsOf({ id, eventId, endpoint, tries, faults }: WaitingDelivery): readonly Fault[] | null {
    if (faults !== null) return JSON.parse(faults) as Fault[];
    const planned = plan(eventId, tries + 1);
    type PendingFault = { readonly seq: number; readonly kind: FaultKind };
    const pending = store.get<PendingFault>('SELECT seq, kind FROM delivery_faults ORDER BY seq LIMIT 1');
    if (planned.length === 0 && pending === undefined) return planned;
    return store.write((tx) => {
      const dealt = [...planned];
      if (pending !== undefined) {
        dealt.push(randomFault(pending.kind, seeded(store.seed, eventId, tries + 1)));
        tx.run('DELETE FROM delivery_faults WHERE seq = ? AND remaining = 1', pending.seq);
        tx.run('UPDATE delivery_faults SET remaining = remaining - 1 WHERE seq = ?', pending.seq);
      }
      tx.run('UPDATE deliveries SET faults = ? WHERE id = ?', JSON.stringify(dealt), id);
      const at = delayedBy(dealt, tx.now);
      if (at <= tx.now) return dealt;
      setDue(tx, TRY, String(id), at, endpoint);
      return null;
    });
  }

  /** Never rejects. For a failure, it returns only a status and the name of the error. */
  async function send({ endpoint, url, body, secret }: WaitingDelivery, faults: readonly Fault[]): Promise<Seen> {
    const signed = { body, signature: signatureOf(body, secret) };
    if (url !== null) {
      const destination = new URL(url);
      const agent = destination.protocol === 'https:' ? agents['https:'] : agents['http:'];
      return requestWith(faults, destination, signed, { agent, timeoutMs });
    }
    const receiver = receivers.get(endpoint);
    if (receiver === undefined) return { status: null, why: 'the receiver for this endpoint is missing', note: null };
    return sentWith(faults, signed, ({ body: bytes, signature }, fault) => {
      const headers = signedHeaders(bytes, null, { signature });
      return handOver(receiver, { path: receiver.path ?? DEFAULT_PATH, headers, bytes }, timeoutMs, fault);
    });
  }

  const { steps, onFailure } = options;
  const runner = createDueRunner(store, { steps, work: attempt, concurrency, onFailure });
  return {
    advance: (duration) => runner.advance(duration),
    retry: (id) => !underWay.has(id) && store.write((tx) => retryByHand(tx, id)),
    retryDead: (endpoint) =>
      store.write((tx) => {
        const sql = "SELECT id FROM deliveries WHERE endpoint = ? AND state = 'dead' ORDER BY id";
        return tx.all<{ readonly id: number }>(sql, endpoint).filter(({ id }) => retryByHand(tx, id)).length;
      }),
    underWay: () => [...underWay],
    async close() {
      await runner.close();
      isClosed = true;
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

async function handOver(
  { to, as }: LocalReceiver,
  delivery: Parameters<typeof answerInTime>[1],
  timeoutMs: number,
  fault: WireFault | undefined,
): Promise<Pick<Answer, 'status' | 'note'>> {
  if (fault?.kind === 'cut') throw new DeliveryError('CUT', 'the connection was cut before the end of the body');
  if (fault?.kind === 'slow-body') await delay(fault.ms);
  const { status } = await answerInTime(to, delivery, timeoutMs, as).catch((failure: unknown) => {
    if (failure instanceof DeliveryError) throw failure;
    throw new DeliveryError('FAILED', `the receiver threw ${nameOf(failure)}`, { cause: failure });
  });
  if (fault?.kind === 'lost-answer') throw new DeliveryError('LOST', 'the answer was lost on the way');
  return { status, note: null };
}

function settle(
  tx: Transaction,
  { id, endpoint, tries, onSchedule, byHand, resumesAt }: WaitingDelivery,
  at: number,
  faults: readonly Fault[],
  { status, why, note }: Seen,
): void {
  const fault = faults.map(({ kind }) => kind).join('+') || null;
  const row = [id, tries + 1, at, status, why, note, fault, byHand];
  tx.run('INSERT INTO tries VALUES (?, ?, ?, ?, ?, ?, ?, ?)', ...row);
  const counted = `UPDATE deliveries SET tries = tries + 1, on_schedule = on_schedule + 1 - by_hand,
    by_hand = 0, resumes_at = NULL, faults = NULL WHERE id = ?`;
  tx.run(counted, id);
  if (why === null) return end(tx, id, 'delivered');
  // Its endpoint may have been removed since.
  if (tx.get("SELECT 1 FROM deliveries WHERE id = ? AND state = 'waiting'", id) === undefined) return;
  const wait = retryAfter(onSchedule + 1);
  const scheduled = wait === null ? null : tx.now + wait;
  const next = byHand === 1 ? resumesAt : scheduled;
  if (next === null) end(tx, id, 'dead');
  else setDue(tx, TRY, String(id), next, endpoint);
}

function end(tx: Transaction, id: number, state: 'delivered' | 'dead'): void {
  tx.run('UPDATE deliveries SET state = ?, settled_at = ? WHERE id = ?', state, tx.now, id);
  clearDue(tx, TRY, String(id));
}

function retryByHand(tx: Transaction, id: number): boolean {
  const failed = `SELECT d.endpoint, due.at FROM deliveries d JOIN endpoints p ON p.id = d.endpoint
    LEFT JOIN due ON due.kind = ? AND due.subject = CAST(d.id AS TEXT)
    WHERE d.id = ? AND d.state IN ('waiting', 'dead') AND d.tries > 0 AND d.by_hand = 0 AND p.removed_at IS NULL`;
  const row = tx.get<{ readonly endpoint: string; readonly at: number | null }>(failed, TRY, id);
  if (row === undefined) return false;
  const sql = "UPDATE deliveries SET state = 'waiting', settled_at = NULL, by_hand = 1, resumes_at = ? WHERE id = ?";
  tx.run(sql, row.at, id);
  setDue(tx, TRY, String(id), tx.now, row.endpoint);
  return true;
}

export function addDeliveryFault(tx: Transaction, kind: FaultKind, count: number): void {
  assertOption('kind', kind, oneOf(...FAULT_KINDS));
  assertOption('count', count, whole(0));
  if (count > 0) tx.run('INSERT INTO delivery_faults (kind, remaining) VALUES (?, ?)', kind, count);
}

/** Pending delivery faults of one kind. */
export interface PendingDeliveryFault {
  readonly id: string;
  readonly kind: FaultKind;
  /** How many more attempts will have this fault. */
  readonly timesLeft: number;
}

/** Lists pending delivery faults, in their order. */
export function listDeliveryFaults(db: Reading): readonly PendingDeliveryFault[] {
  return db.all('SELECT CAST(seq AS TEXT) AS id, kind, remaining AS timesLeft FROM delivery_faults ORDER BY seq');
}

export function removeDeliveryFaults(tx: Transaction, id?: string): void {
  tx.run('DELETE FROM delivery_faults WHERE seq = coalesce(?, seq)', id ?? null);
}
