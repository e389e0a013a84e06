import { createHash } from 'node:crypto';
import { ConfigurationError } from '../errors.ts';
import { eventTypes, isEventType, type EventType } from '../events/event-types.ts';
import { isLoopbackAddress } from '../page/safety/request-guard.ts';
import { signingKeys, type Secret } from '../signing/signature.ts';
import type { DeliveryTarget } from '../testing/deliver-to.ts';
import { clearLane } from './due.ts';
import type { Reading, Transaction } from './store.ts';

/** A target in this process. */
export interface LocalReceiver {
  /** A receiver, fetch handler, Hono app, Express app, `node:http` handler, server or Fastify instance. */
  readonly to: Exclude<DeliveryTarget, string | URL>;
  /**
   * The path of the webhook in an app or a handler.
   *
   * @defaultValue `'/webhooks'`
   */
  readonly path?: string;
  /** The kind of the target function, if its parameters do not show the kind. */
  readonly as?: 'fetch' | 'node';
}

/** A webhook that code sets (section 6 of the service's interface): a target, a secret and events. */
export interface Webhook extends Omit<LocalReceiver, 'to'> {
  /**
   * A receiver, fetch handler, Hono app, Express app, `node:http` handler, server or Fastify instance, which need not
   * listen on a port. Or a URL, which must use https unless it points to this machine.
   */
  readonly to: DeliveryTarget;
  /**
   * The signing secret.
   *
   * @defaultValue none, in which case deliveries are not signed
   */
  readonly secret?: Secret;
  /**
   * The types to send.
   *
   * @defaultValue all types
   */
  readonly events?: readonly EventType[];
}

/** An endpoint as it is listed, without its secret. */
export interface Endpoint {
  readonly id: string;
  /** `null` for a receiver in this process. */
  readonly url: string | null;
  readonly isSigned: boolean;
  /** `null` for all types. */
  readonly events: readonly EventType[] | null;
  readonly createdAt: Date;
}

/** The settings of an endpoint. */
export interface EndpointSettings {
  readonly url: string;
  /** `null` for no secret. */
  readonly secret: Secret | null;
  /** `null` for all types. */
  readonly events: readonly EventType[] | null;
}

export const ENDPOINT_TABLES = `
  CREATE TABLE endpoints (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    given_as TEXT UNIQUE,
    url TEXT,
    secret ANY,
    events TEXT,
    created_at INTEGER NOT NULL,
    removed_at INTEGER
  ) STRICT;
`;

/**
 * Registers what is given in code. What was given before, in the same place, is the same endpoint with what waits for
 * it; what is no longer given is removed.
 *
 * @returns the receivers of this process by the id of their endpoint
 * @throws ConfigurationError for an address, a secret or a type that cannot work
 */
export function giveEndpoints(
  transaction: Transaction,
  webhooks: readonly Webhook[],
  allowRemote = false,
): ReadonlyMap<string, LocalReceiver> {
  const receivers = new Map<string, LocalReceiver>();
  const given = new Set<string>();
  for (const { to, secret, events, ...how } of webhooks) {
    const isUrl = typeof to === 'string' || to instanceof URL;
    const url = isUrl ? checkedUrl(String(to), allowRemote) : null;
    const name = nameAmong(given, url ?? 'receiver');
    given.add(name);
    const id = giveEndpoint(transaction, name, url, secret ?? null, events ?? null);
    if (!isUrl) receivers.set(id, { to, ...how });
  }
  const before = 'SELECT id, given_as AS name FROM endpoints WHERE given_as IS NOT NULL AND removed_at IS NULL';
  for (const { id, name } of transaction.all(before) as readonly { id: string; name: string }[]) {
    if (!given.has(name)) removeEndpoint(transaction, id);
  }
  return receivers;
}

/** What goes to the same address twice is told apart by its place. */
function nameAmong(given: ReadonlySet<string>, name: string): string {
  let number = 1;
  while (given.has(`${name} ${number}`)) number += 1;
  return `${name} ${number}`;
}

function giveEndpoint(
  transaction: Transaction,
  name: string,
  url: string | null,
  secret: Secret | null,
  events: readonly EventType[] | null,
): string {
  const known = transaction.get('SELECT id FROM endpoints WHERE given_as = ? AND removed_at IS NULL', name);
  if (known === undefined) return insertEndpoint(transaction, name, url, secret, events);
  const { id } = known as { readonly id: string };
  setEndpoint(transaction, id, url, secret, events);
  return id;
}

/** A signing secret that no endpoint has yet. The same seed and the same calls give the same ones, as with keys. */
export function newSecret(transaction: Transaction, seed: number): string {
  const name = `${seed}/webhook-secret/${transaction.newId('secret')}`;
  return `whsec_${createHash('sha256').update(name).digest('base64url').slice(0, 32)}`;
}

/**
 * Registers an endpoint, as the account holder does in the service's dashboard.
 *
 * @returns its id
 * @throws ConfigurationError for an address, a secret or a type that cannot work
 */
