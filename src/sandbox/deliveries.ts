import { Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { ConfigurationError, nameOf } from '../errors.ts';
import { delay } from '../host/real-timers.ts';
import { DeliveryError, signatureOf, type Answer, type Seen, requestWith, sentWith } from '../sender/deliver.ts';
import {
  copiesIn,
  delayedBy,
  noFaults,
  type Fault,
  type FaultKind,
  type FaultPlan,
  FAULT_KINDS,
  randomFault,
  retryAfter,
  seeded,
  type WireFault,
} from '../sender/faults.ts';
import type { Secret } from '../signing/signature.ts';
import { answerInTime, DEFAULT_PATH } from '../testing/deliver-to.ts';
import { signedHeaders } from '../testing/signed-request.ts';
import { clearDue, setDue, type Due, DUE_TABLES, createDueRunner, type Step } from './due.ts';
import { ENDPOINT_TABLES, giveEndpoints, type LocalReceiver, type Webhook } from './endpoints.ts';
import { TRY, DELIVERY_TABLES, EVENT_TABLES } from './events.ts';
import type { Reading, Store, Transaction } from './store.ts';

/** What deliveries are made with. */
interface DeliveriesOptions {
  readonly store: Store;
  readonly sender: WebhookSender;
  /** the receivers of this process by the id of their endpoint */
  readonly receivers: ReadonlyMap<string, LocalReceiver>;
  /** what goes wrong with which try of an event; nothing unless set */
  readonly faults?: FaultPlan | undefined;
  /** told after each try what was tried, by the id of the delivery */
  readonly onTry?: ((id: number) => void) | undefined;
}

/** Sends what is due, and keeps what became of it. */
interface Deliveries {
  /** One try of the delivery that is due. */
  attempt(due: Due): Promise<void>;
  /** Tries a dead letter, or what has failed and waits, once more and now (interface 6.4.4); `false` where that cannot be. */
  retry(id: number): boolean;
  /** The same with all dead letters of an endpoint; how many there were. */
  retryDead(endpoint: string): number;
  /** The ids of those that wait for an answer. */
  underWay(): readonly number[];
  /** What is still under way is as good as never sent: it is sent again by whoever opens the file. */
  close(): void;
}

const FAULT_TABLES = `
  CREATE TABLE delivery_faults (
    seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, remaining INTEGER NOT NULL CHECK (remaining > 0)
  ) STRICT;
`;

/**
 * Has the next so many tries go wrong in one way, after those that were asked for before.
 *
 * @param count - 0 or less asks for nothing
 * @throws ConfigurationError `INVALID_OPTION` for a kind that does not exist, or a count that is none
 */
export function addDeliveryFault(transaction: Transaction, kind: FaultKind, count: number): void {
  if (!FAULT_KINDS.includes(kind) || !Number.isSafeInteger(count)) {
    const message = `A delivery fault needs a kind (${FAULT_KINDS.join(', ')}) and a whole number of times.`;
    throw new ConfigurationError('INVALID_OPTION', message);
  }
  if (count > 0) transaction.run('INSERT INTO delivery_faults (kind, remaining) VALUES (?, ?)', kind, count);
}

/** Pending delivery faults of one kind. */
export interface PendingDeliveryFault {
  readonly kind: FaultKind;
  /** How many more attempts will have this fault. */
  readonly timesLeft: number;
}

/** What was asked for and has not happened, in the order in which it will. */
export function listDeliveryFaults(reading: Reading): readonly PendingDeliveryFault[] {
  const sql = 'SELECT kind, remaining AS timesLeft FROM delivery_faults ORDER BY seq';
  return reading.all(sql) as readonly PendingDeliveryFault[];
}

/** Has none of it happen any more, but for what was dealt to a try already. */
export function removeDeliveryFaults(transaction: Transaction): void {
  transaction.run('DELETE FROM delivery_faults');
}

/** What a try needs to know. */
interface Waiting {
  readonly id: number;
  readonly eventId: string;
  readonly body: Uint8Array;
  readonly endpoint: string;
  readonly url: string | null;
  readonly secret: Secret | null;
  /** how many there were */
  readonly tries: number;
  /** how many of them were on the schedule */
  readonly onSchedule: number;
  readonly byHand: number;
  /** when the schedule goes on after a try by hand; `null` for a dead letter */
  readonly resumesAt: number | null;
  /** what goes wrong with this try, as JSON, once it is known */
  readonly faults: string | null;
}

const WAITING = `SELECT d.id, e.id AS eventId, e.body, d.endpoint, p.url, p.secret, d.tries, d.on_schedule AS onSchedule,
    d.by_hand AS byHand, d.resumes_at AS resumesAt, d.faults
  FROM deliveries d JOIN events e ON e.seq = d.event JOIN endpoints p ON p.id = d.endpoint
  WHERE d.id = ? AND d.state = 'waiting'`;

const NOBODY: Seen = { status: null, why: 'the receiver for this endpoint is missing', note: null };

/** Deliveries as interface 6.3 and 6.4 describe them, one row each, so that they outlive the process. */
function createDeliveries(options: DeliveriesOptions): Deliveries {
  const { store, sender, receivers, faults: plan = noFaults, onTry } = options;
  const underWay = new Set<number>();
  let isClosed = false;

  async function send({ endpoint, url, body, secret }: Waiting, faults: readonly Fault[]): Promise<Seen> {
    const destination = url === null ? receivers.get(endpoint) : new URL(url);
    if (destination === undefined) return NOBODY;
    const copies = Array.from({ length: copiesIn(faults) }, () => sender.send(destination, body, secret, []));
    const [seen] = await Promise.all([sender.send(destination, body, secret, faults), ...copies]);
    return seen;
  }

  /** What goes wrong with a try; `null` when it is put off. It is written down, so that a kill does not deal it anew. */
  function faultsOf({ id, eventId, endpoint, tries, faults }: Waiting): readonly Fault[] | null {
    if (faults !== null) return JSON.parse(faults) as Fault[]; // as it was written below
    const planned = plan(eventId, tries + 1);
    const asked = store.get('SELECT seq, kind FROM delivery_faults ORDER BY seq LIMIT 1') as
      | { readonly seq: number; readonly kind: FaultKind }
      | undefined;
    if (planned.length === 0 && asked === undefined) return planned;
    return store.write((transaction) => {
      const dealt = [...planned];
      if (asked !== undefined) {
        dealt.push(randomFault(asked.kind, seeded(store.seed, eventId, tries + 1)));
        transaction.run('DELETE FROM delivery_faults WHERE seq = ? AND remaining = 1', asked.seq);
        transaction.run('UPDATE delivery_faults SET remaining = remaining - 1 WHERE seq = ?', asked.seq);
      }
      transaction.run('UPDATE deliveries SET faults = ? WHERE id = ?', JSON.stringify(dealt), id);
      const at = delayedBy(dealt, transaction.now);
      if (at <= transaction.now) return dealt;
      setDue(transaction, TRY, String(id), at, endpoint);
      return null;
    });
  }

  return {
    async attempt({ subject }) {
      const waiting = store.get(WAITING, Number(subject)) as Waiting | undefined;
      if (waiting === undefined) {
        store.write((transaction) => clearDue(transaction, TRY, subject));
        return;
      }
      underWay.add(waiting.id);
      try {
        const faults = faultsOf(waiting);
        if (faults === null) return;
        const at = store.clock.now();
        const seen = await send(waiting, faults);
        if (isClosed) return;
        store.write((transaction) => settle(transaction, waiting, at, faults, seen));
      } finally {
        underWay.delete(waiting.id);
      }
      onTry?.(waiting.id);
    },
    retry: (id) => !underWay.has(id) && store.write((transaction) => retryByHand(transaction, id)),
    retryDead: (endpoint) =>
      store.write((transaction) => {
        const sql = "SELECT id FROM deliveries WHERE endpoint = ? AND state = 'dead' ORDER BY id";
        const dead = transaction.all(sql, endpoint) as readonly { readonly id: number }[];
        return dead.filter(({ id }) => retryByHand(transaction, id)).length;
      }),
    underWay: () => [...underWay],
    close() {
      isClosed = true;
      sender.close();
    },
  };
}

/** Keeps what a try came to, and says when the next one is due (interface 6.4). */
function settle(
  transaction: Transaction,
  { id, endpoint, tries, onSchedule, byHand, resumesAt }: Waiting,
  at: number,
  faults: readonly Fault[],
  { status, why, note }: Seen,
): void {
  const fault = faults.map(({ kind }) => kind).join('+') || null;
  const row = [id, tries + 1, at, status, why, note, fault, byHand];
  transaction.run('INSERT INTO tries VALUES (?, ?, ?, ?, ?, ?, ?, ?)', ...row);
  const counted = `UPDATE deliveries SET tries = tries + 1, on_schedule = on_schedule + 1 - by_hand,
    by_hand = 0, resumes_at = NULL, faults = NULL WHERE id = ?`;
  transaction.run(counted, id);
  if (why === null) return end(transaction, id, 'delivered');
  // Its endpoint may have been removed meanwhile.
  if (transaction.get("SELECT 1 FROM deliveries WHERE id = ? AND state = 'waiting'", id) === undefined) return;
  const wait = retryAfter(onSchedule + 1);
  const scheduled = wait === null ? null : transaction.now + wait;
  const next = byHand === 1 ? resumesAt : scheduled;
  if (next === null) end(transaction, id, 'dead');
  else setDue(transaction, TRY, String(id), next, endpoint);
}

function end(transaction: Transaction, id: number, state: 'delivered' | 'dead'): void {
  transaction.run('UPDATE deliveries SET state = ?, settled_at = ? WHERE id = ?', state, transaction.now, id);
  clearDue(transaction, TRY, String(id));
}

function retryByHand(transaction: Transaction, id: number): boolean {
  const failed = `SELECT d.endpoint, due.at FROM deliveries d JOIN endpoints p ON p.id = d.endpoint
    LEFT JOIN due ON due.kind = ? AND due.subject = CAST(d.id AS TEXT)
    WHERE d.id = ? AND d.state IN ('waiting', 'dead') AND d.tries > 0 AND d.by_hand = 0 AND p.removed_at IS NULL`;
  const row = transaction.get(failed, TRY, id) as { readonly endpoint: string; readonly at: number | null } | undefined;
  if (row === undefined) return false;
  const sql = "UPDATE deliveries SET state = 'waiting', settled_at = NULL, by_hand = 1, resumes_at = ? WHERE id = ?";
  transaction.run(sql, row.at, id);
  setDue(transaction, TRY, String(id), transaction.now, row.endpoint);
  return true;
}

/** The tables of everything that falls due, of events and of their deliveries. */
export const DISPATCH_TABLES = [DUE_TABLES, EVENT_TABLES, ENDPOINT_TABLES, DELIVERY_TABLES, FAULT_TABLES] as const;

/** What falls due beside deliveries, and how these are made. */
export interface DispatchOptions {
  /** what is registered already stays as it is unless set */
  readonly webhooks?: readonly Webhook[] | undefined;
  /** whether `webhooks` may name other machines */
  readonly allowRemote?: boolean;
  /** what happens by the clock, by kind */
  readonly steps: Readonly<Record<string, Step>>;
  /** how long an answer is waited for, in real time; 10,000 unless set (interface 6.4) */
  readonly timeoutMs?: number | undefined;
  /** how many deliveries to one endpoint may be under way on a real clock; 16 unless set */
  readonly concurrency?: number | undefined;
  /** what goes wrong with which try of an event; nothing unless set */
  readonly faults?: FaultPlan | undefined;
  /** told after each try what was tried, by the id of the delivery */
  readonly onTry?: ((delivery: number) => void) | undefined;
  /** told what has failed on a real clock while nobody waited for it */
  readonly onFailure: (failure: unknown) => void;
}

/** Has everything happen that falls due: moves of orders and carts, and deliveries. */
export interface Dispatch {
  /**
   * Moves the clock, and resolves when everything that falls due on the way has happened, each at its own time. Who
   * moves it meanwhile waits.
   *
   * @param duration - milliseconds, or a text such as `30 min`; 0 runs the work that is due now
   * @throws ConfigurationError `INVALID_OPTION` for what is no duration, or leads beyond the year 9999
   * @throws Error what has failed on the way: the clock stands at its time then, and it is still due
   */
  advance(duration: number | string): Promise<void>;
  /**
   * Tries a dead letter, or what has failed and waits, once more (interface 6.4.4): at once on a real clock, and with
   * the next `advance` on a frozen one.
   *
   * @returns `false` where there is nothing to retry: it was delivered, its endpoint was removed, or it is under way
   */
  retry(delivery: number): boolean;
  /** The same with all dead letters of an endpoint. @returns how many there were */
  retryDead(endpoint: string): number;
  /** The ids of deliveries that wait for an answer. */
  underWay(): readonly number[];
  /** Stops, and resolves when what was under way has ended or was given a second for it. */
  close(): Promise<void>;
}

/** @throws ConfigurationError for a webhook that cannot work */
export function createDispatch(store: Store, options: DispatchOptions): Dispatch {
  const {
    webhooks,
    allowRemote = false,
    steps,
    timeoutMs = 10_000,
    concurrency = 16,
    faults,
    onTry,
    onFailure,
  } = options;
  const receivers =
    webhooks === undefined ? new Map<never, never>() : store.write((tx) => giveEndpoints(tx, webhooks, allowRemote));
  const deliveries = createDeliveries({ store, sender: webhookSender(timeoutMs), receivers, faults, onTry });
  const work = { [TRY]: (due: Due) => deliveries.attempt(due) };
  const runner = createDueRunner(store, { steps, work, concurrency, onFailure });
  return {
    advance: (duration) => runner.advance(duration),
    retry: (delivery) => deliveries.retry(delivery),
    retryDead: (endpoint) => deliveries.retryDead(endpoint),
    underWay: () => deliveries.underWay(),
    async close() {
      await runner.close();
      deliveries.close();
    },
  };
}

/** Sends webhooks to wherever they go, one request a call, as interface 6.3 and 6.4 say. */
interface WebhookSender {
  /** Never rejects, and never says what a receiver has answered or thrown beyond its status and its name. */
  send(
    destination: URL | LocalReceiver,
    body: Uint8Array,
    secret: Secret | null,
    faults: readonly Fault[],
  ): Promise<Seen>;
  /** Cuts what is under way. */
  close(): void;
}

/** @param timeoutMs - how long an answer is waited for, in real time */
function webhookSender(timeoutMs: number): WebhookSender {
  const agents = { 'http:': new Agent({ keepAlive: true }), 'https:': new HttpsAgent({ keepAlive: true }) };
  return {
    send(destination, body, secret, faults) {
      const signed = { body, signature: signatureOf(body, secret) };
      if (destination instanceof URL) {
        const agent = destination.protocol === 'https:' ? agents['https:'] : agents['http:'];
        return requestWith(faults, destination, signed, { agent, timeoutMs });
      }
      return sentWith(faults, signed, ({ body: bytes, signature }, fault) => {
        const headers = signedHeaders(bytes, null, { signature });
        return handedOver(destination, { path: destination.path ?? DEFAULT_PATH, headers, bytes }, timeoutMs, fault);
      });
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/** What a connection does to a request, where there is none: what is cut never arrives. */
async function handedOver(
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
