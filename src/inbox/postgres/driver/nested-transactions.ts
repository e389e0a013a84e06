import { TransactionError } from '../../../errors.ts';
import { controlStatements } from './transaction-control.ts';

/** A text that is sent in the place of another one. */
export interface Changed {
  readonly text: string;
  /** It has failed: what it would have begun was not, and what it would have ended is still open. */
  readonly undo: () => void;
}

/** Numbers of savepoints, across transactions: two of one name would hide each other. */
let savepoints = 0;

/**
 * Turns transactions that a function begins inside its own into savepoints, because an ORM's `transaction()` sends BEGIN and
 * COMMIT. It refuses statements that would end hookbox's transaction.
 */
export class NestedTransactions {
  /** the savepoints of the open transactions, in the order of their numbers, after the statements sent so far */
  #open: readonly number[] = [];
  readonly #neverBegun = new Set<number>();

  /**
   * @param isBare - the text has no parameters, so that it may hold several statements
   * @returns what to send instead; `null` for the text itself, and an error where nothing may be sent
   */
  changed(text: string, isBare: boolean): Changed | TransactionError | null {
    const { controls, of } = controlStatements(text);
    // Several statements with parameters are refused by Postgres.
    if (controls.length === 0 || (!isBare && of > 1)) return null;
    const before = this.#open;
    const open = [...before];
    let changed = '';
    let at = 0;
    for (const { from, to, name, control } of controls) {
      let instead: string;
      if (control.does === 'begin') {
        if (control.asks !== null) return refusal('NOT_SENT', `${name} … ${control.asks} ${OTHER_MODE}`);
        savepoints += 1;
        open.push(savepoints);
        instead = `SAVEPOINT hookbox_nested_${savepoints}`;
      } else {
        const savepoint = control.does === 'leave' ? undefined : open.pop();
        if (savepoint === undefined) return refusal('ENDED_EARLY', `${name} ${ENDED_EARLY}`);
        instead = `${control.does === 'commit' ? 'RELEASE' : 'ROLLBACK TO'} SAVEPOINT hookbox_nested_${savepoint}`;
      }
      changed += text.slice(at, from) + instead;
      at = to;
    }
    this.#open = open;
    const begun = open.filter((savepoint) => !before.includes(savepoint));
    const ended = before.filter((savepoint) => !open.includes(savepoint));
    return { text: changed + text.slice(at), undo: () => this.#undo(begun, ended) };
  }

  /** For an object that sends itself, such as a cursor: its text cannot be changed. */
  asObject(): TransactionError {
    return refusal('NOT_SENT', AS_OBJECT);
  }

  /** Called when the function has ended: an error that forbids the commit, if the function has left its own transaction open. */
  left(): TransactionError | null {
    return this.#open.length === 0 ? null : refusal('ENDED_EARLY', LEFT_OPEN);
  }

  /** Others may have been sent behind it by then. */
  #undo(begun: readonly number[], ended: readonly number[]): void {
    for (const savepoint of begun) this.#neverBegun.add(savepoint);
    const open = new Set([...ended, ...this.#open]);
    this.#open = [...open].filter((savepoint) => !this.#neverBegun.has(savepoint)).toSorted((a, b) => a - b);
  }
}

function refusal(code: 'ENDED_EARLY' | 'NOT_SENT', message: string): TransactionError {
  return new TransactionError(code, message);
}

const ENDED_EARLY =
  'was not sent, and nothing is committed. hookbox itself commits when your function returns, and rolls back if the function throws an error. Remove the statement.';

const OTHER_MODE =
  'was not sent: the transaction of ctx.transaction is always READ COMMITTED and READ WRITE, and a transaction ' +
  'that begins inside it becomes a savepoint. Lock rows that must not change with SELECT … FOR UPDATE.';

const AS_OBJECT =
  'BEGIN, COMMIT or ROLLBACK was not sent: in ctx.transaction, pass it to query() as a string or { text }, not as an object ' +
  'of another class.';

const LEFT_OPEN =
  'The function in ctx.transaction began a nested transaction and did not end it. Nothing was committed. Send ' +
  'COMMIT or ROLLBACK before the function returns, or remove BEGIN.';
