import type { Reading, Transaction } from './store.ts';

/** The account that all keys of a sandbox belong to. */
export interface Account {
  /** its months begin on the day of it, in milliseconds since 1970 */
  readonly signedUpMs: number;
  /** the key that a sandbox begins with */
  readonly firstKeyId: string;
}

export const ACCOUNT_TABLES = `
  CREATE TABLE account (
    one INTEGER PRIMARY KEY CHECK (one = 1), signed_up_ms INTEGER NOT NULL, first_key_id TEXT NOT NULL
  ) STRICT;
`;

/** Once, in a new sandbox. */
export function signUp(tx: Transaction, { signedUpMs, firstKeyId }: Account): void {
  tx.run('INSERT INTO account VALUES (1, ?, ?)', signedUpMs, firstKeyId);
}

/** The account of a sandbox. */
export function accountOf(db: Reading): Account {
  return db.get('SELECT signed_up_ms AS signedUpMs, first_key_id AS firstKeyId FROM account') as Account;
}