export function addEndpoint(
  transaction: Transaction,
  { url, secret, events }: EndpointSettings,
  allowRemote = false,
): string {
  return insertEndpoint(transaction, null, checkedUrl(url, allowRemote), secret, events);
}

function insertEndpoint(
  transaction: Transaction,
  name: string | null,
  url: string | null,
  secret: Secret | null,
  events: readonly EventType[] | null,
): string {
  const id = transaction.newId('we');
  const sql = 'INSERT INTO endpoints (id, given_as, url, created_at) VALUES (?, ?, ?, ?)';
  transaction.run(sql, id, name, url, transaction.now);
  setEndpoint(transaction, id, url, secret, events);
  return id;
}

/**
 * Changes an endpoint. What waits for it goes to the new address, signed with the new secret; which types it wants
 * counts for what happens from now on.
 *
 * @returns whether there is such an endpoint
 * @throws ConfigurationError for an address, a secret or a type that cannot work
 */
export function changeEndpoint(
  transaction: Transaction,
  id: string,
  settings: Partial<EndpointSettings>,
  allowRemote = false,
): boolean {
  const sql = 'SELECT url, secret, events FROM endpoints WHERE id = ? AND removed_at IS NULL';
  const before = transaction.get(sql, id) as
    | { readonly url: string | null; readonly secret: Secret | null; readonly events: string | null }
    | undefined;
  if (before === undefined) return false;
  const url = settings.url === undefined ? before.url : checkedUrl(settings.url, allowRemote);
  const { secret = before.secret, events = typesIn(before.events) } = settings;
  setEndpoint(transaction, id, url, secret, events);
  return true;
}

function setEndpoint(
  transaction: Transaction,
  id: string,
  url: string | null,
  secret: Secret | null,
  events: readonly EventType[] | null,
): void {
  if (secret !== null) signingKeys(secret);
  for (const type of events ?? []) {
    if (isEventType(type)) continue;
    const message = `${JSON.stringify(type)} is not an event type. Allowed: ${eventTypes.join(', ')}.`;
    throw new ConfigurationError('UNKNOWN_EVENT_TYPE', message);
  }
  const sql = 'UPDATE endpoints SET url = ?, secret = ?, events = ? WHERE id = ?';
  transaction.run(sql, url, secret, events === null ? null : JSON.stringify(events), id);
}

/**
 * Removes an endpoint with its secret. What waits for it is dropped: nobody is left to get it.
 *
 * @returns whether there was such an endpoint
 */
export function removeEndpoint(transaction: Transaction, id: string): boolean {
  const removed = transaction.run(
    'UPDATE endpoints SET removed_at = ?, given_as = NULL, secret = NULL WHERE id = ? AND removed_at IS NULL',
    transaction.now,
    id,
  );
  const dropped = "UPDATE deliveries SET state = 'dropped', settled_at = ? WHERE endpoint = ? AND state = 'waiting'";
  transaction.run(dropped, transaction.now, id);
  clearLane(transaction, id);
  return removed > 0;
}

/** Every endpoint that there is, oldest first. */
export function listEndpoints(reading: Reading): readonly Endpoint[] {
  const sql = `SELECT id, url, secret IS NOT NULL AS isSigned, events, created_at AS createdAt
    FROM endpoints WHERE removed_at IS NULL ORDER BY seq`;
  const rows = reading.all(sql) as readonly {
    readonly id: string;
    readonly url: string | null;
    readonly isSigned: number;
    readonly events: string | null;
    readonly createdAt: number;
  }[];
  return rows.map(({ id, url, isSigned, events, createdAt }) => ({
    id,
    url,
    isSigned: isSigned === 1,
    events: typesIn(events),
    createdAt: new Date(createdAt),
  }));
}

function typesIn(events: string | null): readonly EventType[] | null {
  return events === null ? null : (JSON.parse(events) as EventType[]); // as they were checked and written
}

/**
 * Webhook URLs use HTTPS (interface 8.6); plain HTTP is for this machine (A12). Other machines need `allowRemote`:
 * made-up events must not reach a live shop, and everyone on this machine can open a dashboard without a login.
 */
function checkedUrl(text: string, allowRemote: boolean): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new ConfigurationError(
      'INVALID_OPTION',
      'The URL of a webhook must use https, unless it points to this machine.',
    );
  }
  if (url.username !== '' || url.password !== '') {
    const message = 'The URL of a webhook must not contain a user name or password, because URLs end up in logs.';
    throw new ConfigurationError('INVALID_OPTION', message);
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new ConfigurationError(
      'INVALID_OPTION',
      `${url.host} is another machine, so the webhook's URL must use https.`,
    );
  }
  if (!allowRemote && !isLoopback(url.hostname)) {
    const message = `${url.host} is another machine. To allow deliveries to it, start the sandbox with --allow-remote (in code: allowRemote: true).`;
    throw new ConfigurationError('INVALID_OPTION', message);
  }
  return url.href;
}

/** Names beneath `localhost` are asked of DNS, which may say anything. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || isLoopbackAddress(hostname.replace(/^\[(.*)\]$/, '$1'));
}
