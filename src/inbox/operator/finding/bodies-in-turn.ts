import { jsonText } from '../../../events/json.ts';
import type { Dialect, Reader } from '../sql.ts';

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
  readonly #text: string;
  readonly #rows: readonly Sized[];
  readonly #read = new Map<number, Uint8Array | null>();

  constructor({ t, list, joinRow }: Pick<Dialect, 't' | 'list' | 'joinRow'>, rows: readonly Sized[]) {
    const events = joinRow(t.events, 'events', (row) => `${row}.seq = value`);
    this.#text = `SELECT events.seq, events.body FROM ${list('$1', 'bigint')} ${events}`;
    this.#rows = rows;
  }

  /** The text of a body; `null` where it is not JSON, or gone. Asked once for each, in their order. */
  async text(seq: number, rows: Reader['rows']): Promise<string | null> {
    if (!this.#read.has(seq)) {
      const values = [this.#from(seq)];
      this.#read.clear();
      const found = await rows<{ seq: number; body: Uint8Array | null }>({ text: this.#text, values });
      for (const row of found) this.#read.set(row.seq, row.body);
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
