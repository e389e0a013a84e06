import type { Scene } from '../../engine/scene.ts';

/** So many bodies are read at once, and so many bytes, or one body that has more. */
const AT_ONCE = 100;
const BYTES = 1024 * 1024;

/** The bodies of events that are asked for one after the other, read some at a time; each is given once. */
export function bodiesAhead(
  { session, t }: Pick<Scene, 'session' | 't'>,
  rows: readonly { readonly seq: number; readonly bytes: number }[],
): (seq: number) => Promise<Uint8Array> {
  const places = new Map(rows.map(({ seq }, at) => [seq, at]));
  const read = new Map<number, Uint8Array>();

  async function readFrom(seq: number): Promise<void> {
    const ahead = [seq];
    let bytes = 0;
    for (const row of rows.slice(places.get(seq) ?? rows.length)) {
      bytes += row.bytes;
      if (ahead.length === AT_ONCE || (bytes > BYTES && row.seq !== seq)) break;
      if (row.seq !== seq && row.bytes > 0) ahead.push(row.seq);
    }
    const text = `SELECT seq, body FROM ${t.events} WHERE seq = ANY($1::bigint[]) AND body IS NOT NULL`;
    read.clear();
    for (const row of await session.rows<{ seq: number; body: Buffer }>(text, [ahead])) read.set(row.seq, row.body);
  }

  return async (seq) => {
    if (!read.has(seq)) await readFrom(seq);
    const body = read.get(seq) ?? new Uint8Array();
    read.delete(seq);
    return body;
  };
}
