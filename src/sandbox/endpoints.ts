import { createHash } from 'node:crypto';
import { ConfigurationError } from '../errors.ts';
import { eventTypes, isEventType, type EventType } from '../events/event-types.ts';
import { isLoopbackAddress } from '../host/loopback.ts';
import { signingKeys, type Secret } from '../signing/signature.ts';
import type { DeliveryTarget } from '../testing/deliver-to.ts';
import { clearLane } from './due.ts';
import type { Reading, Transaction } from './store.ts';

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
   * A receiver, fetch handler, Hono app, Express app, `node:http` handler, server or Fastify instance, none of which needs
   * a port. Or a URL, which must use https unless it points to this machine.
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

interface Settings extends Omit<EndpointSettings, 'url'> {
  readonly url: string | null;
}

/** A webhook that was already set keeps its endpoint and deliveries. A webhook that is no longer set is removed. */
export function giveEndpoints(
  tx: Transaction,
  webhooks: readonly Webhook[],
  allowRemote = false,
): ReadonlyMap<string, LocalReceiver> {
  const receivers = new Map<string, LocalReceiver>();
  const given = new Set<string>();
  for (const { to, secret = null, events = null, ...how } of webhooks) {
    const isUrl = typeof to === 'string' || to instanceof URL;
    const url = isUrl ? checkedUrl(String(to), allowRemote) : null;
    // Webhooks with the same address get different numbers.
    let number = 1;
    while (given.has(`${url ?? 'receiver'} ${number}`)) number += 1;
    const name = `${url ?? 'receiver'} ${number}`;
    given.add(name);
    const known = tx.get<{ id: string }>('SELECT id FROM endpoints WHERE given_as = ? AND removed_at IS NULL', name);
    const id = known?.id ?? insertEndpoint(tx, name);
    setEndpoint(tx, id, { url, secret, events });
    if (!isUrl) receivers.set(id, { to, ...how });
  }
  const before = 'SELECT id, given_as AS name FROM endpoints WHERE given_as IS NOT NULL AND removed_at IS NULL';
  for (const { id, name } of tx.all<{ id: string; name: string }>(before)) {
    if (!given.has(name)) removeEndpoint(tx, id);
  }
  return receivers;
}

export function newSecret(tx: Transaction, seed: number): string {
  const name = `${seed}/webhook-secret/${tx.newId('secret')}`;
  return `whsec_${createHash('sha256').update(name).digest('base64url').slice(0, 32)}`;
}

export function addEndpoint(tx: Transaction, settings: EndpointSettings, allowRemote = false): string {
  const url = checkedUrl(settings.url, allowRemote);
  const id = insertEndpoint(tx, null);
  setEndpoint(tx, id, { ...settings, url });
  return id;
}

function insertEndpoint(tx: Transaction, name: string | null): string {
  const id = tx.newId('we');
  tx.run('INSERT INTO endpoints (id, given_as, created_at) VALUES (?, ?, ?)', id, name, tx.now);
  return id;
}

/**
 * Waiting deliveries use the new address and secret; the types count for new events only.
 *
 * @returns whether the endpoint exists
 */
export function changeEndpoint(
  tx: Transaction,
  id: string,
  settings: Partial<EndpointSettings>,
  allowRemote = false,
): boolean {
  const sql = 'SELECT url, secret, events FROM endpoints WHERE id = ? AND removed_at IS NULL';
  const before = tx.get<Omit<Settings, 'events'> & { readonly events: string | null }>(sql, id);
  if (before === undefined) return false;
  const url = settings.url === undefined ? before.url : checkedUrl(settings.url, allowRemote);
  const { secret = before.secret, events = typesIn(before.events) } = settings;
  setEndpoint(tx, id, { url, secret, events });
  return true;
}

function setEndpoint(tx: Transaction, id: string, { url, secret, events }: Settings): void {
  if (secret !== null) signingKeys(secret);
  for (const type of events ?? []) {
    if (isEventType(type)) continue;
    const message = `${JSON.stringify(type)} is not an event type. Allowed: ${eventTypes.join(', ')}.`;
    throw new ConfigurationError('UNKNOWN_EVENT_TYPE', message);
  }
  const sql = 'UPDATE endpoints SET url = ?, secret = ?, events = ? WHERE id = ?';
  tx.run(sql, url, secret, events === null ? null : JSON.stringify(events), id);
}

/** @returns whether the endpoint existed */
export function removeEndpoint(tx: Transaction, id: string): boolean {
  const remove =
    'UPDATE endpoints SET removed_at = ?, given_as = NULL, secret = NULL WHERE id = ? AND removed_at IS NULL';
  const removed = tx.run(remove, tx.now, id);
  const drop = "UPDATE deliveries SET state = 'dropped', settled_at = ? WHERE endpoint = ? AND state = 'waiting'";
  tx.run(drop, tx.now, id);
  clearLane(tx, id);
  return removed > 0;
}

/** Lists endpoints, oldest first. */
export function listEndpoints(db: Reading): readonly Endpoint[] {
  type Row = Pick<Endpoint, 'id' | 'url'> & { isSigned: number; events: string | null; createdAt: number };
  const sql = `SELECT id, url, secret IS NOT NULL AS isSigned, events, created_at AS createdAt
    FROM endpoints WHERE removed_at IS NULL ORDER BY seq`;
  return db.all<Row>(sql).map(({ id, url, isSigned, events, createdAt }) => ({
    id,
    url,
    isSigned: isSigned === 1,
    events: typesIn(events),
    createdAt: new Date(createdAt),
  }));
}

function typesIn(events: string | null): readonly EventType[] | null {
  return events === null ? null : (JSON.parse(events) as EventType[]);
}

/** HTTPS (interface 8.6), except on this machine (A12). Without `allowRemote`, invented events cannot reach a live shop. */
function checkedUrl(text: string, allowRemote: boolean): string {
  const refuse = (why: string): never => {
    throw new ConfigurationError('INVALID_OPTION', why);
  };
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    return refuse('The URL of a webhook must use https, unless it points to this machine.');
  }
  if (url.username !== '' || url.password !== '') {
    refuse('The URL of a webhook must not contain a user name or password, because URLs end up in logs.');
  }
  const { host, hostname, protocol } = url;
  // DNS decides where a name below `localhost` leads.
  if (hostname === 'localhost' || isLoopbackAddress(hostname.replace(/^\[(.*)\]$/, '$1'))) return url.href;
  if (protocol === 'http:') refuse(`${host} is another machine, so the webhook's URL must use https.`);
  if (!allowRemote) {
    refuse(
      `${host} is another machine. To allow deliveries to it, start the sandbox with --allow-remote (in code: allowRemote: true).`,
    );
  }
  return url.href;
}
