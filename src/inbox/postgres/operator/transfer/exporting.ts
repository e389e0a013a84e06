import { eventLine } from '../../../operator/export-format.ts';
import { exportPagesBefore, type ExportSource, type PlacedMark, type Sized } from '../../../operator/export-pages.ts';
import type { Search } from '../../../operator/search.ts';
import type { Transfer } from '../../../operator/transfer.ts';
import { isHashed, toKey } from '../../sql/keys.ts';
import { rowOf } from '../../sql/tables.ts';
import type { Access } from '../access.ts';
import { exportedEvent, selectExported, type ExportedRow } from './exported-row.ts';

interface MarkRow {
  readonly entity: string;
  readonly endpoint: string;
  readonly created_ms: number;
  readonly created_ns: number;
}

export function exporting(access: Access, search: Search['search']): Pick<Transfer, 'exportPages'> {
  const { store, ask } = access;
  const { database, t } = store;
  return {
    exportPages(filter) {
      // At once: what is stored from now on is not among them. What has a lower number and was not stored yet may be or not;
      // whatever was answered for is, so this need not wait for who writes just now.
      const before = ask(() =>
        database.read((session) =>
          session
            .row<{ seq: number | null }>(`SELECT max(seq) AS seq FROM ${t.events}`)
            .then((row) => (row?.seq ?? 0) + 1),
        ),
      );
      before.catch(() => {}); // told to who reads the first page
      return exportPagesBefore(exportSource(access, search), filter, before);
    },
  };
}

/** What one export reads of a schema. */
function exportSource({ store, ask }: Access, search: Search['search']): ExportSource {
  const { database, t } = store;
  /** events about entities whose names are too long for an index, by what the index has */
  const named = new Map<string, number>();

  const bytes = `coalesce(octet_length(events.body), 0) + coalesce(octet_length(other.body), 0)`;
  const sized = `SELECT events.seq, ${bytes} AS bytes FROM ${t.events} AS events
    LEFT JOIN ${rowOf(t.conflicts, 'other', 'found.seq = events.seq')} ON true`;
  const rows = <Row>(text: string, values: readonly unknown[]): Promise<readonly Row[]> =>
    ask(() => database.read((session) => session.rows<Row>(text, values)));

  /** Names that are too long, as far as an event says them. */
  async function longNames(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const seqs = keys.flatMap((key) => named.get(key) ?? []);
    if (seqs.length === 0) return new Map();
    const text = `SELECT entity FROM ${t.events} WHERE seq = ANY($1::bigint[]) AND entity IS NOT NULL`;
    const found = (await rows<{ entity: string }>(text, [seqs])).map(({ entity }) => entity);
    return new Map(found.map((entity) => [toKey(entity), entity]));
  }

  return {
    search,
    sizedBehind: (after, end, limit) =>
      rows<Sized>(`${sized} WHERE events.seq > $1 AND events.seq < $2 ORDER BY events.seq LIMIT $3`, [
        after,
        end,
        limit,
      ]),
    sizedOf: (seqs) => rows<Sized>(`${sized} WHERE events.seq = ANY($1::bigint[]) ORDER BY events.seq`, [seqs]),
    async lines(seqs) {
      const found = await rows<ExportedRow>(selectExported(t, 'events.seq = ANY($1::bigint[])'), [seqs]);
      return found.map((row) => {
        const event = exportedEvent(row);
        const key = event.entity === null ? '' : toKey(event.entity);
        if (isHashed(key)) named.set(key, row.seq);
        return eventLine(event);
      });
    },
    async marksBehind({ entity, endpoint }, limit) {
      const marks = await rows<MarkRow>(
        `SELECT entity, endpoint, created_ms, created_ns FROM ${t.entities}
         WHERE (entity, endpoint) > ($1, $2) ORDER BY entity, endpoint LIMIT $3`,
        [entity, endpoint, limit],
      );
      const names = await longNames(marks.map((mark) => mark.entity).filter(isHashed));
      return marks.map((row): PlacedMark => {
        // A hash that no event explains is taken back as it is by another Postgres.
        const name = names.get(row.entity) ?? row.entity;
        const created = { ms: row.created_ms, ns: row.created_ns };
        return { mark: { entity: name, endpoint: row.endpoint, created }, place: row };
      });
    },
  };
}
