import { assertOption, listOf } from '../option-rules.ts';
import { createHash } from 'node:crypto';
import { notFound, ApiError } from './errors.ts';
import { PERMISSIONS, type Permission } from './service-operations.ts';
import { insert, type Reading, type Transaction } from './store.ts';

export const KEY_TABLES = `
  CREATE TABLE account (
    one INTEGER PRIMARY KEY CHECK (one = 1), created_ms INTEGER NOT NULL, signed_up_ms INTEGER NOT NULL,
    first_key_id TEXT NOT NULL
  ) STRICT;
  CREATE TABLE api_keys (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, hash BLOB NOT NULL UNIQUE,
    permissions TEXT NOT NULL, created_ms INTEGER NOT NULL, expires_ms INTEGER
  ) STRICT;
`;

export interface Account {
  readonly createdMs: number;
  /** in milliseconds since 1970; the quota months begin on this day */
  readonly signedUpMs: number;
  readonly firstKeyId: string;
}

export function signUp(tx: Transaction, seed: number, signedUpMs: number): void {
  const { id } = createKey(tx, seed, { name: 'first' });
  tx.run('INSERT INTO account VALUES (1, ?, ?, ?)', tx.now, signedUpMs, id);
}

export function accountOf(db: Reading): Account {
  const sql = 'SELECT created_ms AS createdMs, signed_up_ms AS signedUpMs, first_key_id AS firstKeyId FROM account';
  return db.get(sql) as Account;
}

/** An API key without its value, which is shown only once (section 5.2 of the service's interface). */
export interface KeyRecord {
  readonly id: string;
  readonly name: string;
  readonly permissions: readonly Permission[];
  readonly createdAt: Date;
  /** `null` if the key does not expire. */
  readonly expiresAt: Date | null;
}

/** The settings of a new key. */
export interface NewKey {
  readonly name?: string;
  /**
   * The permissions.
   *
   * @defaultValue all
   */
  readonly permissions?: readonly Permission[];
  /**
   * When the key expires, on the sandbox's clock.
   *
   * @defaultValue never
   */
  readonly expiresAt?: Date | null;
}

/** A new key. The value of the key is shown only once, here. */
export interface CreatedKey extends KeyRecord {
  /** The value of the header `Authorization`. */
  readonly key: string;
}

export function createKey(tx: Transaction, seed: number, options: NewKey = {}): CreatedKey {
  const { name = '', permissions = PERMISSIONS, expiresAt = null } = options;
  assertOption('permissions', permissions, listOf(PERMISSIONS));
  if (expiresAt !== null) assertOption('expiresAt', expiresAt, 'date');
  const expires_ms = expiresAt?.getTime() ?? null;
  const id = tx.newId('key');
  const key = keyValue(seed, id);
  const granted = PERMISSIONS.filter((permission) => permissions.includes(permission));
  const row = { id, name, hash: hashOf(key), permissions: JSON.stringify(granted), created_ms: tx.now, expires_ms };
  insert(tx, 'api_keys', row);
  return { id, name, permissions: granted, createdAt: new Date(tx.now), expiresAt, key };
}

/** Copies a key (interface 5.7). The lifetime of the copy starts now. */
export function rotateKey(tx: Transaction, seed: number, id: string): CreatedKey {
  const old = listKeys(tx).find((key) => key.id === id);
  if (old === undefined) throw notFound('api_key', id);
  const { createdAt, expiresAt } = old;
  const lifetime = expiresAt === null ? null : expiresAt.getTime() - createdAt.getTime();
  return createKey(tx, seed, { ...old, expiresAt: lifetime === null ? null : new Date(tx.now + lifetime) });
}

/** @throws ApiError `RESOURCE_NOT_FOUND` */
export function deleteKey(tx: Transaction, id: string): void {
  if (tx.run('DELETE FROM api_keys WHERE id = ?', id) === 0) throw notFound('api_key', id);
}

interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly permissions: string;
  readonly created_ms: number;
  readonly expires_ms: number | null;
}

const COLUMNS = 'id, name, permissions, created_ms, expires_ms';

export function listKeys(db: Reading): readonly KeyRecord[] {
  return db.all<KeyRow>(`SELECT ${COLUMNS} FROM api_keys ORDER BY seq`).map(recordOf);
}

/** @throws ApiError `INVALID_API_KEY` (interface 5.1 and 5.5) */
export function requireKey(db: Reading, sent: string | undefined, now: number): KeyRecord {
  if (sent === undefined || sent === '') {
    throw invalidKey('The header Authorization is missing. Set it to the API key.');
  }
  const row = db.get<KeyRow>(`SELECT ${COLUMNS} FROM api_keys WHERE hash = ?`, hashOf(sent));
  if (row === undefined) {
    const isSchemed = /^\S+\s/.test(sent);
    throw invalidKey(
      isSchemed
        ? 'Authorization must be the API key alone, without a scheme such as Bearer.'
        : 'This API key is unknown.',
    );
  }
  if (row.expires_ms !== null && row.expires_ms <= now) throw invalidKey('This API key has expired.');
  return recordOf(row);
}

export function findKey(db: Reading, value: string, now: number): KeyRecord | null {
  try {
    return requireKey(db, value, now);
  } catch (failure) {
    if (failure instanceof ApiError) return null;
    throw failure;
  }
}

/** @throws ApiError `INSUFFICIENT_PERMISSIONS` (interface 5.6) */
export function requirePermission(key: KeyRecord, permission: Permission): void {
  if (key.permissions.includes(permission)) return;
  throw new ApiError('INSUFFICIENT_PERMISSIONS', `This API key lacks the permission ${permission}.`, {
    required_permission: permission,
  });
}

/** The store has only the hash. The seed gives the same value again, so a sandbox can return its first key. */
export function keyValue(seed: number, id: string): string {
  return `sbx_${createHash('sha256').update(`${seed}/api-key/${id}`).digest('base64url').slice(0, 32)}`;
}

function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

function recordOf({ id, name, permissions, created_ms, expires_ms }: KeyRow): KeyRecord {
  return {
    id,
    name,
    permissions: JSON.parse(permissions) as readonly Permission[],
    createdAt: new Date(created_ms),
    expiresAt: expires_ms === null ? null : new Date(expires_ms),
  };
}

function invalidKey(message: string): ApiError {
  return new ApiError('INVALID_API_KEY', message, {});
}
