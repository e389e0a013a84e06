import { jsonText } from '../../../../events/json-tokens.ts';
import type { Session } from '../../driver/session.ts';
import { rowOf, type Tables } from '../../sql/tables.ts';

/** So much is read at once. A body that is larger is read alone. */
const MOST_BYTES = 1024 * 1024;

/** An event whose body may be asked for. */
export interface Sized {
  readonly seq: number;
  /** `null` for a tombstone */
  readonly bytes: number | null;
}

/** The bodies of events that are looked at one after the other. What is asked for is read together with what comes behind it. */
export class BodiesInTurn {
  readonly #t: Tables;
  readonly #rows: readonly Sized[];
  readonly #read = new Map<number, Buffer | null>();

  constructor(t: Tables, rows: readonly Sized[]) {
    this.#t = t;
    this.#rows = rows;
  }

  /**
   * The text of a body; `null` where it is not JSON, or gone. Asked once for each, in their order.
   *
   * @param read - carries out a statement
   */
  async text(seq: number, read: <T>(work: (session: Session) => Promise<T>) => Promise<T>): Promise<string | null> {
    if (!this.#read.has(seq)) {
      const wanted = this.#from(seq);
      this.#read.clear();
      const rows = await read((session) => bodiesOf(session, this.#t, wanted));
      for (const row of rows) this.#read.set(row.seq, row.body);
    }
    const body = this.#read.get(seq) ?? null;
    this.#read.delete(seq);
    return body === null ? null : jsonText(body);
  }

  #from(seq: number): readonly number[] {
    const first = this.#rows.findIndex((row) => row.seq === seq);
    const wanted: number[] = [];
    let sum = 0;
    for (const { seq: next, bytes } of this.#rows.slice(first)) {
      sum += bytes ?? 0;
      if (wanted.length > 0 && sum > MOST_BYTES) break;
      wanted.push(next);
    }
    return wanted;
  }
}

function bodiesOf(session: Session, t: Tables, seqs: readonly number[]) {
  return session.rows<{ seq: number; body: Buffer | null }>(
    `SELECT events.seq, events.body FROM unnest($1::bigint[]) AS given (seq)
     CROSS JOIN ${rowOf(t.events, 'events', 'found.seq = given.seq')}`,
    [seqs],
  );
}
